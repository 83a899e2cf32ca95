"""Add-Tree: Bayesian optimization on conditional spaces with an additive tree covariance.

X. Ma and M. Blaschko. Additive Tree-Structured Covariance Function for Conditional Parameter
Spaces in Bayesian Optimization. AISTATS 2020.

==========================  ===============================================================
in the paper                here
==========================  ===============================================================
tree T, vertices v          ``space.nodes``
path l_i                    the indices of the nodes that a configuration activates
k_T (Definition 4, Alg. 1)  ``models.add_tree``
mu^v, sigma^v               ``Posterior.on_path`` of one node alone
Algorithm 2                 ``search.node_sum``, with ``acquisition="node-ucb"``
other acquisitions (App. D) ``search.tree_path``: on the posterior of each path
interactions (App. E)       chain components
==========================  ===============================================================

Where we differ by default, and why: Algorithm 2 adds a confidence bonus per node, but only sums of
nodes are observed, so the bonus never vanishes and favours long paths. Expected improvement of the
path's own posterior does not have that problem.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from bosquet.acquisition.base import Acquisition, LogEI, LowerBound
from bosquet.data import Dataset, Key, key_of
from bosquet.kernels.components import Component, Hyperparameters, Kind
from bosquet.kernels.features import is_continuous
from bosquet.models.add_tree import add_tree, paper_add_tree
from bosquet.models.feasibility import Feasibility
from bosquet.models.gp import AdditiveGP, Posterior
from bosquet.models.transform import Targets, log_prior_of_lambda, transform
from bosquet.search.node_sum import best_path, maximise_node_sum, promising_paths
from bosquet.search.tree_path import Path, PathSearch, Scored
from bosquet.space import Config, Space
from bosquet.strategies.base import Proposal, Strategy, Task, design

Array = NDArray[np.float64]
AcquisitionName = Literal["logei", "ei", "ucb", "node-ucb"]
ACQUISITIONS = ("logei", "ei", "ucb", "node-ucb")
KernelName = Literal["evidence", "matern52", "se"]

_GOOD = 8  # evaluated rows worth perturbing
_MOST_PATHS = 32  # searched in one ask
_FEW = 100  # trials up to which every ask fits anew, now and then also from the prior
_COLD_EVERY = 5
_OFTEN_COMPARED = 30  # trials up to which every fit looks at other transforms and kernels
_LAMBDA_STEP = 0.5
_OPTIMISM = LowerBound(2.0)  # by which nodes are judged when paths are too many to search all
_NAMED_PATHS = 8  # whose acquisition values are told in Info
_SPARES = 50  # rows of a path looked at when the best are taken or infeasible


class AddTree(Strategy):
    """An additive GP over the nodes of a space; expected improvement path by path.

    ``acquisition`` is ``"logei"`` (``"ei"`` is the same function, named by its value), or ``"ucb"``
    on the posterior of each path, or ``"node-ucb"`` for the paper's sum of per-node bounds, which
    needs ``interactions=False``. ``kernel="evidence"`` takes Matern-5/2 or the squared exponential,
    whichever explains the data better so far.

    Every ``explore_every``-th trial (None: never) is a point of the space-filling design on a path
    visited least, unless the space is one box of continuous variables: a model that is sure of
    itself on few points must not give up a branch for ever.
    """

    name: ClassVar[str] = "add-tree"

    def __init__(
        self,
        *,
        acquisition: AcquisitionName = "logei",
        interactions: bool = True,
        constants: bool = True,
        kernel: KernelName = "evidence",
        hierarchical: bool = True,
        explore_every: int | None = 6,
    ) -> None:
        if acquisition not in ACQUISITIONS:
            raise ValueError(
                f"acquisition={acquisition!r} must be one of {', '.join(ACQUISITIONS)}"
            )
        if kernel not in ("evidence", "matern52", "se"):
            raise ValueError(f"kernel={kernel!r} must be 'evidence', 'matern52' or 'se'")
        if acquisition == "node-ucb" and interactions:
            raise ValueError(
                "acquisition='node-ucb' adds up separate nodes, which interactions along a path "
                "do not allow: use interactions=False, or another acquisition"
            )
        if explore_every is not None and explore_every < 2:
            raise ValueError(f"explore_every={explore_every!r} must be at least 2, or None")
        if not hierarchical and (interactions or constants or kernel != "se"):
            raise ValueError(
                "hierarchical=False is the paper's model: it goes with kernel='se', "
                "interactions=False and constants=False"
            )
        self.acquisition = acquisition
        self.interactions = interactions
        self.constants = constants
        self.kernel = kernel
        self.hierarchical = hierarchical
        self.explore_every = explore_every

    @classmethod
    def paper(cls) -> Self:
        """Squared exponential, maximum likelihood, no constants or interactions, Algorithm 2."""
        return cls(
            acquisition="node-ucb",
            interactions=False,
            constants=False,
            kernel="se",
            hierarchical=False,
            explore_every=None,
        )

    def model(self, space: Space, kind: Kind) -> tuple[list[Component], Hyperparameters]:
        if not self.hierarchical:
            return paper_add_tree(space)
        return add_tree(space, kind=kind, interactions=self.interactions, constants=self.constants)

    def propose(self, task: Task, n: int, rng: np.random.Generator) -> list[Proposal]:
        data = task.history.dataset()
        if len(data.y) < initial_trials(task.space):
            return design(task, n, rng)
        posterior, z, fitted = self._fit(task, data)
        # What is known of each evaluated point: its value, or with noise the posterior mean.
        level = posterior_means(task.space, posterior, data.X) if task.history.noisy else z
        good = data.X[np.argsort(level, kind="stable")[:_GOOD]]
        proposals: list[Proposal] = []
        taken = set(task.taken)
        while len(proposals) < n:
            if self._explores(task.space, task.index + len(proposals)):
                explored = design(task, 1, rng)[0]
                why = "exploration: the design on a path visited least"
                proposals.append(Proposal(explored.config, explored.info | {"why": why} | fitted))
                taken.add(key_of(explored.config))
                continue
            found = self._next(task, posterior, float(level.min()), good, taken, rng)
            if found is None:
                break
            x, config, by_path = found
            if not task.history.noisy:
                taken.add(key_of(config))
            path = task.space.path_label(config)
            value = by_path[path]
            why = f"highest {self.acquisition} ({value:.3g}) of the paths searched"
            info = {"path": path, "acquisition": value, "paths": by_path, "why": why}
            proposals.append(Proposal(config, info | fitted))
            posterior = posterior.with_pending(x[None], task.space.tree.node_activity(x[None]))
        return proposals or design(task, n, rng)

    def _explores(self, space: Space, number: int) -> bool:
        if self.explore_every is None or number % self.explore_every != self.explore_every - 1:
            return False
        return space.n_paths > 1 or any(
            not is_continuous(dimension.parameter) for dimension in space.dimensions
        )

    # -- the model ---------------------------------------------------------------------------

    def _fit(self, task: Task, data: Dataset) -> tuple[Posterior, Array, dict[str, Any]]:
        """The posterior given all trials, the transformed targets, and what to remember."""
        Z = task.space.tree.node_activity(data.X)
        n = len(data.y)

        def model(setting: Setting) -> tuple[AdditiveGP, Targets]:
            components, hyper = self.model(task.space, setting.kernel)
            targets = transform(data.y, data.noise, setting.lam)
            gp = AdditiveGP(components, hyper, data.X, Z, targets.z, targets.noise)
            return gp, targets

        setting, theta, fitted_at = self._last_fit(task)
        gp, targets = model(setting)
        first = fitted_at == 0
        theta = gp.hyper.mean if first else theta
        few = n <= _FEW
        if first or few or n - fitted_at >= n // 50:
            fitted_at = n
            cold = few and n % _COLD_EVERY == 0
            theta, evidence = gp.fit(
                [theta, gp.hyper.mean] if cold else [theta], max_iterations=200 if few else 50
            )
            if self.hierarchical and (first or cold or n <= _OFTEN_COMPARED):
                evidence += targets.log_jacobian + setting.log_prior
                for rival in self._rivals(setting):
                    rival_gp, rival_targets = model(rival)
                    rival_theta, rival_evidence = rival_gp.fit([theta])
                    rival_evidence += rival_targets.log_jacobian + rival.log_prior
                    if rival_evidence > evidence:
                        gp, targets, theta = rival_gp, rival_targets, rival_theta
                        setting, evidence = rival, rival_evidence
        posterior = gp.posterior(theta)
        if task.pending:
            P = task.space.to_unit([trial.config for trial in task.pending])
            posterior = posterior.with_pending(P, task.space.tree.node_activity(P))
        info = {
            "theta": theta.tolist(),
            "kernel": setting.kernel,
            "lambda": setting.lam,
            "fitted_at": fitted_at,
        }
        return posterior, targets.z, info

    def _rivals(self, setting: Setting) -> list[Setting]:
        """The settings next to one: other transforms, and the other kernel if it may change."""
        rivals = [
            replace(setting, lam=setting.lam + step) for step in (-_LAMBDA_STEP, _LAMBDA_STEP)
        ]
        if self.kernel == "evidence":
            other: Kind = "se" if setting.kernel == "matern52" else "matern52"
            rivals.append(replace(setting, kernel=other))
        return rivals

    def _last_fit(self, task: Task) -> tuple[Setting, Array, int]:
        """Setting, theta and n of the highest-numbered complete trial that has them."""
        kernel: Kind = "matern52" if self.kernel == "evidence" else self.kernel
        size = len(self.model(task.space, kernel)[1].mean)
        for trial in reversed(task.history.complete):
            info = trial.info
            theta = info.get("theta", ())
            if len(theta) == size and (self.kernel == "evidence" or info["kernel"] == kernel):
                setting = Setting(info["kernel"], info["lambda"])
                return setting, np.array(theta), info["fitted_at"]
        return Setting(kernel), np.zeros(size), 0

    # -- the search --------------------------------------------------------------------------

    def _next(
        self,
        task: Task,
        posterior: Posterior,
        best: float,
        good: Array,
        taken: Collection[Key],
        rng: np.random.Generator,
    ) -> tuple[Array, Config, dict[str, float]] | None:
        """The best free and feasible row found, its configuration, and the values of paths."""
        t = len(task.history) + 1
        if self.acquisition == "node-ucb" and task.candidates is None:
            x, value = maximise_node_sum(task.space, posterior, lambda d: _bound(d, t), rng)
            config = task.space.from_unit(x)
            if key_of(config) not in taken and task.space.violation(config) is None:
                return x, config, {task.space.path_label(config): value}
        acquisition: Acquisition = LogEI(best)
        if self.acquisition in ("ucb", "node-ucb"):
            acquisition = _bound(_largest_dimension(task.space), t)
        search = PathSearch(task.space, posterior.on_path, acquisition, _feasibility(task))
        scored = _search_paths(task, posterior, search, good, taken, rng)
        found = _first_free(task, scored, taken)
        if found is None:
            return None
        x, value, config = found
        values = {task.space.path_label(config): value}
        for one in scored[:_NAMED_PATHS]:
            values.setdefault(task.space.tree.path_label(one.path), float(one.values[0]))
        if self.acquisition == "ei":
            values = {path: float(np.exp(value)) for path, value in values.items()}
        return x, config, values


@dataclass(frozen=True)
class Setting:
    """What is chosen by evidence, beside theta."""

    kernel: Kind
    lam: float = 1.0
    """Of the Yeo-Johnson transform; 1 is none."""

    @property
    def log_prior(self) -> float:
        return log_prior_of_lambda(self.lam)


def _feasibility(task: Task) -> Feasibility | None:
    if not task.history.failed:
        return None
    failed = np.array([trial.state == "failed" for trial in task.history.trials])
    return Feasibility(task.space, task.history.units, failed)


def _bound(dimension: int, t: int) -> LowerBound:
    """beta_t = 0.2 d log(2 t), with d the dimension that is searched (section 4.2)."""
    return LowerBound(0.2 * dimension * np.log(2.0 * t))


def _search_paths(
    task: Task,
    posterior: Posterior,
    search: PathSearch,
    good: Array,
    taken: Collection[Key],
    rng: np.random.Generator,
) -> list[Scored]:
    """Rows of every path searched, paths in the order of their best one."""
    if task.candidates is None:
        paths = paths_to_search(task.space, posterior, good, rng)
        return search.maximise(paths, good, rng)
    by_path: dict[Path, list[Config]] = {}
    for config in task.left(taken):
        by_path.setdefault(task.space.path(config), []).append(config)
    scored = [search.score(p, task.space.to_unit(configs)) for p, configs in by_path.items()]
    return sorted(scored, key=lambda one: -one.values[0])


def _first_free(
    task: Task, scored: Sequence[Scored], taken: Collection[Key]
) -> tuple[Array, float, Config] | None:
    """The best row whose configuration is free and feasible."""
    best: tuple[Array, float, Config] | None = None
    for one in scored:
        for x, value in zip(one.X[:_SPARES], one.values, strict=False):
            if best is not None and value <= best[1]:
                break
            config = task.space.from_unit(x)
            if key_of(config) not in taken and task.space.violation(config) is None:
                best = x, float(value), config
                break
    return best


def posterior_means(space: Space, posterior: Posterior, X: Array) -> Array:
    """The posterior mean at rows of any paths."""
    means = np.empty(len(X))
    patterns, which = np.unique(space.tree.node_activity(X), axis=0, return_inverse=True)
    for i, pattern in enumerate(patterns):
        rows = np.flatnonzero(np.ravel(which) == i)
        path = np.flatnonzero(pattern).tolist()
        means[rows] = posterior.on_path(path).moments(X[rows])[0]
    return means


def initial_trials(space: Space) -> int:
    """How many trials come before the first model: the paths if they are few, and d + 2."""
    return max(min(space.n_paths, 12), min(_largest_dimension(space) + 2, 12), 4)


def _largest_dimension(space: Space) -> int:
    """Variables, branching choices aside, of the largest path (Definition 3)."""
    values = [
        float(sum(index not in space.tree.children for index in node.dimensions))
        for node in space.nodes
    ]
    return int(best_path(space, values)[0])


def paths_to_search(
    space: Space, posterior: Posterior, good: Array, rng: np.random.Generator
) -> list[Path]:
    """All paths where they are few; else those of the good rows, promising ones and random ones."""
    if space.n_paths <= _MOST_PATHS:
        return list(space.tree.paths())
    known = [tuple(np.flatnonzero(z).tolist()) for z in space.tree.node_activity(good)]
    promising = promising_paths(space, posterior, _OPTIMISM, _MOST_PATHS // 2, rng)
    drawn = [space.path(config) for config in space.sample(rng, _MOST_PATHS, by="path")]
    return list(dict.fromkeys([*known, *promising, *drawn]))[:_MOST_PATHS]
