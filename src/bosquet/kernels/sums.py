"""Sums of components on given rows, as few calls on long vectors however many components there are.

`Gram` is the covariance of rows with themselves, as a function of eta; `Cross` (`cross`) that of
queries with rows, as a function of the queries. Both lay the entries of all components out one
after the other, components of one kind together, so that a shape is evaluated once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate, groupby, pairwise

import numpy as np

from bosquet.arrays import Array, Index
from bosquet.kernels.components import Component
from bosquet.kernels.stationary import SHAPES, WRITTEN

Member = tuple[Component, Index]
"""A component and the rows where it is active, ascending."""


_CACHED = 1 << 13  # entries of a piece that is shaped at a time: several of them fit in a cache


def _sorted(members: Sequence[Member]) -> list[Member]:
    """By kind, and components of the same rows next to each other."""
    return sorted(members, key=lambda member: (member[0].kind, member[1].tobytes()))


def slices(sizes: Sequence[int]) -> list[slice]:
    ends = list(accumulate(sizes, initial=0))
    return [slice(a, b) for a, b in pairwise(ends)]


def _kinds(members: Sequence[Member], slices: Sequence[slice]) -> Iterator[tuple[str, slice]]:
    """The stretch of entries of every kind."""
    for kind, group in groupby(range(len(members)), key=lambda i: members[i][0].kind):
        where = list(group)
        yield kind, slice(slices[where[0]].start, slices[where[-1]].stop)


def shape(kind: str, inside: Array, slope: Array | None = None) -> None:
    """Writes the covariance over what is inside it, and its slope if wanted, piece by piece."""
    if kind not in SHAPES:
        inside[:] = 1.0
        return
    step = max(1, _CACHED * len(inside) // max(inside.size, 1))
    for start in range(0, len(inside), step):
        piece = inside[start : start + step]
        if slope is not None:
            piece[:], slope[start : start + step] = SHAPES[kind](piece)
        elif kind in WRITTEN:
            WRITTEN[kind](piece)
        else:
            piece[:] = SHAPES[kind](piece)[0]


class Gram:
    """The covariance of n rows: its lower triangle, and the way back from there to eta."""

    def __init__(self, members: Sequence[Member], X: Array) -> None:
        self._n = n = len(X)
        members = _sorted(members)
        self._features: list[Array] = []
        self._groups: list[tuple[slice, slice, slice]] = []
        """Components of the same rows: which they are, their entries, their pairs of rows."""
        flat, twice = [], []
        sizes: list[int] = []
        pairs = 0
        for rows, group in groupby(members, key=lambda member: member[1].tolist()):
            i, j = np.tril_indices(len(rows))
            at = np.array(rows, dtype=np.int64)
            first = len(sizes)
            A, B = X[at[i]], X[at[j]]
            for component, _ in group:
                self._features.append(component.pair_features(A, B))
                sizes.append(len(i))
            flat.append(at[i] + n * at[j])
            twice.append(np.where(i == j, 1.0, 2.0))
            entries = slice(sum(sizes[:first]), sum(sizes))
            self._groups.append((slice(first, len(sizes)), entries, slice(pairs, pairs + len(i))))
            pairs += len(i)
        self._slices = slices(sizes)
        self._kinds = list(_kinds(members, self._slices))
        self._flat = np.concatenate(flat) if flat else np.zeros(0, dtype=np.int64)
        self._twice = np.concatenate(twice) if twice else np.zeros(0)
        self._variances = np.array([c.variance for c, _ in members], dtype=np.int64)
        lengths = [c.lengths for c, _ in members]
        self._lengths = np.array([slot for slots in lengths for slot in slots], dtype=np.int64)
        self._of_lengths = slices([len(slots) for slots in lengths])

    def covariance(self, eta: Array) -> tuple[Array, tuple[Array, Array]]:
        """K without noise (lower triangle, Fortran order), and what `pull_back` needs.

        The latter holds until the covariance is asked for again.
        """
        weights = np.exp(-2.0 * eta[self._lengths])
        unit, slope = self._room
        for features, stretch, w in zip(
            self._features, self._slices, self._of_lengths, strict=True
        ):
            if w.stop > w.start:
                np.dot(weights[w], features, out=unit[stretch])
        for kind, stretch in self._kinds:
            shape(kind, unit[stretch], slope[stretch])
        variances = np.exp(eta[self._variances])
        sums = np.empty(len(self._flat))
        for which, entries, pairs in self._groups:
            v = variances[which]
            np.dot(v, unit[entries].reshape(len(v), -1), out=sums[pairs])
        n = self._n
        K: Array = np.bincount(self._flat, sums, minlength=n * n).astype(float, copy=False)
        return K.reshape((n, n), order="F"), (unit, slope)

    @cached_property
    def _room(self) -> Array:
        """Entries and their slopes. A fit asks many times, and fresh memory is slow."""
        return np.empty((2, self._slices[-1].stop if self._slices else 0))

    def pull_back(self, W: Array, parts: tuple[Array, Array], eta: Array) -> Array:
        """d sum(W * K) / d eta for a symmetric W, of which the lower triangle is read."""
        unit, slope = parts
        w = W.ravel(order="F")[self._flat] * self._twice
        v = np.exp(eta[self._variances])
        by_variance, by_weight = np.zeros(len(v)), np.zeros(len(self._lengths))
        for which, entries, pairs in self._groups:
            by_entry = w[pairs]
            by_variance[which] = unit[entries].reshape(-1, len(by_entry)) @ by_entry
            slopes = slope[entries].reshape(-1, len(by_entry))
            for i, one in zip(range(which.start, which.stop), slopes, strict=True):
                at = self._of_lengths[i]
                if at.stop > at.start:
                    by_weight[at] = v[i] * (self._features[i] @ (by_entry * one))
        gradient = np.zeros(len(eta))
        np.add.at(gradient, self._variances, v * by_variance)
        weights = np.exp(-2.0 * eta[self._lengths])
        np.add.at(gradient, self._lengths, -2.0 * weights * by_weight)
        return gradient
