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

from typing import ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from bosquet.acquisition.base import LowerBound
from bosquet.data import key_of
from bosquet.models.add_tree import add_tree, paper_add_tree
from bosquet.models.base import PathPosterior
from bosquet.models.surrogate import Surrogate, SurrogatePosterior
from bosquet.models.warping import WarpName
from bosquet.search.node_sum import maximise_node_sum, promising_paths
from bosquet.search.tree_path import Path
from bosquet.space import Space
from bosquet.strategies.base import Proposal
from bosquet.strategies.gp_strategy import (
    MOST_PATHS,
    AcquisitionName,
    Ask,
    KernelName,
    Setting,
    SurrogateStrategy,
    bound,
)

Array = NDArray[np.float64]

_OPTIMISM = LowerBound(2.0)  # by which nodes are judged when paths are too many to search all


class AddTree(SurrogateStrategy):
    """An additive GP over the nodes of a space; expected improvement path by path.

    ``acquisition`` may also be ``"node-ucb"``, the paper's sum of per-node bounds, which needs
    ``interactions=False``. ``hierarchical=False`` is the paper's model. The other arguments are
    those of every `GPStrategy`.
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
        transforms: bool = True,
        warp: bool | WarpName = False,
    ) -> None:
        super().__init__(
            acquisition=acquisition,
            kernel=kernel,
            explore_every=explore_every,
            transforms=transforms,
            warp=warp,
        )
        if acquisition == "node-ucb" and self.warp:
            raise ValueError("acquisition='node-ucb' searches nodes as they are: use warp=False")
        if acquisition == "node-ucb" and interactions:
            raise ValueError(
                "acquisition='node-ucb' adds up separate nodes, which interactions along a path "
                "do not allow: use interactions=False, or another acquisition"
            )
        if not hierarchical and (interactions or constants or kernel != "se"):
            raise ValueError(
                "hierarchical=False is the paper's model: it goes with kernel='se', "
                "interactions=False and constants=False"
            )
        self.interactions = interactions
        self.constants = constants
        self.hierarchical = hierarchical

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
            transforms=False,
        )

    @classmethod
    def acquisitions(cls) -> tuple[str, ...]:
        return (*super().acquisitions(), "node-ucb")

    def surrogate(self, space: Space, setting: Setting) -> Surrogate:
        if not self.hierarchical:
            return Surrogate(space, *paper_add_tree(space))
        components, hyper = add_tree(
            space,
            kind=setting.kernel,
            interactions=self.interactions,
            constants=self.constants,
        )
        return Surrogate(space, components, hyper)

    def paths_to_search(
        self, space: Space, posterior: PathPosterior, good: Array, rng: np.random.Generator
    ) -> list[Path]:
        """Where paths are many: those of the good rows, the most promising ones, random ones."""
        paths = super().paths_to_search(space, posterior, good, rng)
        if space.n_paths > MOST_PATHS:
            additive = cast(SurrogatePosterior, posterior).additive
            best = promising_paths(space, additive, _OPTIMISM, MOST_PATHS // 2, rng)
            known = len(good)
            paths = list(dict.fromkeys([*paths[:known], *best, *paths[known:]]))[:MOST_PATHS]
        return paths

    def _next(self, ask: Ask) -> Proposal | None:
        task = ask.task
        if self.acquisition == "node-ucb" and task.candidates is None:
            t = len(task.history) + 1
            additive = cast(SurrogatePosterior, ask.fitted.posterior).additive
            x, value = maximise_node_sum(task.space, additive, lambda d: bound(d, t), ask.rng)
            config = task.space.from_unit(x)
            if key_of(config) not in ask.taken and task.space.violation(config) is None:
                return self.proposal(task.space, config, {task.space.path_label(config): value})
        return super()._next(ask)
