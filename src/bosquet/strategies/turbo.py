"""TuRBO-1: Bayesian optimization in one trust region.

D. Eriksson, M. Pearce, J. Gardner, R. Turner and M. Poloczek. Scalable Global Optimization via
Local Bayesian Optimization. NeurIPS 2019.

===========================  ==================================================================
in the paper                 here
===========================  ==================================================================
L, L_init, L_min, L_max      ``Trust.length``, ``_FIRST``, ``least_length``, ``_LONGEST``
tau_succ, tau_fail           ``_SUCCESSES``, ``patience`` (the number of variables, at least 4)
side lengths L_i             `trust_region`, from the length-scales
restart                      `current_run`: trials of earlier runs are forgotten
===========================  ==================================================================

One ask, for one trust region and one point at a time::

    count successes and failures since the last restart      `current_run`
    tau_succ successes in a row: L <- min(2 L, L_max)        `Trust.after`
    tau_fail failures in a row: L <- L / 2                   `Trust.after`
    L < L_min: restart from a new design                     `current_run`
    GP on the trials of this run                             `Turbo._fit`
    hyper-rectangle around the best point, sides L_i         `trust_region`
    x <- the minimum of a Thompson sample inside             `Turbo._sampled`

Nothing is kept between asks: runs and counters are counted again from the history. Where we differ
by default: LogEI in the trust region instead of a Thompson sample. On conditional spaces the model
of `AddTree` says which branch to look in (`sharing`), from the trials of all runs, and proposes
there itself while this run has fewer than 5 d trials of it; then the region lies around the best of
these; every twelfth trial is one of the design. Categories are not cut: only ordered variables have
sides.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self, get_args

import numpy as np

from bosquet.acquisition import thompson
from bosquet.arrays import Array, Bools
from bosquet.data import Dataset, History, Key
from bosquet.models.covariance import AdditivePosterior, Covariance, SpaceGP
from bosquet.models.plain import plain
from bosquet.models.posterior import PartialPosterior
from bosquet.models.transform import transform
from bosquet.models.warping import WarpedGP
from bosquet.search.mixed import feasible
from bosquet.search.region import Region
from bosquet.search.tree_path import Scored
from bosquet.space.sobol import sobol
from bosquet.strategies.base import Batch, Proposal, SequentialStrategy, Task
from bosquet.strategies.choosing import (
    Ask,
    Found,
    best_candidate,
    feasibility_of,
    first_free,
    incumbent,
)
from bosquet.strategies.exploring import explored, explores
from bosquet.strategies.fitting import Fitted, fit_local
from bosquet.strategies.local import improve, local_covariance
from bosquet.strategies.options import one_of, whole
from bosquet.strategies.published import TURBO, fit_published
from bosquet.strategies.sharing import best_of_branches, joined, rows_on_path

TurboAcquisition = Literal["logei", "thompson"]

LEAST_LENGTH = 2.0**-7
PER_BRANCH = 5  # trials per variable before a region of a branch is trusted; as n_min of BOinG
_FIRST = 0.8
_LONGEST = 1.6
_SUCCESSES = 3  # in a row, to double the length
_ENOUGH = 1e-3  # of the best value: by how much a success is better
_PER_DIMENSION = 100  # points at which a sample is looked at
_MOVED = 20  # coordinates in which such a point differs from the centre, on average
_GOOD = 8  # rows worth perturbing
_STEPS = 50  # of the published fit, from one start


@dataclass(frozen=True)
class Trust:
    """The length of the trust region and its counters, after some results."""

    best: float = math.inf
    length: float = _FIRST
    successes: int = 0
    failures: int = 0

    def after(self, loss: float, patience: int) -> Trust:
        """The state after one more result; a failed trial has an infinite loss."""
        better = loss < self.best - _ENOUGH * abs(self.best) if self.best < math.inf else True
        successes, failures = (self.successes + 1, 0) if better else (0, self.failures + 1)
        length = self.length
        if successes == _SUCCESSES:
            length, successes = min(2.0 * length, _LONGEST), 0
        elif failures == patience:
            length, failures = length / 2.0, 0
        return Trust(min(self.best, loss), length, successes, failures)


@dataclass(frozen=True)
class Run:
    """What has happened since the last restart."""

    start: int
    """Position of the first trial in the history."""
    n_complete: int
    trust: Trust


def current_run(history: History, initial: int, patience: int, least_length: float) -> Run:
    """The run that goes on: ``initial`` complete trials, then results that move the length."""
    run = Run(0, 0, Trust())
    for position, trial in enumerate(history.trials):
        complete = trial.state == "complete"
        loss = history.loss(trial) if complete else math.inf
        trust = run.trust
        if run.n_complete < initial:
            trust = replace(trust, best=min(trust.best, loss))
        else:
            trust = trust.after(loss, patience)
        run = Run(run.start, run.n_complete + complete, trust)
        if trust.length < least_length:
            run = Run(position + 1, 0, Trust())
    return run


def patience(dimension: int) -> int:
    """tau_fail for one evaluation at a time: max(4, d)."""
    return max(4, dimension)


def trust_region(
    covariance: Covariance, eta: Array, centre: Array, length: float, within: Region | None = None
) -> Region:
    """Sides in proportion to the length-scales, with the volume of a cube of side ``length``.

    ``within`` another region, lengths are shares of its sides, and it is not left.
    """
    space = covariance.space
    d = len(space)
    whole = Region(space, centre, np.zeros(d), np.ones(d)) if within is None else within
    logs: dict[int, list[float]] = {}
    for component in covariance.components:
        if component.node in whole.path:
            for feature, slot in zip(component.features, component.lengths, strict=True):
                if feature.kind == "difference":
                    logs.setdefault(feature.dimension, []).append(float(eta[slot]))
    sides = np.zeros(d)
    mean = float(np.mean([np.mean(values) for values in logs.values()])) if logs else 0.0
    for index, values in logs.items():
        sides[index] = length * np.exp(np.mean(values) - mean)
    # The next value of a discrete variable is always in reach.
    steps = np.array([1.0 / dimension.parameter.n_values for dimension in space.dimensions])
    half = np.maximum(0.5 * sides * (whole.upper - whole.lower), steps)
    return replace(
        whole,
        centre=centre,
        lower=np.clip(centre - half, whole.lower, whole.upper),
        upper=np.clip(centre + half, whole.lower, whole.upper),
    )


@dataclass(kw_only=True, eq=False)
class Turbo(SequentialStrategy):
    """A trust region around the best trial, which grows with success and shrinks without.

    Args:
        acquisition: ``"logei"``, or ``"thompson"``: the minimum of a function drawn from the
            posterior.
        most_points: at how many points ``"thompson"`` looks at most.
        least_length: the region restarts from a new design when its length falls below this.
        explore_every: on conditional spaces every so many trials one is of the design, on a path
            visited least; None: never.
        published: whether to take the Gaussian process of the paper's authors, and Sobol points.
    """

    name: ClassVar[str] = "turbo"

    acquisition: TurboAcquisition = "logei"
    most_points: int = 1000
    least_length: float = LEAST_LENGTH
    explore_every: int | None = 12
    published: bool = False

    def __post_init__(self) -> None:
        one_of("acquisition", self.acquisition, get_args(TurboAcquisition))
        whole("most_points", self.most_points)
        whole("explore_every", self.explore_every, 2, none=True)
        if not 0.0 < self.least_length < _FIRST:
            raise ValueError(f"least_length={self.least_length!r} must lie between 0 and {_FIRST}")

    @classmethod
    def paper(cls) -> Self:
        """Thompson sampling at min(100 d, 5000) Sobol points; the authors' Gaussian process."""
        return cls(acquisition="thompson", most_points=5000, explore_every=None, published=True)

    def proposals(self, batch: Batch, rng: np.random.Generator) -> Iterator[Proposal]:
        task = batch.task
        d = task.space.tree.largest_dimension
        run = current_run(task.history, 2 * d, patience(d), self.least_length)
        if run.n_complete < 2 * d:
            return
        data = _since(task.history, run.start)
        length = run.trust.length
        branches = task.space.n_paths > 1
        while True:
            if branches and explores(task.space, batch.index, self.explore_every):
                found = explored(batch, "every so often", rng)
            else:
                found = self._next(batch.now, data, length, batch.taken, rng)
            if found is None:
                return
            yield found

    def _next(
        self,
        task: Task,
        data: Dataset,
        length: float,
        taken: Collection[Key],
        rng: np.random.Generator,
    ) -> Proposal | None:
        """One step; on conditional spaces in the branch that a model of all branches chooses."""
        if self.published or task.space.n_paths == 1:
            return self.step(task, data, length, taken, rng)
        shared = best_of_branches(task, task.history.dataset(), taken, rng)
        if shared is None:
            return self.step(task, data, length, taken, rng)
        on = rows_on_path(task.space, data.X, shared.config)
        d = task.space.tree.largest_dimension
        if on.sum() < PER_BRANCH * d:
            return shared
        near = self.step(task, data, length, taken, rng, on=on)
        return shared if near is None else replace(near, memory=joined(near.memory, shared.memory))

    def step(
        self,
        task: Task,
        data: Dataset,
        length: float,
        taken: Collection[Key],
        rng: np.random.Generator,
        within: Region | None = None,
        on: Bools | None = None,
    ) -> Proposal | None:
        """One proposal around the best of the data, or of the rows ``on``; inside a region."""
        covariance, fitted = self._fit(task, data)
        best, level = incumbent(fitted, data.X, observed=self.published)
        order = np.argsort(level, kind="stable")
        centre = data.X[order[0] if on is None else order[on[order]][0]]
        region = trust_region(covariance, fitted.posterior.eta, centre, length, within)
        if self.acquisition == "thompson":
            belief = fitted.posterior.additive.of(covariance.components_on(region.path))
            found = self._sampled(task, belief, region, taken, rng)
        else:
            ask = Ask(task, fitted, best, data.X[order[:_GOOD]], taken, rng)
            found = improve(ask, region, feasibility_of(task))
        if found is None:
            return None
        config, value = found
        why = f"{self.acquisition} in a trust region of length {length:.3g}"
        return Proposal(config, value, why, fitted.memory, {"length": length})

    def _fit(self, task: Task, data: Dataset) -> tuple[Covariance, Fitted[AdditivePosterior]]:
        """The model of the data and its covariance."""
        targets = transform(data.y, data.noise)
        if not self.published:
            covariance = local_covariance(task.space)
            gp = SpaceGP(covariance, data.X, targets.z, targets.noise)
            return covariance, fit_local(task, gp, targets.z, targets.noise)
        covariance, z = plain(task.space, TURBO), targets.z - np.median(targets.z)
        model = WarpedGP(covariance, data.X, z, targets.noise, None, mean=True)
        noise = targets.noise
        return covariance, fit_published(task, model, z, noise, restarts=1, iterations=_STEPS)

    def _points(self, region: Region, n: int, rng: np.random.Generator) -> Array:
        """Points of the region: random, or as published of a scrambled Sobol sequence."""
        if not self.published:
            return region.draw(n, rng)
        points = sobol(len(region.centre), int(rng.integers(2**32)), 0, n)
        categories = [v.index for v in region.variables if v.parameter.is_category]
        X = region.lower + points * (region.upper - region.lower)
        X[:, categories] = points[:, categories]
        return region.project(X)

    def _sampled(
        self,
        task: Task,
        belief: PartialPosterior,
        region: Region,
        taken: Collection[Key],
        rng: np.random.Generator,
    ) -> Found | None:
        """The minimum of a function drawn from the posterior, at points of the region."""

        def drawn(X: Array) -> Scored:
            values = -thompson.draw(*belief.joint(X), rng)
            order = np.argsort(-values, kind="stable")
            return Scored(region.path, X[order], values[order])

        if task.candidates is not None:
            return best_candidate(task, task.candidates, taken, drawn, region)
        d = max(len(region.variables), 1)
        X = self._points(region, min(_PER_DIMENSION * d, self.most_points), rng)
        moved = rng.random(X.shape) < min(_MOVED / d, 1.0)
        if region.variables:  # one in any case
            indices = np.array([variable.index for variable in region.variables])
            moved[np.arange(len(X)), indices[rng.integers(len(indices), size=len(X))]] = True
        X = np.where(moved, X, region.centre)
        X = X[feasible(task.space, X)]
        return first_free(task, [drawn(X)], taken) if len(X) else None


def _since(history: History, start: int) -> Dataset:
    """The complete trials from a position in the history on."""
    return History(history.space, history.trials[start:], history.direction).dataset()
