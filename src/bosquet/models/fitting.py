"""Maximising a log posterior of hyper-parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import minimize

from bosquet.arrays import Array
from bosquet.models.priors import Hyperparameters

_FAILED = 1e25  # what the optimizer sees where a covariance has no factor


def with_prior(
    log_likelihood: Callable[[Array], tuple[float, Array]], hyper: Hyperparameters, theta: Array
) -> tuple[float, Array]:
    """The log posterior of theta up to a constant, and its gradient."""
    likelihood, gradient = log_likelihood(theta)
    prior, by_theta = hyper.log_prior(theta)
    return likelihood + prior, gradient + by_theta


def maximise(
    log_posterior: Callable[[Array], tuple[float, Array]],
    hyper: Hyperparameters,
    starts: Sequence[Array],
    max_iterations: int = 200,
    tolerance: float = 1e-9,
) -> tuple[Array, float]:
    """The best theta by L-BFGS-B from the given starts, and its log posterior.

    It ends when an iteration gains less than ``tolerance`` of the log posterior.
    """
    if not len(hyper.mean):  # nothing to be fitted
        return np.zeros(0), log_posterior(np.zeros(0))[0]

    def negative(theta: Array) -> tuple[float, Array]:
        try:
            value, gradient = log_posterior(theta)
        except np.linalg.LinAlgError:
            return _FAILED, np.zeros(len(theta))
        if not np.isfinite(value) or not np.all(np.isfinite(gradient)):
            return _FAILED, np.zeros(len(theta))
        return -value, -gradient

    best, lowest = hyper.clip(np.asarray(starts[0])), np.inf
    bounds = list(zip(hyper.lower, hyper.upper, strict=True))
    for start in starts:
        found = minimize(
            negative,
            hyper.clip(np.asarray(start)),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": max_iterations, "ftol": tolerance, "gtol": 1e-4, "maxcor": 20},
        )
        if found.fun < lowest:
            best, lowest = np.asarray(found.x), float(found.fun)
    return best, -lowest
