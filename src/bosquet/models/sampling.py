"""Slice sampling (Neal, 2003): Markov chains that need no step sizes to be tuned.

One coordinate at a time: a level is drawn below the log density, an interval around the point is
stepped out until both of its ends are below the level, and points are drawn from it, shrinking it
towards the old one, until one is above.

Such a chain seldom leaves a mode. Where modes are known it may also jump (`Jumps`): by steps of
Metropolis and Hastings, whose proposals are drawn around the modes wherever the chain is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bosquet.arrays import Array

_STEPS = 10  # by which an interval grows at most, in all
_FREEDOM = 4.0  # degrees of it: tails that are heavier than those of the density
_WIDEST = 3.0  # standard deviation of a proposal in a direction that the density does not determine
_DIFFERENCE = 1e-4  # by which slopes are compared


@dataclass(frozen=True)
class Jumps:
    """t distributions around modes, equally likely: (k, d) centres and (k, d, d) factors."""

    centres: Array
    factors: Array

    @classmethod
    def around(
        cls,
        modes: Sequence[Array],
        slopes: Callable[[Array], Array],
        bounds: tuple[Array, Array],
    ) -> Jumps:
        """As wide as the density is there, by the differences of its slopes (Laplace)."""
        factors = []
        for mode in modes:
            rows = []
            for i in range(len(mode)):
                up, down = mode.copy(), mode.copy()
                up[i] = min(mode[i] + _DIFFERENCE, bounds[1][i])
                down[i] = max(mode[i] - _DIFFERENCE, bounds[0][i])
                rows.append((slopes(down) - slopes(up)) / (up[i] - down[i]))
            curvature, axes = np.linalg.eigh(0.5 * (np.array(rows) + np.array(rows).T))
            factors.append(axes / np.sqrt(np.maximum(curvature, _WIDEST**-2)))
        return cls(np.array(modes), np.array(factors))

    def draw(self, rng: np.random.Generator) -> Array:
        k, d = self.centres.shape
        one = int(rng.integers(k))
        stretch = np.sqrt(_FREEDOM / rng.chisquare(_FREEDOM))
        return np.asarray(self.centres[one] + stretch * self.factors[one] @ rng.standard_normal(d))

    def log_density(self, at: Array) -> float:
        """Up to a constant."""
        units = np.linalg.solve(self.factors, (at - self.centres)[:, :, None])[:, :, 0]
        tails = -0.5 * (_FREEDOM + len(at)) * np.log1p(np.sum(units**2, axis=1) / _FREEDOM)
        return float(np.logaddexp.reduce(tails - np.linalg.slogdet(self.factors)[1]))


def slice_sample(
    log_density: Callable[[Array], float],
    start: Array,
    width: Array,
    n: int,
    rng: np.random.Generator,
    *,
    bounds: tuple[Array, Array],
    burn_in: int = 0,
    jumps: Jumps | None = None,
) -> Array:
    """``n`` states of a chain, (n, d): one per sweep over the coordinates, the first ones dropped.

    ``width`` is about the size of the density in each coordinate; there is no density outside the
    ``bounds``, lowest and highest coordinates, nor where it is NaN. With ``jumps`` every sweep ends
    with one.
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
        if jumps is not None:
            at, value = _jump(log_density, at, value, jumps, bounds, rng)
        if sweep >= 0:
            chain[sweep] = at
    return chain


def _jump(
    log_density: Callable[[Array], float],
    at: Array,
    value: float,
    jumps: Jumps,
    bounds: tuple[Array, Array],
    rng: np.random.Generator,
) -> tuple[Array, float]:
    """Where a proposal is accepted there, else here; and the log density."""
    drawn, level = jumps.draw(rng), value - rng.exponential()
    if (drawn < bounds[0]).any() or (drawn > bounds[1]).any():
        return at, value
    reached = log_density(drawn)
    if reached + jumps.log_density(at) - jumps.log_density(drawn) > level:
        return drawn, reached
    return at, value


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
