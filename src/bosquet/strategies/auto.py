"""The default strategy: two beliefs about a conditional space, ranked by what they explain.

`add-tree`: a function is a sum over nodes, so what branches share they share exactly. `arc`: one GP
over everything, in which branches are alike and anything may interact. Each is fitted with its own
kernel and transform; the one with the higher log posterior density proposes, and every third trial
the other: a belief that keeps looking where it is right never learns that it is wrong elsewhere.

While trials are few every ask compares them, later every tenth, and beyond 100 trials the order
stays. On a space without conditions there is nothing to choose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from bosquet.space import Space
from bosquet.strategies.add_tree import AddTree
from bosquet.strategies.additive import Additive
from bosquet.strategies.base import Proposal, Strategy, Task, design
from bosquet.strategies.baselines import Arc
from bosquet.strategies.gp_strategy import GPStrategy, initial_trials

_FEW = 30  # trials up to which every ask compares
_SOME = 100  # trials up to which every tenth does
_MANY = 8  # variables without conditions from which on groups of them are looked for
_OTHERS_TURN = 3  # trials, of which the belief that explains less has one


class Auto(Strategy):
    """Chooses a strategy for the task at hand, and says which in ``info["strategy"]``."""

    name: ClassVar[str] = "auto"

    def propose(self, task: Task, n: int, rng: np.random.Generator) -> list[Proposal]:
        data = task.history.dataset()
        if len(data.y) < initial_trials(task.space):
            return [_by("design", proposal) for proposal in design(task, n, rng)]
        rivals = rivals_on(task.space)
        evidence = {} if _compares(len(data.y)) else last_evidence(task, rivals)
        fitted = {}
        if not evidence:
            fitted = {rival.name: rival.fit(task, data, rng) for rival in rivals}
            evidence = {name: fit.info["fits"][name]["evidence"] for name, fit in fitted.items()}
        rivals.sort(key=lambda rival: -evidence[rival.name])
        chosen = rivals[-1] if task.index % _OTHERS_TURN == 0 else rivals[0]
        if chosen.name not in fitted:
            fitted[chosen.name] = chosen.fit(task, data, rng)
        fits = {name: fit.info["fits"][name] for name, fit in fitted.items()}
        proposals = chosen.propose_from(fitted[chosen.name], task, data, n, rng)
        return [_by(chosen.name, proposal, fits=fits) for proposal in proposals]


def rivals_on(space: Space) -> list[GPStrategy]:
    """The beliefs that may fit a space."""
    if space.n_paths > 1:
        return [AddTree(), Arc()]
    return [AddTree(), Additive()] if len(space) >= _MANY else [AddTree()]


def _compares(n: int) -> bool:
    return n <= _FEW or (n <= _SOME and n % 10 == 0)


def last_evidence(task: Task, rivals: Sequence[Strategy]) -> dict[str, float]:
    """By name, of the last complete trial that compared them; empty if none has."""
    names = {rival.name for rival in rivals}
    for trial in reversed(task.history.complete):
        fits = trial.info.get("fits", {})
        if names <= set(fits):
            return {name: float(fits[name]["evidence"]) for name in names}
    return {}


def _by(strategy: str, proposal: Proposal, **more: Any) -> Proposal:
    return replace(proposal, info={"strategy": strategy} | proposal.info | more)
