"""How the entries of a `Gram` lie in memory, and what is computed with them part by part.

Glossary
    room      memory of which views are taken one behind the other, and as much for the gradient
    weights   1 / l^2 of the features of components
    lump      components of a group whose squared distances are one product with their weights

Other terms are those of `gram`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from bosquet.arrays import Array, Index
from bosquet.kernels.components import Component
from bosquet.kernels.features import Feature, pair_distances
from bosquet.kernels.stationary import PROPORTIONAL
from bosquet.kernels.sums import CACHED, Member

SMALL = 1 << 9  # squared distances of a group that shares its calls with others
ZEROS = 1 << 13  # products with zero, up to which one call instead of two is faster


class Room:
    def __init__(self, size: int) -> None:
        self.values, self.gradient = np.zeros((2, size))
        self.used = 0

    def take(self, *shape: int) -> tuple[Array, Array]:
        start, self.used = self.used, self.used + int(np.prod(shape))
        here = slice(start, self.used)
        return self.values[here].reshape(shape), self.gradient[here].reshape(shape)


class Rooms(NamedTuple):
    variances: Room
    """By component."""
    weights: Room
    entries: Room
    """Their slopes take the place of a gradient."""
    sums: Room
    """Of the covariance, by pair; those of small groups by component and pair."""


class Pairs:
    """The pairs of rows; components that are active on the same rows have the same."""

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[Index, Index]] = {}

    def __call__(self, rows: Index) -> tuple[Index, Index]:
        key = rows.tobytes()
        if key not in self._known:
            i, j = np.tril_indices(len(rows))
            self._known[key] = rows[i], rows[j]
        return self._known[key]


class Group:
    """Components of one kind that are active on the same rows."""

    def __init__(self, members: Sequence[Member], pairs_of: Pairs) -> None:
        self.components = [component for component, _ in members]
        self.kind: str = self.components[0].kind
        self.pairs = i, j = pairs_of(members[0][1])
        self.n_entries = len(members) * len(i)
        n_lengths = sum(len(c.lengths) for c in self.components)
        self.small = n_lengths * len(i) <= SMALL
        if self.small:
            self.lumps = []
            self.summed = np.tile(i, len(members)), np.tile(j, len(members))
            self.n_weights, self.places = n_lengths, np.arange(n_lengths)
        else:
            self.lumps = list(_lumps(self.components, len(i)))
            self.summed = i, j
            ends = np.cumsum([lump.size for lump in self.lumps])
            self.n_weights = int(ends[-1])
            starts = [0, *ends[:-1].tolist()]
            pairs = zip(self.lumps, starts, strict=True)
            self.places = np.concatenate([lump.places + start for lump, start in pairs])
        """Where the weights of one component after the other stand among those of the group."""


class Pool:
    """Small groups of one kind: a sum over the features of every entry."""

    def __init__(self, groups: Sequence[Group], X: Array, rooms: Rooms) -> None:
        distances, of_weight, sizes, features = [], [], [], []
        n_weights = 0
        for group in groups:
            n_pairs = len(group.pairs[0])
            for component in group.components:
                d = len(component.features)
                distances.append(pair_distances(component.features, X, *group.pairs).T.ravel())
                of_weight.append(np.tile(np.arange(n_weights, n_weights + d), n_pairs))
                n_weights += d
                sizes.append(n_pairs)
                features.append(np.full(n_pairs, d))
        self._distances, self._of_weight = np.concatenate(distances), np.concatenate(of_weight)
        per_entry = np.concatenate(features)
        self._of_entry = np.repeat(np.arange(len(per_entry)), per_entry)
        self._of_component = np.repeat(np.arange(len(sizes)), sizes)
        self._starts: Index = np.cumsum(per_entry) - per_entry
        self._first: Index = np.cumsum(sizes) - np.array(sizes)
        self._variances, self._by_variance = rooms.variances.take(len(sizes))
        self._weights, self._by_weight = rooms.weights.take(n_weights)
        self._units, slopes = rooms.entries.take(len(per_entry))
        self._slopes = self._units if groups[0].kind in PROPORTIONAL else slopes
        self._sums, self._by_pair = rooms.sums.take(len(per_entry))

    def fill(self) -> None:
        weighted = self._weights[self._of_weight]
        weighted *= self._distances
        np.add.reduceat(weighted, self._starts, out=self._units)

    def add_up(self) -> None:
        np.multiply(self._variances[self._of_component], self._units, out=self._sums)

    def pull_back(self) -> None:
        np.add.reduceat(self._units * self._by_pair, self._first, out=self._by_variance)
        weighted = (self._slopes * self._by_pair)[self._of_entry]
        weighted *= self._distances
        self._by_weight[:] = np.bincount(self._of_weight, weighted, len(self._weights))


class Part:
    """One group: matrix products of features and weights."""

    def __init__(self, group: Group, X: Array, rooms: Rooms) -> None:
        n, n_pairs = len(group.components), len(group.pairs[0])
        self._variances, self._by_variance = rooms.variances.take(n)
        self._units, slopes = rooms.entries.take(n, n_pairs)
        self._slopes = self._units if group.kind in PROPORTIONAL else slopes
        self._room = np.empty((min(max(CACHED // n_pairs, 1), n), n_pairs))
        self._sums, self._by_pair = rooms.sums.take(n_pairs)
        # A feature that several lumps have is computed once.
        features = list(dict.fromkeys(name for lump in group.lumps for name in lump.features))
        place = {name: i for i, name in enumerate(features)}
        distances = pair_distances([feature for feature, _ in features], X, *group.pairs)
        self._products = [
            _Product(
                lump.single,
                *rooms.weights.take(*lump.shape),
                distances[_together([place[name] for name in lump.features])],
                self._units[lump.rows],
                self._slopes[lump.rows],
            )
            for lump in group.lumps
        ]

    def fill(self) -> None:
        for single, weights, _, features, inside, _ in self._products:
            (np.multiply if single else np.dot)(weights, features, out=inside)

    def add_up(self) -> None:
        np.dot(self._variances, self._units, out=self._sums)

    def pull_back(self) -> None:
        np.dot(self._units, self._by_pair, out=self._by_variance)
        for single, _, by_weight, features, _, slopes in self._products:
            for start in range(0, len(slopes), len(self._room)):  # what is in the cache at a time
                some = slice(start, start + len(self._room))
                room = self._room[: len(slopes[some])]
                weighted = np.multiply(slopes[some], self._by_pair, out=room)
                if single:
                    np.einsum("cp,cp->c", weighted, features[some], out=by_weight[some, 0])
                else:
                    np.dot(weighted, features.T, out=by_weight[some])


class _Product(NamedTuple):
    """A lump of components, and what is computed for it."""

    single: bool
    weights: Array
    by_weight: Array
    """(components, columns)"""
    features: Array
    """(features, pairs) squared distances."""
    inside: Array
    slopes: Array
    """(components, pairs), rows of those of the part."""


class _Lump:
    """Components of a group, ``rows`` of it; their weights are a matrix."""

    def __init__(self, components: Sequence[Component], first: int) -> None:
        self.rows = slice(first, first + len(components))
        named = [_numbered(component) for component in components]
        self.features = [name for names in named for name in names]
        self.single = all(len(names) == 1 for names in named)
        """Whether each has one feature, by itself: the matrix then has one column."""
        if self.single:
            self.shape = len(named), 1
            self.places = np.arange(len(named))
        else:  # zero where a component lacks a feature
            column = {name: i for i, name in enumerate(dict.fromkeys(self.features))}
            row = np.repeat(np.arange(len(named)), [len(names) for names in named])
            self.shape = len(named), len(column)
            self.places = row * len(column) + np.array([column[name] for name in self.features])
            self.features = list(column)
        self.size = self.shape[0] * self.shape[1]


def _lumps(components: Sequence[Component], n_pairs: int) -> Iterator[_Lump]:
    """Components in their order; they are joined where little is multiplied with zero."""
    first, used, distinct = 0, 0, set[Feature]()
    for i, component in enumerate(components):
        joined = distinct.union(component.features)
        zeros = (i + 1 - first) * len(joined) - used - len(component.features)
        singles = used == i - first and len(component.features) == 1
        if i > first and not singles and zeros * n_pairs > ZEROS:
            yield _Lump(components[first:i], first)
            first, used, joined = i, 0, set(component.features)
        distinct = joined
        used += len(component.features)
    yield _Lump(components[first:], first)


def _numbered(component: Component) -> list[tuple[Feature, int]]:
    """The features; one that comes up again is another one."""
    return [(f, component.features[:i].count(f)) for i, f in enumerate(component.features)]


def _together(places: list[int]) -> list[int] | slice:
    """A slice where they follow each other: a view, not a copy."""
    first = places[0]
    follow = places == list(range(first, first + len(places)))
    return slice(first, first + len(places)) if follow else places


def in_order(member: Member) -> tuple[str, bytes, int, list[int]]:
    """By kind and rows; larger ones first, so that the others find their features in theirs."""
    component, rows = member
    dimensions = [feature.dimension for feature in component.features]
    return component.kind, rows.tobytes(), -len(dimensions), dimensions


def place(member: Member) -> tuple[str, bytes]:
    component, rows = member
    return component.kind, rows.tobytes()
