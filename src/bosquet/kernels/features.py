"""How the coordinates of a space enter a covariance: squared distances per feature.

A *feature* is one way to compare two values of a dimension, with a length-scale of its own:

- ``difference``: the squared difference of unit coordinates, for anything with an order;
- ``overlap``: 0 when equal and 1 when not, for categories. Both are squared distances of an
  embedding (a line; the corners of a simplex), so that any covariance of a Euclidean distance
  stays positive definite on their sum.

Ordered values that are few get both: a line smooths over a special value (0 = off), the overlap
sees it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bosquet.arrays import Array, Index
from bosquet.space.tree import Dimension

_FEW = 32  # up to here an ordered discrete dimension also has an overlap


@dataclass(frozen=True)
class Feature:
    """One way to compare two values of a parameter: ``kind`` is ``"difference"`` or ``"overlap"``.

    Args:
        dimension: the column of unit rows that holds the parameter.
        kind: the squared difference, for anything with an order; or 0 when equal and 1 when not.
    """

    dimension: int
    kind: Literal["difference", "overlap"]

    def distances(self, A: Array, B: Array) -> Array:
        """Squared distances between the rows of two unit matrices: (len(A), len(B))."""
        return self.distance(A[:, self.dimension][:, None], B[:, self.dimension])

    def distance(self, a: Array, b: Array) -> Array:
        """Squared distances between unit coordinates, element by element."""
        gap = a - b
        return gap * gap if self.kind == "difference" else (gap != 0.0).astype(float)


def pair_distances(features: Sequence[Feature], X: Array, i: Index, j: Index) -> Array:
    """Squared distances between rows i and j of a unit matrix, pair by pair: (features, pairs)."""
    columns = X.T[[f.dimension for f in features]]
    gaps = columns[:, i] - columns[:, j]
    overlaps = [k for k, f in enumerate(features) if f.kind == "overlap"]
    differ = gaps[overlaps] != 0.0
    gaps *= gaps
    gaps[overlaps] = differ
    return gaps


def features_of(dimension: Dimension) -> tuple[Feature, ...]:
    """The features of one parameter."""
    index, parameter = dimension.index, dimension.parameter
    if parameter.is_category:
        return (Feature(index, "overlap"),)
    if parameter.is_continuous or parameter.n_values > _FEW:
        return (Feature(index, "difference"),)
    return (Feature(index, "difference"), Feature(index, "overlap"))
