"""Two-step expected improvement (Jenatton et al., 2017, section 3.2).

Step 1 ranks paths by path EI, Eq. (6): the improvement of b_p + z_p' c alone, maximised over the
shared variables too. Step 2 maximises EI, Eq. (5), on the best path, or on a few.

The paper writes xi = (m - y_min) / s, which is for maximisation; improvements here are below
``best``, as Eqs. (5) and (6) say.

For any weights c, [y_min - b_p - z' c]_+ is convex in z, and so is its expectation. With linear
features its maximum therefore lies at a corner of the box of the shared variables: we look at
corners only. Fourier features have no such property, and a grid takes the place of the two ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bosquet.acquisition.base import LogEI
from bosquet.kernels.weights import Weight
from bosquet.models.feasibility import Feasibility
from bosquet.models.tree_linear import TreePosterior
from bosquet.search.node_sum import best_path
from bosquet.search.tree_path import Path, PathSearch, Scored, on_path
from bosquet.space import Space

Array = NDArray[np.float64]

_ENUMERATED = 512  # corners of one path that are all looked at
_GRID = 33  # values of a variable with Fourier features
_STARTS = 16  # of the ascent where corners are more
_ROUNDS = 10
_SPARES = 8  # corners of a path that are kept, for when the best is taken or infeasible
_COMPLETIONS = 32  # draws of what path EI does not look at, to see whether a corner can be used
_TIE = 1e-9  # differences of log EI that are rounding


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
    """

    def __init__(
        self,
        space: Space,
        posterior: TreePosterior,
        best: float,
        feasibility: Feasibility | None = None,
        *,
        plug_in: bool = False,
        refine_shared: bool = True,
    ) -> None:
        self._space = space
        self._posterior = posterior
        self._acquisition = LogEI(best)
        self._feasibility = feasibility
        self._plug_in = plug_in
        self._refine_shared = refine_shared

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
        by_path = [self._promises(path, rng) for path in paths]
        first = [promises[0] for promises in by_path if promises]
        counts = [n for n, promises in zip(visits, by_path, strict=True) if promises]
        levels = [round(promise.value / _TIE) for promise in first]
        keys = [rng.random(len(first)), np.array(counts), -np.array(levels)]
        order = np.lexsort(keys)
        spares = [promise for promises in by_path for promise in promises[1:]]
        spares.sort(key=lambda promise: -promise.value)
        return [first[i] for i in order] + spares

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

    def _promises(self, path: Path, rng: np.random.Generator) -> list[Promise]:
        """The best corners of a path that can be completed, best first."""
        corners = self._corners(path, rng)
        values = self.path_ei(corners, path)
        order = np.argsort(-values, kind="stable")
        promises = []
        wanted = 1 if self._refine_shared else _SPARES
        for i in order[: 4 * _SPARES]:
            X = self._completions(path, corners[i], rng)
            if len(X):
                success = 0.0
                if self._feasibility is not None:
                    chances = self._feasibility.log_probability(X, path)
                    X = X[np.argsort(-chances, kind="stable")]
                    success = float(chances.max())
                promises.append(Promise(path, X[0], float(values[i]) + success))
            if len(promises) == wanted:
                break
        if not promises:  # constraints rule out the corners looked at: anywhere on the path
            X = self._allowed(
                on_path(self._space, path, rng.random((_ENUMERATED, len(self._space))))
            )
            if len(X):
                return self.rank_rows({path: X})
        return sorted(promises, key=lambda promise: -promise.value)

    def _corners(self, path: Path, rng: np.random.Generator) -> Array:
        """Rows with good corners of the shared variables: all of them, or what an ascent finds."""
        weights = self._posterior.model.leaf(path).weights
        levels = {w.dimension: levels_of(self._space, w) for w in weights if w.dimension >= 0}
        free = list(levels)
        base = on_path(self._space, path, np.full((1, len(self._space)), 0.5))
        if math.prod(len(values) for values in levels.values()) <= _ENUMERATED:
            grids = np.meshgrid(*levels.values(), indexing="ij")
            X = np.repeat(base, grids[0].size if grids else 1, axis=0)
            for dimension, grid in zip(free, grids, strict=True):
                X[:, dimension] = grid.ravel()
            return X
        X = np.repeat(base, _STARTS, axis=0)
        for dimension in free:
            X[:, dimension] = rng.choice(levels[dimension], size=_STARTS)
        return np.unique(self._ascend(path, X, levels), axis=0)

    def _ascend(self, path: Path, X: Array, levels: dict[int, Array]) -> Array:
        """Every row moves to its best value of one coordinate after the other, until none does."""
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
        return self._allowed(on_path(self._space, path, X))

    def _allowed(self, X: Array) -> Array:
        if not self._space.constraints:
            return X
        configs = self._space.from_unit(X)
        return X[[self._space.violation(config) is None for config in configs]]

    # -- step 2 ------------------------------------------------------------------------------

    def maximise(
        self, promises: Sequence[Promise], good: Array, rng: np.random.Generator
    ) -> list[Scored]:
        """Rows with a large EI, Eq. (5), for some promises; ``good`` are rows worth perturbing."""
        if self._refine_shared:
            good = np.vstack([good, *(promise.x for promise in promises)])
            search = PathSearch(self._space, self._posterior, self._acquisition, self._feasibility)
            return search.maximise([promise.path for promise in promises], good, rng)
        return [self._at(promise, good, rng) for promise in promises]

    def _at(self, promise: Promise, good: Array, rng: np.random.Generator) -> Scored:
        """Step 2 of the paper: the shared variables stay where step 1 put them."""
        shared = self._posterior.model.leaf(promise.path).shared
        search = PathSearch(
            self._space,
            self._posterior,
            self._acquisition,
            self._feasibility,
            fixed={dimension: float(promise.x[dimension]) for dimension in shared},
        )
        return search.maximise([promise.path], good, rng)[0]

    def score(self, path: Path, X: Array) -> Scored:
        """EI, Eq. (5), of given rows."""
        search = PathSearch(self._space, self._posterior, self._acquisition, self._feasibility)
        return search.score(path, X)


def levels_of(space: Space, weight: Weight) -> Array:
    """The unit values of a shared variable among which path EI is looked for."""
    if weight.kind == "one-hot":
        return np.asarray((np.arange(weight.size) + 0.5) / weight.size)
    parameter = space.dimensions[weight.dimension].parameter
    values = np.array([0.0, 1.0]) if weight.kind == "linear" else np.linspace(0.0, 1.0, _GRID)
    return np.unique(parameter.snap(values))


def promising_paths(posterior: TreePosterior, n: int, rng: np.random.Generator) -> list[Path]:
    """Up to ``n`` distinct paths, each the best one under a draw of the weights c.

    Given c, a path's value is a sum over its nodes, so its maximum is found without enumerating
    paths. Offsets are not looked at: nodes on one path only tie, and chance decides.
    """
    model = posterior.model
    draws = posterior.draw_weights(n, rng)
    values = 1e-6 * rng.standard_normal((n, len(model.space.nodes)))
    for weight, start in zip(model.weights, model.starts, strict=False):
        X = np.full((1, len(model.space)), 0.5)
        if weight.dimension >= 0:
            levels = levels_of(model.space, weight)
            X = np.repeat(X, len(levels), axis=0)
            X[:, weight.dimension] = levels
        r = weight.features(X, posterior.eta)
        values[:, weight.node] -= (r @ draws[:, start : start + weight.size].T).min(axis=0)
    tree = model.space.tree
    return list(dict.fromkeys(tree.path_of(best_path(model.space, v)[1]) for v in values.tolist()))
