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
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from bosquet.data import Dataset, Key, Trial, key_of
from bosquet.kernels.features import is_continuous
from bosquet.kernels.weights import Features
from bosquet.models.transform import Targets, log_prior_of_lambda, transform
from bosquet.models.tree_leaves import LeafSees, TreeLinear, by_path
from bosquet.models.tree_linear import TreeGP, TreePosterior
from bosquet.search.tree_path import Path
from bosquet.search.two_step import Promise, TwoStep, promising_paths
from bosquet.space import Config, Space
from bosquet.strategies.base import Proposal, Strategy, Task, design
from bosquet.strategies.gp_strategy import feasibility_of, first_free, initial_trials

Array = NDArray[np.float64]
Search = Literal["two-step", "full"]

_GOOD = 8  # evaluated rows worth perturbing
_MOST_PATHS = 64  # ranked in one ask
_MOST_INITIAL = 64  # trials of the paper's design, where paths are more
_MOST_TRIED = 24  # promises that step 2 looks at before it gives up
_TOLD = 5  # path EIs in the info
_FEW = 100  # trials up to which every ask fits anew, now and then also from the prior
_COLD_EVERY = 5
_OFTEN_TRANSFORM = 30  # trials up to which every fit looks at other transforms
_LAMBDA_STEP = 0.5


class TreeEI(Strategy):
    """A GP per leaf tied together by random weights at inner nodes; EI in two steps.

    ``features`` says how shared variables enter these weights, ``leaf`` whether the GP of a leaf
    sees its ``"own"`` variables only (the paper) or all of its ``"path"``. Step 1 ranks paths by
    path EI; step 2 maximises EI on the ``k`` best of them, with the shared variables free or
    (``refine_shared=False``) as step 1 left them; ``search="full"`` maximises it on all of them.

    Up to 64 paths are all ranked. Beyond, one ask looks at those of the best trials, at paths
    that are best under draws of the weights, and at random ones.

    ``hierarchical=False`` is the paper's fit: maximum likelihood without ties or priors, on
    standardised targets, with one initial trial per path (64 at most).
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
        for name, value, allowed in (
            ("features", features, ("linear", "fourier")),
            ("leaf", leaf, ("own", "path")),
            ("search", search, ("two-step", "full")),
        ):
            if value not in allowed:
                raise ValueError(f"{name}={value!r} must be one of {', '.join(allowed)}")
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise ValueError(f"k={k!r} must be a positive integer")
        if explore_every is not None and explore_every < 2:
            raise ValueError(f"explore_every={explore_every!r} must be at least 2, or None")
        self.features: Features = features
        self.leaf: LeafSees = leaf
        self.search: Search = search
        self.k = k
        self.refine_shared = refine_shared
        self.hierarchical = hierarchical
        self.explore_every = explore_every

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

    def model(self, space: Space, visited: Sequence[Path]) -> TreeLinear:
        return TreeLinear(
            space,
            visited,
            features=self.features,
            leaf=self.leaf,
            hierarchical=self.hierarchical,
        )

    def initial_trials(self, space: Space) -> int:
        """How many trials come before the first model."""
        if self.hierarchical:
            return initial_trials(space)
        return min(max(space.n_paths, 2), _MOST_INITIAL)

    def propose(self, task: Task, n: int, rng: np.random.Generator) -> list[Proposal]:
        data = task.history.dataset()
        if len(data.y) < self.initial_trials(task.space):
            return design(task, n, rng)
        posterior, z, fitted = self._fit(task, data)
        # What is known of each evaluated point: its value, or with noise the posterior mean.
        level = posterior_means(posterior, data.X) if task.history.noisy else z
        good = data.X[np.argsort(level, kind="stable")[:_GOOD]]
        pending = task.space.to_unit([trial.config for trial in task.pending])
        # Where a pending trial is believed to be better than all known, that is to be improved on.
        best = min([float(level.min()), *posterior_means(posterior, pending)])
        proposals: list[Proposal] = []
        taken = set(task.taken)
        while len(proposals) < n:
            if self._explores(task.space, task.index + len(proposals)):
                explored = design(_proposed(task, proposals), 1, rng)[0]
                why = "exploration: the design on a path visited least"
                config, info = explored.config, explored.info | {"why": why}
            else:
                found = self._next(task, posterior, best, good, taken, rng)
                if found is None:
                    break
                config, info = found
            if not task.history.noisy:
                taken.add(key_of(config))
            proposals.append(Proposal(config, info | fitted))
            if len(proposals) < n:
                x = task.space.to_unit([config])
                best = min(best, *posterior_means(posterior, x))
                posterior = posterior.with_pending(x)
        return proposals or design(task, n, rng)

    def _explores(self, space: Space, number: int) -> bool:
        if self.explore_every is None or number % self.explore_every != self.explore_every - 1:
            return False
        return space.n_paths > 1 or any(
            not is_continuous(dimension.parameter) for dimension in space.dimensions
        )

    # -- the model ---------------------------------------------------------------------------

    def _fit(self, task: Task, data: Dataset) -> tuple[TreePosterior, Array, dict[str, Any]]:
        """The posterior given all trials, the transformed targets, and what to remember."""
        model = self.model(task.space, list(by_path(task.space, data.X)))
        n = len(data.y)

        def on(lam: float) -> tuple[TreeGP, Targets]:
            targets = transform(data.y, data.noise, lam)
            return TreeGP(model, data.X, targets.z, targets.noise), targets

        theta, lam, fitted_at = _last_fit(task, model)
        gp, targets = on(lam)
        few = n <= _FEW
        if fitted_at == 0 or few or n - fitted_at >= n // 50:
            fitted_at = n
            cold = few and n % _COLD_EVERY == 0
            starts = [theta, model.hyper.mean] if cold else [theta]
            theta, evidence = gp.fit(starts, max_iterations=200 if few else 50)
            if self.hierarchical and (cold or n <= _OFTEN_TRANSFORM):
                evidence += targets.log_jacobian + log_prior_of_lambda(lam)
                for other in (lam - _LAMBDA_STEP, lam + _LAMBDA_STEP):
                    rival, rival_targets = on(other)
                    rival_theta, rival_evidence = rival.fit([theta])
                    rival_evidence += rival_targets.log_jacobian + log_prior_of_lambda(other)
                    if rival_evidence > evidence:
                        gp, targets, theta = rival, rival_targets, rival_theta
                        lam, evidence = other, rival_evidence
        posterior = gp.posterior(theta)
        if task.pending:
            pending = task.space.to_unit([trial.config for trial in task.pending])
            posterior = posterior.with_pending(pending)
        info = {"theta": model.named(theta), "lambda": lam, "fitted_at": fitted_at}
        return posterior, targets.z, info

    # -- the search --------------------------------------------------------------------------

    def _next(
        self,
        task: Task,
        posterior: TreePosterior,
        best: float,
        good: Array,
        taken: Collection[Key],
        rng: np.random.Generator,
    ) -> tuple[Config, dict[str, Any]] | None:
        """The best free and feasible configuration found, and what to say about it."""
        steps = TwoStep(
            task.space,
            posterior,
            best,
            feasibility_of(task),
            plug_in=not self.hierarchical,
            refine_shared=self.refine_shared or self.search == "full",
        )
        left = task.left(taken)  # of the candidates, if there are any
        units = task.space.to_unit(left)
        rows = {path: units[which] for path, which in by_path(task.space, units).items()}
        # Decoding a row may give a candidate back with its last digit changed.
        named = {x.tobytes(): config for x, config in zip(units, left, strict=True)}
        if task.candidates is None:
            promises = self._ranked(task, posterior, steps, good, rng)
        else:
            promises = steps.rank_rows(rows)
        k = len(promises) if self.search == "full" else self.k
        for start in range(0, min(len(promises), max(_MOST_TRIED, k)), max(k, 1)):
            some = promises[start : start + k]
            if task.candidates is None:
                free = first_free(task, steps.maximise(some, good, rng), taken)
            else:
                scored = [steps.score(promise.path, rows[promise.path]) for promise in some]
                free = first_free(task, scored, taken, lambda x: named[x.tobytes()])
            if free is not None:
                return free[0], self._said(task.space, *free, promises, len(some))
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
            {path: len(rows) for path, rows in by_path(task.space, task.visited).items()}
        )
        return steps.rank(paths, [counted[path] for path in paths], rng)

    def _said(
        self, space: Space, config: Config, value: float, promises: Sequence[Promise], k: int
    ) -> dict[str, Any]:
        label = space.path_label(config)
        if self.search == "full" or space.n_paths == 1:
            why = f"highest log EI ({value:.3g}) of all paths looked at"
        else:
            n = len({promise.path for promise in promises})
            why = f"highest log EI ({value:.3g}) on the {k} best of {n} by path EI"
        ranked = {space.tree.path_label(p.path): p.value for p in promises[:_TOLD]}
        return {"path": label, "acquisition": value, "path_ei": ranked, "why": why}


def _last_fit(task: Task, model: TreeLinear) -> tuple[Array, float, int]:
    """theta, lambda and n of the highest-numbered complete trial that has them."""
    for trial in reversed(task.history.complete):
        theta = trial.info.get("theta")
        if isinstance(theta, dict):
            return model.theta(theta), trial.info["lambda"], trial.info["fitted_at"]
    return model.hyper.mean, 1.0, 0


def _proposed(task: Task, proposals: Sequence[Proposal]) -> Task:
    """The task once some proposals are pending."""
    index = task.index + len(proposals)
    trials = [Trial(task.index + i, p.config, "pending") for i, p in enumerate(proposals)]
    return replace(task, pending=(*task.pending, *trials), index=index)


def posterior_means(posterior: TreePosterior, X: Array) -> Array:
    """The posterior mean at rows of any paths."""
    means = np.empty(len(X))
    for path, rows in by_path(posterior.model.space, X).items():
        means[rows] = posterior.on_path(path).moments(X[rows])[0]
    return means


def paths_to_rank(
    space: Space, posterior: TreePosterior, good: Array, rng: np.random.Generator
) -> list[Path]:
    """All paths where they are few; else those of the good rows, promising ones and random ones."""
    if space.n_paths <= _MOST_PATHS:
        return list(space.tree.paths())
    known = list(by_path(space, good))
    promising = promising_paths(posterior, _MOST_PATHS // 2, rng)
    drawn = [space.path(config) for config in space.sample(rng, _MOST_PATHS, by="path")]
    return list(dict.fromkeys([*known, *promising, *drawn]))[:_MOST_PATHS]
