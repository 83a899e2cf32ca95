"""Maximising an acquisition function path by path (Add-Tree, Appendix D).

On each path: random rows and perturbed good ones, scored at once; the best are polished by
L-BFGS-B in the continuous coordinates and by single exchanges in the discrete ones. Discrete
coordinates are always snapped before they are scored.

On a path without continuous coordinates many random rows are copies of one another, and the best
ones those of trials that have been made. There rows are distinct and none is taken, before anything
is ranked or polished; where they are few, all are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from math import prod

import numpy as np

from bosquet.acquisition.base import Acquisition
from bosquet.arrays import Array
from bosquet.models.base import Belief
from bosquet.models.feasibility import Feasibility
from bosquet.models.good_places import GoodPlaces
from bosquet.search.box import climb
from bosquet.search.region import Region
from bosquet.space import Space
from bosquet.space.encoding import FILLER, snap_on
from bosquet.space.tree import Path

_STEPS = (0.2, 0.05, 0.01, 0.002)  # standard deviations of perturbations, in unit coordinates
_EXCHANGED = 12  # values of one discrete coordinate that a round of exchanges looks at


@dataclass(frozen=True)
class PathEffort:
    """How hard to search."""

    candidates: int = 2048
    """Rows scored in all, half random, half perturbed; shared among the paths."""
    least_per_path: int = 96
    polished_paths: int = 4
    polished: int = 4
    """Rows polished on each of these paths."""
    rounds: int = 3
    """Rounds of exchanges in discrete coordinates."""


@dataclass(frozen=True)
class Scored:
    """Rows of one path and their acquisition values, best first."""

    path: Path
    X: Array
    values: Array

    @property
    def best(self) -> float:
        """The highest value; minus infinity where nothing was left to look at."""
        return float(self.values[0]) if len(self.values) else -np.inf


class PathSearch:
    """The search on one space with the posterior of each path and an acquisition function.

    The log-probabilities of success and of good ``places`` join the acquisition. ``fixed`` are
    coordinates, by index, that do not move. With a ``region`` its path alone is searched, and
    nothing outside it. ``taken`` are rows not to be tried again.
    """

    def __init__(
        self,
        space: Space,
        belief_on: Callable[[Path], Belief],
        acquisition: Acquisition,
        feasibility: Feasibility | None = None,
        effort: PathEffort | None = None,
        fixed: Mapping[int, float] | None = None,
        region: Region | None = None,
        places: GoodPlaces | None = None,
        taken: Array | None = None,
    ) -> None:
        self._space = space
        self._belief_on = cache(belief_on)
        self._rows_on = cache(self._count_rows)
        self._acquisition = acquisition
        self._joined = [one for one in (feasibility, places) if one is not None]
        self._effort = PathEffort() if effort is None else effort
        self._fixed = dict(fixed or {})
        self._region = region
        self._taken = frozenset(() if taken is None else (row.tobytes() for row in taken))

    def maximise(
        self,
        paths: Sequence[Path],
        good: Array,
        rng: np.random.Generator,
        starts: Array | None = None,
    ) -> list[Scored]:
        """The rows found on every path that has any, paths in the order of their best row.

        ``good`` are unit rows worth perturbing, on whatever path; ``starts`` are rows to begin
        with: with the choices of the path, on every one.
        """
        share = max(self._effort.least_per_path, self._effort.candidates // len(paths))
        found = []
        for path in paths:
            rows = self.candidates(path, good, share, rng)
            if starts is not None:
                rows = np.vstack([self._on_path(path, starts.copy()), rows])
            found.append(self.score(path, rows))
        found = [scored for scored in found if len(scored.X)]
        found.sort(key=lambda scored: -scored.best)
        polished = [self.polish(scored, rng) for scored in found[: self._effort.polished_paths]]
        found = polished + found[self._effort.polished_paths :]
        return sorted(found, key=lambda scored: -scored.best)

    def score(self, path: Path, X: Array) -> Scored:
        """Rows of a path with their values; without repeats and taken ones if it is finite."""
        if np.isfinite(self._rows_on(path)):
            X = self._fresh(X)
            if not len(X):
                return Scored(path, X, np.empty(0))
        values = self._values(path, X)
        order = np.argsort(-values, kind="stable")
        return Scored(path, X[order], values[order])

    def _values(self, path: Path, X: Array) -> Array:
        values = self._acquisition.value(*self._belief_on(path).moments(X))
        for one in self._joined:
            values = values + one.log_probability(X, path)
        return values

    def _count_rows(self, path: Path) -> float:
        """How many rows a path has; infinitely many where a coordinate is continuous."""
        return prod(float(d.parameter.n_values) for d in self._space.tree.variables_of(path))

    def _fresh(self, X: Array) -> Array:
        """The distinct rows that are not taken."""
        rows = {row.tobytes(): i for i, row in enumerate(X)}
        return X[sorted(i for row, i in rows.items() if row not in self._taken)]

    # -- candidates --------------------------------------------------------------------------

    def candidates(self, path: Path, good: Array, n: int, rng: np.random.Generator) -> Array:
        """Some ``n`` rows, half of them near good ones; all rows of the path where they are few."""
        region = self._region
        if region is None and not self._fixed and self._rows_on(path) <= 2 * n:
            return all_rows(self._space, path)
        X = rng.random((n, len(self._space))) if region is None else region.draw(n, rng)
        if len(good):
            local = slice(0, n // 2)
            base = good[rng.integers(len(good), size=n // 2)]
            step = rng.choice(_STEPS, size=(n // 2, 1))
            moved = np.clip(base + step * rng.standard_normal(base.shape), 0.0, 1.0)
            few = rng.random(base.shape) < np.maximum(2.0 / len(self._space), 0.3)
            some = rng.random((n // 2, 1)) < 0.5  # half of them move in a few coordinates only
            X[local] = np.where(few | some, moved, base)
        return self._on_path(path, X)

    def _on_path(self, path: Path, X: Array) -> Array:
        X[:, list(self._fixed)] = list(self._fixed.values())
        return on_path(self._space, path, X) if self._region is None else self._region.project(X)

    # -- polishing ---------------------------------------------------------------------------

    def _free(self, path: Path) -> tuple[list[int], list[int]]:
        """The continuous and the discrete coordinates that a path leaves open."""
        continuous: list[int] = []
        discrete: list[int] = []
        for d in self._space.tree.variables_of(path):
            if d.index not in self._fixed:
                (continuous if d.parameter.is_continuous else discrete).append(d.index)
        return continuous, discrete

    def polish(self, scored: Scored, rng: np.random.Generator) -> Scored:
        continuous, discrete = self._free(scored.path)
        X = scored.X[: self._effort.polished]
        X = self._climb(scored.path, X, continuous)
        if discrete:
            X = self._exchange(scored.path, X, discrete, rng)
            X = self._climb(scored.path, X, continuous)
        top = self.score(scored.path, X)
        # Unpolished ones stay as spares, for when the best are taken or infeasible.
        values = np.concatenate([top.values, scored.values])
        order = np.argsort(-values, kind="stable")
        return Scored(scored.path, np.vstack([top.X, scored.X])[order], values[order])

    def _climb(self, path: Path, X: Array, continuous: list[int]) -> Array:
        joined = [partial(one.log_probability_with_gradient, path=path) for one in self._joined]
        bounds = None if self._region is None else (self._region.lower, self._region.upper)
        return climb(self._belief_on(path), self._acquisition, X, continuous, joined, bounds)

    def _exchange(
        self, path: Path, X: Array, discrete: list[int], rng: np.random.Generator
    ) -> Array:
        """Each row moves to its best neighbour in one discrete coordinate, for some rounds."""
        best = X.copy()
        for row, value in enumerate(self._values(path, X).tolist()):
            for _ in range(self._effort.rounds):
                scored = self.score(path, self._neighbours(path, best[row], discrete, rng))
                if scored.best <= value:
                    break
                best[row], value = scored.X[0], scored.best
        return best

    def _neighbours(
        self, path: Path, x: Array, discrete: list[int], rng: np.random.Generator
    ) -> Array:
        rows = []
        for index in discrete:
            parameter = self._space.dimensions[index].parameter
            n = int(parameter.n_values)
            if n <= _EXCHANGED:
                units = (np.arange(n) + 0.5) / n
            else:  # near ones at two distances, and some anywhere
                near = x[index] + np.array([-3.0, -1.0, 1.0, 3.0]) / n
                units = np.concatenate([near, rng.random(_EXCHANGED - 4)])
            moved = np.repeat(x[None], len(units), axis=0)
            moved[:, index] = np.clip(units, 0.0, 1.0)
            rows.append(moved)
        found = snap_on(self._space.tree, path, np.vstack(rows))
        if self._region is None:
            return found
        return np.vstack([x[None], found[self._region.contains(found)]])


def on_path(space: Space, path: Path, X: Array) -> Array:
    """Rows with the branching choices of a path, snapped; ``X`` is overwritten."""
    for choice, option in space.tree.options_of(path).items():
        X[:, choice] = space.tree.choice(choice).unit_of(option)
    return snap_on(space.tree, path, X)


def all_rows(space: Space, path: Path) -> Array:
    """Every row of a path whose coordinates are all discrete."""
    free = space.tree.variables_of(path)
    units = [d.parameter.to_unit(list(d.parameter.values())) for d in free]
    n = same = prod(map(len, units))
    X = np.full((n, len(space)), FILLER)
    for d, column in zip(free, units, strict=True):  # the last one changes fastest
        same //= len(column)
        X[:, d.index] = np.resize(np.repeat(column, same), n)
    return on_path(space, path, X)
