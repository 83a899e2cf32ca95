"""The default strategy: a documented rule that names another one.

The rule today: always `add-tree`, which begins with the space-filling design. It is refined with
every strategy that is measured to be better somewhere, and says what it chose in
``trial.info["strategy"]``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from bosquet.strategies.add_tree import AddTree
from bosquet.strategies.base import Proposal, Strategy, Task


class Auto(Strategy):
    """Chooses a strategy for the task at hand."""

    name: ClassVar[str] = "auto"

    def choose(self, task: Task) -> Strategy:  # noqa: ARG002 - the rule does not depend on it yet
        return AddTree()

    def propose(self, task: Task, n: int, rng: np.random.Generator) -> list[Proposal]:
        chosen = self.choose(task)
        return [
            replace(proposal, info={"strategy": chosen.name} | proposal.info)
            for proposal in chosen.propose(task, n, rng)
        ]
