"""How much wider intervals must be than a fitted model believes.

A model of sixty trials may have sixty hyper-parameters. Fitted to the same trials that it then
explains, it is surer than it should be, and leaving one trial out does not show that: the
hyper-parameters have seen it. So trials are put aside in turn, a part at a time, the model is
fitted again to the others, and its standard deviations are multiplied by what the trials put aside
ask for. Never by less than one: where trials lie close together they are easy to predict, which
says nothing about the rest of the space.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy

from bosquet.arrays import Array, Index
from bosquet.models.base import PathPosterior
from bosquet.space import Space

PARTS = 5  # into which trials are divided
_LEVEL = 0.9  # of the interval that is to hold as many of the trials put aside
_MOST = 5.0  # beyond it a model is of no use anyway


def widening(
    space: Space,
    X: Array,
    z: Array,
    noise: Array,
    refitted: Callable[[Index], tuple[PathPosterior, float]],
) -> float:
    """The factor for standard deviations of the targets ``z``, whose own variances are ``noise``.

    ``refitted`` gives the posterior of some rows alone, and the variance of learned noise; it
    counts where a variance is NaN.
    """
    order = np.random.default_rng(0).permutation(len(z))
    away = np.empty(len(z))  # in standard deviations
    for aside in np.array_split(order, min(PARTS, len(z))):
        posterior, learned = refitted(np.setdiff1d(order, aside))
        mean, variance = np.empty((2, len(aside)))
        for path, rows in space.tree.rows_by_path(X[aside]).items():
            mean[rows], variance[rows] = posterior.on_path(path).moments(X[aside][rows])
        variance += np.where(np.isnan(noise[aside]), learned, noise[aside])
        away[aside] = np.abs(z[aside] - mean) / np.sqrt(variance)
    needed = float(np.quantile(away, _LEVEL)) / float(scipy.special.ndtri(0.5 + _LEVEL / 2))
    return min(max(needed, 1.0), _MOST)
