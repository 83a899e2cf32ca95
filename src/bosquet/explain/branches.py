"""The best that a model sees on each branch, and what more trials there could gain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bosquet.arrays import Array
from bosquet.explain.mixture import Mixture, interval_levels
from bosquet.explain.rows import rows_on
from bosquet.models.feasibility import Feasibility
from bosquet.search.mixed import feasible
from bosquet.search.tree_path import on_path
from bosquet.space import Config, Space
from bosquet.space.tree import Path

_ROWS = 256  # spread over a branch
_KEPT = 6  # rows around which is looked more closely
_NEARBY = 64
_STEPS = (0.15, 0.05, 0.02, 0.005)  # in unit coordinates
_DRAWN = 160  # rows at which sample functions say how good a branch can be


@dataclass(frozen=True)
class BranchBest:
    """The best configuration of a branch by the model, in the user's units and sign."""

    branch: str
    config: Config
    mean: float
    sd: float
    low: float
    high: float
    """The interval of the objective at ``config``."""
    chance: float
    """The probability that one more trial of the branch is a new best of the study: that it does
    not fail, and is better than all trials, by a thousandth of the spread of their values at least.
    The trial is the one of the branch with the highest expected improvement."""
    gain: float
    """That expected improvement: by how much it is better, on average, no better counting as 0."""
    next_config: Config
    """The configuration of that trial."""
    room: float
    """The probability that the branch has such a configuration anywhere, found or not."""
    success: float = 1.0
    """The probability that this trial does not fail, as trials nearby have or have not."""


@dataclass(frozen=True)
class Known:
    """What all branches of a study are compared with."""

    best: float
    """The lowest y of all trials."""
    sign: float
    """Of the user's values: -1 where they are maximised."""
    feasibility: Feasibility | None
    """Where trials fail; None while none has."""

    def success(self, rows: Array, path: Path) -> Array:
        """The probability that trials at rows of a path do not fail: (m,)."""
        if self.feasibility is None:
            return np.ones(len(rows))
        return np.exp(self.feasibility.log_probability(rows, path))


def best_of_branch(
    space: Space, mixture: Mixture, path: Path, tried: Array, known: Known, level: float
) -> BranchBest | None:
    """``tried`` are rows of trials of the branch; None if nothing is feasible."""
    rows = _searched(space, mixture, path, tried)
    if not len(rows):
        return None
    at = rows[:1]
    mean, sd = mixture.mean_and_sd(at)
    ends = known.sign * mixture.quantiles(at, interval_levels(level))[:, 0]
    wanted = known.best - _noticed(known.best, mixture.spread)
    success = known.success(rows, path)
    chances, gains = (success * one for one in mixture.improvement(rows, wanted))
    next_one = int(np.argmax(gains))
    room = float(success.max()) * mixture.room(_to_draw(rows), wanted)
    return BranchBest(
        space.tree.path_label(path),
        space.from_unit(at)[0],
        float(known.sign * mean[0]),
        float(sd[0]),
        float(ends.min()),
        float(ends.max()),
        float(chances[next_one]),
        float(gains[next_one]),
        space.from_unit(rows[next_one : next_one + 1])[0],
        max(room, float(chances[next_one])),
        float(success[next_one]),
    )


def _noticed(best: float, spread: float) -> float:
    """The least gain that counts as one."""
    return 1e-3 * spread + 1e-12 * abs(best)


def _to_draw(rows: Array) -> Array:
    """Of rows, the best first: the best ones, and others among the rest."""
    half = _DRAWN // 2
    rest = rows[half:]
    step = max(1, len(rest) // half)
    return np.vstack([rows[:half], rest[::step][:half]])


def _searched(space: Space, mixture: Mixture, path: Path, known: Array) -> Array:
    """Feasible rows of a path, the best first: spread ones, trials, ever closer to the best."""
    rng = np.random.default_rng(0)
    rows = np.unique(np.vstack([rows_on(space, path, _ROWS), known]), axis=0)
    levels = mixture.levels(rows)
    for step in _STEPS:
        if not len(rows):
            break
        near = np.repeat(rows[np.argsort(levels, kind="stable")[:_KEPT]], _NEARBY // _KEPT, axis=0)
        moved = rng.random(near.shape) < max(0.3, 1.5 / near.shape[1])
        jumps = rng.random(near.shape) < 0.5 / near.shape[1]  # categories have no neighbours
        near = np.clip(near + moved * step * rng.standard_normal(near.shape), 0.0, 1.0)
        near = on_path(space, path, np.where(jumps, rng.random(near.shape), near))
        near = near[feasible(space, near)]
        rows, levels = np.vstack([rows, near]), np.concatenate([levels, mixture.levels(near)])
    return np.asarray(rows[np.argsort(levels, kind="stable")])
