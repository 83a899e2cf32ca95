"""Maximising any score over the configurations of a space: random plus local search, batched.

For scores without gradients or paths, such as those of a forest. Random rows are scored at once;
the best of them and the best of the rows given are improved by exchanging one coordinate at a time,
a branching choice among them, all searches in step with each other. Rows are always snapped, and
those that violate a constraint are dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bosquet.arrays import Array, Bools, Index
from bosquet.space import Space
from bosquet.space.tree import Dimension

Score = Callable[[Array], Array]
"""The values of rows, to be maximised: (m, d) -> (m,)"""

_STEPS = (0.2, 0.05, 0.01)  # standard deviations of moves in unit coordinates


@dataclass(frozen=True)
class MixedEffort:
    """How hard to search."""

    random: int = 1000
    starts: int = 10
    """Local searches from the best of the random rows, and as many from the rows given."""
    moves: int = 4
    """Tried per coordinate and step."""
    steps: int = 30


def maximise_mixed(
    space: Space,
    score: Score,
    good: Array,
    rng: np.random.Generator,
    effort: MixedEffort | None = None,
) -> tuple[Array, Array]:
    """The feasible rows found and their values, best first. ``good`` are rows to start from too."""
    effort = MixedEffort() if effort is None else effort
    drawn = space.snap(rng.random((effort.random, len(space))))
    X, values = _ranked(drawn[feasible(space, drawn)], score)
    start, known = _ranked(good, score)
    start = np.vstack([X[: effort.starts], start[: effort.starts]])
    known = np.concatenate([values[: effort.starts], known[: effort.starts]])
    climbed, reached = _climb(space, score, start, known, rng, effort)
    # Random ones stay as spares, for when the best are taken.
    X, values = np.vstack([climbed, X]), np.concatenate([reached, values])
    order = np.argsort(-values, kind="stable")
    return X[order], values[order]


def feasible(space: Space, X: Array) -> Bools:
    """Which rows violate no constraint."""
    if not space.constraints:
        return np.ones(len(X), dtype=bool)
    return np.array([space.violation(config) is None for config in space.from_unit(X)], dtype=bool)


def _ranked(X: Array, score: Score) -> tuple[Array, Array]:
    if not len(X):
        return X, np.zeros(0)
    values = score(X)
    order = np.argsort(-values, kind="stable")
    return X[order], values[order]


def _climb(
    space: Space,
    score: Score,
    X: Array,
    values: Array,
    rng: np.random.Generator,
    effort: MixedEffort,
) -> tuple[Array, Array]:
    """Every row moves to its best neighbour until none is better."""
    X, values = X.copy(), values.copy()
    going = np.arange(len(X))
    for _ in range(effort.steps):
        if not len(going):
            break
        rows, of = neighbours(space, X[going], rng, effort.moves)
        if not len(rows):
            break
        reached = score(rows)
        best = np.lexsort((-reached, of))
        best = best[np.unique(of[best], return_index=True)[1]]  # the first of every start
        better = best[reached[best] > values[going[of[best]]]]
        going = going[of[better]]
        X[going], values[going] = rows[better], reached[better]
    return X, values


def neighbours(space: Space, X: Array, rng: np.random.Generator, moves: int) -> tuple[Array, Index]:
    """Feasible rows that differ in one coordinate, and the index of the row they differ from.

    A changed branching choice also draws the coordinates that come to life with it.
    """
    active = space.activity(X)
    rows, of = [X[:0]], [np.zeros(0, np.int64)]
    for d in space.dimensions:
        here = np.repeat(np.flatnonzero(active[:, d.index]), moves)
        moved = X[here]
        moved[:, d.index] = _move(d, moved[:, d.index], rng)
        if d.parameter.is_branching:
            born = space.activity(moved) & ~active[here]
            moved = np.where(born, rng.random(moved.shape), moved)
        rows.append(moved)
        of.append(here)
    found, owner = space.snap(np.vstack(rows)), np.concatenate(of)  # one snap for all: it is slow
    changed = (found != X[owner]).any(axis=1)
    found, owner = found[changed], owner[changed]
    kept = feasible(space, found)
    return found[kept], owner[kept]


def _move(d: Dimension, units: Array, rng: np.random.Generator) -> Array:
    """Another value: any other category, or one nearby of what has an order."""
    n = d.parameter.n_values
    if d.parameter.is_category:
        if n == 1:
            return units
        return np.asarray((units + rng.integers(1, int(n), size=len(units)) / n) % 1.0)
    step = rng.choice(_STEPS, size=len(units)) * rng.standard_normal(len(units))
    if not d.parameter.is_continuous:  # at least to the next value
        step = np.sign(step) * np.maximum(np.abs(step), 1.0 / n)
    return np.clip(units + step, 0.0, 1.0)
