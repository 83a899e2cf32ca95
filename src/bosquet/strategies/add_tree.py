"""Add-Tree: Bayesian optimization on conditional spaces with an additive tree covariance.

X. Ma and M. Blaschko. Additive Tree-Structured Covariance Function for Conditional Parameter
Spaces in Bayesian Optimization. AISTATS 2020.

==========================  ===============================================================
in the paper                here
==========================  ===============================================================
tree T, vertices v          ``space.nodes``
path l_i                    the indices of the nodes that a configuration activates
k_T (Definition 4, Alg. 1)  ``models.add_tree``
mu^v, sigma^v               ``Posterior.of`` the components of one node
Algorithm 2                 ``search.node_sum``, with ``acquisition="node-ucb"``
other acquisitions (App. D) ``search.tree_path``: on the posterior of each path
interactions (App. E)       chain components
the authors' released code  ``AddTree.released``
==========================  ===============================================================

Algorithm 2, Add-Tree-GP-UCB; u^v and x^v are maximum and maximiser of the bound of node v::

     1, 2   for t = 1, 2, ...                            an ask, after the design
     3-5        for v in V: x^v, u^v <- max mu^v + sqrt(beta_t) sigma^v    `node_sum._search_node`
     6-8        l_j <- the path with the largest sum of u^v                `node_sum.best_path`
     9          x_t <- the x^v of the vertices on l_j                      `maximise_node_sum`
    10, 11      y_t <- f(x_t), D_t <- D_t-1 and (x_t, y_t)                 `Optimizer.tell`
    12          fit the GP by maximum likelihood                           `GPStrategy.fit`

The code that the authors released (github.com/maxc01/addtree, ``addtree_jenatton_small.py``) does
not run Algorithm 2. With every variance fixed at one it searches each path by the lower confidence
bound of the path's own posterior, mean - 5 sd (the 1.0 of its call ranks the first grid only).

Where we differ by default, and why: Algorithm 2 adds a confidence bonus per node, but only sums of
nodes are observed, so the bonus never vanishes and favours long paths. Expected improvement of the
path's own posterior does not have that problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Self, get_args

import numpy as np

from bosquet.acquisition.base import Acquisition, LowerBound
from bosquet.data import Dataset, key_of
from bosquet.kernels.components import Kind
from bosquet.models.add_tree import add_tree, paper_add_tree, released_add_tree
from bosquet.models.covariance import AdditivePosterior, Covariance
from bosquet.models.transform import transform
from bosquet.search.node_sum import maximise_node_sum, optimistic_paths
from bosquet.space import Space
from bosquet.space.tree import Path
from bosquet.strategies.base import Proposal, Task
from bosquet.strategies.choosing import Ask
from bosquet.strategies.fitting import FitRecord, Fitted, Setting, conditioned
from bosquet.strategies.gp_strategy import MOST_PATHS, CovarianceStrategy, GPStrategy, bound
from bosquet.strategies.options import one_of, whole

AddTreeModel = Literal["hierarchical", "paper", "released"]

_RELEASED_BETA = 25.0  # kappa = 5
_RELEASED_INITIAL = 5
_RELEASED_RESTARTS = 2
_RESTARTS = 5  # the paper says "multi-started"
_FEW = 100  # trials up to which every fit starts anew
_OPTIMISM = LowerBound(2.0)  # by which nodes are judged when paths are too many to search all


@dataclass(kw_only=True, eq=False)
class AddTree(CovarianceStrategy):
    """An additive GP over the nodes of a space; expected improvement path by path.

    The other arguments are those of every `GPStrategy` and `CovarianceStrategy`.

    Args:
        acquisition: beside ``"logei"`` and ``"ucb"`` also ``"node-ucb"``, the paper's sum of
            per-node bounds, which needs a model without interactions.
        model: ``"hierarchical"``; ``"paper"``, squared exponentials fitted by maximum likelihood
            without ties between nodes, interactions or constants; or ``"released"``, the model of
            the authors' code, with all variances one.
        interactions: whether there are components over all variables along a path (Appendix E);
            None: as the model has them.
        constants: whether each option of a branching choice has a level of its own; None: as the
            model has them.
        beta: the squared width of the bounds of ``"ucb"`` and ``"node-ucb"``; None: the paper's
            0.2 d log(2 t).
        restarts: from how many random points fits of ``"paper"`` and ``"released"`` start, up to
            100 trials; None: from the last fit.
    """

    name: ClassVar[str] = "add-tree"
    acquisitions: ClassVar[tuple[str, ...]] = (*GPStrategy.acquisitions, "node-ucb")

    versions: ClassVar[tuple[str, ...]] = ("paper", "released")

    model: AddTreeModel = "hierarchical"
    interactions: bool | None = None
    constants: bool | None = None
    beta: float | None = None
    restarts: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("model", self.model, get_args(AddTreeModel))
        if self.model != "hierarchical" and self.kernel == "matern52":
            raise ValueError(
                f"kernel='matern52': model={self.model!r} has squared exponentials, kernel='se'"
            )
        if self.model != "hierarchical" and (self.interactions or self.constants):
            raise ValueError(f"model={self.model!r} has no interactions and no constants to add")
        self._check_beta()
        whole("restarts", self.restarts, none=True)
        if self.restarts is not None and self.model == "hierarchical":
            raise ValueError(
                f"restarts={self.restarts!r} is of model='paper' or 'released': the fit of "
                "model='hierarchical' starts from the last one"
            )
        if self.acquisition == "node-ucb" and self.warp:
            raise ValueError("acquisition='node-ucb' searches nodes as they are: use warp=False")
        if self.acquisition == "node-ucb" and self._has(self.interactions):
            raise ValueError(
                "acquisition='node-ucb' adds up separate nodes, which interactions along a path "
                "do not allow: use interactions=False, or another acquisition"
            )

    def _check_beta(self) -> None:
        if self.beta is None:
            return
        if self.acquisition == "logei":
            raise ValueError(f"beta={self.beta!r} is of acquisition='ucb' or 'node-ucb'")
        if isinstance(self.beta, bool) or not 0.0 <= self.beta < np.inf:
            raise ValueError(f"beta={self.beta!r} must be a number of at least 0, or None")

    def _has(self, part: bool | None) -> bool:
        return self.model == "hierarchical" if part is None else part

    @classmethod
    def paper(cls) -> Self:
        """Squared exponential, maximum likelihood, no constants or interactions, Algorithm 2."""
        return cls(
            acquisition="node-ucb",
            model="paper",
            restarts=_RESTARTS,
            explore_every=None,
            defaults_first=False,
            near_good=False,
            transforms=False,
        )

    @classmethod
    def released(cls) -> Self:
        """The authors' released example: unit variances, mean - 5 sd of each path's posterior."""
        return cls(
            acquisition="ucb",
            model="released",
            beta=_RELEASED_BETA,
            restarts=_RELEASED_RESTARTS,
            explore_every=None,
            defaults_first=False,
            near_good=False,
            transforms=False,
        )

    @property
    def kernels(self) -> tuple[Kind, ...]:
        return super().kernels if self.model == "hierarchical" else ("se",)

    def initial_trials(self, space: Space) -> int:
        return _RELEASED_INITIAL if self.model == "released" else super().initial_trials(space)

    def fit(self, task: Task, data: Dataset, rng: np.random.Generator) -> Fitted[AdditivePosterior]:
        """By maximum likelihood from random starts (section 5), where there are ``restarts``.

        They matter: what the data do not determine, as the length-scale of a leaf with one point,
        is different in every ask, so that no leaf is given up for ever.
        """
        if self.restarts is None or len(data.y) > _FEW:
            return super().fit(task, data, rng)
        setting = Setting("se")
        targets = transform(data.y, data.noise, setting.lam)
        model = self.model_on(task.space, data.X, targets, setting)
        low, high = model.hyper.lower, model.hyper.upper
        theta, evidence = model.fit([rng.uniform(low, high) for _ in range(self.restarts)])
        record = FitRecord(model.hyper.remember(theta), setting, len(data.y), evidence)
        return conditioned(task, self.name, model, theta, targets.z, targets.noise, record)

    def covariance(self, space: Space, setting: Setting) -> Covariance:
        if self.model == "paper":
            return Covariance(space, *paper_add_tree(space))
        if self.model == "released":
            return Covariance(space, *released_add_tree(space))
        components, hyper = add_tree(
            space,
            kind=setting.kernel,
            interactions=self._has(self.interactions),
            constants=self._has(self.constants),
        )
        return Covariance(space, components, hyper)

    def paths_to_search(self, ask: Ask[AdditivePosterior]) -> list[Path]:
        """Where paths are many: those of the good rows, the most promising ones, random ones."""
        paths = super().paths_to_search(ask)
        space = ask.task.space
        if space.n_paths > MOST_PATHS:
            additive = ask.fitted.posterior.additive
            best = optimistic_paths(space, additive, _OPTIMISM, MOST_PATHS // 2, ask.rng)
            known = len(ask.good)
            paths = list(dict.fromkeys([*paths[:known], *best, *paths[known:]]))[:MOST_PATHS]
        return paths

    def acquisition_at(self, ask: Ask[AdditivePosterior]) -> Acquisition:
        if self.beta is not None:
            return LowerBound(self.beta)
        return super().acquisition_at(ask)

    def next(self, ask: Ask[AdditivePosterior]) -> Proposal | None:
        task = ask.task
        if self.acquisition == "node-ucb" and task.candidates is None:
            t = len(task.history) + 1
            additive = ask.fitted.posterior.additive

            def bound_of(dimension: int) -> Acquisition:
                return bound(dimension, t) if self.beta is None else LowerBound(self.beta)

            # Algorithm 2, lines 3-9.
            x, value = maximise_node_sum(task.space, additive, bound_of, ask.rng)
            config = task.space.from_unit(x)
            if key_of(config) not in ask.taken and task.space.violation(config) is None:
                return self.proposal(config, value, {task.space.path_label(config): value})
        return super().next(ask)
