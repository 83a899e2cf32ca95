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
from functools import cache
from typing import NamedTuple

import numpy as np
import scipy

from bosquet.arrays import Array, Index
from bosquet.space import Space
from bosquet.space.tree import Dimension

_FULL = 10.0  # trials up to which the density counts in full
_SHARE = 0.25  # of the trials, the best ones, are good
_LEAST, _MOST = 3, 25  # good trials; TPE has no more of them either
_FLOOR = 0.2  # e
_WIDTH = 0.2  # h
_FEW = 12  # values of a variable that has no middle
_CACHED = 1 << 16  # kernels that are computed at a time
_ROOT_2PI = float(np.sqrt(2.0 * np.pi))


class GoodPlaces:
    """The weighted log density of where good values lie."""

    def __init__(self, space: Space, X: Array, y: Array, n_ended: int | None = None) -> None:
        """From evaluated rows and their values, lower being better.

        ``n_ended`` counts the trials that failed as well.
        """
        most = max(_LEAST, min(int(np.ceil(_SHARE * len(y))), _MOST))
        good = np.argsort(y, kind="stable")[:most]
        ordered = [d for d in space.dimensions if _has_middle(d)]
        self._weight = min(1.0, _FULL / max(n_ended or len(y), 1))
        self._nodes = [d.node for d in ordered]
        self._indices = np.array([d.index for d in ordered], dtype=np.int64)
        centres = X[np.ix_(good, self._indices)].T
        known = space.activity(X[good])[:, self._indices].T
        inside = scipy.special.ndtr((1.0 - centres) / _WIDTH) - scipy.special.ndtr(
            -centres / _WIDTH
        )
        self._centres = centres / _WIDTH
        self._height = known / (_ROOT_2PI * _WIDTH * inside)
        self._share = (1.0 - _FLOOR) / (1 + known.sum(axis=1))
        self._on = cache(self._variables_on)

    def _variables_on(self, path: tuple[int, ...]) -> _Variables:
        own = np.array([node in path for node in self._nodes], dtype=bool)
        return _Variables(
            self._indices[own], self._centres[own], self._height[own], self._share[own]
        )

    def log_probability(self, X: Array, path: Sequence[int]) -> Array:
        """The weighted log density at rows that lie on one path."""
        own = self._on(tuple(path))
        density = np.empty((len(X), len(own.indices)))
        step = max(_CACHED // max(own.centres.size, 1), 1)
        for start in range(0, len(X), step):
            piece = slice(start, start + step)
            density[piece] = own.density(X[piece, own.indices])[0]
        return np.asarray(self._weight * np.log(density, out=density).sum(axis=1))

    def log_probability_with_gradient(self, X: Array, path: Sequence[int]) -> tuple[Array, Array]:
        """`log_probability`, and its derivatives by the ordered coordinates: (m, d)."""
        own = self._on(tuple(path))
        x = X[:, own.indices]
        density, gap, kernels = own.density(x)
        kernels *= gap
        slope = 6.0 * (1.0 - 2.0 * x) - np.einsum("mki,ki->mk", kernels, own.height) / _WIDTH
        gradient = np.zeros_like(X)
        gradient[:, own.indices] = self._weight * own.share * slope / density
        return np.asarray(self._weight * np.log(density).sum(axis=1)), gradient


class _Variables(NamedTuple):
    """Those of one path, k of them."""

    indices: Index
    centres: Array
    """Of the kernels of i good trials, in their widths: (k, i)."""
    height: Array
    share: Array

    def density(self, x: Array) -> tuple[Array, Array, Array]:
        """p_j at coordinates (m, k); distances from centres and kernels of height one."""
        gap = (x / _WIDTH)[:, :, None] - self.centres
        kernels = gap * gap
        kernels *= -0.5
        np.exp(kernels, out=kernels)
        total = 6.0 * x * (1.0 - x) + np.einsum("mki,ki->mk", kernels, self.height)
        return _FLOOR + self.share * total, gap, kernels


def _has_middle(dimension: Dimension) -> bool:
    parameter = dimension.parameter
    many = parameter.is_continuous or parameter.n_values > _FEW
    return many and not parameter.is_category
