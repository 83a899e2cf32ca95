"""Two-step expected improvement (Jenatton et al., 2017, section 3.2).

Step 1 ranks paths by path EI, Eq. (6): the improvement of b_p + z_p' c alone, maximised over the
shared variables too. Step 2 maximises EI, Eq. (5), on the best path, or on a few.

The paper writes xi = (m - y_min) / s, which is for maximisation; improvements here are below
``best``, as Eqs. (5) and (6) say.

For any weights c, [y_min - b_p - z' c]_+ is convex in z, and so is its expectation. With linear
features its maximum therefore lies at a corner of the box of the shared variables: we look at
corners only. Fourier features have no such property, and a grid takes the place of the two ends.
The paper speaks of anchor points too (section 3). Without an ascent from the best of them that is
another search: what they find is no corner, and another place in every ask (``anchors``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bosquet.acquisition.base import LogEI
from bosquet.arrays import Array
from bosquet.kernels.weights import Weight
from bosquet.models.feasibility import Feasibility
from bosquet.models.tree_linear import TreePosterior
from bosquet.search.mixed import feasible
from bosquet.search.node_sum import best_path
from bosquet.search.tree_path import PathEffort, PathSearch, Scored, on_path
from bosquet.space import Space
from bosquet.space.sobol import sobol
from bosquet.space.tree import Path

ENUMERATED = 512  # corners of one path that are all looked at
_GRID = 17  # values of a variable with Fourier features
_STARTS = 6  # of the ascent where corners are more
_ROUNDS = 3
_ASCENDED = 8  # paths on which the ascent is made
_SPARES = 8  # corners of a path that are kept, for when the best is taken or infeasible
_COMPLETIONS = 32  # draws of what path EI does not look at, to see whether a corner can be used
_DIGITS = 9  # of log EI, beyond which differences are rounding


@dataclass(frozen=True)
class Promise:
    """A path with values of its shared variables, and its path EI."""

    path: Path
    x: Array
    """A unit row; what is not shared is drawn at random, and feasible if that was found."""
    value: float
    """log path EI, plus the log-probability of success."""


class TwoStep:
    """The search with one posterior, below one incumbent.

    ``plug_in`` takes b_p as known in step 1, as the paper does; else its variance counts.
    With ``refine_shared`` step 2 moves the shared variables again; the paper keeps them.
    ``anchors`` is how many Sobol points of the shared variables of a path step 1 looks at; None: at
    corners. ``taken`` are rows not to be tried again.
    """

    def __init__(
        self,
        space: Space,
        posterior: TreePosterior,
        acquisition: LogEI,
        feasibility: Feasibility | None = None,
        *,
        plug_in: bool = False,
        refine_shared: bool = True,
        anchors: int | None = None,
        taken: Array | None = None,
    ) -> None:
        self._space = space
        self._posterior = posterior
        self._acquisition = acquisition
        self._feasibility = feasibility
        self._plug_in = plug_in
        self._refine_shared = refine_shared
        self._anchors = anchors
        self._taken = taken

    # -- step 1 ------------------------------------------------------------------------------

    def path_ei(self, X: Array, path: Path) -> Array:
        """The logarithm of Eq. (6) at the shared variables of each row."""
        moments = self._posterior.moments_of_path(X, path, plug_in=self._plug_in)
        return self._acquisition.value(*moments)

    def rank(
        self, paths: Sequence[Path], visits: Sequence[int], rng: np.random.Generator
    ) -> list[Promise]:
        """The best promise of every path, best first, then the spare ones.

        Ties go to the path visited less, then to chance: leaves that have never been visited and
        hang below the same inner node look the same.
        """
        if self._anchors is None:
            places = self._corners(paths, rng)
        else:
            places = {path: self._anchored(path, self._anchors, rng) for path in paths}
        by_path = [self._promises(path, places[path], rng) for path in paths]
        first = [promises[0] for promises in by_path if promises]
        counts = [n for n, promises in zip(visits, by_path, strict=True) if promises]
        values = np.round([promise.value for promise in first], _DIGITS)
        keys = [rng.random(len(first)), np.array(counts), -values]
        spares = [promise for promises in by_path for promise in promises[1:]]
        spares.sort(key=lambda promise: -promise.value)
        return [first[i] for i in np.lexsort(keys)] + spares

    def rank_rows(self, rows: dict[Path, Array]) -> list[Promise]:
        """The best of the given rows of every path, best first: for candidates."""
        promises = []
        for path, X in rows.items():
            values = self.path_ei(X, path)
            if self._feasibility is not None:
                values = values + self._feasibility.log_probability(X, path)
            best = int(np.argmax(values))
            promises.append(Promise(path, X[best], float(values[best])))
        return sorted(promises, key=lambda promise: -promise.value)

    def _promises(self, path: Path, corners: Array, rng: np.random.Generator) -> list[Promise]:
        """The best corners (or anchors) of a path that can be completed, best first."""
        values = self.path_ei(corners, path)
        wanted = 1 if self._refine_shared else _SPARES
        promises: list[Promise] = []
        for i in np.argsort(-values, kind="stable")[: 4 * _SPARES]:
            X = self._completions(path, corners[i], rng)
            if len(X):
                chances = np.zeros(len(X))
                if self._feasibility is not None:
                    chances = self._feasibility.log_probability(X, path)
                best = int(np.argmax(chances))
                promises.append(Promise(path, X[best], float(values[i] + chances[best])))
            if len(promises) == wanted:
                break
        if not promises:  # constraints rule out the corners looked at: anywhere on the path
            X = on_path(self._space, path, rng.random((ENUMERATED, len(self._space))))
            X = X[feasible(self._space, X)]
            return self.rank_rows({path: X}) if len(X) else []
        return sorted(promises, key=lambda promise: -promise.value)

    # Corners of the shared variables, or anchors, as rows.

    def _anchored(self, path: Path, n: int, rng: np.random.Generator) -> Array:
        """Sobol points of the shared variables."""
        shared = self._posterior.model.leaf(path).shared
        X = np.full((n, len(self._space)), 0.5)
        if len(shared):
            X[:, shared] = sobol(len(shared), int(rng.integers(2**32)), 0, n)
        return np.unique(on_path(self._space, path, X), axis=0)

    def _corners(self, paths: Sequence[Path], rng: np.random.Generator) -> dict[Path, Array]:
        """All of them where they are few; else good ones, found by ascent on the best paths."""
        draws = np.vstack(
            [self._posterior.weights_mean, self._posterior.draw_weights(_STARTS - 1, rng)]
        )
        corners, too_many = {}, []
        for path in paths:
            levels = self._levels(path)
            if math.prod(len(values) for values in levels.values()) <= ENUMERATED:
                corners[path] = self._all_corners(path, levels)
            else:
                corners[path] = self._starts(path, levels, draws)
                too_many.append(path)
        too_many.sort(key=lambda path: -self.path_ei(corners[path], path).max())
        for path in too_many[:_ASCENDED]:
            corners[path] = np.unique(self._ascend(path, corners[path]), axis=0)
        return corners

    def _levels(self, path: Path) -> dict[int, Array]:
        weights = self._posterior.model.leaf(path).weights
        return {w.dimension: levels_of(self._space, w) for w in weights if w.dimension >= 0}

    def _all_corners(self, path: Path, levels: dict[int, Array]) -> Array:
        grids = np.meshgrid(*levels.values(), indexing="ij")
        X = np.full((grids[0].size if grids else 1, len(self._space)), 0.5)
        for dimension, grid in zip(levels, grids, strict=True):
            X[:, dimension] = grid.ravel()
        return on_path(self._space, path, X)

    def _starts(self, path: Path, levels: dict[int, Array], draws: Array) -> Array:
        """The best corner under each of some weights c, which is found coordinate by coordinate."""
        model = self._posterior.model
        X = np.full((len(draws), len(self._space)), 0.5)
        leaf = model.leaf(path)
        for weight, part in leaf.parts():
            if weight.dimension >= 0:
                r = at_levels(weight, levels[weight.dimension], X.shape[1], self._posterior.eta)
                worst = r @ draws[:, leaf.columns[part]].T
                X[:, weight.dimension] = levels[weight.dimension][np.argmin(worst, axis=0)]
        return on_path(self._space, path, X)

    def _ascend(self, path: Path, X: Array) -> Array:
        """Every row moves to its best value of one coordinate after the other, until none does."""
        levels = self._levels(path)
        for _ in range(_ROUNDS):
            before = X.copy()
            for dimension, values in levels.items():
                moved = np.repeat(X, len(values), axis=0)
                moved[:, dimension] = np.tile(values, len(X))
                scores = self.path_ei(moved, path).reshape(len(X), len(values))
                X[:, dimension] = values[np.argmax(scores, axis=1)]
            if np.array_equal(X, before):
                break
        return X

    def _completions(self, path: Path, corner: Array, rng: np.random.Generator) -> Array:
        """Allowed rows with the shared values of a corner; one draw where nothing can go wrong."""
        careful = self._space.constraints or self._feasibility is not None
        X = rng.random((_COMPLETIONS if careful else 1, len(self._space)))
        shared = self._posterior.model.leaf(path).shared
        X[:, shared] = corner[shared]
        X = on_path(self._space, path, X)
        return X[feasible(self._space, X)]

    # -- step 2 ------------------------------------------------------------------------------

    def maximise(
        self, promises: Sequence[Promise], good: Array, rng: np.random.Generator
    ) -> list[Scored]:
        """Rows with a large EI, Eq. (5), for some promises; ``good`` are rows worth perturbing."""
        if self._refine_shared:
            good = np.vstack([good, *(promise.x for promise in promises)])
            return self._search().maximise([promise.path for promise in promises], good, rng)
        return [found for promise in promises for found in self._at(promise, good, rng)]

    def _at(self, promise: Promise, good: Array, rng: np.random.Generator) -> list[Scored]:
        """Step 2 of the paper: the shared variables stay where step 1 put them."""
        shared = self._posterior.model.leaf(promise.path).shared
        search = self._search({dimension: float(promise.x[dimension]) for dimension in shared})
        return search.maximise([promise.path], good, rng)

    def score(self, path: Path, X: Array) -> Scored:
        """EI, Eq. (5), of given rows."""
        return self._search().score(path, X)

    def _search(self, fixed: Mapping[int, float] | None = None) -> PathSearch:
        on = self._posterior.on_path
        return PathSearch(
            self._space,
            on,
            self._acquisition,
            self._feasibility,
            PathEffort(polished_paths=8),
            fixed,
            taken=self._taken,
        )


def levels_of(space: Space, weight: Weight) -> Array:
    """The unit values of a shared variable among which path EI is looked for."""
    if weight.kind == "one-hot":
        return space.tree.choice(weight.dimension).unit_of(np.arange(weight.size))
    parameter = space.dimensions[weight.dimension].parameter
    values = np.linspace(0.0, 1.0, _GRID if weight.kind == "fourier" else 2)
    return np.unique(parameter.snap(values))


def at_levels(weight: Weight, levels: Array, d: int, eta: Array) -> Array:
    """The feature vectors of some unit values: (levels, size)."""
    X = np.full((len(levels), d), 0.5)
    if weight.dimension >= 0:
        X[:, weight.dimension] = levels
    return weight.features(X, eta)


def paths_best_by_draws(posterior: TreePosterior, n: int, rng: np.random.Generator) -> list[Path]:
    """Up to ``n`` distinct paths, each the best one under a draw of the weights c.

    Given c, a path's value is a sum over its nodes, so its maximum is found without enumerating
    paths. Offsets are not looked at: nodes on one path only tie, and chance decides.
    """
    model = posterior.model
    draws = posterior.draw_weights(n, rng)
    values = 1e-6 * rng.standard_normal((n, len(model.space.nodes)))
    for weight, start in zip(model.weights, model.starts, strict=False):
        c = draws[:, start : start + weight.size].T
        levels = np.zeros(1) if weight.dimension < 0 else levels_of(model.space, weight)
        r = at_levels(weight, levels, len(model.space), posterior.eta)
        values[:, weight.node] -= (r @ c).min(axis=0)
    tree = model.space.tree
    return list(dict.fromkeys(tree.path_of(best_path(model.space, v)[1]) for v in values.tolist()))
