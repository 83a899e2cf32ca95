"""An acquisition function averaged over models, or over samples of their hyper-parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

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
    log_weights: Array | None = None
    """Of the beliefs; None: they are alike."""

    @cached_property
    def _stacked(self) -> LogEI:
        best = np.array([sample.best for sample in self.samples])
        noise = np.array([sample.noise for sample in self.samples])
        return LogEI(best[:, None], noise[:, None])

    def value(self, mean: Array, variance: Array) -> Array:
        weighted = self._stacked.value(mean, variance) + self._log_shares
        return np.asarray(np.logaddexp.reduce(weighted))

    def with_gradient(
        self, mean: Array, variance: Array, by_mean: Array, by_variance: Array
    ) -> tuple[Array, Array]:
        values, slopes = self._stacked.with_gradient(mean, variance, by_mean, by_variance)
        weighted = values + self._log_shares
        value = np.asarray(np.logaddexp.reduce(weighted))
        share = np.exp(weighted - value)[:, :, None]  # of each belief in the improvement
        return value, np.asarray(np.sum(share * slopes, axis=0))

    @property
    def _log_shares(self) -> float | Array:
        if self.log_weights is None:
            return -float(np.log(len(self.samples)))
        return self.log_weights[:, None]
