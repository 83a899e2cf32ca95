"""An acquisition function averaged over models, or over samples of their hyper-parameters."""

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
    log_weights: Array | None = None
    """Of the beliefs; None: they are alike."""

    def value(self, mean: Array, variance: Array) -> Array:
        rows = zip(self.samples, mean, variance, strict=True)
        return np.asarray(np.logaddexp.reduce(self._weighted([s.value(m, v) for s, m, v in rows])))

    def with_gradient(
        self, mean: Array, variance: Array, by_mean: Array, by_variance: Array
    ) -> tuple[Array, Array]:
        rows = zip(self.samples, mean, variance, by_mean, by_variance, strict=True)
        values, slopes = zip(*(one.with_gradient(*moments) for one, *moments in rows), strict=True)
        weighted = self._weighted(values)
        value = np.asarray(np.logaddexp.reduce(weighted))
        share = np.exp(weighted - value)[:, :, None]  # of each belief in the improvement
        return value, np.asarray(np.sum(share * np.array(slopes), axis=0))

    def _weighted(self, values: Sequence[Array]) -> Array:
        """Log-improvements plus log-weights: (s, m)."""
        if self.log_weights is None:
            return np.asarray(np.array(values) - np.log(len(values)))
        return np.asarray(np.array(values) + self.log_weights[:, None])
