"""Which model explains a study, and fitting it to the trials that have ended.

That is the model of the study's own strategy where it is a sum of components (`add-tree`,
`additive`, `arc`, `flat-gp`, `independent`, `marginal`); for all others, the beliefs of `auto`.
Beside the best hyper-parameters some plausible ones are kept, so that what is said later knows how
little a few trials say about them. The same holds of a graph that was learned: one chain of samples
ends in one of many graphs that explain the trials about as well. So several chains are averaged by
their evidence, beside one GP over all variables, which needs no graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np

from bosquet.arrays import Array, Index
from bosquet.data import Dataset, History, Trial
from bosquet.errors import ModelError
from bosquet.explain.held_out import Asked, asked_of
from bosquet.models.covariance import AdditivePosterior
from bosquet.models.fitting import with_prior
from bosquet.models.laplace import laplace_draws
from bosquet.models.priors import Hyperparameters
from bosquet.models.transform import Scale, Targets, transform
from bosquet.space import Space
from bosquet.strategies import STRATEGIES, Additive, AddTree, Strategy
from bosquet.strategies.auto import rivals_on
from bosquet.strategies.base import Task
from bosquet.strategies.beliefs import weights_of
from bosquet.strategies.fitting import Setting
from bosquet.strategies.gp_strategy import CovarianceStrategy, GPStrategy
from bosquet.text import counted_text

LEAST = 4  # complete trials, with two values at least
MOST = 300  # trials that are fitted: the best ones, and others spread over the study
_THETAS = 4  # hyper-parameters kept beside the best ones
_FEW_THETAS = 1  # the same where there are several graphs, which differ more
_ITERATIONS = 60  # of a fit that goes on from another one
_AGAIN = 30  # iterations of a fit to part of the trials
_LEAST_WEIGHT = 0.02  # of a belief that counts
_FEW = 100  # trials up to which settings are looked for at length
_CHAINS = 3  # of graphs
_GRAPH_VARIABLES = 20  # beyond which no graph is learned to explain a study: that takes minutes
_CLIMBS = 4  # steps from setting to setting, where no trial remembers one


class SumModel(Protocol):
    """A `PathModel` whose posterior is that of a sum of components."""

    @property
    def hyper(self) -> Hyperparameters: ...
    def log_likelihood(self, theta: Array) -> tuple[float, Array]: ...
    def fit(self, starts: Sequence[Array], max_iterations: int = 200) -> tuple[Array, float]: ...
    def posterior(self, theta: Array) -> AdditivePosterior: ...
    def left_out_moments(self, theta: Array) -> tuple[Array, Array]: ...


@dataclass(frozen=True)
class View:
    """One posterior with its hyper-parameters, and how much it is trusted."""

    weight: float
    model: SumModel
    theta: Array
    scale: Scale
    is_best: bool
    """Whether no other hyper-parameters of this model are more plausible."""
    known_noise: float | None
    """The variance of a target, where every trial has stated one."""
    asked: Asked
    """What its standard deviations, and odds of new bests, are to be multiplied by."""

    @cached_property
    def posterior(self) -> AdditivePosterior:
        return self.model.posterior(self.theta)

    @property
    def noise(self) -> float:
        """The variance that a further evaluation is expected to have."""
        return (
            float(np.exp(self.posterior.eta[-1])) if self.known_noise is None else self.known_noise
        )


@dataclass(frozen=True)
class Belief:
    """One fitted covariance: what was chosen by evidence, and what it is worth."""

    strategy: str
    kernel: str
    lam: float
    """Of the Yeo-Johnson transform of the values; 1 is none."""
    evidence: float
    weight: float
    about: dict[str, Any]
    """What else the strategy says, as a learned graph."""
    widening: float = 1.0
    """By how much its intervals are wider than the fit alone says: trials put aside asked for it"""
    odds: float = 1.0
    """By what the odds of new bests are multiplied, for the same reason."""


def fitted_trials(history: History) -> tuple[Trial, ...]:
    """The trials a model is fitted to: all, or of very many the best and others among them."""
    trials = history.complete
    values = {trial.value for trial in trials}
    if len(trials) < LEAST or len(values) < 2:
        failed = f" ({len(history.failed)} failed)" if history.failed else ""
        found = f"{counted_text(len(trials), 'complete trial')}{failed}"
        if len(trials) >= LEAST:
            found += f", all with the value {trials[0].value}"
        raise ModelError(
            f"a model needs at least {LEAST} complete trials with different values; "
            f"this study has {found}"
        )
    if len(trials) <= MOST:
        return trials
    ranked = sorted(trials, key=history.loss)
    rest = ranked[MOST // 2 :]
    spread = np.unique(np.linspace(0, len(rest) - 1, MOST - MOST // 2).astype(int))
    kept = {trial.number for trial in [*ranked[: MOST // 2], *(rest[i] for i in spread)]}
    return tuple(trial for trial in trials if trial.number in kept)


def strategies_for(history: History, strategy: Strategy | None) -> list[GPStrategy[Any]]:
    """Those whose models explain a study, which a strategy ran (None: as its trials say)."""
    if strategy is None:
        strategy = _remembered(history)
    if isinstance(strategy, CovarianceStrategy | Additive):
        return [strategy]
    if history.space.n_paths == 1 and len(history.space) > _GRAPH_VARIABLES:
        return [AddTree()]
    # Of groups of variables there are several views, and one without, as `_candidates` has them.
    rivals = rivals_on(history.space)
    return rivals if history.space.n_paths > 1 else rivals[:1]


def _remembered(history: History) -> Strategy | None:
    """The strategy with the last fit; None where that was one of several beliefs."""
    for trial in reversed(history.complete):
        fits = trial.memory.get("fits", {})
        if fits:
            name = next(iter(fits))
            averaged = "weights" in trial.info or name not in STRATEGIES
            return None if averaged else STRATEGIES[name]()
    return None


def fit_views(
    history: History, strategy: Strategy | None = None
) -> tuple[list[Belief], list[View]]:
    """The beliefs that count, and their posteriors with several hyper-parameters each."""
    some = History(history.space, fitted_trials(history), history.direction)
    data = some.dataset()
    found = [
        one for rival in strategies_for(history, strategy) for one in _candidates(rival, some, data)
    ]
    weights = weights_of({str(i): one.evidence for i, one in enumerate(found)})
    counted = {i: w for i, w in weights.items() if w >= _LEAST_WEIGHT}
    beliefs, views = [], []
    for i, weight in counted.items():
        one, share = found[int(i)], weight / sum(counted.values())
        thetas = one.thetas(_THETAS if len(counted) <= 2 else _FEW_THETAS)
        asked = one.asked(thetas)
        beliefs.append(one.belief(share, asked))
        views += one.views(share, data, thetas, asked)
    return beliefs, views


def _candidates(strategy: GPStrategy[Any], history: History, data: Dataset) -> list[_Candidate]:
    """The fit of a strategy; of one that learns a graph several, and one that needs none."""
    first = _Candidate.best(strategy, history, data)
    if not (isinstance(strategy, Additive) and strategy.graph == "learned" and strategy.residual):
        return [first]
    forgotten = [replace(trial, memory={}) for trial in history.trials]
    fresh = History(history.space, forgotten, history.direction)
    few = len(data.y) <= _FEW and len(history.space) <= _GRAPH_VARIABLES
    chains = range(1, _CHAINS if few else 1)
    others = [_Candidate.best(strategy, fresh, data, seed) for seed in chains]
    return [first, *others, _Candidate.best(AddTree(), fresh, data)]


def _climbs(strategy: GPStrategy[Any], task: Task) -> int:
    """How many steps from setting to setting are taken after a strategy's fit.

    None where a trial remembers a setting that was found over the whole study.
    """
    if strategy.last_fit(task).theta is not None:
        return 0
    return _CLIMBS if len(task.history) <= _FEW else 1


@dataclass(frozen=True)
class _Candidate:
    """A strategy's model with one of its settings, fitted."""

    strategy: GPStrategy[Any]
    setting: Setting
    model: SumModel
    targets: Targets
    theta: Array
    evidence: float
    about: dict[str, Any]
    space: Space
    X: Array
    """(n, d) the rows that it was fitted to."""

    @classmethod
    def best(
        cls, strategy: GPStrategy[Any], history: History, data: Dataset, seed: int = 0
    ) -> _Candidate:
        space = history.space
        task = Task(space, history)
        fitted = strategy.fit(task, data, np.random.default_rng(seed))
        record = fitted.record

        def with_setting(setting: Setting, start: Any) -> _Candidate:
            targets = transform(data.y, data.noise, setting.lam)
            model: Any = strategy.model_on(space, data.X, targets, setting)
            recalled = model.hyper.recall(start)
            starts = [model.hyper.mean if recalled is None else recalled]
            theta, value = model.fit(starts, _ITERATIONS)
            evidence = value + targets.log_jacobian + setting.log_prior
            return cls(
                strategy, setting, model, targets, theta, evidence, fitted.about, space, data.X
            )

        best = with_setting(record.setting, record.theta)
        for _ in range(_climbs(strategy, task)):
            start = best.model.hyper.remember(best.theta)
            rivals = [with_setting(setting, start) for setting in strategy.rivals(best.setting)]
            better = max(rivals, key=lambda one: one.evidence, default=best)
            if better.evidence <= best.evidence:
                break
            best = better
        return best

    def belief(self, weight: float, asked: Asked) -> Belief:
        return Belief(
            self.strategy.name,
            self.setting.kernel,
            self.setting.lam,
            self.evidence,
            weight,
            self.about,
            asked.wider,
            asked.odds,
        )

    def thetas(self, more: int) -> list[Array]:
        """The best hyper-parameters, and some that are plausible beside them."""
        hyper, rng = self.model.hyper, np.random.default_rng(0)
        log_posterior = partial(with_prior, self.model.log_likelihood, hyper)
        return [self.theta, *laplace_draws(log_posterior, hyper, self.theta, more, rng)]

    def asked(self, thetas: Sequence[Array]) -> Asked:
        """By trials put aside.

        Those fitted again without them are taken to be as uncertain as ``thetas``.
        """
        start = self.model.hyper.remember(self.theta)
        targets, space, X = self.targets, self.space, self.X

        def refitted(rows: Index) -> list[tuple[AdditivePosterior, float]]:
            some = Targets(targets.z[rows], targets.noise[rows], 0.0)
            model: Any = self.strategy.model_on(space, X[rows], some, self.setting)
            recalled = model.hyper.recall(start)
            best, _ = model.fit([model.hyper.mean if recalled is None else recalled], _AGAIN)
            moved = [model.hyper.clip(best + (theta - self.theta)) for theta in thetas]
            posteriors = [model.posterior(theta) for theta in moved]
            return [(one, float(np.exp(one.eta[-1]))) for one in posteriors]

        return asked_of(space, X, targets.z, targets.noise, refitted)

    def views(
        self, weight: float, data: Dataset, thetas: Sequence[Array], asked: Asked
    ) -> list[View]:
        scale = Scale.of(data.y, self.setting.lam)
        noise = self.targets.noise
        known = None if np.isnan(noise).any() else float(np.median(noise))
        share = weight / len(thetas)
        return [View(share, self.model, t, scale, t is self.theta, known, asked) for t in thetas]
