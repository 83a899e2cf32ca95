"""Add-Tree: Bayesian optimization on conditional spaces with an additive tree covariance.

X. Ma and M. Blaschko. Additive Tree-Structured Covariance Function for Conditional Parameter
Spaces in Bayesian Optimization. AISTATS 2020.

==========================  ===============================================
in the paper                here
==========================  ===============================================
tree T, vertices v          ``space.nodes``
path l_i                    the indices of the nodes a configuration activates
k_T (Alg. 1)                ``models.add_tree``
mu^v, sigma^v               ``Posterior.component``
acquisition by App. D       ``search.tree_path``
==========================  ===============================================
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bosquet.acquisition.base import LogEI
from bosquet.models.add_tree import add_tree
from bosquet.models.gp import AdditiveGP, Posterior
from bosquet.models.transform import Targets, transform
from bosquet.search.tree_path import Path, PathSearch
from bosquet.space import Space
from bosquet.strategies.base import Proposal, Strategy, Task, design

Array = NDArray[np.float64]

_GOOD = 8  # rows worth perturbing
_MOST_PATHS = 32  # searched in one ask


class AddTree(Strategy):
    """An additive GP over the nodes of a space; expected improvement path by path."""

    name: ClassVar[str] = "add-tree"

    def __init__(self, *, interactions: bool = True, constants: bool = True) -> None:
        self.interactions = interactions
        self.constants = constants

    def propose(self, task: Task, n: int, rng: np.random.Generator) -> list[Proposal]:
        data = task.history.dataset()
        if len(data.y) < initial_trials(task.space):
            return design(task, n, rng)
        components, hyper = add_tree(
            task.space, interactions=self.interactions, constants=self.constants
        )
        targets = transform(data.y, data.noise)
        Z = task.space.tree.node_activity(data.X)
        gp = AdditiveGP(components, hyper, data.X, Z, targets.z, targets.noise)
        theta, evidence = gp.fit(self._starts(task, hyper.mean))
        posterior = gp.posterior(theta)
        if task.pending:
            P = task.space.to_unit([trial.config for trial in task.pending])
            posterior = posterior.with_pending(P, task.space.tree.node_activity(P))
        info = {"theta": theta.tolist(), "log_posterior": evidence}
        good = data.X[np.argsort(targets.z, kind="stable")[:_GOOD]]
        return self._search(task, n, rng, posterior, targets, good, info)

    def _starts(self, task: Task, cold: Array) -> list[Array]:
        """The theta of the last trial that has one, and a cold start every few trials."""
        for trial in reversed(task.history.complete):
            warm = np.array(trial.info.get("theta", ()))
            if len(warm) == len(cold):
                return [warm, cold] if task.index % 5 == 0 else [warm]
        return [cold]

    def _search(
        self,
        task: Task,
        n: int,
        rng: np.random.Generator,
        posterior: Posterior,
        targets: Targets,
        good: Array,
        info: dict[str, Any],
    ) -> list[Proposal]:
        space = task.space
        acquisition = LogEI(float(targets.z.min()))
        proposals: list[Proposal] = []
        taken = set(task.taken)
        while len(proposals) < n:
            search = PathSearch(space, posterior, acquisition)
            paths = paths_to_search(space, good, rng)
            chosen = None
            for scored in search.maximise(paths, good, rng):
                for x, value in zip(scored.X[:50], scored.values, strict=False):
                    config = space.from_unit(x)
                    if tuple(config.items()) in taken or space.violation(config) is not None:
                        continue
                    if chosen is None or value > chosen[1]:
                        chosen = (x, float(value), config)
                    break
            if chosen is None:
                return proposals + design(task, n - len(proposals), rng)
            x, value, config = chosen
            taken.add(tuple(config.items()))
            path = space.path_label(config)
            extra = {"path": path, "acquisition": value, "why": f"highest log EI, {value:.2f}"}
            proposals.append(Proposal(config, info | extra))
            if len(proposals) < n:
                posterior = posterior.with_pending(x[None], space.tree.node_activity(x[None]))
        return proposals


def initial_trials(space: Space) -> int:
    """How many trials come before the first model: the paths if they are few, and d + 2."""
    largest = max(
        sum(
            index not in space.tree.children
            for node in path
            for index in space.nodes[node].dimensions
        )
        for path in (space.tree.paths() if space.n_paths <= 64 else [range(len(space.nodes))])
    )
    return max(min(space.n_paths, 12), min(largest + 2, 12), 4)


def paths_to_search(space: Space, good: Array, rng: np.random.Generator) -> list[Path]:
    """All paths where they are few; else those of the good rows and random ones."""
    if space.n_paths <= _MOST_PATHS:
        return list(space.tree.paths())
    known = [tuple(np.flatnonzero(z).tolist()) for z in space.tree.node_activity(good)]
    drawn = [space.path(config) for config in space.sample(rng, _MOST_PATHS, by="path")]
    return list(dict.fromkeys([*known, *drawn]))[:_MOST_PATHS]
