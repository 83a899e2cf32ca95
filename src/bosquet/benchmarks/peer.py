"""What the peers share: the objective, counted, and values on their way to and from a peer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bosquet.space.configs import Config
from bosquet.space.parameter import Choice, Float, Int, Parameter
from bosquet.space.space import Space
from bosquet.space.tree import Dimension

MAX_ATTEMPTS = 50  # proposals per wanted evaluation, before infeasible ones count as too many
Objective = Callable[[dict[str, Any]], float]


@dataclass(frozen=True)
class Elsewhere:
    """What a peer has used that runs in a process of its own."""

    seconds: list[float]
    """CPU time there before each evaluation."""
    versions: dict[str, str]


Peer = Callable[[Space, Objective, int, int], Elsewhere | None]
"""(space, objective, n_trials, seed): minimises by exactly n_trials calls of the objective."""


@dataclass
class PeerRun:
    """The objective, for feasible proposals only; counts both."""

    space: Space
    objective: Objective
    n_trials: int
    evaluated: int = 0
    attempts: int = 0

    def __call__(self, config: Config) -> float | None:
        """The value of a configuration, or None when it violates a constraint."""
        self.attempts += 1
        violated = self.space.violation(config)
        if violated is None:
            self.evaluated += 1
            return self.objective(config)
        if self.attempts >= MAX_ATTEMPTS * self.n_trials:
            raise RuntimeError(
                f"{self.attempts} proposals gave only {self.evaluated} of {self.n_trials} "
                f"feasible configurations; the last one violates {violated}"
            )
        return None

    @property
    def finished(self) -> bool:
        return self.evaluated >= self.n_trials


def configure(space: Space, value_of: Callable[[Dimension], Any]) -> Config:
    """The configuration of a peer's values, which may leave their bounds by a rounding error."""

    def within(dimension: Dimension) -> Any:
        value, parameter = value_of(dimension), dimension.parameter
        if isinstance(parameter, Choice):
            return value
        return min(max(value, parameter.low), parameter.high)

    return space.configure(within)


def from_drawn(parameter: Parameter, drawn: Any) -> Any:
    if isinstance(parameter, Choice):
        return parameter.options[int(drawn)]
    return parameter.low + drawn * (parameter.step or 1) if is_grid(parameter) else drawn


def is_grid(parameter: Float | Int) -> bool:
    """Whether a peer draws the position on an evenly spaced grid instead of the value."""
    return math.isfinite(parameter.n_values) and not parameter.log
