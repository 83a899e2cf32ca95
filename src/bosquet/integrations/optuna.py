"""BosquetSampler: bosquet's strategies inside an Optuna study.

With a `Space` the sampler proposes whole configurations of it. Without one it infers the
conditional structure from the trials so far (`inference`), and goes on refining it.

A proposal is made when a trial asks for its first parameter. It is written to the trial's system
attribute ``bosquet:proposal``, so that other processes know what is pending before the trial has
asked for everything; the study's system attribute ``bosquet:space`` says what was inferred.
"""

from __future__ import annotations

import json
import secrets
import statistics
import threading
import weakref
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.samplers import BaseSampler
from optuna.storages import BaseStorage
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from bosquet.arrays import Array
from bosquet.data import Direction, Evaluation, History, Trial, key_of, stored_info
from bosquet.errors import SpaceExhausted
from bosquet.integrations.inference import Asked, infer_space
from bosquet.optimizer import checked_seed
from bosquet.space import Choice, Config, Space
from bosquet.space.optuna import distributions, to_parameter
from bosquet.space.parameter import option_labels
from bosquet.space.structure import Dimension
from bosquet.strategies import Strategy, get
from bosquet.strategies.base import Proposal, Task, propose

_PROPOSAL = "bosquet:proposal"
_SPACE = "bosquet:space"
_NOISE = "bosquet:noise_variance"
_DISCOVERED = 12  # options of a choice up to which every one is tried soon, for what it brings
_DRAWS = 64  # random configurations among which to look for options not seen yet
_Read = TypeVar("_Read")
_asking = threading.RLock()  # threads of one process must see each other's proposals
_logger = optuna.logging.get_logger(f"optuna.{__name__}")  # speaks as loud as Optuna does


class BosquetSampler(BaseSampler):  # type: ignore[misc]
    """Proposes the parameters of an Optuna trial together, knowing which exist when.

    ``space`` is a `Space` whose parameters the objective asks for by their short or qualified
    names; None infers it. ``strategy`` and ``seed`` are those of `bosquet.Optimizer`.

    Failed trials teach where not to go. A pruned trial counts with its last intermediate value,
    though never as better than the median of the complete ones; without a value it has failed. So
    has a trial that violates a constraint of Optuna's. The user attribute
    ``bosquet:noise_variance`` of a trial says how noisy its value is.
    """

    def __init__(
        self,
        space: Space | None = None,
        strategy: str | Strategy = "auto",
        seed: int | None = None,
    ) -> None:
        if space is not None and not isinstance(space, Space):
            raise TypeError(f"space must be a bosquet.Space or None, not {type(space).__name__}")
        self._strategy = get(strategy)
        if space is not None:
            self._strategy.check_space(space)
        self._given = None if space is None else _Given(space)
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
        return {} if view is None else dict(view.distributions)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        self._raise_error_if_multi_objective(study)
        with _asking:
            others = _others(study, trial)
            view = self._view(study, others)
            if view is None:
                return {}
            self._tell_inferred(study, view, len(others))
            task = self._task(study, trial, view, others)
            proposal = self._propose(task, view)
            stored = {
                "config": proposal.config,
                "info": proposal.info(view.space),
                "memory": proposal.memory,
                "space": view.digest,
            }
            study._storage.set_trial_system_attr(trial._trial_id, _PROPOSAL, stored)
        values = view.values_of(proposal.config)
        return {name: value for name, value in values.items() if name in search_space}

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """A random value, for a parameter that the proposal does not have or not in this range."""
        self._raise_error_if_multi_objective(study)
        rng = self._rng(trial.number, zlib.crc32(param_name.encode()))
        value = to_parameter(param_distribution).from_unit(rng.random(1))[0]
        return _from_option(param_distribution, value)

    # -- the proposal ------------------------------------------------------------------------

    def _rng(self, *of: int) -> np.random.Generator:
        return np.random.default_rng([self._seed, *of])

    def _memory(self, study: Study) -> _Memory:
        studies = self._memories.setdefault(study._storage, {})
        return studies.setdefault(study._study_id, _Memory())

    def _view(self, study: Study, trials: Sequence[FrozenTrial]) -> _View | None:
        return self._memory(study).inferred(trials) if self._given is None else self._given

    def _tell_inferred(self, study: Study, view: _View, n: int) -> None:
        before, self._inferred = self._inferred, view.space
        if self._given is not None or before == view.space:
            return
        study._storage.set_study_system_attr(study._study_id, _SPACE, view.space.to_dict())
        if before is None or _names(before) != _names(view.space):
            _logger.info(f"Inferred from {n} trials: {view.space}")

    def _task(
        self, study: Study, trial: FrozenTrial, view: _View, others: Sequence[FrozenTrial]
    ) -> Task:
        maximize = study.direction == StudyDirection.MAXIMIZE
        direction: Direction = "maximize" if maximize else "minimize"
        pruned_at_best = _median_of_feasible(others)
        ended, pending = [], []
        for other, read in self._memory(study).trials(others, view):
            if other.state == TrialState.RUNNING:
                pending.append(read)
            elif other.state == TrialState.PRUNED:
                ended.append(_pruned(read, other, direction, pruned_at_best))
            else:
                ended.append(read)
        history = History(view.space, ended, direction)
        return Task(view.space, history, tuple(pending), None, self._seed, trial.number)

    def _propose(self, task: Task, view: _View) -> Proposal:
        rng = self._rng(task.index)
        space = task.space
        if isinstance(view, _Inferred):
            found = _with_unseen_options(task, rng)
            if found is not None:
                return Proposal(found, why="an option not tried yet may bring parameters")
        elif space.has_defaults and key_of(space.default_config()) not in task.seen:
            return Proposal(space.default_config(), why="initial")
        try:
            return propose(self._strategy, task, 1, rng)[0]
        except SpaceExhausted as exhausted:
            _logger.warning(f"{exhausted}; trial {task.index} repeats one at random.")
            return Proposal(space.sample(rng), why="nothing new is left")


def suggest_config(trial: optuna.Trial, space: Space) -> Config:
    """Asks a trial for a configuration of a space, under qualified names."""
    every = distributions(space)
    return space.configure(lambda d: trial._suggest(d.qualified_name, every[d.qualified_name]))


def _names(space: Space) -> set[str]:
    return {dimension.qualified_name for dimension in space.dimensions}


# -- trials as bosquet reads them ------------------------------------------------------------


def _others(study: Study, trial: FrozenTrial) -> list[FrozenTrial]:
    """The other trials that have begun, those of other processes included."""
    trials = study._get_trials(deepcopy=False, use_cache=False)
    return [t for t in trials if t.number != trial.number and t.state != TrialState.WAITING]


def _feasible(trial: FrozenTrial) -> bool:
    """Whether a trial is complete and satisfies Optuna's constraints."""
    return trial.state == TrialState.COMPLETE and all(c <= 0 for c in trial.constraints.values())


def _median_of_feasible(trials: Sequence[FrozenTrial]) -> float | None:
    """What a pruned trial counts as at best; None when no trial is pruned or none is feasible."""
    if all(trial.state != TrialState.PRUNED for trial in trials):
        return None
    values = [trial.value for trial in trials if _feasible(trial)]
    return statistics.median(values) if values else None


def _ended(begun: Trial, trial: FrozenTrial) -> Trial:
    """A trial, not pruned, with what became of it."""
    if _feasible(trial):
        return begun.completed(Evaluation(trial.value, trial.user_attrs.get(_NOISE)))
    return begun.failed("constraint" if trial.constraints else trial.state.name.lower())


def _pruned(begun: Trial, trial: FrozenTrial, direction: str, at_best: float | None) -> Trial:
    if trial.last_step is None:
        return _ended(begun, trial)
    # The pruner has seen it behind others; an early value may still look better than theirs.
    value = trial.intermediate_values[trial.last_step]
    worse = max if direction == "minimize" else min
    return begun.completed(Evaluation(value if at_best is None else worse(value, at_best)))


class _Memory:
    """What has been read of a study. Trials that have ended do not change any more."""

    def __init__(self) -> None:
        self._asked: dict[int, Asked] = {}
        self._inferred: tuple[list[Asked], _Inferred | None] = ([], None)
        self._space: Space | None = None
        self._trials: dict[int, Trial | None] = {}

    def inferred(self, trials: Sequence[FrozenTrial]) -> _Inferred | None:
        asked = [_remembered(self._asked, trial, _asked) for trial in trials]
        before, view = self._inferred
        if asked != before:
            space = infer_space(asked)
            view = None if space is None else _Inferred(space, trials)
            self._inferred = asked, view
        return view

    def trials(
        self, trials: Iterable[FrozenTrial], view: _View
    ) -> Iterable[tuple[FrozenTrial, Trial]]:
        """With each trial that has a place in the space, what bosquet makes of it.

        A pruned one is as it began.
        """
        if view.space != self._space:
            self._space, self._trials = view.space, {}
        for trial in trials:
            read = _remembered(self._trials, trial, view.trial_of)
            if read is not None:
                yield trial, read


_Memories = weakref.WeakKeyDictionary[BaseStorage, dict[int, _Memory]]


def _remembered(
    memory: dict[int, _Read], trial: FrozenTrial, read: Callable[[FrozenTrial], _Read]
) -> _Read:
    if not trial.state.is_finished():
        return read(trial)
    if trial.number not in memory:
        memory[trial.number] = read(trial)
    return memory[trial.number]


class _View(ABC):
    """How the parameters of a space are called and valued in a study."""

    distributions: dict[str, BaseDistribution]
    """By every name under which a parameter may be asked for."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.digest = zlib.crc32(json.dumps(space.to_dict()).encode())

    @abstractmethod
    def config_of(self, trial: FrozenTrial) -> Config | None:
        """The configuration of a trial, or None if it has none in this space."""

    def trial_of(self, trial: FrozenTrial) -> Trial | None:
        config = self.config_of(trial)
        if config is None:
            return None
        info, memory = self.stored_about(trial)
        begun = Trial(trial.number, config, info=info, memory=memory)
        as_begun = trial.state in (TrialState.RUNNING, TrialState.PRUNED)
        return begun if as_begun else _ended(begun, trial)

    @abstractmethod
    def values_of(self, config: Config) -> dict[str, Any]:
        """A configuration as Optuna's values, by name."""

    def stored_about(self, trial: FrozenTrial) -> tuple[dict[str, Any], dict[str, Any]]:
        """Info and memory of a trial; those of another space do not count."""
        stored = trial.system_attrs.get(_PROPOSAL, {})
        if stored.get("space") != self.digest:
            return {}, {}
        return stored_info(stored["info"], stored.get("memory"))


def _not_asked_yet(trial: FrozenTrial) -> Config:
    """The proposal of a trial that may have ended before it had asked for everything."""
    if trial.state == TrialState.COMPLETE:
        return {}
    return dict(trial.system_attrs.get(_PROPOSAL, {}).get("config", {}))


class _Given(_View):
    """A space of the user's; its parameters go by short and by qualified names."""

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self.distributions = distributions(space)
        for name, dimensions in space.tree.by_name.items():
            kinds = [self.distributions[d.qualified_name] for d in dimensions]
            if all(_compatible(kinds[0], kind) for kind in kinds):
                self.distributions[name] = kinds[0]

    def config_of(self, trial: FrozenTrial) -> Config | None:
        spare = _not_asked_yet(trial)

        def value_of(dimension: Dimension) -> Any:
            for name in (dimension.qualified_name, dimension.name):
                if name in trial.params:
                    return trial.params[name]
            return spare[dimension.name]

        try:
            return self.space.validate(self.space.configure(value_of))
        except (LookupError, TypeError, ValueError, OverflowError):
            if trial.state == TrialState.COMPLETE:
                _logger.warning(
                    f"Trial {trial.number} is ignored: {trial.params} is not a configuration "
                    "of the space."
                )
            return None

    def values_of(self, config: Config) -> dict[str, Any]:
        return self.space.qualify(config) | config


def _compatible(one: BaseDistribution, other: BaseDistribution) -> bool:
    try:
        optuna.distributions.check_distribution_compatibility(one, other)
    except ValueError:
        return False
    return True


class _Inferred(_View):
    """An inferred space; what a trial lacks there has no influence and takes a middle value."""

    def __init__(self, space: Space, trials: Iterable[FrozenTrial]) -> None:
        super().__init__(space)
        self.distributions = {
            name: distribution
            for trial in trials
            for name, distribution in trial.distributions.items()
            if name in space.tree.by_name
        }

    def config_of(self, trial: FrozenTrial) -> Config | None:
        known = _not_asked_yet(trial) | dict(_asked(trial).values)
        if not known:
            return None

        def value_of(dimension: Dimension) -> Any:
            if dimension.name in known:
                return known[dimension.name]
            return dimension.parameter.from_unit(np.array([0.5]))[0]

        try:
            return self.space.configure(value_of)
        except (TypeError, ValueError, OverflowError):  # a proposal made before the space was so
            return None

    def values_of(self, config: Config) -> dict[str, Any]:
        return {
            name: _from_option(self.distributions[name], value) for name, value in config.items()
        }


# -- distributions ---------------------------------------------------------------------------


def _asked(trial: FrozenTrial) -> Asked:
    """What a trial asked for; what could take one value only does not count."""
    kinds = {name: d for name, d in trial.distributions.items() if not d.single()}
    return Asked(
        {name: _to_option(kind, trial.params[name]) for name, kind in kinds.items()},
        {name: to_parameter(kind) for name, kind in kinds.items()},
        whole=trial.state == TrialState.COMPLETE,
    )


def _to_option(distribution: BaseDistribution, value: Any) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return option_labels(distribution.choices)[int(distribution.to_internal_repr(value))]
    return value


def _from_option(distribution: BaseDistribution, value: Any) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[option_labels(distribution.choices).index(value)]
    return value


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
