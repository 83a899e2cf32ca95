"""CART, the regression tree of treed Gaussian processes (Assael, Wang & de Freitas, 2014).

Glossary (n rows of d unit coordinates; a cell is a node of the tree)
    U(A)     mean squared deviation of the targets in cell A; I is what a split takes away, Eq. (1)
    path     the cells from the root, which holds everything, down to a leaf

A threshold is put at an observed value, and what lies there belongs to both children (Figure 1): a
leaf knows the function at its edges. On conditional spaces a cell may be split by a variable that
exists on every path that the cell still allows; so branching choices come first, by option.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from bosquet.arrays import Array, Bools, Index
from bosquet.space import Space

_ROUNDING = 1e-12  # of U, and of targets: a gain below it is none


@dataclass(frozen=True)
class Cell:
    """A node of the tree: a box of unit coordinates, closed on both sides, and what is in it."""

    lower: Array
    upper: Array
    allowed: Mapping[int, tuple[int, ...]]
    """By dimension of a category, its options; all of them where it is not named."""
    rows: Index

    def sure(self, space: Space, node: int) -> bool:
        """Whether a node of the space is active everywhere in the cell."""
        return all(
            set(self.allowed.get(link.choice, range(space.tree.choice(link.choice).n_values)))
            <= set(link.options)
            for link in space.tree.conditions(node)
        )


@dataclass(frozen=True)
class Split:
    """x <= threshold goes left, x >= threshold right; or one option left, all others right."""

    dimension: int
    threshold: float
    option: int | None = None

    def sides(self, space: Space, X: Array) -> tuple[Bools, Bools]:
        """Which rows belong to the children; those at a threshold to both."""
        x = X[:, self.dimension]
        if self.option is None:
            return x <= self.threshold, x >= self.threshold
        left = space.tree.choice(self.dimension).option_index(x) == self.option
        return left, ~left

    def cut(self, space: Space, cell: Cell, X: Array) -> tuple[Cell, Cell]:
        left, right = (cell.rows[side] for side in self.sides(space, X[cell.rows]))
        k = self.dimension
        if self.option is None:
            upper, lower = cell.upper.copy(), cell.lower.copy()
            upper[k] = lower[k] = self.threshold
            return replace(cell, upper=upper, rows=left), replace(cell, lower=lower, rows=right)
        options = cell.allowed.get(k, tuple(range(space.tree.choice(k).n_values)))
        others = tuple(option for option in options if option != self.option)
        return (
            replace(cell, allowed={**cell.allowed, k: (self.option,)}, rows=left),
            replace(cell, allowed={**cell.allowed, k: others}, rows=right),
        )


@dataclass(frozen=True)
class CartLeaf:
    path: tuple[Cell, ...]

    @property
    def cell(self) -> Cell:
        return self.path[-1]

    @property
    def weights(self) -> Array:
        """w_i of the cells of the path, from the root down to the leaf, which has weight 1."""
        size = np.array([len(cell.rows) for cell in self.path])
        above = np.arange(len(self.path))[::-1]  # depth_j - depth_i
        return np.asarray(size[-1] / size / (1.0 + above))

    def nested(self, most: int | None = None) -> tuple[Index, Array]:
        """The rows of the path, those of the leaf first; and of each the sum of its cells' w_i.

        Where there are more than ``most`` rows, the leaf keeps up to half of that number, and what
        each cell has beside the next smaller one an equal share of the rest: rows at even distances
        in the order of trials. A cell then counts as if it were as large as before.
        """
        inner = [np.zeros(0, np.int64), *(cell.rows for cell in reversed(self.path))]
        rings = [np.setdiff1d(rows, less) for less, rows in pairwise(inner)]
        if most is not None and len(self.path[0].rows) > most:
            share = max(most // 2 // max(len(rings) - 1, 1), 1)
            rings = [thinned(rings[0], most // 2), *(thinned(ring, share) for ring in rings[1:])]
        sizes = np.cumsum([len(ring) for ring in rings])
        weights = len(self.cell.rows) / sizes / (1.0 + np.arange(len(rings)))
        shares = np.cumsum(weights[::-1])[::-1]
        return np.concatenate(rings), np.repeat(shares, [len(ring) for ring in rings])


def thinned(rows: Index, most: int) -> Index:
    """At most so many of the rows, at even distances."""
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).round().astype(np.int64)]


@dataclass(frozen=True)
class _Branch:
    split: Split
    children: tuple[_Branch | int, _Branch | int]
    """Further splits, or the index of a leaf."""


class Cart:
    """A regression tree on the rows of a space, with at least ``least`` of them in every leaf."""

    def __init__(self, space: Space, X: Array, y: Array, least: int = 5) -> None:
        if least < 1:
            raise ValueError(f"least={least} must be at least 1 row in a leaf")
        self._space, self._X, self._y, self._least = space, X, y, least
        self.leaves: list[CartLeaf] = []
        d = len(space)
        root = Cell(np.zeros(d), np.ones(d), {}, np.arange(len(y)))
        self._root = self._grow((root,))

    def _grow(self, path: tuple[Cell, ...]) -> _Branch | int:
        split = self._best(path[-1])
        if split is None:
            self.leaves.append(CartLeaf(path))
            return len(self.leaves) - 1
        left, right = split.cut(self._space, path[-1], self._X)
        return _Branch(split, (self._grow((*path, left)), self._grow((*path, right))))

    def _best(self, cell: Cell) -> Split | None:
        """The split with the highest I of Eq. (1), if that is positive."""
        y = self._y[cell.rows]
        rounding = _ROUNDING * float(np.max(np.abs(y)))
        y = y - y.mean()
        best, least = None, (1.0 - _ROUNDING) * float(np.mean(y**2)) - rounding**2
        for split, left in self._splits(cell, y):
            if left < least:
                best, least = split, left
        return best

    def _splits(self, cell: Cell, y: Array) -> Iterator[tuple[Split, float]]:
        """What may split a cell into smaller ones, and what that leaves of its U."""
        for d in self._space.dimensions:
            if not cell.sure(self._space, d.node):
                continue
            x = self._X[cell.rows, d.index]
            if d.parameter.is_category or d.parameter.is_branching:
                taken = self._space.tree.choice(d.index).option_index(x)
                for option in np.unique(taken):
                    left = taken == option
                    if min(left.sum(), (~left).sum()) >= self._least:
                        rest = len(y[left]) * np.var(y[left]) + len(y[~left]) * np.var(y[~left])
                        yield Split(d.index, 0.0, int(option)), float(rest) / len(y)
            else:
                yield from self._thresholds(d.index, x, y)

    def _thresholds(self, index: int, x: Array, y: Array) -> Iterator[tuple[Split, float]]:
        """The best threshold of one coordinate."""
        order = np.argsort(x, kind="stable")
        values, first = np.unique(x[order], return_index=True)
        n, n_right = len(y), len(y) - first  # rows at or above each value
        n_left = np.append(first[1:], n)  # rows at or below it
        sums = [np.concatenate([[0.0], np.cumsum(y[order] ** power)]) for power in (1, 2)]
        below, above = ([s[n_left] for s in sums], [s[-1] - s[first] for s in sums])
        # |A| U(A) = sum of squares - (sum)^2 / |A|
        rest = below[1] - below[0] ** 2 / n_left + above[1] - above[0] ** 2 / n_right
        fits = (np.minimum(n_left, n_right) >= self._least) & (np.maximum(n_left, n_right) < n)
        if fits.any():
            at = int(np.argmin(np.where(fits, rest, np.inf)))
            yield Split(index, float(values[at])), float(rest[at]) / n

    def leaf_of(self, X: Array) -> Index:
        """The index of each row's leaf; at a threshold the left one."""
        found = np.empty(len(X), dtype=np.int64)

        def descend(branch: _Branch | int, rows: Index) -> None:
            if isinstance(branch, int):
                found[rows] = branch
                return
            left = branch.split.sides(self._space, X[rows])[0]
            descend(branch.children[0], rows[left])
            descend(branch.children[1], rows[~left])

        descend(self._root, np.arange(len(X)))
        return found

    def distances(self, leaf: CartLeaf) -> Array:
        """Squared distances of all rows from the box of a leaf; another option is 1 away."""
        cell = leaf.cell
        outside = np.maximum(np.maximum(cell.lower - self._X, self._X - cell.upper), 0.0)
        for index, options in cell.allowed.items():
            option = self._space.tree.choice(index).option_index(self._X[:, index])
            outside[:, index] = ~np.isin(option, options)
        distances = np.einsum("ij,ij->i", outside, outside)
        distances[cell.rows] = -1.0  # first in any case
        return np.asarray(distances)
