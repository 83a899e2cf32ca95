"""The covariance of queries with given rows, of a sum of components, and its slopes.

Glossary (m queries, n rows)
    entries  (m, columns)  by component and row, components of one kind one after the other
    inside   the entries before a shape is applied: squared distances in length-scales

Constants have no entries: they add the same to every query.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby

import numpy as np
import scipy

from bosquet.arrays import Array, Index
from bosquet.kernels.components import Component
from bosquet.kernels.sums import Member, on_rows, shape, slices

SUMMED = 1 << 17  # entries of queries that are computed and summed at a time
_ENOUGH = 4  # components of one ordered variable and the same rows, to be taken together
TOGETHER = 1 << 16  # differences by feature, up to which fewer calls count for more than their sum


_Sum = tuple[Array, Array]
"""Weights of the rows, (n,) or (m, n), and the gradient that is added to, (m, d)."""


class Singles:
    """Components of one kind and the same rows that have one ordered variable each."""

    def __init__(self, members: Sequence[Member], X: Array, eta: Array) -> None:
        components, (rows, *_) = zip(*members, strict=True)
        self.size = len(members) * len(rows)
        self._kind = components[0].kind
        self._at, self.variances = _columns(rows), _variances(components, eta)
        self._dimensions = [c.features[0].dimension for c in components]
        self._root = np.sqrt([c.weights(eta)[0] for c in components])
        self._rows = (self._root * X[rows][:, self._dimensions]).T.copy()  # by component

    def summed_by(self, _: int) -> Sequence[Singles]:
        return (self,)

    def inside(self, X: Array, out: Array) -> None:
        gap = out.reshape(len(X), *self._rows.shape)
        np.subtract((self._root * X[:, self._dimensions])[:, :, None], self._rows, out=gap)
        gap *= gap

    def add(self, entries: Array, cross: Array) -> None:
        """Adds covariances by component and row to those by row."""
        cross[:, self._at] += self.variances @ entries.reshape(len(entries), *self._rows.shape)

    def add_slope(self, X: Array, slope: Array, sums: Sequence[_Sum]) -> None:
        """Adds d/dx of sum_j cross[., j] weights[., j], (m, d), for each of some weights."""
        slope = slope.reshape(len(X), *self._rows.shape)
        queries = self._root * X[:, self._dimensions]
        for weights, gradient in sums:
            weighted = slope * weights[..., None, self._at]
            pull = queries * weighted.sum(axis=2)
            pull -= np.einsum("mkj,kj->mk", weighted, self._rows)
            np.add.at(gradient.T, self._dimensions, ((2.0 * self._root * self.variances) * pull).T)

    def of_each(self, queries: Sequence[Array], n: int) -> Iterator[tuple[Index, Array]]:
        """Of every component at queries of its own, its covariance with all of n rows.

        Some queries at a time: (m,) of which component, (m, n).
        """
        which = np.repeat(np.arange(len(queries)), [len(X) for X in queries])
        pairs = zip(queries, self._dimensions, strict=True)
        x = self._root[which] * np.concatenate([X[:, dimension] for X, dimension in pairs])
        step = max(1, SUMMED // max(n, 1))
        for start in range(0, len(x), step):
            of_component = which[start : start + step]
            entries = x[start : start + step, None] - self._rows[of_component]
            entries *= entries
            shape(self._kind, entries)
            entries *= self.variances[of_component, None]
            cross = np.zeros((len(entries), n))
            cross[:, self._at] = entries
            yield of_component, cross


class _Term:
    """One component, of any features."""

    def __init__(self, member: Member, X: Array, eta: Array) -> None:
        component, rows = member
        self.size = len(rows)
        self._at, (self._v,) = _columns(rows), _variances([component], eta)
        pairs = list(zip(component.features, component.weights(eta).tolist(), strict=True))
        ordered = [(f.dimension, w) for f, w in pairs if f.kind == "difference"]
        self._dimensions = [dimension for dimension, _ in ordered]
        self._root = np.sqrt([w for _, w in ordered])
        self._rows = self._root * X[rows][:, self._dimensions]
        # Of each value that a category has in the rows: which it is, and the rows that have it. A
        # query differs from these if it has another value, which one matrix product adds up.
        values = [
            (f.dimension, w, value)
            for f, w in pairs
            if f.kind == "overlap"
            for value in np.unique(X[rows, f.dimension]).tolist()
        ]
        self._categories = [dimension for dimension, _, _ in values]
        self._differing = np.array([w for _, w, _ in values])
        self._values = np.array([value for _, _, value in values])
        self._having = (X[rows][:, self._categories] == self._values).astype(float).T

    def inside(self, X: Array, out: Array) -> None:
        ordered = self._root * X[:, self._dimensions]
        out[:] = scipy.spatial.distance.cdist(ordered, self._rows, "sqeuclidean")
        if self._categories:
            other = X[:, self._categories] != self._values
            out += (other * self._differing) @ self._having

    def add(self, entries: Array, cross: Array) -> None:
        cross[:, self._at] += self._v * entries

    def add_slope(self, X: Array, slope: Array, sums: Sequence[_Sum]) -> None:
        if not self._dimensions:
            return
        queries = self._root * X[:, self._dimensions]
        for weights, gradient in sums:
            weighted = slope * weights[..., self._at]
            pull = queries * weighted.sum(axis=1)[:, None] - weighted @ self._rows
            gradient[:, self._dimensions] += (2.0 * self._v * self._root) * pull


class _Terms:
    """Components of any features and any rows: where these are few, all of them in a few calls."""

    def __init__(self, members: Sequence[Member], X: Array, eta: Array) -> None:
        self._given = members, X, eta
        sizes = [len(rows) for _, rows in members]
        self.size = sum(sizes)
        self._entries = slices(sizes)
        components = [component for component, _ in members]
        self._v = _variances(components, eta)
        features = list(dict.fromkeys(f for c in components for f in c.features))
        features.sort(key=lambda f: f.kind)  # differences first
        place = {feature: i for i, feature in enumerate(features)}
        self._weights = np.zeros((len(features), len(components)))
        for i, component in enumerate(components):
            at = [place[feature] for feature in component.features]
            np.add.at(self._weights[:, i], at, component.weights(eta))
        self._dimensions = [f.dimension for f in features]
        self._ordered = sum(f.kind == "difference" for f in features)
        self._rows = X[:, self._dimensions]
        # Of each entry its place in (n, components).
        self._at = np.concatenate([i + len(members) * rows for i, (_, rows) in enumerate(members)])

    @cached_property
    def _apart(self) -> list[tuple[_Term, slice]]:
        members, X, eta = self._given
        terms = [_Term(member, X, eta) for member in members]
        return list(zip(terms, self._entries, strict=True))

    def summed_by(self, n: int) -> Sequence[_Terms | _Term]:
        """What is to be evaluated for n queries: where they are many, one term after the other."""
        return (self,) if self._few(n) else [term for term, _ in self._apart]

    def _few(self, n: int) -> bool:
        return len(self._v) > 1 and n * self._rows.size <= TOGETHER

    def inside(self, X: Array, out: Array) -> None:
        if not self._few(len(X)):
            for term, entries in self._apart:
                term.inside(X, out[:, entries])
            return
        distances = np.empty((len(X), *self._rows.shape))
        queries, k = X[:, None, self._dimensions], self._ordered
        np.subtract(queries[..., :k], self._rows[:, :k], out=distances[..., :k])
        distances[..., :k] *= distances[..., :k]
        np.not_equal(queries[..., k:], self._rows[:, k:], out=distances[..., k:])
        everywhere = distances.reshape(-1, distances.shape[-1]) @ self._weights
        np.take(everywhere.reshape(len(X), -1), self._at, axis=1, out=out, mode="clip")

    def add(self, entries: Array, cross: Array) -> None:
        if self._few(len(entries)):
            cross += self._by_row(entries) @ self._v
        else:
            for term, stretch in self._apart:
                term.add(entries[:, stretch], cross)

    def add_slope(self, X: Array, slope: Array, sums: Sequence[_Sum]) -> None:
        if not self._few(len(X)):
            for term, stretch in self._apart:
                term.add_slope(X, slope[:, stretch], sums)
            return
        k = self._ordered
        dimensions = self._dimensions[:k]
        by_feature = self._by_row(slope) @ (2.0 * self._v * self._weights[:k]).T
        by_feature *= X[:, None, dimensions] - self._rows[:, :k]
        for weights, gradient in sums:
            gradient[:, dimensions] += (weights[..., None, :] @ by_feature)[:, 0]

    def _by_row(self, entries: Array) -> Array:
        """Zero where a component is not active: (m, n, components)."""
        found = np.zeros((len(entries), len(self._rows) * len(self._v)))
        found[:, self._at] = entries
        return found.reshape(len(entries), len(self._rows), -1)


class Cross:
    """The covariance of queries with n rows, of a sum of components; and its slopes."""

    def __init__(self, members: Sequence[Member], X: Array, eta: Array) -> None:
        members, self._level = on_rows(members), np.zeros(len(X))
        for component, rows in members:
            if component.kind == "constant":
                self._level[rows] += np.exp(eta[component.variance])
        shaped = [member for member in members if member[0].kind != "constant"]
        parts: list[Singles | _Terms] = []
        kinds: list[str] = []
        for kind, group in groupby(sorted(shaped, key=_kind), key=_kind):
            of_kind: list[Singles | _Terms] = list(_parts(list(group), X, eta))
            parts += of_kind
            kinds += [kind] * len(of_kind)
        self._parts = list(zip(kinds, parts, slices([part.size for part in parts]), strict=True))

    @property
    def columns(self) -> int:
        """Entries of one query: a row counts once for every component but constants."""
        return self._parts[-1][2].stop if self._parts else 0

    def __call__(self, X: Array) -> Array:
        """(m, n)"""
        cross = np.empty((len(X), len(self._level)))
        cross[:] = self._level
        terms = [(kind, one) for kind, part, _ in self._parts for one in part.summed_by(len(X))]
        # Kept from one to the next: fresh memory costs more than what is computed.
        largest = max((one.size for _, one in terms), default=0)
        room = np.empty(min(max(SUMMED, largest), len(X) * largest))
        for kind, one in terms:
            _add_up(kind, one, X, cross, room)
        return cross

    def with_slopes(self, X: Array) -> tuple[Array, Slopes]:
        """The covariance, and its derivatives by the ordered coordinates of the queries."""
        cross = np.empty((len(X), len(self._level)))
        cross[:] = self._level
        room, slope = np.empty((2, len(X), self.columns))
        for kind, part, stretch in self._parts:
            entries = room[:, stretch]
            part.inside(X, entries)
            shape(kind, entries, slope[:, stretch])
            part.add(entries, cross)
        return cross, Slopes(self, X, slope)


class Slopes:
    """d cross / d x, contracted with vectors over the rows rather than written out."""

    def __init__(self, cross: Cross, X: Array, slope: Array) -> None:
        self._parts, self._X, self._slope = cross._parts, X, slope

    def times(self, *weights: Array) -> list[Array]:
        """d/dx of sum_j cross[., j] weights[., j]: (m, d), for weights that are (n,) or (m, n)."""
        sums = [(one, np.zeros_like(self._X)) for one in weights]
        for _, part, stretch in self._parts:
            part.add_slope(self._X, self._slope[:, stretch], sums)
        return [gradient for _, gradient in sums]


def _add_up(kind: str, part: Singles | _Terms | _Term, X: Array, cross: Array, room: Array) -> None:
    """Adds the covariances of queries with rows, some queries at a time."""
    step = max(1, min(SUMMED // part.size, len(X)))
    for start in range(0, len(X), step):
        queries = X[start : start + step]
        entries = room[: len(queries) * part.size].reshape(len(queries), part.size)
        part.inside(queries, entries)
        shape(kind, entries)
        part.add(entries, cross[start : start + step])


def _parts(members: Sequence[Member], X: Array, eta: Array) -> Iterator[Singles | _Terms]:
    """Components of one kind: those of one ordered variable where they are many, and the others."""
    simple: dict[bytes, list[Member]] = {}
    others: list[Member] = []
    for member in members:
        if member[0].is_single:
            simple.setdefault(member[1].tobytes(), []).append(member)
        else:
            others.append(member)
    for group in simple.values():
        if len(group) >= _ENOUGH:
            yield Singles(group, X, eta)
        else:
            others += group
    if others:
        yield _Terms(others, X, eta)


def _kind(member: Member) -> str:
    return member[0].kind


def _variances(components: Sequence[Component], eta: Array) -> Array:
    return np.exp(eta[[component.variance for component in components]])


def _columns(rows: Index) -> Index | slice:
    """The same rows, as a slice where none is left out: an index array is copied twice."""
    whole = len(rows) > 0 and rows[-1] - rows[0] == len(rows) - 1
    return slice(int(rows[0]), int(rows[-1]) + 1) if whole else rows
