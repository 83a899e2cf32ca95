"""How the trials of an Optuna study are configurations of a space.

In a study that a sampler ran, ours or another, a trial asked for one parameter after the other, by
short or by qualified names. A *view* reads such a trial with a space that the user gave (`Given`),
or with one inferred from what the trials asked for (`Inferred`).

Optuna loads with this module.
"""

from __future__ import annotations

import json
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.trial import FrozenTrial, TrialState

from bosquet.data import Evaluation, Trial, stored_info
from bosquet.space import Config, Space
from bosquet.space.inference import Asked
from bosquet.space.optuna import distributions, to_parameter
from bosquet.space.parameter import option_labels
from bosquet.space.tree import Dimension

PROPOSAL = "bosquet:proposal"
"""The system attribute of a trial with the whole configuration that was proposed for it."""
NOISE = "bosquet:noise_variance"
"""The user attribute of a trial with the variance of its value."""

NO_CONSTANTS: Mapping[str, BaseDistribution] = {}


class View(ABC):
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
        """What bosquet makes of a trial; one that runs or was pruned is as it began."""
        config = self.config_of(trial)
        if config is None:
            return None
        info, memory = self.stored_about(trial)
        times = {"started": trial.datetime_start, "ended": trial.datetime_complete}
        begun = Trial(trial.number, config, info=info, memory=memory, **times)
        as_begun = trial.state in (TrialState.RUNNING, TrialState.PRUNED)
        return begun if as_begun else ended(begun, trial)

    @abstractmethod
    def values_of(self, config: Config) -> dict[str, Any]:
        """A configuration as Optuna's values, by name."""

    def stored_about(self, trial: FrozenTrial) -> tuple[dict[str, Any], dict[str, Any]]:
        """Info and memory of a trial; those of another space do not count."""
        proposal = proposal_of(trial)
        if proposal.get("space") != self.digest:
            return {}, {}
        return stored_info(proposal["info"], proposal.get("memory"))


def proposal_of(trial: FrozenTrial) -> dict[str, Any]:
    """What `BosquetSampler` proposed for a trial: configuration, info and the space's digest."""
    return dict(trial.system_attrs.get(PROPOSAL, {}))


def feasible(trial: FrozenTrial) -> bool:
    """Whether a trial is complete and satisfies Optuna's constraints."""
    return trial.state == TrialState.COMPLETE and all(c <= 0 for c in trial.constraints.values())


def ended(begun: Trial, trial: FrozenTrial) -> Trial:
    """A trial, not pruned, with what became of it."""
    if feasible(trial):
        return begun.completed(Evaluation(trial.value, trial.user_attrs.get(NOISE)))
    if trial.state == TrialState.COMPLETE:
        return begun.failed("a constraint is above zero")
    return begun.failed(f"state {trial.state.name}; Optuna keeps no reason")


def _not_asked_yet(trial: FrozenTrial) -> Config:
    """The proposal of a trial that may have ended before it had asked for everything."""
    if trial.state == TrialState.COMPLETE:
        return {}
    return dict(proposal_of(trial).get("config", {}))


class Given(View):
    """A space of the user's; its parameters go by short and by qualified names."""

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self.distributions = distributions(space)
        for name, dimensions in space.tree.by_name.items():
            kinds = [self.distributions[d.qualified_name] for d in dimensions]
            if all(_compatible(kinds[0], kind) for kind in kinds):
                self.distributions[name] = kinds[0]

    def config_of(self, trial: FrozenTrial) -> Config | None:
        try:
            return self._configured(trial)
        except (LookupError, TypeError, ValueError, OverflowError):
            return None

    def fault_of(self, trial: FrozenTrial) -> str:
        """Why a trial is not a configuration of the space."""
        try:
            self._configured(trial)
        except (LookupError, TypeError, ValueError, OverflowError) as error:
            return str(error)
        return ""

    def _configured(self, trial: FrozenTrial) -> Config:
        known = _not_asked_yet(trial) | trial.params

        def value_of(dimension: Dimension) -> Any:
            for name in (dimension.qualified_name, dimension.name):
                if name in known:
                    return _checked(dimension, known[name])
            raise ValueError(f"{dimension.name!r} was not suggested")

        return self.space.validate(self.space.configure(value_of))

    def values_of(self, config: Config) -> dict[str, Any]:
        return self.space.qualify(config) | config


def _checked(dimension: Dimension, value: Any) -> Any:
    try:
        return dimension.parameter.check(value)
    except (TypeError, ValueError, OverflowError):
        allowed = dimension.parameter.describe()
        raise ValueError(f"{dimension.name!r}: {value!r} is not {allowed}") from None


def _compatible(one: BaseDistribution, other: BaseDistribution) -> bool:
    try:
        optuna.distributions.check_distribution_compatibility(one, other)
    except ValueError:
        return False
    return True


class Inferred(View):
    """An inferred space; what a trial lacks there has no influence and takes a middle value."""

    def __init__(
        self,
        space: Space,
        trials: Iterable[FrozenTrial],
        constants: Mapping[str, BaseDistribution] = NO_CONSTANTS,
    ) -> None:
        super().__init__(space)
        self._constants = constants
        self.distributions = {
            name: distribution
            for trial in trials
            for name, distribution in trial.distributions.items()
            if name in space.tree.by_name
        }

    def config_of(self, trial: FrozenTrial) -> Config | None:
        known = _not_asked_yet(trial) | dict(asked(trial, self._constants).values)
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
            name: from_option(self.distributions[name], value) for name, value in config.items()
        }


# -- distributions ---------------------------------------------------------------------------


def fits(distribution: BaseDistribution, value: Any) -> bool:
    """Whether a trial may have a value."""
    try:
        return bool(distribution._contains(distribution.to_internal_repr(value)))
    except ValueError:
        return False


def asked(trial: FrozenTrial, constants: Mapping[str, BaseDistribution] = NO_CONSTANTS) -> Asked:
    """What a trial asked for.

    What could take one value only does not count, unless ``constants`` has what stands for it.
    """
    kinds = {
        name: constants.get(name) if distribution.single() else distribution
        for name, distribution in trial.distributions.items()
    }
    return Asked(
        {
            name: to_option(trial.distributions[name], trial.params[name])
            for name, kind in kinds.items()
            if kind is not None
        },
        {name: to_parameter(kind) for name, kind in kinds.items() if kind is not None},
        whole=trial.state == TrialState.COMPLETE,
    )


def to_option(distribution: BaseDistribution, value: Any) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return option_labels(distribution.choices)[int(distribution.to_internal_repr(value))]
    return value


def from_option(distribution: BaseDistribution, value: Any) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[option_labels(distribution.choices).index(value)]
    return value
