"""Slice sampling (Neal, 2003): Markov chains that need no step sizes to be tuned.

One coordinate at a time: a level is drawn below the log density, an interval around the point is
stepped out until both of its ends are below the level, and points are drawn from it, shrinking it
towards the old one, until one is above.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bosquet.arrays import Array

_STEPS = 10  # by which an interval grows at most, in all


def slice_sample(
    log_density: Callable[[Array], float],
    start: Array,
    width: Array,
    n: int,
    rng: np.random.Generator,
    *,
    bounds: tuple[Array, Array],
    burn_in: int = 0,
) -> Array:
    """``n`` states of a chain, (n, d): one per sweep over the coordinates, the first ones dropped.

    ``width`` is about the size of the density in each coordinate; there is no density outside the
    ``bounds``, lowest and highest coordinates, nor where it is NaN.
    """
    if n < 1 or burn_in < 0:
        raise ValueError(f"n={n} must be positive, and burn_in={burn_in} not negative")
    lower, upper = bounds
    at = np.array(start, dtype=float)
    value = log_density(at)
    if not np.isfinite(value) or (at < lower).any() or (at > upper).any():
        raise ValueError(f"start={at.tolist()} must lie within the bounds and have a density")
    chain = np.empty((n, len(at)))
    for sweep in range(-burn_in, n):
        for i in rng.permutation(len(at)):
            within = float(lower[i]), float(upper[i])
            at[i], value = _move(log_density, at, value, int(i), float(width[i]), within, rng)
        if sweep >= 0:
            chain[sweep] = at
    return chain


def _move(
    log_density: Callable[[Array], float],
    at: Array,
    value: float,
    i: int,
    width: float,
    bounds: tuple[float, float],
    rng: np.random.Generator,
) -> tuple[float, float]:
    """A new coordinate i, and the log density there."""

    def along(coordinate: float) -> float:
        if not bounds[0] <= coordinate <= bounds[1]:
            return -np.inf
        moved = at.copy()
        moved[i] = coordinate
        return log_density(moved)

    old = float(at[i])
    level = value - rng.exponential()
    low = old - width * rng.random()
    high = low + width
    below = int(rng.integers(_STEPS + 1))  # the limit is shared at random, for reversibility
    above = _STEPS - below
    while below > 0 and along(low) > level:
        low, below = low - width, below - 1
    while above > 0 and along(high) > level:
        high, above = high + width, above - 1
    while True:
        drawn = low + (high - low) * rng.random()
        reached = along(drawn)
        if reached > level:
            return drawn, reached
        if drawn == old:  # rounding: nothing is left of the interval
            return old, value
        low, high = (drawn, high) if drawn < old else (low, drawn)
