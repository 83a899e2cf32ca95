"""How much wider intervals must be than a fitted model believes.

A model of sixty trials may have sixty hyper-parameters. Fitted to the same trials that it then
explains, it is surer than it should be, and leaving one trial out does not show that: the
hyper-parameters have seen it. So trials are put aside in turn, a part at a time, the model is
fitted again to the others, and its standard deviations are multiplied by what the trials put aside
ask for. What is asked is the very average over hyper-parameters that predictions come from: the
best ones alone are surer by a factor of up to two. As a few trials tell only roughly how many of
them an interval holds, it has to hold one standard error more. Never a factor below one: where
trials lie close together they are easy to predict, which says nothing about the rest of the space.

Glossary (n trials, k hyper-parameters)
    z           targets of the trials: (n,)
    away        how many standard deviations z is above the mean, by each posterior: (k, n)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import ndtr

from bosquet.arrays import Array, Index
from bosquet.models.base import PathPosterior
from bosquet.space import Space

PARTS = 5  # into which trials are divided
FEW = 100  # trials up to which they are divided twice, as few say little
_LEVEL = 0.9  # of the interval that is to hold as many of the trials put aside
_MOST = 5.0  # beyond it a model is of no use anyway
_HALVINGS = 30

Refitted = Callable[[Index], Sequence[tuple[PathPosterior, float]]]
"""The posteriors of some rows alone, which count alike, each with the variance of learned noise."""


def widening(space: Space, X: Array, z: Array, noise: Array, refitted: Refitted) -> float:
    """The factor for standard deviations of the targets ``z``, whose own variances are ``noise``.

    Learned noise counts where a variance is NaN.
    """
    needed = []
    for seed in range(2 if len(z) <= FEW else 1):
        order = np.random.default_rng(seed).permutation(len(z))
        for aside in np.array_split(order, min(PARTS, len(z))):
            away = []
            for posterior, learned in refitted(np.setdiff1d(order, aside)):
                mean, variance = np.empty((2, len(aside)))
                for path, rows in space.tree.rows_by_path(X[aside]).items():
                    mean[rows], variance[rows] = posterior.on_path(path).moments(X[aside][rows])
                variance += np.where(np.isnan(noise[aside]), learned, noise[aside])
                away.append((z[aside] - mean) / np.sqrt(variance))
            needed.append(_needed(np.array(away)))
    share = min(_LEVEL + np.sqrt(_LEVEL * (1.0 - _LEVEL) / len(z)), 1.0)
    return min(max(float(np.quantile(np.concatenate(needed), share)), 1.0), _MOST)


def _needed(away: Array) -> Array:
    """The least factor with which the central interval of all posteriors holds each trial: (n,)."""
    low, high = np.zeros(away.shape[1]), np.full(away.shape[1], 2.0 * _MOST)
    for _ in range(_HALVINGS):
        factor = 0.5 * low + 0.5 * high
        outside = np.abs(ndtr(away / factor).mean(axis=0) - 0.5) > _LEVEL / 2
        low, high = np.where(outside, factor, low), np.where(outside, high, factor)
    return high
