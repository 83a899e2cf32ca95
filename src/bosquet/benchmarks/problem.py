"""Problem: a space, a function on it, and what is known about its minimum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bosquet.space import Config, Space

Function = Callable[[Config], float]


@dataclass(frozen=True)
class Problem:
    """Something to minimise. It can be called as an objective."""

    name: str
    """How tables call it."""
    space: Space
    """What is searched."""
    function: Function
    """The true value of a configuration."""
    minimum: float | None
    """The lowest value there is; None where nobody knows."""
    observe: Function | None = None
    """What an evaluation shows, when that is not the true value."""
    candidates: Sequence[Config] | None = None
    """The only configurations that have a value, where it is a recorded table."""
    fails: bool = False
    """Whether evaluations may raise; the value of one that does counts as infinite."""

    def objective(self, config: Config) -> float:
        """What an evaluation shows.

        Args:
            config: a configuration of the space.
        """
        return (self.observe or self.function)(config)

    def __call__(self, config: Config) -> float:
        return self.objective(config)

    def with_noise(self, sd: float, seed: int = 0) -> Problem:
        """The same problem seen through Gaussian noise; ``function`` stays the true value.

        Args:
            sd: the standard deviation of the noise.
            seed: of the noise.
        """
        if not 0 <= sd < np.inf:
            raise ValueError(f"sd={sd!r} must be finite and not negative")
        rng = np.random.default_rng([1809, seed])  # a stream apart from those of the methods

        def observe(config: Config) -> float:
            return self.function(config) + sd * rng.standard_normal()

        return replace(self, name=f"{self.name}+noise{sd:g}", observe=observe)
