"""BosquetSampler: bosquet's strategies inside an Optuna study.

With a `Space` the sampler proposes whole configurations of it. Without one it infers the
conditional structure from the trials so far (`space.inference`), and goes on refining it.

A proposal is made when a trial asks for its first parameter. It is written to the trial's system
attribute ``bosquet:proposal``, so that other processes know what is pending before the trial has
asked for everything. The study's system attributes ``bosquet:space`` and ``bosquet:sampler`` say
what was given or inferred, for whoever looks at the study later (`study.sampled`).
"""

from __future__ import annotations

import secrets
import statistics
import threading
import weakref
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.samplers import BaseSampler
from optuna.storages import BaseStorage
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from bosquet.arrays import Array
from bosquet.data import Direction, Evaluation, History, Trial, key_of
from bosquet.errors import NOTHING_LEFT
from bosquet.optimizer import checked_seed
from bosquet.space import Choice, Config, Space, as_space
from bosquet.space.inference import Asked, infer_space
from bosquet.space.optuna import distributions, to_parameter
from bosquet.space.parameter import Parameter
from bosquet.strategies import Strategy, get
from bosquet.strategies.base import Proposal, Task, propose
from bosquet.study.sampled import SAMPLER, SPACE
from bosquet.study.views import (
    PROPOSAL,
    Given,
    Inferred,
    View,
    asked,
    ended,
    feasible,
    fits,
    from_option,
    proposal_of,
)
from bosquet.text import counted_text

_DISCOVERED = 12  # options of a choice up to which every one is tried soon, for what it brings
_DRAWS = 64  # random configurations among which to look for options not seen yet
_Read = TypeVar("_Read")
_asking = threading.RLock()  # threads of one process must see each other's proposals
_logger = optuna.logging.get_logger(f"optuna.{__name__}")  # speaks as loud as Optuna does


class BosquetSampler(BaseSampler):  # type: ignore[misc]
    """Proposes the parameters of an Optuna trial together, knowing which exist when.

    Failed trials teach where not to go. A pruned trial counts with its last intermediate value,
    though never as better than the median of the complete ones; without a value it has failed. So
    has a trial that violates a constraint of Optuna's. The user attribute
    ``bosquet:noise_variance`` of a trial says how noisy its value is.

    Args:
        space: a `Space`, or the dict that `Space` takes, whose parameters the objective asks for
            by their short or qualified names; None infers it from the trials.
        strategy: the name of a strategy, or a `Strategy`.
        seed: the same seed gives the same proposals; None draws one.
    """

    def __init__(
        self,
        space: Space | Mapping[str, Parameter] | None = None,
        strategy: str | Strategy = "auto",
        seed: int | None = None,
    ) -> None:
        space = None if space is None else as_space(space)
        self._strategy = get(strategy)
        if space is not None:
            self._strategy.check_space(space)
        self._given = None if space is None else Given(space)
        self._inferred: Space | None = None
        self._seed = secrets.randbits(32) if seed is None else checked_seed(seed)
        self._memories: _Memories = weakref.WeakKeyDictionary()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_memories": {}}  # another process reads its trials anew

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _memories=weakref.WeakKeyDictionary())

    @property
    def space(self) -> Space | None:
        """The space given, or as inferred for the last proposal; None before there is one."""
        return self._inferred if self._given is None else self._given.space

    def reseed_rng(self) -> None:
        self._seed = secrets.randbits(32)

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        self._raise_error_if_multi_objective(study)
        view = self._view(study, _others(study, trial))
        if view is None:
            return {}
        # Optuna refuses options in another order than here: of a space that was given, they are
        # told one by one.
        one_by_one = CategoricalDistribution if isinstance(view, Given) else ()
        return {n: d for n, d in view.distributions.items() if not isinstance(d, one_by_one)}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        self._raise_error_if_multi_objective(study)
        with _asking:
            others = _others(study, trial)
            view = self._view(study, others)
            if view is None:
                return {}
            self._describe(study, view, len(others))
            task = self._task(study, trial, view, others)
            proposal = self._propose(task, view)
            stored = {
                "config": proposal.config,
                "info": proposal.info(view.space),
                "memory": proposal.memory,
                "space": view.digest,
            }
            study._storage.set_trial_system_attr(trial._trial_id, PROPOSAL, stored)
        values = view.values_of(proposal.config)
        return {name: value for name, value in values.items() if name in search_space}

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """What was proposed; a random value if the proposal has none, or none in this range."""
        self._raise_error_if_multi_objective(study)
        proposal = proposal_of(trial)
        if self._given is not None and proposal.get("space") == self._given.digest:
            proposed = self._given.values_of(proposal["config"])
            if param_name in proposed and fits(param_distribution, proposed[param_name]):
                return proposed[param_name]
        rng = self._rng(trial.number, zlib.crc32(param_name.encode()))
        value = to_parameter(param_distribution).from_unit(rng.random(1))[0]
        return from_option(param_distribution, value)

    # -- the proposal ------------------------------------------------------------------------

    def _rng(self, *of: int) -> np.random.Generator:
        return np.random.default_rng([self._seed, *of])

    def _memory(self, study: Study) -> _Memory:
        studies = self._memories.setdefault(study._storage, {})
        return studies.setdefault(study._study_id, _Memory())

    def _view(self, study: Study, trials: Sequence[FrozenTrial]) -> View | None:
        return self._memory(study).inferred(trials) if self._given is None else self._given

    def _describe(self, study: Study, view: View, n: int) -> None:
        """Stores what this sampler is and which space it searches, when either is new."""
        self._inferred = view.space
        memory = self._memory(study)
        if memory.described == view.space:
            return
        before, memory.described = memory.described, view.space
        about = {
            "strategy": self._strategy.name,
            "seed": self._seed,
            "given": self._given is not None,
        }
        study._storage.set_study_system_attr(study._study_id, SPACE, view.space.to_dict())
        study._storage.set_study_system_attr(study._study_id, SAMPLER, about)
        if self._given is None and (before is None or _names(before) != _names(view.space)):
            _logger.info(f"Inferred from {counted_text(n, 'trial')}: {view.space}")

    def _task(
        self, study: Study, trial: FrozenTrial, view: View, others: Sequence[FrozenTrial]
    ) -> Task:
        maximize = study.direction == StudyDirection.MAXIMIZE
        direction: Direction = "maximize" if maximize else "minimize"
        pruned_at_best = _median_of_feasible(others)
        finished, pending = [], []
        for other, read in self._memory(study).trials(others, view):
            if other.state == TrialState.RUNNING:
                pending.append(read)
            elif other.state == TrialState.PRUNED:
                finished.append(_pruned(read, other, direction, pruned_at_best))
            else:
                finished.append(read)
        history = History(view.space, finished, direction)
        return Task(view.space, history, tuple(pending), None, self._seed, trial.number)

    def _propose(self, task: Task, view: View) -> Proposal:
        rng = self._rng(task.index)
        space = task.space
        if isinstance(view, Inferred):
            found = _with_unseen_options(task, rng)
            if found is not None:
                return Proposal(found, why="an option not tried yet may bring parameters")
        elif space.has_defaults and key_of(space.default_config()) not in task.seen:
            return Proposal(space.default_config(), why="initial")
        try:
            return propose(self._strategy, task, 1, rng)[0]
        except NOTHING_LEFT as nothing:
            known = [trial.config for trial in (*task.history.trials, *task.pending)]
            if not known:
                raise
            _logger.warning(f"{nothing}; trial {task.index} repeats one at random.")
            repeated = dict(known[int(rng.integers(len(known)))])
            return Proposal(repeated, why="nothing new is left")


def suggest_config(trial: optuna.Trial, space: Space) -> Config:
    """Asks a trial for a configuration of a space, under qualified names.

    Args:
        trial: what Optuna hands to the objective.
        space: the space; its constraints are not looked at.
    """
    every = distributions(space)
    return space.configure(lambda d: trial._suggest(d.qualified_name, every[d.qualified_name]))


def _names(space: Space) -> set[str]:
    return {dimension.qualified_name for dimension in space.dimensions}


# -- trials as bosquet reads them ------------------------------------------------------------


def _others(study: Study, trial: FrozenTrial) -> list[FrozenTrial]:
    """The other trials that have begun, those of other processes included."""
    trials = study._get_trials(deepcopy=False, use_cache=False)
    return [t for t in trials if t.number != trial.number and t.state != TrialState.WAITING]


def _median_of_feasible(trials: Sequence[FrozenTrial]) -> float | None:
    """What a pruned trial counts as at best; None when no trial is pruned or none is feasible."""
    if all(trial.state != TrialState.PRUNED for trial in trials):
        return None
    values = [trial.value for trial in trials if feasible(trial)]
    return statistics.median(values) if values else None


def _pruned(begun: Trial, trial: FrozenTrial, direction: str, at_best: float | None) -> Trial:
    if trial.last_step is None:
        return ended(begun, trial)
    # The pruner has seen it behind others; an early value may still look better than theirs.
    value = trial.intermediate_values[trial.last_step]
    worse = max if direction == "minimize" else min
    return begun.completed(Evaluation(value if at_best is None else worse(value, at_best)))


class _Memory:
    """What has been read of a study. Trials that have ended do not change any more."""

    def __init__(self) -> None:
        self._asked: dict[int, Asked] = {}
        self._inferred: tuple[list[Asked], Inferred | None] = ([], None)
        self._space: Space | None = None
        self._trials: dict[int, Trial | None] = {}
        self.described: Space | None = None
        """The space that is stored with the study."""

    def inferred(self, trials: Sequence[FrozenTrial]) -> Inferred | None:
        names = [_remembered(self._asked, trial, asked) for trial in trials]
        before, view = self._inferred
        if names != before:
            space = infer_space(names)
            view = None if space is None else Inferred(space, trials)
            self._inferred = names, view
        return view

    def trials(
        self, trials: Iterable[FrozenTrial], view: View
    ) -> Iterable[tuple[FrozenTrial, Trial]]:
        """With each trial that has a place in the space, what bosquet makes of it.

        A pruned one is as it began.
        """
        if view.space != self._space:
            self._space, self._trials = view.space, {}
        for trial in trials:
            read = _remembered(self._trials, trial, lambda trial: _read(trial, view))
            if read is not None:
                yield trial, read


def _read(trial: FrozenTrial, view: View) -> Trial | None:
    read = view.trial_of(trial)
    if read is None and isinstance(view, Given) and trial.state == TrialState.COMPLETE:
        _logger.warning(
            f"Trial {trial.number} is ignored: {trial.params} is not a configuration of the space: "
            f"{view.fault_of(trial)}."
        )
    return read


_Memories = weakref.WeakKeyDictionary[BaseStorage, dict[int, _Memory]]


def _remembered(
    memory: dict[int, _Read], trial: FrozenTrial, read: Callable[[FrozenTrial], _Read]
) -> _Read:
    if not trial.state.is_finished():
        return read(trial)
    if trial.number not in memory:
        memory[trial.number] = read(trial)
    return memory[trial.number]


# -- what has not been tried -----------------------------------------------------------------


def _with_unseen_options(task: Task, rng: np.random.Generator) -> Config | None:
    """A random configuration with options that no trial has had yet; None when there are none.

    As long as an option has not been tried, nobody knows which parameters come with it.
    """
    seen = _options_at(task.space, task.visited)
    if all(len(options) == n for (n, options) in seen):
        return None
    configs = task.space.sample(rng, _DRAWS)
    new = [
        sum(bool(there - before) for (_, there), (_, before) in zip(at, seen, strict=True))
        for at in (_options_at(task.space, task.space.to_unit([config])) for config in configs)
    ]
    return configs[int(np.argmax(new))] if max(new) else None


def _options_at(space: Space, units: Array) -> list[tuple[int, set[int]]]:
    """Of every choice to be discovered: how many options it has, and which of them rows take."""
    active = space.activity(units)
    return [
        (d.parameter.n_values, set(d.parameter.option_index(units[active[:, d.index], d.index])))
        for d in space.dimensions
        if isinstance(d.parameter, Choice) and d.parameter.n_values <= _DISCOVERED
    ]
