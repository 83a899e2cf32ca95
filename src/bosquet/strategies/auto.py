"""The default strategy: the covariance that explains the trials so far.

On a conditional space there are two beliefs to choose from. `add-tree`: a function is a sum over
nodes, so what branches share they share exactly. `arc`: one GP over everything, in which branches
are alike and anything may interact. Each is fitted with its own kernel and transform, and the one
with the higher log posterior density proposes. While trials are few every ask fits both, later
every tenth does, and beyond 100 trials the last choice stays. On a space without conditions there
is nothing to choose.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from bosquet.strategies.add_tree import AddTree
from bosquet.strategies.base import Proposal, Strategy, Task, design
from bosquet.strategies.baselines import Arc
from bosquet.strategies.gp_strategy import GPStrategy, initial_trials

_FEW = 30  # trials up to which every ask compares
_SOME = 100  # trials up to which every tenth does


class Auto(Strategy):
    """Chooses a strategy for the task at hand, and says which in ``info["strategy"]``."""

    name: ClassVar[str] = "auto"

    def rivals(self, task: Task) -> list[GPStrategy]:
        """The strategies that may propose."""
        if task.space.n_paths == 1:
            return [AddTree()]
        rivals: list[GPStrategy] = [AddTree(), Arc()]
        n = len(task.history.complete)
        if n <= _FEW or (n <= _SOME and n % 10 == 0):
            return rivals
        for trial in reversed(task.history.complete):
            chosen = [rival for rival in rivals if rival.name == trial.info.get("strategy")]
            if chosen:
                return chosen
        return rivals

    def propose(self, task: Task, n: int, rng: np.random.Generator) -> list[Proposal]:
        data = task.history.dataset()
        if len(data.y) < initial_trials(task.space):
            return [_by("design", proposal) for proposal in design(task, n, rng)]
        fitted = {rival: rival.fit(task, data, rng) for rival in self.rivals(task)}
        fits = {rival: fit.info["fits"][rival.name] for rival, fit in fitted.items()}
        chosen = max(fits, key=lambda rival: float(fits[rival]["evidence"]))
        proposals = chosen.propose_from(fitted[chosen], task, data, n, rng)
        named = {rival.name: fit for rival, fit in fits.items()}
        return [_by(chosen.name, proposal, fits=named) for proposal in proposals]


def _by(strategy: str, proposal: Proposal, **more: Any) -> Proposal:
    return replace(proposal, info={"strategy": strategy} | proposal.info | more)
