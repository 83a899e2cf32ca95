"""How much wider intervals must be than a fitted model believes, and new bests less likely.

A model of sixty trials may have sixty hyper-parameters. Fitted to the same trials that it then
explains, it is surer than it should be, and leaving one trial out does not show that: the
hyper-parameters have seen it. So trials are put aside in turn, a part at a time, the model is
fitted again to the others, and its standard deviations are multiplied by what the trials put aside
ask for. What is asked is the very average over hyper-parameters that predictions come from: the
best ones alone are surer by a factor of up to two. As a few trials tell only roughly how many of
them an interval holds, it has to hold one standard error more. Never a factor below one: where
trials lie close together they are easy to predict, which says nothing about the rest of the space.

New bests are a matter of the lower tail alone, and that is often shorter than a normal one: an
error cannot fall below zero, and a model that is surprised by bad values knows nothing of good
ones. So chances are not those of the wider intervals. The same trials put aside tell how many of
them were to be better than all others, and how many were; the odds of a new best are multiplied by
what makes both agree, and never by more than one.

Glossary (n trials, k hyper-parameters)
    z           targets of the trials: (n,)
    away        how many standard deviations z is above the mean, by each posterior: (k, n)
    chance      the probability of a trial put aside to be lower than all others: (n,)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from bosquet.arrays import Array, Bools, Index
from bosquet.models.base import PathPosterior
from bosquet.space import Space

PARTS = 5  # into which trials are divided
FEW = 100  # trials up to which they are divided twice, as few say little
_LEVEL = 0.9  # of the interval that is to hold as many of the trials put aside
_MOST = 5.0  # beyond it a model is of no use anyway
_HALVINGS = 30
_LEAST_LOG_ODDS = -4.0  # of the factor
_LOG_ODDS_SD = 2.0  # before trials were put aside

Refitted = Callable[[Index], Sequence[tuple[PathPosterior, float]]]
"""The posteriors of some rows alone, which count alike, each with the variance of learned noise."""


@dataclass(frozen=True)
class Asked:
    """What trials put aside ask for."""

    wider: float = 1.0
    """The factor for standard deviations."""
    odds: float = 1.0
    """The factor for the odds of a new best."""


def asked_of(space: Space, X: Array, z: Array, noise: Array, refitted: Refitted) -> Asked:
    """Of a model of the targets ``z``, whose own variances are ``noise``.

    Learned noise counts where a variance is NaN.
    """
    needed, chances, happened = [], [], []
    times = 2 if len(z) <= FEW else 1
    for seed in range(times):
        order = np.random.default_rng(seed).permutation(len(z))
        for aside in np.array_split(order, min(PARTS, len(z))):
            others = np.setdiff1d(order, aside)
            lowest = z[others].min(initial=np.inf)
            away, below = [], []
            for posterior, learned in refitted(others):
                mean, variance = np.empty((2, len(aside)))
                for path, rows in space.tree.rows_by_path(X[aside]).items():
                    mean[rows], variance[rows] = posterior.on_path(path).moments(X[aside][rows])
                sd = np.sqrt(variance + np.where(np.isnan(noise[aside]), learned, noise[aside]))
                away.append((z[aside] - mean) / sd)
                below.append(scipy.special.ndtr((lowest - mean) / sd))
            needed.append(_needed(np.array(away)))
            chances.append(np.mean(below, axis=0))
            happened.append(z[aside] < lowest)
    share = min(_LEVEL + np.sqrt(_LEVEL * (1.0 - _LEVEL) / len(z)), 1.0)
    wider = float(np.quantile(np.concatenate(needed), share))
    odds = odds_of(np.concatenate(chances), np.concatenate(happened), 1.0 / times)
    return Asked(min(max(wider, 1.0), _MOST), odds)


def with_odds(chance: Array, factor: float | Array) -> Array:
    """Probabilities whose odds are multiplied."""
    return np.asarray(chance * factor / (1.0 - chance + chance * factor))


def odds_of(chance: Array, happened: Bools, each: float) -> float:
    """The factor of the odds that explains what happened best; a trial counts as ``each``.

    A prior keeps it near one where trials are few.
    """
    logs = np.linspace(_LEAST_LOG_ODDS, 0.0, 61)
    some = with_odds(np.clip(chance, 1e-12, 1.0 - 1e-12), np.exp(logs)[:, None])
    likelihood = np.where(happened, np.log(some), np.log1p(-some)).sum(axis=1)
    return float(np.exp(logs[np.argmax(each * likelihood - 0.5 * (logs / _LOG_ODDS_SD) ** 2)]))


def _needed(away: Array) -> Array:
    """The least factor with which the central interval of all posteriors holds each trial: (n,)."""
    low, high = np.zeros(away.shape[1]), np.full(away.shape[1], 2.0 * _MOST)
    for _ in range(_HALVINGS):
        factor = 0.5 * low + 0.5 * high
        outside = np.abs(scipy.special.ndtr(away / factor).mean(axis=0) - 0.5) > _LEVEL / 2
        low, high = np.where(outside, factor, low), np.where(outside, high, factor)
    return high
