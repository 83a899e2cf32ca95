"""The covariance of rows with themselves, of a sum of components, as a function of eta.

Glossary (n rows)
    pairs     of rows, i >= j
    group     components of one kind that are active on the same rows
    entries   by component and pair, before and after a shape is applied
    part      entries that are computed together: those of a group, or of all groups that are small

A fit asks for the covariance of the same rows many times, so all that does not depend on eta is
laid out once (`layout`), and where rows are few and components many, in few calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from bosquet.arrays import Array
from bosquet.kernels import layout
from bosquet.kernels.layout import Group, Part, Pool, Room, Rooms
from bosquet.kernels.stationary import PROPORTIONAL
from bosquet.kernels.sums import Member, on_rows, shape, slices

_NONE = np.zeros(0, dtype=np.int64)


class Gram:
    """The covariance of n rows: its lower triangle, and the way back from there to eta."""

    def __init__(self, members: Sequence[Member], X: Array) -> None:
        members, self._n = on_rows(members), len(X)
        shaped = sorted((m for m in members if m[0].kind != "constant"), key=layout.in_order)
        pairs_of = layout.Pairs()
        groups = [Group(list(group), pairs_of) for _, group in groupby(shaped, key=layout.place)]
        groups.sort(key=lambda group: (group.kind, not group.small))
        constants = [m for m in members if m[0].kind == "constant"]
        components = [c for group in groups for c in group.components]
        components += [component for component, _ in constants]
        self._slots = np.array([c.variance for c in components], dtype=np.int64)
        self._lengths = np.array([s for c in components for s in c.lengths], dtype=np.int64)
        of = np.repeat(np.arange(len(components)), [len(c.lengths) for c in components])
        ratios = np.array([PROPORTIONAL.get(c.kind, 1.0) for c in components])
        self._of_lengths, self._factors = of, -2.0 * ratios[of]

        pairs = [group.summed for group in groups]
        pairs += [pairs_of(rows) for _, rows in constants]
        self._flat = np.concatenate([_NONE, *(i + len(X) * j for i, j in pairs)])
        self._twice = np.concatenate([_NONE, *(np.where(i == j, 1.0, 2.0) for i, j in pairs)])
        self._of_constants = np.array([len(i) for i, _ in pairs[len(groups) :]], dtype=np.int64)
        starts = slices([group.n_weights for group in groups])
        at = (group.places + start.start for group, start in zip(groups, starts, strict=True))
        self._at = np.concatenate([_NONE, *at])
        self._rooms = Rooms(
            variances=Room(len(components)),
            weights=Room(sum(group.n_weights for group in groups)),
            entries=Room(sum(group.n_entries for group in groups)),
            sums=Room(len(self._flat)),
        )
        self._kinds = list(_by_kind(groups, X, self._rooms))

    def covariance(self, eta: Array) -> Array:
        """K without noise: its lower triangle, in Fortran order."""
        variances, weights, _, sums = self._rooms
        weights.values[self._at] = np.exp(-2.0 * eta[self._lengths])
        np.exp(eta[self._slots], out=variances.values)
        for kind, units, slopes, parts in self._kinds:
            for part in parts:
                part.fill()
            shape(kind, units, slopes)
            for part in parts:
                part.add_up()
        if len(self._of_constants):
            of_constants = variances.values[-len(self._of_constants) :]
            sums.values[sums.used :] = np.repeat(of_constants, self._of_constants)
        n = self._n
        K: Array = np.bincount(self._flat, sums.values, n * n).astype(float, copy=False)
        return K.reshape((n, n), order="F")

    def pull_back(self, W: Array, eta: Array) -> Array:
        """d sum(W * K) / d eta for a symmetric W, of which the lower triangle is read.

        K is the covariance that was asked for last, with the same eta.
        """
        variances, weights, _, sums = self._rooms
        np.multiply(W.ravel(order="F")[self._flat], self._twice, out=sums.gradient)
        for _, _, _, parts in self._kinds:
            for part in parts:
                part.pull_back()
        if len(self._of_constants):
            starts = sums.used + np.cumsum(self._of_constants) - self._of_constants
            by_constants = np.add.reduceat(sums.gradient, starts)
            variances.gradient[-len(starts) :] = by_constants
        by_length = self._factors * variances.values[self._of_lengths]
        by_length *= weights.values[self._at] * weights.gradient[self._at]
        gradient = np.bincount(self._slots, variances.values * variances.gradient, len(eta))
        return np.asarray(gradient + np.bincount(self._lengths, by_length, len(eta)))


class _OfKind(NamedTuple):
    """All parts of one kind, and their entries."""

    kind: str
    units: Array
    slopes: Array | None
    """None where they are proportional to the units."""
    parts: list[Part | Pool]


def _by_kind(groups: Sequence[Group], X: Array, rooms: Rooms) -> Iterator[_OfKind]:
    for kind, of_kind in groupby(groups, key=lambda group: group.kind):
        start = rooms.entries.used
        parts: list[Part | Pool] = []
        for small, alike in groupby(of_kind, key=lambda group: group.small):
            if small:
                parts.append(Pool(list(alike), X, rooms))
            else:
                parts += [Part(group, X, rooms) for group in alike]
        here = slice(start, rooms.entries.used)
        slopes = None if kind in PROPORTIONAL else rooms.entries.gradient[here]
        yield _OfKind(kind, rooms.entries.values[here], slopes, parts)
