"""BOinG+: `BOinG`, which hands over to TuRBO while it finds nothing better.

Appendix B.2 of the supplement that `boing` names. One ask::

    with p_switch = 0.1 c_fail: the other engine             Eq. (1)       `Switching`
    BOinG: as in `boing`
    TuRBO: the largest X_sub of 20 random configurations     Appendix B.2  `_new_run`
        an improvement, or a length below 2^-4, ends it                    `_going_on`
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from bosquet.data import Dataset, Key
from bosquet.search.region import Region
from bosquet.search.subregion import subregion
from bosquet.search.tree_path import Scored
from bosquet.strategies.base import Proposal, Task
from bosquet.strategies.boing import BOinG, by_engine
from bosquet.strategies.choosing import first_free
from bosquet.strategies.switching import Switching, switching
from bosquet.strategies.turbo import Trust, Turbo, patience

_SAMPLED = 20  # configurations whose subregions TuRBO chooses from
_LEAST_LENGTH = 2.0**-4  # of TuRBO in a subregion


class BOinGPlus(BOinG):
    """BOinG, which hands over to TuRBO more and more often the longer it finds nothing better.

    TuRBO looks in the largest of 20 subregions, from the trials that are there, and hands back when
    it has found something better, or in turn finds nothing.
    """

    name: ClassVar[str] = "boing+"

    def next(self, task: Task, taken: Collection[Key], rng: np.random.Generator) -> Proposal | None:
        dimension = task.space.tree.largest_dimension
        state = switching(task.history, dimension)
        run = self._going_on(task, state, dimension)
        if self.engine(state, run is None, rng) == "boing":
            return super().next(task, taken, rng)
        data = task.history.dataset()
        run = run or self._new_run(task, data, rng)
        rows = run.region.contains(data.X)
        found = None
        if rows.sum() > dimension:
            inside = Dataset(data.X[rows], data.y[rows], data.noise[rows], data.active[rows])
            turbo = Turbo.paper() if self.published else Turbo()
            found = turbo.step(task, inside, run.trust.length, taken, rng, run.region)
        if found is None:  # a design of the subregion, or a change from what is taken there
            found = self._drawn(task, run.region, taken, rng)
        if found is None:
            return super().next(task, taken, rng)
        running = {"start": run.start, "region": run.region.to_json()}
        return by_engine("turbo", replace(found, memory=found.memory | {"turbo": running}))

    def engine(self, state: Switching, collapsed: bool, rng: np.random.Generator) -> str:
        """Which of the two proposes now."""
        due = not self.published or state.due(collapsed)
        return state.next(rng) if due else state.engine

    def _going_on(self, task: Task, state: Switching, dimension: int) -> _TurboRun | None:
        """The run of the last trial, if that was TuRBO's and its region is not yet too small."""
        history = task.history
        if state.engine != "turbo":
            return None
        last = next(t for t in reversed(history.trials) if t.memory.get("engine") == "turbo")
        running = last.memory["turbo"]
        region = Region.from_json(task.space, running["region"])
        before = [t for t in history.complete if t.number < running["start"]]
        known = region.contains(task.space.to_unit([t.config for t in before]))
        losses = [history.loss(t) for t, ok in zip(before, known, strict=True) if ok]
        trust = Trust(best=min(losses, default=math.inf))
        for trial in history.trials:
            if trial.memory.get("turbo", {}).get("start") == running["start"]:
                loss = history.loss(trial) if trial.state == "complete" else math.inf
                trust = trust.after(loss, patience(dimension))
        return None if trust.length < _LEAST_LENGTH else _TurboRun(running["start"], region, trust)

    def _new_run(self, task: Task, data: Dataset, rng: np.random.Generator) -> _TurboRun:
        """The largest of some sampled subregions."""
        forest = self.forest(task, data, rng)
        least = self.least_inside(task.space)
        sampled = task.space.snap(rng.random((_SAMPLED, len(task.space))))
        regions = [subregion(task.space, forest, x, data.X, least)[0] for x in sampled]
        return _TurboRun(task.index, max(regions, key=lambda region: region.volume), Trust())

    def _drawn(
        self, task: Task, region: Region, taken: Collection[Key], rng: np.random.Generator
    ) -> Proposal | None:
        if task.candidates is not None:
            return None
        X = region.draw(50, rng)
        found = first_free(task, [Scored(region.path, X, np.zeros(len(X)))], taken)
        if found is None:
            return None
        return Proposal(found[0], why="a random point of TuRBO's subregion")


@dataclass(frozen=True)
class _TurboRun:
    """TuRBO in a subregion, since the trial number ``start``."""

    start: int
    region: Region
    trust: Trust
