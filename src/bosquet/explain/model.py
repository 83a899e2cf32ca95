"""Model: what the trials of a study say about its objective, in the user's own units and sign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from bosquet.arrays import Array
from bosquet.data import History, Trial
from bosquet.errors import ModelError
from bosquet.explain.branches import BranchBest, Known, best_of_branch
from bosquet.explain.effects import BranchEffects, Effect, Interaction, Surface
from bosquet.explain.fit import Belief, fit_views, fitted_trials
from bosquet.explain.importance import Importance, importance_of
from bosquet.explain.mixture import Mixture, interval_levels
from bosquet.space.tree import Dimension, Path
from bosquet.strategies import Strategy
from bosquet.strategies.choosing import failures_of
from bosquet.text import did_you_mean, listed
from bosquet.threads import one_thread

LEVEL = 0.9
_MOST_BRANCHES = 32  # looked at, where there are more
_MOST_PAIRED = 8  # parameters of a branch whose pairs are looked at


@dataclass(frozen=True)
class LeftOut:
    """A complete trial, predicted from all others; noise is part of it."""

    trial: Trial
    mean: float
    sd: float
    low: float
    high: float
    level: float
    """The probability that the model gives to the value being lower than it was: evenly spread
    between 0 and 1 where the model is calibrated."""


class Model:
    """A fitted model of the objective. ``result.model()`` and ``optimizer.model()`` make one.

    The model is that of the study's strategy where it is a sum of components, else the default
    one of `auto` (several beliefs averaged by evidence). Means, standard deviations and intervals
    are those of the objective itself, in its own units: where values are transformed for the
    model, its normal distributions are transformed back (means and standard deviations by
    quadrature, intervals by quantiles). They include that hyper-parameters are uncertain.

    Random numbers have fixed seeds: the same trials give the same answers.

    Args:
        history: the trials of the study.
        strategy: whose model to fit; None is the strategy of the trials.
    """

    def __init__(self, history: History, strategy: Strategy | None = None) -> None:
        self.history = history
        self.space = history.space
        self.trials: tuple[Trial, ...] = fitted_trials(history)
        """The trials that were fitted: all complete ones, or 300 of very many."""
        with one_thread():
            beliefs, views = fit_views(history, strategy)
        self.beliefs: tuple[Belief, ...] = tuple(beliefs)
        """What was fitted, by strategy, with its weight in all that is said."""
        self._mixture = Mixture(self.space, views)
        self._sign = 1.0 if history.direction == "minimize" else -1.0
        self._bests: dict[float, list[BranchBest]] = {}  # by level: reports ask more than once

    # -- what it is --------------------------------------------------------------------------

    def __str__(self) -> str:
        return f"{self._fitted} to {self._counted}; {'; '.join(map(_belief_text, self.beliefs))}"

    def __repr__(self) -> str:
        return f"<Model: {self}>"

    @property
    def _fitted(self) -> str:
        return f"{listed(belief.strategy for belief in self.beliefs)} fitted"

    @property
    def _counted(self) -> str:
        n, known = len(self.trials), len(self.history.complete)
        return f"{n} trials" if n == known else f"{n} of {known} trials"

    @cached_property
    def branches(self) -> tuple[str, ...]:
        """The labels of the branches with a complete trial, the best one first."""
        return tuple(self.history.best_by_path())

    # -- predictions -------------------------------------------------------------------------

    def predict(
        self, configs: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, noise: bool = False
    ) -> tuple[Array, Array]:
        """Mean and standard deviation of the objective at configurations: (n,) each.

        Args:
            configs: a configuration, or a list of them.
            noise: predict a further evaluation, noise included, instead of the objective itself.
        """
        mean, sd = self._mixture.mean_and_sd(self._rows(configs), noise=noise)
        return self._sign * mean, sd

    def interval(
        self,
        configs: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        level: float = LEVEL,
        *,
        noise: bool = False,
    ) -> tuple[Array, Array]:
        """The ends of the central interval of the objective at configurations: (n,) each.

        Args:
            configs: a configuration, or a list of them.
            level: the probability that intervals have.
            noise: of a further evaluation, noise included.
        """
        ends = self._mixture.quantiles(self._rows(configs), interval_levels(level), noise=noise)
        low, high = np.sort(self._sign * ends, axis=0)
        return low, high

    def _rows(self, configs: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Array:
        given = [configs] if isinstance(configs, Mapping) else list(configs)
        return self.space.to_unit([self.space.validate(config) for config in given])

    def leave_one_out(self, level: float = LEVEL) -> list[LeftOut]:
        """Every fitted trial, predicted from all others with the hyper-parameters of all.

        Args:
            level: the probability that intervals have.
        """
        mean, sd, ends = self._mixture.left_out(interval_levels(level))
        y = np.array([self.history.loss(trial) for trial in self.trials])
        below = self._mixture.left_out_levels(y)
        low, high = np.sort(self._sign * ends, axis=0)
        below = below if self._sign > 0 else 1.0 - below
        columns = (self._sign * mean, sd, low, high, below)
        return [
            LeftOut(trial, *map(float, values))
            for trial, *values in zip(self.trials, *columns, strict=True)
        ]

    # -- branches ----------------------------------------------------------------------------

    def best_predicted(self, *, per_branch: bool = True, level: float = LEVEL) -> list[BranchBest]:
        """The best configuration of each branch by the model, the best branch first.

        With it, what a further trial of the branch may bring. Branches are those with trials and
        others, 32 at most.

        Args:
            per_branch: the best of each branch; False: only the best of all.
            level: the probability that intervals have.
        """
        if level not in self._bests:
            self._bests[level] = self._best_by_branch(level)
        bests = [
            replace(one, config=dict(one.config), next_config=dict(one.next_config))
            for one in self._bests[level]
        ]
        return bests if per_branch else bests[:1]

    def _best_by_branch(self, level: float) -> list[BranchBest]:
        data = self.history.dataset()
        of_path = self.space.tree.rows_by_path(data.X)
        feasibility = failures_of(self.history)
        known = Known(float(data.y.min()), self._sign, feasibility)
        found = []
        for path in self._paths():
            rows = data.X[of_path.get(path, np.zeros(0, dtype=int))]
            found.append(best_of_branch(self.space, self._mixture, path, rows, known, level))
        return sorted((one for one in found if one), key=lambda one: self._sign * one.mean)

    def _paths(self) -> list[Path]:
        """Those of the best trials first, then others."""
        seen = [self.space.path(trial.config) for trial in self.history.best_by_path().values()]
        failed = [self.space.path(trial.config) for trial in self.history.failed]
        others: list[Path] = []
        if self.space.n_paths <= _MOST_BRANCHES:
            others = list(self.space.tree.paths())
        return list(dict.fromkeys([*seen, *failed, *others]))[:_MOST_BRANCHES]

    def _path(self, branch: str | Mapping[str, Any] | None) -> Path:
        """The path of a label, or of choices by name; None is that of the best trial."""
        if branch is None:
            assert self.history.best is not None
            return self.space.path(self.history.best.config)
        if isinstance(branch, Mapping):
            return self.space.path(branch)
        for path in [*self._paths(), *self._all_paths()]:
            if self.space.tree.path_label(path) == branch:
                return path
        known = listed(map(repr, self.branches))
        raise ModelError(
            f"branch={branch!r} is no branch of this space{did_you_mean(branch, self.branches)}; "
            f"there are trials of {known}"
        )

    def _all_paths(self) -> list[Path]:
        few = self.space.n_paths <= 100 * _MOST_BRANCHES
        return list(self.space.tree.paths()) if few else []

    # -- parameters --------------------------------------------------------------------------

    def parameters(self, branch: str | Mapping[str, Any] | None = None) -> list[str]:
        """The qualified names of the parameters of a branch, choices of branches aside.

        Args:
            branch: its label or its choices in a dict, as for `effects`; None: that of the best
                trial.
        """
        return [one.qualified_name for one in self._variables(self._path(branch), None)]

    def effects(
        self,
        branch: str | Mapping[str, Any] | None = None,
        parameters: Sequence[str] | None = None,
        *,
        points: int = 21,
        level: float = LEVEL,
    ) -> list[Effect]:
        """What each parameter of a branch does, averaged over the others; the largest first.

        Args:
            branch: the label of a branch (``"model=svm, kernel=rbf"``) or its choices in a dict;
                None is that of the best trial.
            parameters: which ones, by short or qualified name; None: all of the branch.
            points: at how many values of a continuous parameter.
            level: the probability that intervals have.
        """
        path = self._path(branch)
        chosen = self._variables(path, parameters)
        of_branch = BranchEffects(self.space, self._mixture, path, self._sign)
        effects = [of_branch.effect(dimension, points, level) for dimension in chosen]
        return sorted(effects, key=lambda effect: -effect.spread)

    def interactions(
        self,
        branch: str | Mapping[str, Any] | None = None,
        parameters: Sequence[str] | None = None,
        *,
        level: float = LEVEL,
    ) -> list[Interaction]:
        """How much pairs of parameters explain only together; the strongest pair first.

        Args:
            branch: the label of a branch (``"model=svm, kernel=rbf"``) or its choices in a dict;
                None is that of the best trial.
            parameters: pairs of which ones; None: of the eight that matter most.
            level: the probability that intervals have.
        """
        path = self._path(branch)
        chosen = self._variables(path, parameters)
        if parameters is None and len(chosen) > _MOST_PAIRED:
            sizes = {one.parameter: one.sd for one in self.importance()}
            chosen = sorted(chosen, key=lambda d: -sizes.get(d.qualified_name, 0.0))
            chosen = chosen[:_MOST_PAIRED]
        of_branch = BranchEffects(self.space, self._mixture, path, self._sign)
        found = [of_branch.interaction(a, b, level) for a, b in combinations(chosen, 2)]
        return sorted(found, key=lambda one: -one.share)

    def surface(
        self,
        first: str,
        second: str,
        branch: str | Mapping[str, Any] | None = None,
        *,
        points: int = 21,
    ) -> Surface:
        """The mean over two parameters of a branch, averaged over the others.

        Args:
            first: a parameter of the branch.
            second: another one.
            branch: the label of a branch (``"model=svm, kernel=rbf"``) or its choices in a dict;
                None is that of the best trial.
            points: at how many values of each.
        """
        path = self._path(branch)
        a, b = self._variables(path, [first, second])
        return BranchEffects(self.space, self._mixture, path, self._sign).surface(a, b, points)

    def importance(self, *, level: float = LEVEL) -> list[Importance]:
        """How much each parameter matters where it is active, and each choice; the most first.

        Args:
            level: the probability that intervals have.
        """
        if level not in self._importances:
            found = (
                importance_of(self.space, self._mixture, dimension, level)
                for dimension in self.space.dimensions
            )
            self._importances[level] = sorted((one for one in found if one), key=lambda i: -i.sd)
        return list(self._importances[level])

    @cached_property
    def _importances(self) -> dict[float, list[Importance]]:
        return {}

    def _variables(self, path: Path, names: Sequence[str] | None) -> list[Dimension]:
        """Parameters of a path by short or qualified name; all of them if there are no names."""
        there = self.space.tree.variables_of(path)
        if names is None:
            return list(there)
        found = []
        for name in [names] if isinstance(names, str) else names:
            one = next((d for d in there if name in (d.name, d.qualified_name)), None)
            if one is None:
                label = self.space.tree.path_label(path) or "this space"
                known = [d.name for d in there]
                raise ModelError(
                    f"{name!r} is no parameter of {label}{did_you_mean(name, known)}; "
                    f"there are {listed(map(repr, known)) or 'none'}"
                )
            found.append(one)
        return found


def _belief_text(belief: Belief) -> str:
    kernel = {"se": "squared exponential", "matern52": "Matern-5/2"}.get(belief.kernel)
    transform = "" if belief.lam == 1.0 else f", Yeo-Johnson transform with lambda {belief.lam:g}"
    wider = ""
    if belief.widening > 1.0:
        wider = f", intervals wider by {belief.widening:.2f} as trials put aside ask for"
    return (
        f"{belief.strategy}: {kernel or belief.kernel}{transform}, "
        f"log evidence {belief.evidence:.1f}, weight {belief.weight:.2f}{wider}"
    )


def model_of(history: History, strategy: Strategy | None = None) -> Model:
    """The model of a history; made once for the same one, which never changes."""
    key = "model" if strategy is None else f"model of {strategy!r}"
    made: dict[str, Model] = vars(history).setdefault("models", {})
    if key not in made:
        made[key] = Model(history, strategy)
    return made[key]
