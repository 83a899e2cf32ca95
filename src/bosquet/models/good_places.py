"""Where good values have been found: a belief about the place of the optimum, beside the model.

Expected improvement likes the ends of ranges: little is known there, so much seems possible, and
with ten variables most of a proposal ends up at a bound. People choose ranges that have the optimum
inside. So a density is joined to the improvement, as in piBO (Hvarfner et al., 2022) to the power
of a weight that falls with the number of trials: what the model is sure of it cannot outvote, and
in the long run it says nothing. As in TPE (Bergstra et al., 2011) the density is learned: of each
ordered variable by itself, one kernel around every good trial and one over the whole range.

    p_j(x) = e + (1 - e) (6 x (1 - x) + sum_i N(x; x_ij, h^2)) / (1 + number of i)

with i over the good trials that have the variable, each normal truncated to the unit interval.
Categories and variables of few values are left to the model: there is no middle of a few values.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

from bosquet.arrays import Array
from bosquet.space import Space
from bosquet.space.tree import Dimension

_FULL = 10.0  # trials up to which the density counts in full
_SHARE = 0.25  # of the trials, the best ones, are good
_LEAST = 3  # good trials
_FLOOR = 0.2  # e
_WIDTH = 0.2  # h
_FEW = 12  # values of a variable that has no middle
_ROOT_2PI = float(np.sqrt(2.0 * np.pi))


class GoodPlaces:
    """The weighted log density of where good values lie."""

    def __init__(self, space: Space, X: Array, y: Array, n_ended: int | None = None) -> None:
        """From evaluated rows and their values, lower being better.

        ``n_ended`` counts the trials that failed as well.
        """
        good = np.argsort(y, kind="stable")[: max(_LEAST, int(np.ceil(_SHARE * len(y))))]
        active = space.activity(X[good])
        self._weight = min(1.0, _FULL / max(n_ended or len(y), 1))
        self._centres = {
            d.index: X[good, d.index][active[:, d.index]]
            for d in space.dimensions
            if _has_middle(d)
        }
        self._node = {index: space.dimensions[index].node for index in self._centres}

    def log_probability(self, X: Array, path: Sequence[int]) -> Array:
        """The weighted log density at rows that lie on one path."""
        return self.log_probability_with_gradient(X, path)[0]

    def log_probability_with_gradient(self, X: Array, path: Sequence[int]) -> tuple[Array, Array]:
        """`log_probability`, and its derivatives by the ordered coordinates: (m, d)."""
        value, gradient = np.zeros(len(X)), np.zeros_like(X)
        for index, centres in self._centres.items():
            if self._node[index] in path:
                density, slope = _density(X[:, index], centres)
                value += self._weight * np.log(density)
                gradient[:, index] = self._weight * slope / density
        return value, gradient


def _has_middle(dimension: Dimension) -> bool:
    parameter = dimension.parameter
    many = parameter.is_continuous or parameter.n_values > _FEW
    return many and not parameter.is_category


def _density(x: Array, centres: Array) -> tuple[Array, Array]:
    """p_j and its slope, at coordinates of one variable."""
    gap = (x[:, None] - centres) / _WIDTH
    inside = scipy.special.ndtr((1.0 - centres) / _WIDTH) - scipy.special.ndtr(-centres / _WIDTH)
    kernels = np.exp(-0.5 * gap**2) / (_ROOT_2PI * _WIDTH * inside)
    total = 6.0 * x * (1.0 - x) + kernels.sum(axis=1)
    slope = 6.0 * (1.0 - 2.0 * x) - (kernels * gap / _WIDTH).sum(axis=1)
    share = (1.0 - _FLOOR) / (1 + len(centres))
    return _FLOOR + share * total, share * slope
