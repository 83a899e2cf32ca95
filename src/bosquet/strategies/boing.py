"""BOinG: a random forest chooses where, a local Gaussian process what.

D. Deng and M. Lindauer. Searching in the Forest for Local Bayesian Optimization. ECML/PKDD Workshop
on Meta-Knowledge Transfer, PMLR 191, 2022; its supplement.

==============================  ==============================================================
in the paper                    here
==============================  ==============================================================
global level, random forest     ``models.forest``, searched by ``search.mixed``
"logEI" of the global level     EI of a log-normal cost: ``acquisition.lognormal``
x_g, X_sub, Algorithm 1         ``search.subregion``
n_min                           ``points_per_dimension`` times the variables of the largest path
LGPGA, n_u inducing points      ``models.local_global``, ``n_inducing``
c_fail, p_switch (B.2)          ``boing_plus``, ``switching``
==============================  ==============================================================

One ask of BOinG; the supplement has the box of the third step, `search.subregion`::

    fewer than n_min trials: a GP on all of them             Appendix B    ``early``
    the branch; fewer than n_min trials there: likewise      ours          `best_of_branches`
    forest on all trials, x_g <- argmax of its acquisition   global level  `forest`, `global_best`
    X_sub <- Algorithm 1 around x_g                          Appendix A    `subregion`
    LGPGA on the trials inside and a summary of the others   Appendix B.1  `local_model`
    x <- argmax EI in X_sub                                  local level   `improve`
    hardly any EI there: argmax EI near its best trial       ours          `_nearer`

Where we differ by default, and why. Targets have the spread of the points inside, and those far
above are compressed, so that the local model looks at local differences; but their zero is the mean
of all trials: a model whose prior mean is that of the good points inside expects good values
wherever it knows nothing, and in ten dimensions hardly leaves the edges of its subregion. The
forest is trained on plain costs. On spaces with branches or discrete values every twelfth trial is
one of the design, so that no branch is given up for ever. On conditional spaces the subregion lies
on the path of x_g and the local model is that of `AddTree`, so that trials of other branches inform
through the variables they share. Which path that is, a model of all branches says (`sharing`): a
forest knows a branch by its own trials. Where they disagree, x_g is the model's. Where the local
model sees nothing left to gain, EI is highest where it knows least, at the edge of X_sub: x is then
sought near the best trial inside.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self, get_args

import numpy as np

from bosquet.acquisition.base import LogEI
from bosquet.acquisition.lognormal import LognormalEI
from bosquet.arrays import Array, Bools
from bosquet.data import Dataset, Key
from bosquet.models.base import PathModel, PathPosterior
from bosquet.models.covariance import SpaceGP
from bosquet.models.feasibility import Feasibility
from bosquet.models.forest import Forest, log_costs
from bosquet.models.local_global import LocalGlobalGP, n_inducing
from bosquet.models.plain import plain
from bosquet.models.transform import exponent, moments, transform
from bosquet.search.mixed import maximise_mixed
from bosquet.search.region import Region
from bosquet.search.subregion import subregion
from bosquet.search.tree_path import Scored
from bosquet.space import Config, Space
from bosquet.strategies.add_tree import AddTree
from bosquet.strategies.base import Batch, Proposal, SequentialStrategy, Strategy, Task
from bosquet.strategies.choosing import (
    Ask,
    Found,
    best_candidate,
    feasibility_of,
    first_free,
    incumbent,
)
from bosquet.strategies.exploring import IDLE, explored, explores
from bosquet.strategies.fitting import Fitted, fit_local
from bosquet.strategies.gp_strategy import initial_trials
from bosquet.strategies.local import improve, local_covariance
from bosquet.strategies.options import one_of, whole
from bosquet.strategies.published import SMAC, Noisy, Textbook, fit_published
from bosquet.strategies.sharing import best_of_branches, joined, rows_on_path
from bosquet.strategies.turbo import LEAST_LENGTH, current_run, patience, trust_region

Inside = Bools
LocalModel = Literal["lgpga", "local", "full"]

_GOOD = 10  # evaluated rows from which the global search starts
_PERTURBED = 8  # evaluated rows that the local search perturbs
_HIGH = 2.0  # standard deviations inside, beyond which targets are compressed
_FARTHEST = 1e100  # standard deviations inside, whose square is still a float
# Of the authors' code, where the supplement says nothing.
_RANDOM = 0.08447232371720552  # the probability that x_g is a random configuration
_MOST_INSIDE = 0.5  # of the trials, unless that is at most 2 n_min


@dataclass(kw_only=True, eq=False)
class BOinG(SequentialStrategy):
    """Forest acquisition, subregion around its maximum, local acquisition inside.

    Args:
        model: the one inside the subregion: ``"lgpga"`` (the points inside, and inducing points
            for the others), ``"local"`` (points inside only) or ``"full"`` (all points).
        points_per_dimension: up to so many trials per variable there is a GP on all trials; from
            there on a subregion holds at least that many.
        log_cost: whether the forest is trained on logarithms, for costs with a heavy tail.
        local_targets: whether targets are standardised by the trials inside, or by all.
        explore_every: every so many trials one explores where `AddTree` would; None: never.
        early: what proposes before there are trials enough; None: `AddTree`.
        published: whether to take the model, the units and the switches of the paper's authors.
    """

    name: ClassVar[str] = "boing"

    model: LocalModel = "lgpga"
    points_per_dimension: int = 5
    log_cost: bool = False
    local_targets: bool = True
    explore_every: int | None = 12
    early: Strategy | None = None
    published: bool = False

    def __post_init__(self) -> None:
        one_of("model", self.model, get_args(LocalModel))
        whole("points_per_dimension", self.points_per_dimension)
        whole("explore_every", self.explore_every, 2, none=True)

    @classmethod
    def paper(cls) -> Self:
        """EI of log-normal costs, the authors' Gaussian process and switches; no exploration."""
        return cls(log_cost=True, explore_every=None, early=Textbook.paper(), published=True)

    def least(self, space: Space) -> int:
        """n_min"""
        return self.points_per_dimension * max(space.tree.largest_dimension, 1)

    def least_inside(self, space: Space) -> int:
        """Of a subregion: n_min; as published (Algorithm 1, line 8) *more* than n_min."""
        return self.least(space) + self.published

    def most_inside(self, space: Space, n: int) -> float:
        """The authors' bound on the trials of a subregion, of n."""
        most = int(_MOST_INSIDE * n)
        return most if self.published and most > 2 * self.least(space) else math.inf

    def propose(self, task: Task, n: int, rng: np.random.Generator) -> list[Proposal]:
        n_complete = len(task.history.complete)
        if n_complete < max(self.least(task.space), initial_trials(task.space)):
            early = self.early or AddTree(explore_every=self.explore_every)
            return [by_engine("gp", proposal) for proposal in early.propose(task, n, rng)]
        return super().propose(task, n, rng)

    def proposals(self, batch: Batch, rng: np.random.Generator) -> Iterator[Proposal]:
        while True:
            if explores(batch.task.space, batch.index, self.explore_every):
                found = explored(batch, "every so often", rng)
                found = None if found is None else by_engine("design", found)
            else:
                found = self.next(batch.now, batch.taken, rng)
            if found is None:
                return
            yield found

    def next(self, task: Task, taken: Collection[Key], rng: np.random.Generator) -> Proposal | None:
        """One pass of the loop: x_g, its subregion, the local model, the best point inside."""
        data = task.history.dataset()
        feasibility = feasibility_of(task)
        # The branch, ours: of a model that shares, which proposes itself where trials are few.
        shared = None
        if not self.published and task.space.n_paths > 1:
            shared = best_of_branches(task, data, taken, rng)
            n = 0 if shared is None else rows_on_path(task.space, data.X, shared.config).sum()
            if shared is not None and n < self.least(task.space):
                return by_engine("gp", shared)
        # Global level.
        forest = self.forest(task, data, rng)
        candidate = self._random_candidate(task, taken, rng)
        if candidate is None:
            candidate = self.global_best(task, data, forest, feasibility, taken, rng)
        chosen_by = "the forest"
        if shared is not None and (
            candidate is None or task.space.path(shared.config) != task.space.path(candidate)
        ):
            candidate, chosen_by = shared.config, "the branches"
        if candidate is None:
            return None
        x = task.space.to_unit(candidate)
        # Algorithm 1.
        least, most = self.least_inside(task.space), self.most_inside(task.space, len(data.y))
        region, inside = subregion(task.space, forest, x, data.X, least, most)
        # Local level, Appendix B.1.
        fitted, inducing = self.local_model(task, data, inside, region)
        best, level = incumbent(fitted, data.X)
        if self.published:  # the predicted best of the trials inside, and variances with noise
            best = float(level[inside].min())
            fitted = replace(fitted, posterior=Noisy(fitted.posterior), noise=0.0)
        good = np.vstack([x, _lowest(data.X[inside], level[inside], _PERTURBED)])
        ask = Ask(task, fitted, best, good, taken, rng)
        found = improve(ask, region, feasibility)
        why = "highest log expected improvement in the forest's subregion"
        if found is not None and found[1] < IDLE and not self.published:
            nearer = self._nearer(ask, data.X, level, region, feasibility)
            if nearer is not None:
                found, why = nearer, f"{why}, near its best trial: nothing else seems left to gain"
        if found is None:  # nothing new in the subregion: x_g itself is new
            config, value, why = candidate, None, f"best of {chosen_by}"
        else:
            config, value = found
        n = int(inside.sum())
        about = {"volume": region.volume, "inside": n, "inducing": inducing}
        why = f"{why} ({n} of {len(inside)} trials inside)"
        memory = fitted.memory if shared is None else joined(fitted.memory, shared.memory)
        return by_engine("boing", Proposal(config, value, why, memory, {"subregion": about}))

    def _nearer(
        self,
        ask: Ask[PathPosterior],
        X: Array,
        level: Array,
        region: Region,
        feasibility: Feasibility | None,
    ) -> Found | None:
        """The best point of a trust region inside the subregion, around the best trial there.

        Its length is the one that TuRBO would have after the results since the forest came in.
        """
        space = ask.task.space
        rows = np.flatnonzero(region.contains(X))
        if not len(rows):
            return None
        centre = X[rows[np.argmin(level[rows])]]
        tau = patience(space.tree.largest_dimension)
        run = current_run(ask.task.history, self.least(space), tau, LEAST_LENGTH)
        eta = ask.fitted.posterior.eta
        trust = trust_region(local_covariance(space), eta, centre, run.trust.length, region)
        return improve(ask, trust, feasibility)

    # -- the global level --------------------------------------------------------------------

    def forest(self, task: Task, data: Dataset, rng: np.random.Generator) -> Forest:
        """On all trials; pending ones count with what the forest believes of them."""
        z = self.costs(data)
        forest = self._grown(task.space, data.X, z, rng)
        pending = task.pending_rows
        if not len(pending):
            return forest
        X, believed = np.vstack([data.X, pending]), forest.moments(pending)[0]
        return self._grown(task.space, X, np.concatenate([z, believed]), rng)

    def _grown(self, space: Space, X: Array, z: Array, rng: np.random.Generator) -> Forest:
        if self.published:  # every trial a leaf, as the authors' trees grow
            return Forest(space, X, z, rng, least_in_leaf=1, columns_per_split=1.0)
        return Forest(space, X, z, rng)

    def costs(self, data: Dataset) -> Array:
        y = log_costs(data.y) if self.log_cost else data.y
        return y if self.published else transform(y, data.noise).z

    def _random_candidate(
        self, task: Task, taken: Collection[Key], rng: np.random.Generator
    ) -> Config | None:
        """As published x_g is a free configuration drawn at random now and then; else None."""
        if not self.published or task.candidates is not None or rng.random() >= _RANDOM:
            return None
        drawn = task.space.to_unit(task.space.sample(rng, 50))
        found = first_free(task, [Scored((), drawn, np.zeros(len(drawn)))], taken)
        return None if found is None else found[0]

    def global_best(
        self,
        task: Task,
        data: Dataset,
        forest: Forest,
        feasibility: Feasibility | None,
        taken: Collection[Key],
        rng: np.random.Generator,
    ) -> Config | None:
        """x_g: a free configuration with the highest expected improvement of the forest."""
        predicted = task.history.noisy or self.published
        level = forest.moments(data.X)[0] if predicted else self.costs(data)
        best = float(level.min())
        lognormal = self.published and self.log_cost
        acquisition = LognormalEI(best) if lognormal else LogEI(best)

        def score(X: Array) -> Array:
            values = acquisition.value(*forest.moments(X))
            if feasibility is not None:
                for path, rows in task.space.tree.rows_by_path(X).items():
                    values[rows] += feasibility.log_probability(X[rows], path)
            return values

        def scored(X: Array) -> Scored:
            values = score(X)
            order = np.argsort(-values, kind="stable")
            return Scored((), X[order], values[order])

        if task.candidates is not None:
            found = best_candidate(task, task.candidates, taken, scored)
        else:
            good = _lowest(data.X, level, _GOOD)
            X, values = maximise_mixed(task.space, score, good, rng)
            found = first_free(task, [Scored((), X, values)], taken)
        return None if found is None else found[0]

    # -- the local level ---------------------------------------------------------------------

    def local_model(
        self, task: Task, data: Dataset, inside: Inside, region: Region | None = None
    ) -> tuple[Fitted[PathPosterior], int]:
        """The posterior of the local model, and how many inducing points it has.

        As published, length-scales are those of the region stretched to the unit cube.
        """
        m = n_inducing(task.space.tree.largest_dimension, len(data.y))
        n_outside = int((~inside).sum())
        few = n_outside < m if self.published else n_outside <= m
        everywhere = np.ones(len(inside), dtype=bool)
        # As published a GP of all trials has the units of all trials.
        all_alike = self.published and self.model == "lgpga" and few
        z, noise = self.targets(data, everywhere if all_alike else inside)
        covariance = local_covariance(task.space)
        if self.published:
            widths = None if region is None else region.upper - region.lower
            covariance = plain(task.space, SMAC, widths)
        gp: PathModel[PathPosterior]
        if self.model == "lgpga" and not few:
            inner, outer = ((data.X[rows], z[rows], noise[rows]) for rows in (inside, ~inside))
            gp = LocalGlobalGP(covariance, inner, outer, m)
        else:
            m = 0
            rows = inside if self.model == "local" else everywhere
            gp = SpaceGP(covariance, data.X[rows], z[rows], noise[rows])
        if self.published:
            return fit_published(task, gp, z, noise), m
        return fit_local(task, gp, z, noise), m

    def targets(self, data: Dataset, inside: Inside) -> tuple[Array, Array]:
        """Targets in the units of those inside and their noise variances, of all trials."""
        if not self.local_targets:
            targets = transform(data.y, data.noise)
            return targets.z, targets.noise
        e = exponent(data.y[inside])
        with np.errstate(over="ignore"):  # of what is outside
            y = np.ldexp(data.y, -e)
            centre, spread = moments(y[inside])
            s = np.clip((y - centre) / spread, -_FARTHEST, _FARTHEST)
            variance = np.minimum(np.ldexp(data.noise, -2 * e) / spread / spread, 1e6)
        if self.published:
            return s, variance
        above = np.maximum(s - _HIGH, 0.0)
        z = np.minimum(s, _HIGH) + np.log1p(above)
        return z - z.mean(), variance / (1.0 + above) ** 2


def by_engine(engine: str, proposal: Proposal) -> Proposal:
    """What an engine proposes: people read its name, and `switching` counts it."""
    told = {"engine": engine}
    return replace(proposal, about=proposal.about | told, memory=proposal.memory | told)


def _lowest(X: Array, level: Array, n: int) -> Array:
    return X[np.argsort(level, kind="stable")[:n]]
