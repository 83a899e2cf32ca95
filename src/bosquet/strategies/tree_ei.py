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
anchor points (section 3)       ``anchors``
the best few leaves (3.1)       ``k``
argmax over all leaves (3.1)    ``search="full"``
one random candidate per path   the design of ``strategies.base``, which visits paths evenly
==============================  ==============================================================

The paper has no algorithm box; one ask of ``TreeEI.paper`` is::

    hyper-parameters <- argmax log P(y)                      Eq. (3)       `GPStrategy.fit`
    P(c | y), P(g_p | c, y_p)                                section 2.2   `TreeGP.posterior`
    p*, z_p* <- argmax E [y_min - b_p - z_p' c]_+            Eq. (6)       `TwoStep.rank`
    x* <- argmax E [y_min - g_p*(x) - z_p*' c]_+             Eq. (5)       `TwoStep.maximise`

Where we differ by default, and why: few functions are linear in their shared variables, so these
have Fourier features; path EI looks at the level of a leaf and not at how deep its minimum may be,
so a few paths (``k``) are compared by EI itself; step 2 moves the shared variables again, since
step 1 chose them without a look at the leaf; hyper-parameters are tied by priors; and every sixth
trial explores, as in `AddTree`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Self, get_args

import numpy as np

from bosquet.acquisition.base import LogEI
from bosquet.arrays import Array
from bosquet.kernels.weights import Features
from bosquet.models.transform import Targets
from bosquet.models.tree_linear import LeafSees, Offsets, TreeGP, TreeLinear, TreePosterior
from bosquet.search.two_step import Promise, TwoStep, paths_best_by_draws
from bosquet.space import Config, Space
from bosquet.space.tree import Path
from bosquet.strategies.base import Proposal
from bosquet.strategies.choosing import Ask, feasibility_of
from bosquet.strategies.fitting import Setting
from bosquet.strategies.gp_strategy import GPStrategy
from bosquet.strategies.options import ModelName, one_of, whole

Steps = Literal["two-step", "full"]

_MOST_PATHS = 64  # ranked in one ask
_MOST_INITIAL = 64  # trials of the paper's design, where paths are more
_MOST_TRIED = 24  # promises that step 2 looks at before it gives up
_TOLD = 5  # path EIs in the info


@dataclass(kw_only=True, eq=False)
class TreeEI(GPStrategy[TreePosterior]):
    """A GP per leaf tied together by random weights at inner nodes; EI in two steps.

    Step 1 ranks paths by path EI, step 2 maximises EI on the best of them. Up to 64 paths are all
    ranked; beyond that, one ask looks at those of the best trials, at paths that are best under
    draws of the weights, and at random ones. The other arguments are those of every `GPStrategy`.

    Args:
        features: how shared variables enter the weights: ``"fourier"``, ``"linear"`` (centred,
            beside a level) or ``"raw"`` (as they are, the paper).
        leaf: whether the GP of a leaf sees its ``"own"`` variables only (the paper) or all of its
            ``"path"``.
        offsets: whether the level of a leaf is ``"normal"``, shrunk towards a common one, or a
            ``"scalar"`` by maximum likelihood (the paper).
        search: ``"two-step"``, or ``"full"``: EI is maximised on all paths.
        anchors: at how many Sobol points of the shared variables of a path step 1 looks; None:
            at the ends of their ranges, where the maximum of Eq. (6) lies with linear features,
            or at a grid with Fourier features.
        k: how many paths step 2 looks at.
        refine_shared: whether step 2 may move the shared variables, or leaves them where step 1
            put them.
        model: ``"hierarchical"``, or ``"paper"``: maximum likelihood without ties or priors,
            beginning with one trial per path (64 at most).
    """

    name: ClassVar[str] = "tree-ei"
    acquisitions: ClassVar[tuple[str, ...]] = ("logei",)

    features: Features = "fourier"
    leaf: LeafSees = "own"
    offsets: Offsets = "normal"
    search: Steps = "two-step"
    anchors: int | None = None
    k: int = 8
    refine_shared: bool = True
    model: ModelName = "hierarchical"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("features", self.features, get_args(Features))
        one_of("leaf", self.leaf, get_args(LeafSees))
        one_of("offsets", self.offsets, get_args(Offsets))
        one_of("search", self.search, get_args(Steps))
        one_of("model", self.model, get_args(ModelName))
        whole("k", self.k)
        whole("anchors", self.anchors, none=True)

    @classmethod
    def paper(cls) -> Self:
        """Eq. (1) by maximum likelihood, the best path by Eq. (6), EI there, shared values kept."""
        return cls(
            features="raw",
            leaf="own",
            offsets="scalar",
            k=1,
            refine_shared=False,
            model="paper",
            kernel="matern52",
            transforms=False,
            explore_every=None,
            defaults_first=False,
            incumbent="observed",
        )

    def model_on(self, space: Space, X: Array, targets: Targets, setting: Setting) -> TreeGP:
        tree = TreeLinear(
            space,
            list(space.tree.rows_by_path(X)),
            features=self.features,
            leaf=self.leaf,
            hierarchical=self.model != "paper",
            offsets=self.offsets,
            kind="se" if setting.kernel == "se" else "matern52",
        )
        return TreeGP(tree, X, targets.z, targets.noise)

    def initial_trials(self, space: Space) -> int:
        if self.model != "paper":
            return super().initial_trials(space)
        return min(max(space.n_paths, 2), _MOST_INITIAL)

    def next(self, ask: Ask[TreePosterior]) -> Proposal | None:
        task = ask.task
        steps = TwoStep(
            task.space,
            ask.fitted.posterior,
            LogEI(ask.best, ask.fitted.noise),
            feasibility_of(task),
            plug_in=self.model == "paper",
            refine_shared=self.refine_shared or self.search == "full",
            anchors=self.anchors,
            taken=ask.taken_rows,
        )
        # Step 1: paths with values of their shared variables, ranked by path EI, Eq. (6).
        if task.candidates is None:
            promises = self._ranked(ask, steps)
        else:
            rows = task.candidates.rows_by_path(ask.taken)
            promises = steps.rank_rows(rows)
        # Step 2: EI, Eq. (5), on the k best of them, and on the next ones if nothing there is free.
        k = len(promises) if self.search == "full" else self.k
        for start in range(0, min(len(promises), max(_MOST_TRIED, k)), max(k, 1)):
            some = promises[start : start + k]
            if task.candidates is None:
                free = ask.free(steps.maximise(some, ask.good, ask.rng))
            else:
                scored = [steps.score(promise.path, rows[promise.path]) for promise in some]
                free = ask.free(scored)
            if free is not None:
                return self._explained(task.space, *free, promises, len(some))
        return None

    def _ranked(self, ask: Ask[TreePosterior], steps: TwoStep) -> list[Promise]:
        tree = ask.task.space.tree
        paths = paths_to_rank(ask.task.space, ask.fitted.posterior, ask.good, ask.rng)
        visits = {path: len(rows) for path, rows in tree.rows_by_path(ask.task.visited).items()}
        return steps.rank(paths, [visits.get(path, 0) for path in paths], ask.rng)

    def _explained(
        self, space: Space, config: Config, value: float, promises: Sequence[Promise], k: int
    ) -> Proposal:
        if self.search == "full" or space.n_paths == 1:
            why = f"highest log EI ({value:.3g}) of all paths looked at"
        else:
            n = len({promise.path for promise in promises})
            why = f"highest log EI ({value:.3g}) on the {k} best of {n} by path EI"
        ranked: dict[str, float] = {}
        for promise in promises[:_TOLD]:  # a path's spare promises come after its best one
            ranked.setdefault(space.tree.path_label(promise.path), promise.value)
        return Proposal(config, value, why, about={"path_ei": ranked})


def paths_to_rank(
    space: Space, posterior: TreePosterior, good: Array, rng: np.random.Generator
) -> list[Path]:
    """All paths where they are few; else those of the good rows, promising ones and random ones."""
    if space.n_paths <= _MOST_PATHS:
        return list(space.tree.paths())
    known = list(space.tree.rows_by_path(good))
    promising = paths_best_by_draws(posterior, _MOST_PATHS // 2, rng)
    drawn = [space.path(config) for config in space.sample(rng, _MOST_PATHS, by="path")]
    return list(dict.fromkeys([*known, *promising, *drawn]))[:_MOST_PATHS]
