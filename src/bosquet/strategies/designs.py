"""Strategies without a model: the baselines that every other one must beat."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from bosquet.strategies.base import Proposal, Strategy, Task, design
from bosquet.strategies.fresh import fresh_configs


class Random(Strategy):
    """Independent draws: every option of a choice equally likely, every other value uniform."""

    name: ClassVar[str] = "random"

    def propose(self, task: Task, n: int, rng: np.random.Generator) -> list[Proposal]:
        return [Proposal(config, why="random draw") for config in fresh_configs(task, n, rng)]


class Sobol(Strategy):
    """A scrambled Sobol sequence over the values, with every path visited equally often."""

    name: ClassVar[str] = "sobol"

    def propose(self, task: Task, n: int, rng: np.random.Generator) -> list[Proposal]:
        return design(task, n, rng)
