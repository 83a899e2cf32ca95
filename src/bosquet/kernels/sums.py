"""Sums of components on given rows, as few calls on long vectors however many components there are.

`Gram` is the covariance of rows with themselves, as a function of eta; `Cross` that of queries with
rows, as a function of the queries. Both lay the entries of all components out one after the other,
components of one kind together, so that a shape is evaluated once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, pairwise

import numpy as np
import scipy

from bosquet.arrays import Array, Index
from bosquet.kernels.components import Component
from bosquet.kernels.stationary import SHAPES

Member = tuple[Component, Index]
"""A component and the rows where it is active, ascending."""


_CACHED = 1 << 15  # entries of a piece that is shaped at a time: several of them fit in a cache
SUMMED = 1 << 17  # entries of queries that are computed and summed at a time


def _sorted(members: Sequence[Member]) -> list[Member]:
    """By kind, and components of the same rows next to each other, those of one number first."""
    return sorted(members, key=_alike)


def _alike(member: Member) -> tuple[str, bytes, bool]:
    component, rows = member
    kinds = [feature.kind for feature in component.features]
    return component.kind, rows.tobytes(), kinds != ["difference"]


def _slices(sizes: Sequence[int]) -> list[slice]:
    ends = list(accumulate(sizes, initial=0))
    return [slice(a, b) for a, b in pairwise(ends)]


def _kinds(members: Sequence[Member], slices: Sequence[slice]) -> Iterator[tuple[str, slice]]:
    """The stretch of entries of every kind."""
    for kind, group in groupby(range(len(members)), key=lambda i: members[i][0].kind):
        where = list(group)
        yield kind, slice(slices[where[0]].start, slices[where[-1]].stop)


def _shape(kind: str, inside: Array, slope: Array | None = None) -> None:
    """Writes the covariance over what is inside it, and its slope if wanted, piece by piece."""
    if kind in SHAPES:
        step = max(1, _CACHED * len(inside) // max(inside.size, 1))
        for start in range(0, len(inside), step):
            piece = slice(start, start + step)
            inside[piece], by_inside = SHAPES[kind](inside[piece])
            if slope is not None:
                slope[piece] = by_inside
    else:
        inside[:] = 1.0


def _columns(rows: Index) -> Index | slice:
    """The same rows, as a slice where none is left out: an index array is copied twice."""
    whole = len(rows) > 0 and rows[-1] - rows[0] == len(rows) - 1
    return slice(int(rows[0]), int(rows[-1]) + 1) if whole else rows


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
        self._slices = _slices(sizes)
        self._kinds = list(_kinds(members, self._slices))
        self._flat = np.concatenate(flat) if flat else np.zeros(0, dtype=np.int64)
        self._twice = np.concatenate(twice) if twice else np.zeros(0)
        self._variances = np.array([c.variance for c, _ in members], dtype=np.int64)
        lengths = [c.lengths for c, _ in members]
        self._lengths = np.array([slot for slots in lengths for slot in slots], dtype=np.int64)
        self._of_lengths = _slices([len(slots) for slots in lengths])

    def covariance(self, eta: Array) -> tuple[Array, tuple[Array, Array]]:
        """K without noise (lower triangle, Fortran order), and what `pull_back` needs."""
        weights = np.exp(-2.0 * eta[self._lengths])
        size = self._slices[-1].stop if self._slices else 0
        unit, slope = np.empty(size), np.zeros(size)
        for features, stretch, w in zip(
            self._features, self._slices, self._of_lengths, strict=True
        ):
            if w.stop > w.start:
                np.dot(weights[w], features, out=unit[stretch])
        for kind, stretch in self._kinds:
            _shape(kind, unit[stretch], slope[stretch])
        variances = np.exp(eta[self._variances])
        sums = np.empty(len(self._flat))
        for which, entries, pairs in self._groups:
            v = variances[which]
            np.dot(v, unit[entries].reshape(len(v), -1), out=sums[pairs])
        n = self._n
        K: Array = np.bincount(self._flat, sums, minlength=n * n).astype(float, copy=False)
        return K.reshape((n, n), order="F"), (unit, slope)

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


class _Term:
    """One component in a `Cross`: the sum inside its shape, of queries with the rows it has."""

    def __init__(self, component: Component, X: Array, eta: Array) -> None:
        self.size = len(X)
        pairs = list(zip(component.features, component.weights(eta).tolist(), strict=True))
        ordered = [(f.dimension, w) for f, w in pairs if f.kind == "difference"]
        self._dimensions = [dimension for dimension, _ in ordered]
        self._weights = np.array([w for _, w in ordered])
        self._rows = X[:, self._dimensions]
        self._overlaps = [(f, w, X[:, f.dimension]) for f, w in pairs if f.kind == "overlap"]

    def inside(self, X: Array) -> Array:
        """Squared scaled distances: (m, rows)."""
        total = np.zeros((len(X), len(self._rows)))
        if self._dimensions:
            root = np.sqrt(self._weights)
            queries = X[:, self._dimensions]
            total += scipy.spatial.distance.cdist(root * queries, root * self._rows, "sqeuclidean")
        for feature, weight, values in self._overlaps:
            total += weight * feature.distance(X[:, feature.dimension][:, None], values)
        return total

    def summed(self, entries: Array) -> Array:
        """Over components: (m, rows)."""
        return entries

    def add_slope(self, X: Array, weighted: Array, gradient: Array) -> None:
        """Adds d/dx of sum_j weighted[., j] inside[., j], (m, d)."""
        if not self._dimensions:
            return
        pull = X[:, self._dimensions] * weighted.sum(axis=1)[:, None] - weighted @ self._rows
        gradient[:, self._dimensions] += self._weights * (2.0 * pull)


class _Singles:
    """As `_Term`, of components that have one ordered variable each: hundreds at a time."""

    def __init__(self, components: Sequence[Component], X: Array, eta: Array) -> None:
        self.size = len(components) * len(X)
        self._dimensions = [c.features[0].dimension for c in components]
        self._weights = np.array([c.weights(eta)[0] for c in components])
        self._rows = X[:, self._dimensions].T.copy()  # by component

    def inside(self, X: Array) -> Array:
        gap = X[:, self._dimensions][:, :, None] - self._rows
        gap *= gap
        gap *= self._weights[:, None]
        return gap.reshape(len(X), -1)

    def summed(self, entries: Array) -> Array:
        return np.asarray(entries.reshape(len(entries), *self._rows.shape).sum(axis=1))

    def add_slope(self, X: Array, weighted: Array, gradient: Array) -> None:
        weighted = weighted.reshape(len(X), *self._rows.shape)
        pull = X[:, self._dimensions] * weighted.sum(axis=2)
        pull -= np.einsum("mkj,kj->mk", weighted, self._rows)
        np.add.at(gradient.T, self._dimensions, (self._weights * (2.0 * pull)).T)


class Cross:
    """The covariance of queries with n rows, of a sum of components; and its slopes."""

    def __init__(self, members: Sequence[Member], X: Array, eta: Array) -> None:
        self._n = len(X)
        members = _sorted(members)
        sizes = [len(rows) for _, rows in members]
        self._rows = np.concatenate([rows for _, rows in members])
        self._kinds = list(_kinds(members, _slices(sizes)))
        self._v = np.repeat(np.exp(eta[[c.variance for c, _ in members]]), sizes)
        self._terms: list[_Term | _Singles] = []
        self._targets: list[Index | slice] = []
        """Of each term, the rows that it has."""
        for (_, _, several), group in groupby(members, key=_alike):
            components, (rows, *_) = zip(*group, strict=True)
            made: list[_Term | _Singles]
            if several:
                made = [_Term(c, X[rows], eta) for c in components]
            else:
                made = [_Singles(components, X[rows], eta)]
            self._terms += made
            self._targets += [_columns(rows)] * len(made)
        self._entries = _slices([term.size for term in self._terms])
        """Of each term, its entries in those of a query."""

    @property
    def columns(self) -> int:
        """Entries of one query: a row counts once for every component."""
        return len(self._rows)

    def __call__(self, X: Array) -> Array:
        """(m, n)"""
        cross = np.zeros((len(X), self._n))
        step = max(1, SUMMED // max(self.columns, 1))
        for start in range(0, len(X), step):
            piece = slice(start, start + step)
            entries = self._inside(X[piece])
            for kind, stretch in self._kinds:
                _shape(kind, entries[:, stretch])
            entries *= self._v
            self._add(entries, cross[piece])
        return cross

    def with_slopes(self, X: Array) -> tuple[Array, Slopes]:
        """The covariance, and its derivatives by the ordered coordinates of the queries."""
        entries = self._inside(X)
        slope = np.zeros_like(entries)
        for kind, stretch in self._kinds:
            _shape(kind, entries[:, stretch], slope[:, stretch])
        entries *= self._v
        slope *= self._v
        cross = np.zeros((len(X), self._n))
        self._add(entries, cross)
        return cross, Slopes(self, X, slope)

    def _inside(self, X: Array) -> Array:
        """By component and row, the sum inside the shape: (m, columns)."""
        inside = np.empty((len(X), self.columns))
        for term, entries in zip(self._terms, self._entries, strict=True):
            inside[:, entries] = term.inside(X)
        return inside

    def _add(self, entries: Array, cross: Array) -> None:
        """Adds covariances by component and row to those by row."""
        for term, rows, stretch in zip(self._terms, self._targets, self._entries, strict=True):
            cross[:, rows] += term.summed(entries[:, stretch])


class Slopes:
    """d cross / d x, contracted with vectors over the rows rather than written out."""

    def __init__(self, cross: Cross, X: Array, slope: Array) -> None:
        self._cross, self._X, self._slope = cross, X, slope

    def times(self, weights: Array) -> Array:
        """d/dx of sum_j cross[., j] weights[., j]: (m, d); ``weights`` is (n,) or (m, n)."""
        gradient = np.zeros_like(self._X)
        weighted = self._slope * weights[..., self._cross._rows]
        for term, entries in zip(self._cross._terms, self._cross._entries, strict=True):
            term.add_slope(self._X, weighted[:, entries], gradient)
        return gradient
