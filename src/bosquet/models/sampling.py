"""Samples of a density that may have several modes: annealing with a population of points.

Sequential Monte Carlo (Del Moral, Doucet & Jasra, 2006). A population drawn from a wide density is
led to the wanted one in steps: points are weighted by the ratio of two densities that follow each
other, drawn again by their weights, and moved. Moves are those of differential evolution (ter
Braak, 2006): by the difference of two points of the other half of the population, which has the
size and the direction that the density has just now, and at times leads from one mode to another.
A mode gets its share of points while the density is still wide and all of it can be reached; a
single chain has to cross between modes once they are apart.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bosquet.arrays import Array

Density = Callable[[Array], Array]
"""Points (s, d) -> the logarithms of a density up to a constant, (s,)"""

_KEPT = 0.8  # the share of the population that a step leaves effective
_MOVES = 8  # of every point after a step: fewer leave the modes with uneven shares
_LAST_MOVES = 12
_JUMPS = 0.1  # the share of moves by a whole difference: from mode to mode
_SHORT = 0.3  # half of the others are shorter by this factor, for modes that are narrow
_JITTER = 1e-5


def annealed(
    start: Array,
    log_start: Density,
    log_target: Density,
    bounds: tuple[Array, Array],
    rng: np.random.Generator,
) -> Array:
    """The points of ``start``, draws of ``log_start``, as equally likely draws of ``log_target``.

    There is no density outside the ``bounds``, lowest and highest coordinates, (d,) each.
    """
    if len(start) < 8:
        raise ValueError(f"{len(start)} points are too few to move by their differences: 8 or more")
    lower, upper = bounds
    if (start < lower).any() or (start > upper).any():
        raise ValueError("the points to start from must lie within the bounds")
    at = start.copy()
    log_s, log_t = log_start(at), log_target(at)
    if not np.isfinite(log_t).any():
        raise ValueError("none of the points to start from has a density")
    done = 0.0
    while done < 1.0:
        gain = np.where(np.isfinite(log_t), log_t - log_s, -np.inf)
        step = _step(gain, 1.0 - done)
        done = 1.0 if step >= 1.0 - done else done + step
        rows = rng.permutation(_drawn_again(_weights(gain, step), rng))
        at, log_s, log_t = at[rows], log_s[rows], log_t[rows]
        for _ in range(_MOVES if done < 1.0 else _LAST_MOVES):
            for half in (0, 1):
                mine, others = at[half::2], at[1 - half :: 2]
                moved = mine + _differences(others, len(mine), rng)
                inside = np.flatnonzero(((moved >= lower) & (moved <= upper)).all(axis=1))
                if not len(inside):
                    continue
                new_s, new_t = log_start(moved[inside]), log_target(moved[inside])
                here = half + 2 * inside
                gained = (1.0 - done) * (new_s - log_s[here]) + done * (new_t - log_t[here])
                taken = np.log(rng.random(len(inside))) < gained
                here, inside = here[taken], inside[taken]
                at[here], log_s[here], log_t[here] = moved[inside], new_s[taken], new_t[taken]
    return at


def _weights(gain: Array, step: float) -> Array:
    weights = np.exp(step * (gain - gain.max()))
    return np.asarray(weights / weights.sum())


def _step(gain: Array, most: float) -> float:
    """The longest step after which so much of the population is still effective."""

    def effective(step: float) -> float:
        return 1.0 / float(np.sum(_weights(gain, step) ** 2))

    least = _KEPT * float(np.isfinite(gain).sum())
    if effective(most) >= least:
        return most
    low, high = 0.0, most
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if effective(middle) >= least else (low, middle)
    return high


def _drawn_again(weights: Array, rng: np.random.Generator) -> Array:
    """As many rows, by systematic resampling."""
    n = len(weights)
    positions = (rng.random() + np.arange(n)) / n
    return np.minimum(np.searchsorted(np.cumsum(weights), positions), n - 1)


def _differences(others: Array, n: int, rng: np.random.Generator) -> Array:
    """Moves by scaled differences of two of the others: (n, d)."""
    d = others.shape[1]
    first = rng.integers(len(others), size=n)
    second = (first + rng.integers(1, len(others), size=n)) % len(others)
    scale = 2.38 / np.sqrt(2.0 * d) * np.where(rng.random(n) < 0.5, 1.0, _SHORT)
    scale = np.where(rng.random(n) < _JUMPS, 1.0, scale)
    moves = scale[:, None] * (others[first] - others[second])
    return np.asarray(moves + _JITTER * rng.standard_normal((n, d)))
