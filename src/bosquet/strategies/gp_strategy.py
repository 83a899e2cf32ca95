"""What every strategy with a Gaussian process on paths shares: fitting, searching, exploring.

A `GPStrategy` says which covariance it puts on a space (`surrogate`) and, where paths are too many
to search all, which ones to look at. The rest is here: targets, warm starts, what is chosen by
evidence, the incumbent, pending trials, failures, candidates, duplicates.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from bosquet.acquisition.base import Acquisition, LogEI, LowerBound
from bosquet.data import Dataset, Key, Trial, key_of
from bosquet.errors import NOTHING_LEFT
from bosquet.kernels.components import Kind
from bosquet.kernels.features import is_continuous
from bosquet.models.base import Belief, PathModel, PathPosterior
from bosquet.models.feasibility import Feasibility
from bosquet.models.surrogate import Surrogate
from bosquet.models.transform import Targets, log_prior_of_lambda, transform
from bosquet.models.warping import WarpName, on_rows, warp_name
from bosquet.search.node_sum import best_path
from bosquet.search.tree_path import Path, PathSearch, Scored
from bosquet.space import Config, Space
from bosquet.strategies.base import Proposal, Strategy, Task, design
from bosquet.text import must_be_one_of

Array = NDArray[np.float64]
AcquisitionName = Literal["logei", "ei", "ucb", "node-ucb"]
KernelName = Literal["evidence", "matern52", "se"]

MOST_PATHS = 32  # searched in one ask
_ACQUISITIONS = ("logei", "ei", "ucb")
_GOOD = 8  # evaluated rows worth perturbing
_VERY_FEW = 30  # trials up to which every fit also looks at other transforms and kernels
_FEW = 100  # trials up to which every ask fits anew, now and then also from the prior
_COLD_EVERY = 5  # trials; half as often when they are no longer very few
_LAMBDA_STEP = 0.5  # from 0 (a logarithm of high values) to 2 (of low ones), and no further
_NOTHING_LEFT = math.log(1e-4)  # an expected improvement, in standard deviations of the targets
_NAMED_PATHS = 8  # whose acquisition values are told in Info
_APART = 0.04  # in unit coordinates: the largest distance kept from pending trials
_SPARES = 50  # rows of a path looked at when the best are taken or infeasible


@dataclass(frozen=True)
class Setting:
    """What is chosen by evidence, beside theta."""

    kernel: Kind
    lam: float = 1.0
    """Of the Yeo-Johnson transform; 1 is none."""
    bend: float = 0.5
    """Of the arc kernel; others do not look at it."""

    @property
    def log_prior(self) -> float:
        return log_prior_of_lambda(self.lam)


@dataclass(frozen=True)
class Fitted:
    """A posterior, the targets it was given, and what to remember."""

    space: Space
    posterior: PathPosterior
    z: Array
    noise: float
    """The variance that the next evaluation is expected to have; 0 while none is known of.

    A learned one also stands for what the model cannot explain, which an evaluation can.
    """
    info: dict[str, Any]
    """What the next fit of the same strategy starts from, and what there is to say."""
    pending: Array
    """Rows that are asked for and not yet told."""

    def with_pending(self, X: Array) -> Fitted:
        if not len(X):
            return self
        pending = np.vstack([self.pending, X])
        return replace(self, posterior=self.posterior.with_pending(X), pending=pending)

    def means(self, X: Array) -> Array:
        """The posterior mean at rows of any paths."""
        means = np.empty(len(X))
        for path, rows in self.space.tree.rows_by_path(X).items():
            means[rows] = self.posterior.on_path(path).moments(X[rows])[0]
        return means

    def believed(self, X: Array) -> float:
        """The lowest mean at pending rows: what is believed there is not to be gained again."""
        return float(self.means(X).min())


@dataclass(frozen=True)
class Ask:
    """One configuration that is wanted: what is known, and what is not to be had."""

    task: Task
    fitted: Fitted
    best: float
    """The lowest level known or believed of a trial."""
    good: Array
    """Evaluated rows worth perturbing, the best one first."""
    taken: Collection[Key]
    rng: np.random.Generator

    def candidates(self) -> tuple[dict[Path, Array], dict[bytes, Config]]:
        """The rows of free candidates by path, and whose row is whose.

        Decoding a row may give a candidate back with its last digit changed.
        """
        left = self.task.left(self.taken)
        units = self.task.space.to_unit(left)
        by_path = self.task.space.tree.rows_by_path(units)
        rows = {path: units[inside] for path, inside in by_path.items()}
        return rows, {x.tobytes(): config for x, config in zip(units, left, strict=True)}

    def free(
        self, scored: Sequence[Scored], candidates: Mapping[bytes, Config] | None = None
    ) -> tuple[Config, float] | None:
        """The best free and feasible one of some rows, away from pending trials if one is."""
        if candidates is not None:
            return first_free(self.task, scored, self.taken, lambda x: candidates[x.tobytes()])
        apart = first_free(self.task, scored, self.taken, apart=self.fitted.pending)
        return apart or first_free(self.task, scored, self.taken)


class GPStrategy(Strategy):
    """A Gaussian process on all trials; an acquisition function maximised on each path.

    ``acquisition`` is ``"logei"`` (``"ei"`` is the same function, named by its value) or ``"ucb"``.
    ``kernel="evidence"`` takes Matern-5/2 or the squared exponential, whichever explains the data
    better so far. Every ``explore_every``-th trial (None: never) is a point of the space-filling
    design on a path visited least, unless the space is one box of continuous variables: a model
    that is sure of itself on few points must not give up a branch for ever. For the same reason it
    is every second one, on any space, while the model sees nothing left to gain. ``transforms`` are
    of the targets (Yeo-Johnson), chosen by evidence.
    """

    setting_class: ClassVar[type[Setting]] = Setting

    def __init__(
        self,
        *,
        acquisition: AcquisitionName = "logei",
        kernel: KernelName = "evidence",
        explore_every: int | None = 6,
        transforms: bool = True,
    ) -> None:
        allowed = self.acquisitions()
        if acquisition not in allowed:
            raise ValueError(must_be_one_of("acquisition", acquisition, allowed))
        if kernel not in get_args(KernelName):
            raise ValueError(must_be_one_of("kernel", kernel, get_args(KernelName)))
        whole = isinstance(explore_every, int) and not isinstance(explore_every, bool)
        if explore_every is not None and not (whole and explore_every >= 2):
            raise ValueError(f"explore_every={explore_every!r} must be at least 2, or None")
        self.acquisition = acquisition
        self.kernel = kernel
        self.explore_every = explore_every
        self.transforms = transforms

    @classmethod
    def acquisitions(cls) -> tuple[str, ...]:
        return _ACQUISITIONS

    @abstractmethod
    def model(self, space: Space, X: Array, z: Array, noise: Array, setting: Setting) -> PathModel:
        """The model of targets at rows; theta means the same for every setting."""

    def initial_trials(self, space: Space) -> int:
        """How many trials come before the first model."""
        return initial_trials(space)

    def paths_to_search(
        self,
        space: Space,
        posterior: PathPosterior,  # noqa: ARG002 - for those who know which paths are promising
        good: Array,
        rng: np.random.Generator,
    ) -> list[Path]:
        """All paths where they are few; else those of the good rows, and random ones."""
        if space.n_paths <= MOST_PATHS:
            return list(space.tree.paths())
        known = [tuple(np.flatnonzero(z).tolist()) for z in space.tree.node_activity(good)]
        drawn = [space.path(config) for config in space.sample(rng, MOST_PATHS, by="path")]
        return list(dict.fromkeys([*known, *drawn]))[:MOST_PATHS]

    def propose(self, task: Task, n: int, rng: np.random.Generator) -> list[Proposal]:
        data = task.history.dataset()
        if len(data.y) < self.initial_trials(task.space):
            return design(task, n, rng)
        return self.propose_from(self.fit(task, data, rng), task, data, n, rng)

    def propose_from(
        self, fitted: Fitted, task: Task, data: Dataset, n: int, rng: np.random.Generator
    ) -> list[Proposal]:
        """What the strategy wants to try, given its fit."""
        best, level = incumbent(task, fitted, data.X)
        good = data.X[np.argsort(level, kind="stable")[:_GOOD]]
        proposals: list[Proposal] = []
        taken = set(task.taken)
        while len(proposals) < n:
            number = task.index + len(proposals)
            why_now = "every so often" if explores(task.space, number, self.explore_every) else ""
            if not why_now:
                found = self._next(Ask(task, fitted, best, good, taken, rng))
                if found is None:
                    break
                config, info = found.config, found.info
                if self.explore_every is not None and number % 2 and self._nothing_left(info):
                    why_now = "nothing seems left to gain"
            if why_now:
                try:
                    explored = design(proposed(task, proposals), 1, rng)[0]
                except NOTHING_LEFT:
                    break
                why = f"exploration, {why_now}: the design on a path visited least"
                config, info = explored.config, explored.info | {"why": why}
            if not task.history.noisy:
                taken.add(key_of(config))
            proposals.append(Proposal(config, info | fitted.info))
            if len(proposals) < n:
                x = task.space.to_unit([config])
                best = min(best, fitted.believed(x))
                fitted = fitted.with_pending(x)
        return proposals or design(task, n, rng)

    def _nothing_left(self, info: dict[str, Any]) -> bool:
        value = info["acquisition"]
        if self.acquisition == "ei":
            value = math.log(max(value, 1e-300))
        return self.acquisition in ("logei", "ei") and value < _NOTHING_LEFT

    # -- the model ---------------------------------------------------------------------------

    def structured(
        self,
        task: Task,  # noqa: ARG002 - for those who learn a structure beside theta
        data: Dataset,  # noqa: ARG002
        last: Setting,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> tuple[Setting, dict[str, Any]]:
        """The setting to begin with, given the last one; and what to say about it in Info."""
        return last, {}

    def fit(self, task: Task, data: Dataset, rng: np.random.Generator) -> Fitted:
        """The posterior given all trials, refitted when it is due."""
        n = len(data.y)

        def model(setting: Setting) -> tuple[PathModel, Targets]:
            targets = transform(data.y, data.noise, setting.lam)
            gp = self.model(task.space, data.X, targets.z, targets.noise, setting)
            return gp, targets

        last, remembered, fitted_at, evidence = self._last_fit(task)
        setting, said = self.structured(task, data, last, rng)
        if setting != last:  # what was fitted is not what is there now
            fitted_at = 0
        gp, targets = model(setting)
        recalled = gp.recall(remembered)
        first = recalled is None
        theta = gp.hyper.mean if recalled is None else recalled
        very_few, few = n <= _VERY_FEW, n <= _FEW
        if first or few or n - fitted_at >= n // 50:
            fitted_at = n
            cold = few and n % (_COLD_EVERY if very_few else 2 * _COLD_EVERY) == 0
            # Between cold starts the fit of the last trial is near, and the next one goes on.
            iterations = 200 if very_few or cold else 20 if few else 50
            theta, evidence = gp.fit([theta, gp.hyper.mean] if cold else [theta], iterations)
            evidence += targets.log_jacobian + setting.log_prior
            if first or cold or very_few:
                for rival in self._rivals(setting):
                    other_gp, other_targets = model(rival)
                    other_theta, other_evidence = other_gp.fit([theta], iterations)
                    other_evidence += other_targets.log_jacobian + rival.log_prior
                    if other_evidence > evidence:
                        gp, targets = other_gp, other_targets
                        setting, theta, evidence = rival, other_theta, other_evidence
        posterior = gp.posterior(theta)
        noise = 0.0
        if task.history.noisy:
            known = not np.isnan(targets.noise).any()
            noise = float(np.median(targets.noise) if known else np.exp(posterior.eta[-1]))
        fit = {
            "theta": gp.remember(theta),
            "setting": asdict(setting),
            "fitted_at": fitted_at,
            "evidence": evidence,
        }
        info = {"fits": {self.name: fit}} | said
        nothing = np.zeros((0, len(task.space)))
        fitted = Fitted(task.space, posterior, targets.z, noise, info, nothing)
        return fitted.with_pending(task.space.to_unit([trial.config for trial in task.pending]))

    def _rivals(self, setting: Setting) -> list[Setting]:
        """The settings next to one: other transforms, and the other kernel if it may change."""
        rivals = []
        if self.transforms:
            others = (setting.lam - _LAMBDA_STEP, setting.lam + _LAMBDA_STEP)
            rivals += [replace(setting, lam=lam) for lam in others if 0.0 <= lam <= 2.0]
        if self.kernel == "evidence":
            other: Kind = "se" if setting.kernel == "matern52" else "matern52"
            rivals.append(replace(setting, kernel=other))
        return rivals

    def _last_fit(self, task: Task) -> tuple[Setting, Any, int, float]:
        """Setting, remembered theta, n and evidence of the last complete trial with a fit."""
        known = {field.name for field in fields(self.setting_class)}
        for trial in reversed(task.history.complete):
            fit = trial.info.get("fits", {}).get(self.name)
            if fit is not None and set(fit["setting"]) == known:
                setting = self.setting_class(**fit["setting"])
                if self.kernel in ("evidence", setting.kernel):
                    return setting, fit["theta"], fit["fitted_at"], fit["evidence"]
        kernel = "matern52" if self.kernel == "evidence" else self.kernel
        return self.setting_class(kernel), None, 0, -np.inf

    # -- the search --------------------------------------------------------------------------

    def _next(self, ask: Ask) -> Proposal | None:
        """The best free and feasible configuration found, with the values of paths."""
        task, fitted = ask.task, ask.fitted
        acquisition = self.acquisition_at(task, fitted, ask.best)
        belief_on = self.belief_on(fitted)
        search = PathSearch(task.space, belief_on, acquisition, feasibility_of(task))
        if task.candidates is not None:
            rows, candidates = ask.candidates()
            scored = [search.score(path, X) for path, X in rows.items()]
            return self.chosen(ask, sorted(scored, key=lambda one: -one.values[0]), candidates)
        starts, said = self.starts(task, fitted, acquisition, ask.rng)
        paths = self.paths_to_search(task.space, fitted.posterior, ask.good, ask.rng)
        found = self.chosen(ask, search.maximise(paths, ask.good, ask.rng, starts))
        return None if found is None else replace(found, info=found.info | said)

    def chosen(
        self,
        ask: Ask,
        scored: Sequence[Scored],
        candidates: Mapping[bytes, Config] | None = None,
    ) -> Proposal | None:
        """The best free and feasible one of rows by path, which may be those of candidates."""
        found = ask.free(scored, candidates)
        if found is None:
            return None
        config, value = found
        space = ask.task.space
        values = {space.path_label(config): value}
        for one in scored[:_NAMED_PATHS]:
            values.setdefault(space.tree.path_label(one.path), float(one.values[0]))
        if self.acquisition == "ei":
            values = {path: float(np.exp(value)) for path, value in values.items()}
        return self.proposal(space, config, values)

    def acquisition_at(self, task: Task, fitted: Fitted, best: float) -> Acquisition:
        if self.acquisition in ("logei", "ei"):
            return LogEI(best, fitted.noise)
        return bound(largest_dimension(task.space), len(task.history) + 1)

    def belief_on(self, fitted: Fitted) -> Callable[[Path], Belief]:
        """Of what the acquisition is a function, on each path."""
        return fitted.posterior.on_path

    def starts(
        self,
        task: Task,
        fitted: Fitted,  # noqa: ARG002 - for those who know where to look
        acquisition: Acquisition,  # noqa: ARG002
        rng: np.random.Generator,  # noqa: ARG002
    ) -> tuple[Array, dict[str, Any]]:
        """Rows to be polished on every path beside those found; and what to say about them."""
        return np.zeros((0, len(task.space))), {}

    def proposal(self, space: Space, config: Config, values: dict[str, float]) -> Proposal:
        """A configuration, with the acquisition values of paths by label."""
        path = space.path_label(config)
        value = values[path]
        why = f"highest {self.acquisition} ({value:.3g}) of the paths searched"
        info = {"path": path, "acquisition": value, "paths": values, "why": why}
        return Proposal(config, info)


class SurrogateStrategy(GPStrategy):
    """A strategy whose model is a sum of components.

    ``warp=True`` bends the axis of every continuous variable as the data want it.
    """

    def __init__(
        self,
        *,
        acquisition: AcquisitionName = "logei",
        kernel: KernelName = "evidence",
        explore_every: int | None = 6,
        transforms: bool = True,
        warp: bool | WarpName = False,
    ) -> None:
        super().__init__(
            acquisition=acquisition,
            kernel=kernel,
            explore_every=explore_every,
            transforms=transforms,
        )
        self.warp = warp_name(warp)

    @abstractmethod
    def surrogate(self, space: Space, setting: Setting) -> Surrogate:
        """The covariance on a space; theta means the same for every setting."""

    def check_space(self, space: Space) -> None:
        self.surrogate(space, self.setting_class("matern52"))

    def model(self, space: Space, X: Array, z: Array, noise: Array, setting: Setting) -> PathModel:
        return on_rows(self.surrogate(space, setting), X, z, noise, self.warp)


def explores(space: Space, number: int, every: int | None) -> bool:
    """Whether a trial explores, every so often: not on one box of continuous variables."""
    if every is None or number % every != every - 1:
        return False
    return space.n_paths > 1 or any(
        not is_continuous(dimension.parameter) for dimension in space.dimensions
    )


def proposed(task: Task, proposals: Sequence[Proposal]) -> Task:
    """The task once some proposals are pending."""
    numbers = range(task.index, task.index + len(proposals))
    trials = [Trial(i, p.config, "pending") for i, p in zip(numbers, proposals, strict=True)]
    index = task.index + len(proposals)
    return replace(task, pending=(*task.pending, *trials), index=index)


def feasibility_of(task: Task) -> Feasibility | None:
    """The model of where trials fail; None while none has."""
    if not task.history.failed:
        return None
    failed = np.array([trial.state == "failed" for trial in task.history.trials])
    return Feasibility(task.space, task.history.units, failed)


def bound(dimension: int, t: int) -> LowerBound:
    """beta_t = 0.2 d log(2 t), with d the dimension that is searched (Add-Tree, section 4.2)."""
    return LowerBound(0.2 * dimension * np.log(2.0 * t))


def incumbent(task: Task, fitted: Fitted, X: Array) -> tuple[float, Array]:
    """The lowest level, what is believed of pending trials included; and the level of each row.

    That is its value, or with noise the posterior mean.
    """
    level = fitted.means(X) if task.history.noisy else fitted.z
    best = float(level.min())
    if len(fitted.pending):
        best = min(best, fitted.believed(fitted.pending))
    return best, level


def _kept_clear(task: Task, pending: Array) -> list[tuple[Array, float]]:
    """Balls around pending rows in which nothing else is tried: centres and radii.

    A ball is smaller where trials have ended nearby: a run that closes in on a minimum must be
    able to go on there, though one of its last steps is still pending.
    """
    ended = task.history.units
    gaps = np.abs(pending[:, None, :] - ended[None, :, :]).max(axis=2).min(axis=1)
    return list(zip(pending, np.minimum(_APART, gaps / 2), strict=True))


def first_free(
    task: Task,
    scored: Sequence[Scored],
    taken: Collection[Key],
    decode: Callable[[Array], Config] | None = None,
    apart: Array | None = None,
) -> tuple[Config, float] | None:
    """The best row whose configuration is free and feasible, and not next to rows ``apart``."""
    decode = task.space.from_unit if decode is None else decode
    balls = [] if apart is None else _kept_clear(task, apart)
    best: tuple[Config, float] | None = None
    for one in scored:
        rows = np.ones(len(one.X), dtype=bool)
        for centre, radius in balls:
            rows &= np.abs(one.X - centre).max(axis=1) >= radius
        kept = np.flatnonzero(rows)[:_SPARES]
        for x, value in zip(one.X[kept], one.values[kept], strict=True):
            if best is not None and value <= best[1]:
                break
            config = decode(x)
            if key_of(config) not in taken and task.space.violation(config) is None:
                best = config, float(value)
                break
    return best


def initial_trials(space: Space) -> int:
    """How many trials come before the first model: to visit every option if few do, and d + 2."""
    return max(min(space.tree.cover, 12), min(largest_dimension(space) + 2, 12), 4)


def largest_dimension(space: Space) -> int:
    """Variables, branching choices aside, of the largest path (Definition 3)."""
    values = [
        float(sum(index not in space.tree.children for index in node.dimensions))
        for node in space.nodes
    ]
    return int(best_path(space, values)[0])
