"""A part of one path of a space: an interval per ordered variable, options per category."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np

from bosquet.arrays import Array, Bools
from bosquet.space import Space
from bosquet.space.tree import Dimension, Path


@dataclass(frozen=True)
class Region:
    """Where a local search may go. Branching choices stay as they are at ``centre``."""

    space: Space
    centre: Array
    """(d,) a snapped row of the path, which the region contains."""
    lower: Array
    upper: Array
    """(d,) bounds of ordered coordinates; those of others are not read."""
    allowed: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """By dimension of a category, its options; all of them where it is not named."""

    @cached_property
    def path(self) -> Path:
        return self.space.tree.paths_of_rows(self.centre[None])[0]

    @cached_property
    def variables(self) -> tuple[Dimension, ...]:
        """The dimensions of the path, without branching choices."""
        return self.space.tree.variables_of(self.path)

    @cached_property
    def _ordered(self) -> list[int]:
        return [d.index for d in self.variables if not d.parameter.is_category]

    def contains(self, X: Array) -> Bools:
        """Which rows lie on the path and inside."""
        nodes = self.space.tree.node_activity(X)
        on_path = np.flatnonzero(nodes[:, list(self.path)].all(axis=1))
        inside = np.zeros(len(X), dtype=bool)
        inside[on_path] = nodes[on_path].sum(axis=1) == len(self.path)
        ordered = X[:, self._ordered]
        inside &= (ordered >= self.lower[self._ordered]).all(axis=1)
        inside &= (ordered <= self.upper[self._ordered]).all(axis=1)
        for index, options in self.allowed.items():
            inside &= np.isin(self.space.tree.choice(index).option_index(X[:, index]), options)
        return inside

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Random rows inside, snapped."""
        X = self.lower + rng.random((n, len(self.centre))) * (self.upper - self.lower)
        for d in self.variables:
            if d.parameter.is_category:
                options = np.array(self._options(d))
                picked = options[rng.integers(len(options), size=n)]
                X[:, d.index] = self.space.tree.choice(d.index).unit_of(picked)
        return self.project(X)

    def project(self, X: Array) -> Array:
        """The nearest rows inside, snapped; what has no near value takes that of the centre."""
        X = X.copy()
        X[:, self._ordered] = np.clip(
            X[:, self._ordered], self.lower[self._ordered], self.upper[self._ordered]
        )
        for choice in self.space.tree.children:
            X[:, choice] = self.centre[choice]
        X = self.space.snap(X)
        for index in self._ordered:  # snapping moves a discrete value by up to half a step
            out = (X[:, index] < self.lower[index]) | (X[:, index] > self.upper[index])
            X[out, index] = self.centre[index]
        for index, options in self.allowed.items():
            option = self.space.tree.choice(index).option_index(X[:, index])
            X[~np.isin(option, options), index] = self.centre[index]
        return X

    def _options(self, d: Dimension) -> tuple[int, ...]:
        return self.allowed.get(d.index, tuple(range(int(d.parameter.n_values))))

    @property
    def volume(self) -> float:
        """The share of the path's box; a discrete variable has at least one of its values."""
        volume = 1.0
        for d in self.variables:
            n = d.parameter.n_values
            if d.parameter.is_category:
                volume *= len(self._options(d)) / n
            else:
                width = float(self.upper[d.index] - self.lower[d.index])
                volume *= width if d.parameter.is_continuous else max(width, 1.0 / n)
        return volume

    # -- as JSON, for the memory of trials ---------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        return {
            "centre": self.centre.tolist(),
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
            "allowed": {str(index): list(options) for index, options in self.allowed.items()},
        }

    @classmethod
    def from_json(cls, space: Space, stored: Mapping[str, Any]) -> Self:
        allowed = {int(index): tuple(options) for index, options in stored["allowed"].items()}
        centre, lower, upper = (np.array(stored[name]) for name in ("centre", "lower", "upper"))
        return cls(space, centre, lower, upper, allowed)
