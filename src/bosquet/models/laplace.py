"""Hyper-parameters that are plausible beside the best ones: draws from a Laplace approximation.

The log posterior of theta is taken for a parabola at its maximum. Its curvature comes from
differences of gradients; in directions where the data say nothing it is that of the prior, so that
no draw is wider than what was believed before.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bosquet.arrays import Array
from bosquet.models.priors import Hyperparameters

_STEP = 1e-3  # of a logarithm
_FLAT = 1.0  # the standard deviation along a direction of which nothing is known


def laplace_draws(
    log_posterior: Callable[[Array], tuple[float, Array]],
    hyper: Hyperparameters,
    theta: Array,
    n: int,
    rng: np.random.Generator,
) -> list[Array]:
    """``n`` draws around a maximum of the log posterior, within the bounds of theta."""
    if not len(theta):
        return [theta] * n
    sd = np.where(np.isfinite(hyper.sd), hyper.sd, _FLAT)
    # In units of the prior's standard deviations, where the least precision is 1.
    values, vectors = np.linalg.eigh(_precision(log_posterior, hyper, theta) * np.outer(sd, sd))
    spread = vectors / np.sqrt(np.maximum(values, 1.0))
    steps = rng.standard_normal((n, len(theta))) @ spread.T
    return [hyper.clip(theta + sd * step) for step in steps]


def _precision(
    log_posterior: Callable[[Array], tuple[float, Array]], hyper: Hyperparameters, theta: Array
) -> Array:
    """Minus the Hessian of the log posterior, by differences of its gradient."""
    columns = []
    for i in range(len(theta)):
        step = np.zeros(len(theta))
        step[i] = _STEP
        up, down = hyper.clip(theta + step), hyper.clip(theta - step)
        change = log_posterior(up)[1] - log_posterior(down)[1]
        columns.append(-change / max(up[i] - down[i], _STEP))
    H = np.array(columns)
    return np.asarray(0.5 * (H + H.T))
