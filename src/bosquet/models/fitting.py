"""Maximising a log posterior of hyper-parameters; and L-BFGS-B, by which that is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy

from bosquet.arrays import Array
from bosquet.models.priors import Hyperparameters

_FAILED = 1e25  # what the optimizer sees where a start has no value


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

    best, lowest = hyper.clip(np.asarray(starts[0])), np.inf
    options = {"maxiter": max_iterations, "ftol": tolerance, "gtol": 1e-4, "maxcor": 20}
    for start in starts:
        begin = hyper.clip(np.asarray(start))
        found = minimise(_Walled(log_posterior), begin, hyper.lower, hyper.upper, **options)
        if found[1] < lowest:
            best, lowest = found
    return best, -lowest


def minimise(
    function: Callable[[Array], tuple[float, Array]],
    start: Array,
    lower: Array,
    upper: Array,
    **options: float,
) -> tuple[Array, float]:
    """The best point in a box by L-BFGS-B, and its value; ``function`` also gives the gradient."""
    at = gradient = np.full(start.shape, np.nan)

    def value(x: Array) -> float:
        nonlocal at, gradient
        found, gradient = function(x)
        at = x.copy()
        return found

    def slope(x: Array) -> Array:
        if not np.array_equal(x, at):
            value(x)
        return gradient

    # SciPy asks for the gradient where it has just asked for the value. Of a function that returns
    # both it compares and copies all points several times, which costs as much as small fits.
    result = scipy.optimize.minimize(
        value,
        start,
        jac=slope,
        method="L-BFGS-B",
        bounds=scipy.optimize.Bounds(lower, upper),
        options=options,
    )
    return np.asarray(result.x), float(result.fun)


class _Walled:
    """The negative of a log posterior; where that has no value, a wall around the last good theta.

    The wall rises twice as steeply as the function there falls. So a line search that has met a
    covariance without a factor comes back by about a third, and does not end where it began.
    """

    def __init__(self, log_posterior: Callable[[Array], tuple[float, Array]]) -> None:
        self._log_posterior = log_posterior
        self._last: tuple[Array, float, Array] | None = None

    def __call__(self, theta: Array) -> tuple[float, Array]:
        try:
            value, gradient = self._log_posterior(theta)
        except np.linalg.LinAlgError:
            return self._wall(theta)
        if not np.isfinite(value) or not np.all(np.isfinite(gradient)):
            return self._wall(theta)
        self._last = theta.copy(), -value, -gradient
        return -value, -gradient

    def _wall(self, theta: Array) -> tuple[float, Array]:
        if self._last is None:  # not even the start has a value: nothing is found from there
            return _FAILED, np.zeros(len(theta))
        last, value, gradient = self._last
        away, slope = theta - last, float(np.linalg.norm(gradient))
        distance = max(float(np.linalg.norm(away)), 1e-12)
        return value + slope * distance, 2.0 * slope * away / distance
