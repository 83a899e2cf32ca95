"""Tree-EI: a GP per leaf, random linear functions at inner nodes, two-step expected improvement.

R. Jenatton, C. Archambeau, J. Gonzalez and M. Seeger. Bayesian Optimization with Tree-structured
Dependencies. ICML 2017.

==============================  ==============================================================
in the paper                    here
==============================  ==============================================================
leaf p, inner node v            a path of the space; a node on more than one path
g_p, K_p, c, z_p, b_p           ``models.tree_linear``
shared parameters r_v (2.4)     variables of inner nodes; basis expansion (4.3): ``features``
EI (5), path EI (6), two steps  ``search.two_step``
the best few leaves (3.1)       ``k``
argmax over all leaves (3.1)    ``search="full"``
one random candidate per path   the design of ``strategies.base``, which visits paths evenly
==============================  ==============================================================

Where we differ by default, and why: few functions are linear in their shared variables, so these
have Fourier features; path EI looks at the level of a leaf and not at how deep its minimum may be,
so a few paths (``k``) are compared by EI itself; step 2 moves the shared variables again, since
step 1 chose them without a look at the leaf; hyper-parameters are tied by priors; and every sixth
trial explores, as in `AddTree`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import NDArray

from bosquet.acquisition.base import LogEI
from bosquet.kernels.weights import Features
from bosquet.models.base import PathModel
from bosquet.models.tree_leaves import LeafSees, TreeLinear
from bosquet.models.tree_linear import TreeGP, TreePosterior
from bosquet.search.tree_path import Path
from bosquet.search.two_step import Promise, TwoStep, promising_paths
from bosquet.space import Config, Space
from bosquet.strategies.base import Proposal, Task
from bosquet.strategies.gp_strategy import Ask, GPStrategy, Setting, feasibility_of
from bosquet.text import must_be_one_of

Array = NDArray[np.float64]
Search = Literal["two-step", "full"]

_MOST_PATHS = 64  # ranked in one ask
_MOST_INITIAL = 64  # trials of the paper's design, where paths are more
_MOST_TRIED = 24  # promises that step 2 looks at before it gives up
_TOLD = 5  # path EIs in the info


class TreeEI(GPStrategy):
    """A GP per leaf tied together by random weights at inner nodes; EI in two steps.

    ``features`` says how shared variables enter these weights, ``leaf`` whether the GP of a leaf
    sees its ``"own"`` variables only (the paper) or all of its ``"path"``. Step 1 ranks paths by
    path EI; step 2 maximises EI on the ``k`` best of them, with the shared variables free or
    (``refine_shared=False``) as step 1 left them; ``search="full"`` maximises it on all of them.

    Up to 64 paths are all ranked. Beyond, one ask looks at those of the best trials, at paths
    that are best under draws of the weights, and at random ones.

    ``hierarchical=False`` is the paper's fit: maximum likelihood without ties or priors, Matern-5/2
    on standardised targets, with one initial trial per path (64 at most).
    """

    name: ClassVar[str] = "tree-ei"

    def __init__(
        self,
        *,
        features: Features = "fourier",
        leaf: LeafSees = "own",
        search: Search = "two-step",
        k: int = 8,
        refine_shared: bool = True,
        hierarchical: bool = True,
        explore_every: int | None = 6,
    ) -> None:
        super().__init__(
            kernel="evidence" if hierarchical else "matern52",
            explore_every=explore_every,
            transforms=hierarchical,
        )
        for name, value, allowed in (
            ("features", features, ("linear", "fourier")),
            ("leaf", leaf, ("own", "path")),
            ("search", search, ("two-step", "full")),
        ):
            if value not in allowed:
                raise ValueError(must_be_one_of(name, value, allowed))
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise ValueError(f"k={k!r} must be a positive integer")
        self.features: Features = features
        self.leaf: LeafSees = leaf
        self.search: Search = search
        self.k = k
        self.refine_shared = refine_shared
        self.hierarchical = hierarchical

    @classmethod
    def paper(cls) -> Self:
        """Maximum likelihood, the best path by Eq. (6), and EI there with shared values kept."""
        return cls(
            features="linear",
            leaf="own",
            k=1,
            refine_shared=False,
            hierarchical=False,
            explore_every=None,
        )

    def model(self, space: Space, X: Array, z: Array, noise: Array, setting: Setting) -> PathModel:
        tree = TreeLinear(
            space,
            list(space.tree.rows_by_path(X)),
            features=self.features,
            leaf=self.leaf,
            hierarchical=self.hierarchical,
            kind="se" if setting.kernel == "se" else "matern52",
        )
        return TreeGP(tree, X, z, noise)

    def initial_trials(self, space: Space) -> int:
        if self.hierarchical:
            return super().initial_trials(space)
        return min(max(space.n_paths, 2), _MOST_INITIAL)

    def _next(self, ask: Ask) -> Proposal | None:
        """The best free and feasible configuration found, and what to say about it."""
        task = ask.task
        posterior = cast(TreePosterior, ask.fitted.posterior)
        steps = TwoStep(
            task.space,
            posterior,
            LogEI(ask.best, ask.fitted.noise),
            feasibility_of(task),
            plug_in=not self.hierarchical,
            refine_shared=self.refine_shared or self.search == "full",
        )
        if task.candidates is None:
            promises = self._ranked(task, posterior, steps, ask.good, ask.rng)
        else:
            rows, candidates = ask.candidates()
            promises = steps.rank_rows(rows)
        k = len(promises) if self.search == "full" else self.k
        for start in range(0, min(len(promises), max(_MOST_TRIED, k)), max(k, 1)):
            some = promises[start : start + k]
            if task.candidates is None:
                free = ask.free(steps.maximise(some, ask.good, ask.rng))
            else:
                scored = [steps.score(promise.path, rows[promise.path]) for promise in some]
                free = ask.free(scored, candidates)
            if free is not None:
                return self._said(task.space, *free, promises, len(some))
        return None

    def _ranked(
        self,
        task: Task,
        posterior: TreePosterior,
        steps: TwoStep,
        good: Array,
        rng: np.random.Generator,
    ) -> list[Promise]:
        paths = paths_to_rank(task.space, posterior, good, rng)
        counted = Counter(
            {path: len(rows) for path, rows in task.space.tree.rows_by_path(task.visited).items()}
        )
        return steps.rank(paths, [counted[path] for path in paths], rng)

    def _said(
        self, space: Space, config: Config, value: float, promises: Sequence[Promise], k: int
    ) -> Proposal:
        label = space.path_label(config)
        if self.search == "full" or space.n_paths == 1:
            why = f"highest log EI ({value:.3g}) of all paths looked at"
        else:
            n = len({promise.path for promise in promises})
            why = f"highest log EI ({value:.3g}) on the {k} best of {n} by path EI"
        ranked: dict[str, float] = {}
        for promise in promises[:_TOLD]:  # a path's spare promises come after its best one
            ranked.setdefault(space.tree.path_label(promise.path), promise.value)
        info = {"path": label, "acquisition": value, "path_ei": ranked, "why": why}
        return Proposal(config, info)


def paths_to_rank(
    space: Space, posterior: TreePosterior, good: Array, rng: np.random.Generator
) -> list[Path]:
    """All paths where they are few; else those of the good rows, promising ones and random ones."""
    if space.n_paths <= _MOST_PATHS:
        return list(space.tree.paths())
    known = list(space.tree.rows_by_path(good))
    promising = promising_paths(posterior, _MOST_PATHS // 2, rng)
    drawn = [space.path(config) for config in space.sample(rng, _MOST_PATHS, by="path")]
    return list(dict.fromkeys([*known, *promising, *drawn]))[:_MOST_PATHS]
