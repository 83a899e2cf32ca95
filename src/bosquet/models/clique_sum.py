"""The posterior of a sum of components in which each keeps a confidence of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bosquet.arrays import Array
from bosquet.kernels.components import Component
from bosquet.models.posterior import Posterior


class CliqueSum:
    """A belief whose mean and standard deviation are sums over components (Eqs. 4 to 6 of 2018).

    A lower bound of it is therefore the sum of the components' own bounds. Its standard deviation
    is larger than that of the sum, which knows how the components' errors cancel.
    """

    def __init__(self, posterior: Posterior, components: Sequence[Component]) -> None:
        self._posterior, self._components = posterior, components

    def moments(self, X: Array) -> tuple[Array, Array]:
        mean, sd = np.zeros(len(X)), np.zeros(len(X))
        for m, v in self._posterior.of_each(self._components, [X] * len(self._components)):
            mean += m
            sd += np.sqrt(v)
        return mean, sd**2

    def moments_with_gradients(self, X: Array) -> tuple[Array, Array, Array, Array]:
        mean, sd = np.zeros(len(X)), np.zeros(len(X))
        by_mean, by_sd = np.zeros_like(X), np.zeros_like(X)
        for component in self._components:
            m, v, by_m, by_v = self._posterior.of([component]).moments_with_gradients(X)
            mean += m
            sd += np.sqrt(v)
            by_mean += by_m
            by_sd += by_v / (2.0 * np.sqrt(v))[:, None]
        return mean, sd**2, by_mean, (2.0 * sd)[:, None] * by_sd
