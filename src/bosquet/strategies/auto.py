"""The default strategy, by the number of trials and by the space.

While trials are very few, one Gaussian process over everything proposes, on a space with conditions
`arc`: which structure a function has is not to be learned from twenty trials.

Then on a space with conditions there are two beliefs. `add-tree`: a function is a sum over nodes,
so what branches share they share exactly. `arc`: branches are alike and anything may interact. Each
is fitted with its own kernel and transform. What is tried has the highest expected improvement on
average, where a belief counts by what it explains (`beliefs`). Up to 30 trials every ask compares
them, later every tenth; in between, and beyond 100 trials, only those that count are fitted. On a
space without conditions the two are one GP over everything and, from eight variables on,
`additive`: a sum over groups of variables that it learns.

With very many trials `boing` proposes on spaces with conditions, and `boing+` on others of eight
variables or more: they have found better points there, in less time (docs/results/boing.md).
Without conditions `boing` alone lost some seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bosquet.data import Dataset
from bosquet.space import Space
from bosquet.strategies.add_tree import AddTree
from bosquet.strategies.additive import Additive
from bosquet.strategies.base import (
    Batch,
    Proposal,
    SequentialStrategy,
    Strategy,
    Task,
    design,
)
from bosquet.strategies.baselines import Arc
from bosquet.strategies.beliefs import Belief, Beliefs, weights_of
from bosquet.strategies.boing import BOinG
from bosquet.strategies.boing_plus import BOinGPlus
from bosquet.strategies.choosing import Ask
from bosquet.strategies.exploring import next_or_explored
from bosquet.strategies.gp_strategy import GPStrategy, initial_trials
from bosquet.strategies.options import whole

_VERY_FEW = 20  # trials up to which one process over everything proposes
_FEW = 30  # trials up to which every ask compares
_SOME = 100  # trials up to which every tenth does
_MANY_VARIABLES = 8  # without conditions: groups of them are looked for
_TOO_MANY_VARIABLES = 40  # and beyond these one process over everything is too slow beside them
_VERY_MANY = 500  # trials from which on `boing` proposes, where there are conditions
_PER_VARIABLE = 20  # trials from which on `boing+` does without them, for each of many variables
_EXPLORE_EVERY = 6  # trials


@dataclass(kw_only=True, eq=False)
class Auto(SequentialStrategy):
    """Chooses a strategy for the task at hand, and says which in ``info["strategy"]``.

    With very many complete trials that is `boing` or `boing+`, if scikit-learn is installed: on
    spaces with conditions from ``boing_from`` trials on (None: never), on others of eight variables
    or more from ``boing_per_variable`` for each of them on.
    """

    name: ClassVar[str] = "auto"

    boing_from: int | None = _VERY_MANY
    boing_per_variable: int | None = _PER_VARIABLE

    def __post_init__(self) -> None:
        whole("boing_from", self.boing_from, none=True)
        whole("boing_per_variable", self.boing_per_variable, none=True)

    def propose(self, task: Task, n: int, rng: np.random.Generator) -> list[Proposal]:
        local = self._for_very_many(task)
        if local is not None:
            return _by(local.name, local.propose(task, n, rng))
        return super().propose(task, n, rng)

    def first(self, task: Task, n: int, rng: np.random.Generator) -> list[Proposal]:
        return _by("design", design(task, n, rng, defaults_first=True))

    def proposals(self, batch: Batch, rng: np.random.Generator) -> Iterator[Proposal]:
        data = batch.task.history.dataset()
        if len(data.y) < initial_trials(batch.task.space):
            return
        beliefs, said = self._beliefs(batch, data, rng)
        while True:
            found = next_or_explored(
                batch, _EXPLORE_EVERY, rng, beliefs.next, lambda proposal: proposal.value
            )
            if found is None:
                return
            about = found.about | said.about
            by = found.strategy or "design"
            yield replace(found, memory=said.memory, about=about, strategy=by)
            beliefs = beliefs.after(found.config)

    def _beliefs(
        self, batch: Batch, data: Dataset, rng: np.random.Generator
    ) -> tuple[Beliefs, _Said]:
        """Those that count, and what there is to say and to remember about them."""
        task = batch.task
        rivals = rivals_on(task.space)
        if len(data.y) <= _VERY_FEW:
            rivals = [one_process(task.space)]
        known = {} if _compares(len(data.y)) else last_evidence(task, rivals)
        counted = weights_of(known or {rival.name: 0.0 for rival in rivals})
        fitted = {r.name: r.fit(task, data, rng) for r in rivals if r.name in counted}
        evidence = {name: fit.record.evidence for name, fit in fitted.items()}
        # The evidence of more trials cannot be compared with that of fewer.
        weights = weights_of(evidence if len(fitted) == len(rivals) else known)
        beliefs = [
            Belief(r, Ask.given(task, fitted[r.name], data, batch.taken, rng), weights[r.name])
            for r in rivals
            if r.name in weights
        ]
        about: dict[str, Any] = {"evidence": evidence, "weights": weights}
        for fit in fitted.values():
            about |= fit.about
        first = max(beliefs, key=lambda belief: belief.weight)  # the one that is trusted most
        about |= first.strategy.told(fitted[first.strategy.name], data.X)
        memory = {"fits": {name: fit.record.to_json() for name, fit in fitted.items()}}
        return Beliefs(beliefs), _Said(about, memory)

    def _for_very_many(self, task: Task) -> BOinG | None:
        """What proposes when there are very many trials, if there are."""
        least, local = self.boing_from, BOinG()
        if task.space.n_paths == 1:
            if self.boing_per_variable is None or len(task.space) < _MANY_VARIABLES:
                return None
            least, local = self.boing_per_variable * len(task.space), BOinGPlus()
        if least is None or find_spec("sklearn") is None:
            return None
        enough = max(least, local.least(task.space))  # for its forest
        return local if len(task.history.complete) >= enough else None


class _Said(NamedTuple):
    """About all beliefs of an ask."""

    about: dict[str, Any]
    """For people."""
    memory: dict[str, Any]


def rivals_on(space: Space) -> list[GPStrategy[Any]]:
    """The beliefs that may fit a space: one that knows a structure, and one process."""
    if space.n_paths > 1:
        return [AddTree(), one_process(space)]
    if len(space) < _MANY_VARIABLES:
        return [one_process(space)]
    return [Additive(), one_process(space)] if len(space) <= _TOO_MANY_VARIABLES else [Additive()]


def one_process(space: Space) -> GPStrategy[Any]:
    """One Gaussian process over everything, in which anything may interact."""
    return Arc() if space.n_paths > 1 else AddTree()


def _compares(n: int) -> bool:
    return n <= _FEW or (n <= _SOME and n % 10 == 0)


def last_evidence(task: Task, rivals: Sequence[Strategy]) -> dict[str, float]:
    """By name, of the last complete trial that compared them; empty if none has."""
    names = {rival.name for rival in rivals}
    for trial in reversed(task.history.complete):
        fits = trial.memory.get("fits", {})
        if names <= set(fits) and all(fits[name]["evidence"] is not None for name in names):
            return {name: float(fits[name]["evidence"]) for name in names}
    return {}


def _by(strategy: str, proposals: Sequence[Proposal]) -> list[Proposal]:
    return [replace(proposal, strategy=strategy) for proposal in proposals]
