"""What every strategy with a Gaussian process on paths shares: modelling, searching, exploring.

A `GPStrategy` says which model it puts on a space (`model_on`) and, where paths are too many to
search all, which ones to look at. The rest is here, in `fitting` (targets, warm starts, what is
chosen by evidence) and in `choosing` (the incumbent, pending trials, failures, candidates).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Generic, cast, get_args

import numpy as np

from bosquet.acquisition.base import Acquisition, LogEI, LowerBound
from bosquet.arrays import Array
from bosquet.data import Dataset
from bosquet.kernels.components import Kind
from bosquet.models.base import PathModel
from bosquet.models.covariance import AdditivePosterior, Covariance, SpaceGP
from bosquet.models.good_places import GoodPlaces
from bosquet.models.matters import matters
from bosquet.models.transform import Targets, transform
from bosquet.models.warping import WarpName, on_rows, warp_name
from bosquet.search.tree_path import PathSearch, Scored
from bosquet.space import Config, Space
from bosquet.space.tree import Path
from bosquet.strategies.base import Batch, Proposal, SequentialStrategy, Task, design
from bosquet.strategies.choosing import Ask, feasibility_of, places_of
from bosquet.strategies.exploring import next_or_explored
from bosquet.strategies.fitting import FitRecord, Fitted, P, Setting, fit_by_evidence, records
from bosquet.strategies.options import AcquisitionName, IncumbentName, KernelName, one_of, whole

MOST_PATHS = 32  # searched in one ask
_FIRST, _DESIGNED = 8, 12  # trials before the first model, with the defaults first and without
_LAMBDA_STEP = 0.5  # from 0, a logarithm of bad values, to 1; good ones are never compressed
_TOLD_PARTS = 5  # of what matters, the largest ones, in the info
_NAMED_PATHS = 8  # paths at most whose acquisition values are in the info


@dataclass(kw_only=True, eq=False)
class GPStrategy(SequentialStrategy, Generic[P]):
    """A Gaussian process on all trials; an acquisition function maximised on each path.

    Args:
        acquisition: ``"logei"``, the logarithm of the expected improvement, or ``"ucb"``, a
            confidence bound.
        kernel: ``"matern52"``, ``"se"`` (the squared exponential), or ``"evidence"``: whichever
            of them explains the data better so far.
        explore_every: every so many trials one is a point of the space-filling design on a path
            visited least (None: never), unless the space is one box of continuous variables: a
            model that is sure of itself on few points must not give up a branch for ever. For the
            same reason it is every second trial, on any space, while the model sees nothing left
            to gain.
        defaults_first: whether the first trials are the defaults of every branch (where none are
            declared, the first option or the middle of a range).
        transforms: whether a Yeo-Johnson transform of the targets may be chosen by evidence.
        incumbent: what an improvement is measured from: the lowest value that the model
            ``"predicted"`` at a trial, or the lowest ``"observed"``.
    """

    setting_class: ClassVar[type[Setting]] = Setting
    acquisitions: ClassVar[tuple[str, ...]] = ("logei", "ucb")

    acquisition: AcquisitionName = "logei"
    kernel: KernelName = "evidence"
    explore_every: int | None = 6
    defaults_first: bool = True
    transforms: bool = True
    incumbent: IncumbentName = "predicted"

    def __post_init__(self) -> None:
        one_of("acquisition", self.acquisition, self.acquisitions)
        one_of("incumbent", self.incumbent, get_args(IncumbentName))
        one_of("kernel", self.kernel, get_args(KernelName))
        whole("explore_every", self.explore_every, 2, none=True)

    @abstractmethod
    def model_on(self, space: Space, X: Array, targets: Targets, setting: Setting) -> PathModel[P]:
        """The model of targets at rows; theta means the same for every setting."""

    def initial_trials(self, space: Space) -> int:
        """How many trials come before the first model."""
        return initial_trials(space, _FIRST if self.defaults_first else _DESIGNED)

    # -- one ask -----------------------------------------------------------------------------

    def proposals(self, batch: Batch, rng: np.random.Generator) -> Iterator[Proposal]:
        task = batch.task
        data = task.history.dataset()
        if len(data.y) < self.initial_trials(task.space):
            return
        fitted = self.fit(task, data, rng)
        observed = self.incumbent == "observed" and not task.history.noisy
        ask = Ask.given(task, fitted, data, batch.taken, rng, observed=observed)
        about = fitted.about | self.told(fitted, data.X)
        while True:
            found = next_or_explored(
                batch, self.explore_every, rng, partial(self.next, ask), self._log_gain
            )
            if found is None:
                return
            yield replace(found, memory=fitted.memory, about=found.about | about)
            ask = ask.after(found.config)

    def first(self, task: Task, n: int, rng: np.random.Generator) -> list[Proposal]:
        return design(task, n, rng, defaults_first=self.defaults_first)

    def _log_gain(self, found: Proposal) -> float | None:
        return found.value if self.acquisition == "logei" else None

    def told(self, fitted: Fitted[P], X: Array) -> dict[str, Any]:  # noqa: ARG002 - some say more
        """What there is to tell people about a model of rows X, beside what its fit says."""
        return {}

    # -- the model ---------------------------------------------------------------------------

    @property
    def kernels(self) -> tuple[Kind, ...]:
        """The kernels that evidence chooses from, the first one to begin with."""
        return ("matern52", "se") if self.kernel == "evidence" else (self.kernel,)

    def fit(
        self,
        task: Task,
        data: Dataset,
        rng: np.random.Generator,  # noqa: ARG002 - a structure may be learned by sampling
    ) -> Fitted[P]:
        """The posterior given all trials, refitted when it is due."""
        return self.fit_from(self.last_fit(task), task, data)

    def fit_from(self, last: FitRecord, task: Task, data: Dataset) -> Fitted[P]:
        made: dict[Setting, PathModel[P]] = {}

        def model_of(setting: Setting) -> tuple[PathModel[P], Targets]:
            targets = transform(data.y, data.noise, setting.lam)
            alike = replace(setting, lam=1.0)
            known = made.get(alike)
            if isinstance(known, SpaceGP):  # of the same rows, whatever the targets
                return cast(PathModel[P], known.with_targets(targets.z, targets.noise)), targets
            made[alike] = self.model_on(task.space, data.X, targets, setting)
            return made[alike], targets

        return fit_by_evidence(task, self.name, last, model_of, self.rivals)

    def last_fit(self, task: Task) -> FitRecord:
        """That of the last complete trial which has one of this strategy; or where to begin."""
        for record in records(task.history, self.name, self.setting_class):
            if record.setting.kernel in self.kernels:
                return record
        return FitRecord(None, self.setting_class(self.kernels[0]))

    def rivals(self, setting: Setting) -> list[Setting]:
        """The settings next to one: other transforms, and the other kernel if it may change."""
        rivals = []
        if self.transforms:
            near = (setting.lam - _LAMBDA_STEP, setting.lam + _LAMBDA_STEP)
            rivals += [replace(setting, lam=lam) for lam in near if 0.0 <= lam <= 1.0]
        others = (kernel for kernel in self.kernels if kernel != setting.kernel)
        return rivals + [replace(setting, kernel=kernel) for kernel in others]

    # -- the search --------------------------------------------------------------------------

    def next(self, ask: Ask[P]) -> Proposal | None:
        """The best free and feasible configuration found; None where there is none."""
        return self.best_found(ask, self.path_search(ask))

    def path_search(self, ask: Ask[P]) -> PathSearch:
        task = ask.task
        on_path, acquisition = ask.fitted.posterior.on_path, self.acquisition_at(ask)
        feasibility, places = feasibility_of(task), self.places(task)
        return PathSearch(
            task.space, on_path, acquisition, feasibility, places=places, taken=ask.taken_rows
        )

    def places(self, task: Task) -> GoodPlaces | None:  # noqa: ARG002 - for those that prefer some
        """Where proposals are preferred; None: nowhere."""
        return None

    def acquisition_at(self, ask: Ask[P]) -> Acquisition:
        if self.acquisition == "logei":
            return LogEI(ask.best, ask.fitted.noise)
        return bound(ask.task.space.tree.largest_dimension, len(ask.task.history) + 1)

    def best_found(
        self, ask: Ask[P], search: PathSearch, starts: Array | None = None
    ) -> Proposal | None:
        """The best of the free candidates, or of the rows that a search finds."""
        allowed = ask.task.candidates
        if allowed is not None:
            rows = allowed.rows_by_path(ask.taken)
            scored = [search.score(path, X) for path, X in rows.items()]
            return self.chosen(ask, sorted(scored, key=lambda one: -one.best))
        paths = self.paths_to_search(ask)
        return self.chosen(ask, search.maximise(paths, ask.good, ask.rng, starts))

    def paths_to_search(self, ask: Ask[P]) -> list[Path]:
        """All paths where they are few; else those of the good rows, and random ones."""
        space = ask.task.space
        if space.n_paths <= MOST_PATHS:
            return list(space.tree.paths())
        known = space.tree.paths_of_rows(ask.good)
        drawn = [space.path(config) for config in space.sample(ask.rng, MOST_PATHS, by="path")]
        return list(dict.fromkeys([*known, *drawn]))[:MOST_PATHS]

    def chosen(self, ask: Ask[P], scored: Sequence[Scored]) -> Proposal | None:
        """The best of rows by path that can be tried."""
        found = ask.free(scored)
        if found is None:
            return None
        config, value = found
        space = ask.task.space
        values = {space.path_label(config): value}
        for one in scored[:_NAMED_PATHS]:
            values.setdefault(space.tree.path_label(one.path), one.best)
        return self.proposal(config, value, values)

    def proposal(self, config: Config, value: float, paths: dict[str, float]) -> Proposal:
        """A configuration with its acquisition value, and those of paths by label."""
        of_what = "log expected improvement" if self.acquisition == "logei" else self.acquisition
        why = f"highest {of_what} ({value:.3g}) of the paths searched"
        return Proposal(config, value, why, about={"paths": paths})


@dataclass(kw_only=True, eq=False)
class CovarianceStrategy(GPStrategy[AdditivePosterior]):
    """A strategy whose model is a sum of components.

    The other arguments are those of every `GPStrategy`.

    Args:
        warp: True bends the axis of every continuous variable as the data want it.
        near_good: whether proposals keep away from the ends of ranges, and near good trials,
            while trials are few (with ``acquisition="logei"``; `models.good_places`).
    """

    warp: bool | WarpName = False
    near_good: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        warp_name(self.warp)

    def places(self, task: Task) -> GoodPlaces | None:
        return places_of(task) if self.near_good and self.acquisition == "logei" else None

    def told(self, fitted: Fitted[AdditivePosterior], X: Array) -> dict[str, Any]:
        return told_of_sum(fitted.posterior, X)

    @abstractmethod
    def covariance(self, space: Space, setting: Setting) -> Covariance:
        """The covariance on a space; hyper-parameters mean the same for every setting.

        Args:
            space: what is searched.
            setting: what is chosen by evidence: ``setting.kernel`` is the name of a shape.
        """

    def check_space(self, space: Space) -> None:
        self.covariance(space, self.setting_class("matern52"))

    def model_on(
        self, space: Space, X: Array, targets: Targets, setting: Setting
    ) -> PathModel[AdditivePosterior]:
        covariance = self.covariance(space, setting)
        return on_rows(covariance, X, targets.z, targets.noise, warp_name(self.warp))


def told_of_sum(posterior: AdditivePosterior, X: Array) -> dict[str, Any]:
    """The largest parts of what makes values differ, of those that the rows X have told of."""
    parts = matters(posterior.covariance, posterior.eta, X)[:_TOLD_PARTS]
    told = [
        {"branch": one.branch, "variables": list(one.variables), "share": round(one.share, 3)}
        for one in parts
    ]
    return {"matters": told}


def bound(dimension: int, t: int) -> LowerBound:
    """beta_t = 0.2 d log(2 t), with d the dimension that is searched (Add-Tree, section 4.2)."""
    return LowerBound(0.2 * dimension * np.log(2.0 * t))


def initial_trials(space: Space, most: int = _FIRST) -> int:
    """How many trials come before the first model: to visit every option if few do, and d + 2.

    ``most`` of the latter: a design needs more of them than a start at the defaults.
    """
    return max(min(space.tree.cover, _DESIGNED), min(space.tree.largest_dimension + 2, most), 4)
