"""Several models of the same trials, and how much each of them is trusted.

Their expected improvements are averaged. Weights follow the evidence, tempered: the log posterior
of a few trials is surer than it should be, and a model that explains a little less keeps a say
where the others see nothing left to gain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bosquet.acquisition.averaged import AveragedLogEI, Stacked
from bosquet.acquisition.base import LogEI
from bosquet.arrays import Array
from bosquet.search.tree_path import PathSearch
from bosquet.space import Config
from bosquet.space.tree import Path
from bosquet.strategies.base import Proposal
from bosquet.strategies.choosing import Ask, feasibility_of
from bosquet.strategies.gp_strategy import GPStrategy

_TEMPERATURE = 4.0  # of the evidence
NEGLIGIBLE = 1e-3  # weights below it do not count


def weights_of(evidence: Mapping[str, float]) -> dict[str, float]:
    """By name, adding up to one; those that do not count are left out."""
    values = np.array(list(evidence.values()))
    weights = np.exp((values - values.max()) / _TEMPERATURE)
    weights /= weights.sum()
    kept = {n: float(w) for n, w in zip(evidence, weights, strict=True) if w >= NEGLIGIBLE}
    return {name: weight / sum(kept.values()) for name, weight in kept.items()}


@dataclass(frozen=True)
class Belief:
    """A strategy's model of the trials, and what its choice is based on."""

    strategy: GPStrategy[Any]
    ask: Ask[Any]
    weight: float

    @property
    def acquisition(self) -> LogEI:
        return LogEI(self.ask.best, self.ask.fitted.noise)


@dataclass(frozen=True)
class Beliefs:
    """All that count."""

    all: Sequence[Belief]

    @property
    def _first(self) -> Belief:
        """The one that is trusted most."""
        return max(self.all, key=lambda belief: belief.weight)

    def next(self) -> Proposal | None:
        """The best free and feasible configuration by the averaged expected improvement."""
        first = self._first
        if len(self.all) == 1:  # by a search of its own, where it has one
            found = first.strategy.next(first.ask)
            return None if found is None else replace(found, strategy=first.strategy.name)
        acquisition = AveragedLogEI([b.acquisition for b in self.all], self._log_weights)
        task = first.ask.task
        feasibility, places = feasibility_of(task), first.strategy.places(task)
        taken = first.ask.taken_rows
        search = PathSearch(
            task.space, self._on_path, acquisition, feasibility, places=places, taken=taken
        )
        found = first.strategy.best_found(first.ask, search)
        return None if found is None else self._described(found)

    def after(self, config: Config) -> Beliefs:
        """With a configuration pending."""
        return Beliefs([replace(belief, ask=belief.ask.after(config)) for belief in self.all])

    def _on_path(self, path: Path) -> Stacked:
        return Stacked([belief.ask.fitted.posterior.on_path(path) for belief in self.all])

    @property
    def _log_weights(self) -> Array:
        return np.log([belief.weight for belief in self.all])

    def _described(self, found: Proposal) -> Proposal:
        """With the name of the belief that sees most of the improvement."""
        space = self._first.ask.task.space
        x = space.to_unit([found.config])
        moments = zip(self.all, *self._on_path(space.path(found.config)).moments(x), strict=True)
        gains = [belief.acquisition.value(mean, var)[0] for belief, mean, var in moments]
        most = self.all[int(np.argmax(gains + self._log_weights))]
        name = most.strategy.name
        why = f"highest expected improvement, averaged over beliefs; most of it is seen by {name}"
        return replace(found, why=why, strategy=name)
