"""What a parameter does on a branch, and what two of them do together.

The effect of a parameter is the model's value at each of its values, averaged over all that else
is active on the branch, and centred: its average over the parameter's range is zero. Where the
model is a sum in which the parameter stands alone, that is exactly its component. Uncertainty
comes from sample functions of the posterior; the level of the branch, which is uncertain too, is
not part of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bosquet.arrays import Array
from bosquet.explain.mixture import Mixture, interval_levels, size_of
from bosquet.explain.rows import crossed, grid, rows_on, strata, values_at
from bosquet.space import Space
from bosquet.space.tree import Dimension, Path

_BACKGROUND = 12  # rows of the branch over which an effect is averaged
_PAIRED = 6  # values of each of two parameters that may interact
_PAIR_BACKGROUND = 6
_SURFACE_BACKGROUND = 24


@dataclass(frozen=True)
class Effect:
    """What one parameter does on a branch, in the user's units and sign."""

    parameter: str
    """Its qualified name."""
    branch: str
    values: list[object]
    mean: Array
    """The value of the objective less its average over the parameter's range, by value."""
    low: Array
    high: Array
    level: float
    """That average."""

    @property
    def spread(self) -> float:
        """From the lowest to the highest mean."""
        return float(np.ptp(self.mean))


@dataclass(frozen=True)
class Interaction:
    """How much of the variance on a branch two parameters explain only together."""

    parameters: tuple[str, str]
    branch: str
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Surface:
    """The model's mean over two parameters of a branch, averaged over all others."""

    parameters: tuple[str, str]
    branch: str
    x: list[object]
    y: list[object]
    mean: Array
    """(values of y, values of x)"""
    sd: Array


class BranchEffects:
    """The effects on one path of a space."""

    def __init__(self, space: Space, mixture: Mixture, path: Path, sign: float) -> None:
        self._space, self._mixture, self._path, self._sign = space, mixture, path, sign
        self._branch = space.tree.path_label(path)

    def effect(self, dimension: Dimension, points: int, level: float) -> Effect:
        units = grid(dimension, points)
        rows = rows_on(self._space, self._path, _BACKGROUND)
        many = crossed(rows, {dimension.index: units})
        draws = self._sign * self._drawn(many).mean(axis=2)  # (S, values)
        centred = draws - draws.mean(axis=1, keepdims=True)
        low, high = np.quantile(centred, interval_levels(level), axis=0)
        return Effect(
            dimension.qualified_name,
            self._branch,
            values_at(dimension, units),
            centred.mean(axis=0),
            low,
            high,
            float(draws.mean()),
        )

    def interaction(self, first: Dimension, second: Dimension, level: float) -> Interaction:
        a, b = strata(first, _PAIRED), strata(second, _PAIRED)
        rows = rows_on(self._space, self._path, _PAIR_BACKGROUND)
        both = {first.index: np.repeat(a, len(b)), second.index: np.tile(b, len(a))}
        draws = self._drawn(crossed(rows, both))
        shares = interaction_share(
            (draws / size_of(draws)).reshape(len(draws), len(a), len(b), len(rows))
        )
        low, high = np.quantile(shares, interval_levels(level))
        names = first.qualified_name, second.qualified_name
        return Interaction(names, self._branch, float(np.median(shares)), float(low), float(high))

    def surface(self, first: Dimension, second: Dimension, points: int) -> Surface:
        a, b = grid(first, points), grid(second, points)
        rows = rows_on(self._space, self._path, _SURFACE_BACKGROUND)
        both = {first.index: np.tile(a, len(b)), second.index: np.repeat(b, len(a))}
        many = crossed(rows, both)
        mean, sd = self._mixture.mean_and_sd(many.reshape(-1, many.shape[-1]))
        shape = len(b), len(a), len(rows)
        return Surface(
            (first.qualified_name, second.qualified_name),
            self._branch,
            values_at(first, a),
            values_at(second, b),
            self._sign * mean.reshape(shape).mean(axis=2),
            sd.reshape(shape).mean(axis=2),
        )

    def _drawn(self, rows: Array) -> Array:
        """Sample functions at (values, rows, d) rows: (S, values, rows)."""
        drawn = self._mixture.draws(rows.reshape(-1, rows.shape[-1]))
        return drawn.reshape(-1, *rows.shape[:2])


def interaction_share(f: Array) -> Array:
    """Of functions at (S, values a, values b, rows), the share of variance that is of a and b
    together and not the sum of one of each: (S,).

    Rows are averaged over: what depends on further parameters is not counted.
    """
    together = f.mean(axis=3)
    by_a, by_b = together.mean(axis=2, keepdims=True), together.mean(axis=1, keepdims=True)
    rest = together - by_a - by_b + together.mean(axis=(1, 2), keepdims=True)
    total = f.var(axis=(1, 2, 3))
    return np.asarray((rest**2).mean(axis=(1, 2)) / np.maximum(total, np.finfo(float).tiny))
