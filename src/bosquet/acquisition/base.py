"""What a search asks of an acquisition function."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from bosquet.acquisition.ei import log_ei, log_ei_gradient
from bosquet.arrays import Array


class Acquisition(Protocol):
    """A function of the posterior at m points, to be maximised."""

    def value(self, mean: Array, variance: Array) -> Array: ...

    def with_gradient(
        self, mean: Array, variance: Array, by_mean: Array, by_variance: Array
    ) -> tuple[Array, Array]:
        """Values (m,) and gradients by the coordinates (m, d)."""


@dataclass(frozen=True)
class LogEI:
    """The logarithm of the expected improvement below ``best``.

    With ``noise`` (the variance of an evaluation) it is that of the *augmented* one (Huang et al.,
    2006): times 1 - sqrt(noise / (variance + noise)), which is what an evaluation there can teach.
    Else a point that is known as well as the noise allows would be asked for again and again.
    """

    best: float | Array
    noise: float | Array = 0.0
    """Both may be columns, for beliefs that are stacked."""

    @cached_property
    def _exact(self) -> bool:
        return not np.any(self.noise)

    def value(self, mean: Array, variance: Array) -> Array:
        value = log_ei(mean, variance, self.best)
        return value if self._exact else value + np.log1p(-self._known(variance))

    def with_gradient(
        self, mean: Array, variance: Array, by_mean: Array, by_variance: Array
    ) -> tuple[Array, Array]:
        values, gradients = log_ei_gradient(mean, variance, self.best, by_mean, by_variance)
        if self._exact:
            return values, gradients
        known = self._known(variance)
        slope = 0.5 * known / ((1.0 - known) * (variance + self.noise))
        return values + np.log1p(-known), gradients + slope[..., None] * by_variance

    def _known(self, variance: Array) -> Array:
        return np.asarray(np.sqrt(self.noise / (variance + self.noise)))


@dataclass(frozen=True)
class LowerBound:
    """GP-UCB for minimisation: sqrt(beta) * sd - mean."""

    beta: float

    def value(self, mean: Array, variance: Array) -> Array:
        return np.asarray(np.sqrt(self.beta * variance) - mean)

    def with_gradient(
        self, mean: Array, variance: Array, by_mean: Array, by_variance: Array
    ) -> tuple[Array, Array]:
        sd = np.sqrt(variance)
        slope = (0.5 * np.sqrt(self.beta) / sd)[:, None]
        return np.sqrt(self.beta) * sd - mean, slope * by_variance - by_mean
