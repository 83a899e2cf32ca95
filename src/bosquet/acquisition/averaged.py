"""An acquisition function averaged over samples of the hyper-parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bosquet.acquisition.base import LogEI
from bosquet.arrays import Array
from bosquet.models.base import Belief


@dataclass(frozen=True)
class Stacked:
    """The moments of several beliefs about the same rows, one after the other: (s, m), (s, m, d).

    A search hands them on to `AveragedLogEI` as it would those of one belief.
    """

    beliefs: Sequence[Belief]

    def moments(self, X: Array) -> tuple[Array, Array]:
        means, variances = zip(*(one.moments(X) for one in self.beliefs), strict=True)
        return np.array(means), np.array(variances)

    def moments_with_gradients(self, X: Array) -> tuple[Array, Array, Array, Array]:
        parts = zip(*(one.moments_with_gradients(X) for one in self.beliefs), strict=True)
        mean, variance, by_mean, by_variance = (np.array(part) for part in parts)
        return mean, variance, by_mean, by_variance


@dataclass(frozen=True)
class AveragedLogEI:
    """The logarithm of the expected improvement that `Stacked` beliefs have on average."""

    samples: Sequence[LogEI]

    def value(self, mean: Array, variance: Array) -> Array:
        rows = zip(self.samples, mean, variance, strict=True)
        return _log_mean([one.value(m, v) for one, m, v in rows])

    def with_gradient(
        self, mean: Array, variance: Array, by_mean: Array, by_variance: Array
    ) -> tuple[Array, Array]:
        rows = zip(self.samples, mean, variance, by_mean, by_variance, strict=True)
        parts = [one.with_gradient(*moments) for one, *moments in rows]
        value = _log_mean([one for one, _ in parts])
        share = [np.exp(one - value)[:, None] / len(parts) for one, _ in parts]
        slopes = [s * slope for s, (_, slope) in zip(share, parts, strict=True)]
        return value, np.sum(slopes, axis=0)


def _log_mean(values: Sequence[Array]) -> Array:
    """The logarithm of the mean of what has these logarithms."""
    return np.asarray(np.logaddexp.reduce(values) - np.log(len(values)))
