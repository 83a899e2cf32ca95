"""Where evaluations fail: a Gaussian process on the log-odds of success.

    P(success at x) = logistic(f(x)),    f ~ GP(2, s^2 (level + exp(-d(x, x')^2 / 2)))

with d^2 a weighted sum of squared differences of ordered variables, and of mismatches of categories
and branching choices; an inactive variable has its filler. f is the most probable one given all
outcomes, so that the log-odds at any place are a prior plus a *vote* of every trial, weighed by its
nearness:

    f(x) = 2 + sum_i v_i (level + exp(-d(x, x_i)^2 / 2)),    v = s^2 d log P(outcomes | f) / d f

What its neighbours predict has a small vote, what surprises has a large one: successes nearby do
not outvote a failure at the very spot. The weights of the variables, and s, maximise the evidence
times a prior, so that a variable that does not decide where evaluations fail is soon left out. No
region is given up for ever: where nothing is left to gain elsewhere, the search returns; to a
branch in which nothing has succeeded, when it has rested (`Task.resting`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import scipy

from bosquet.arrays import Array, Bools, Index
from bosquet.models.outcomes import Mode, mode
from bosquet.space import Space
from bosquet.space.encoding import FILLER, activity
from bosquet.space.tree import Path

PRIOR = 2.0  # log-odds of success where nothing is known: 88 %
LEVEL = 0.02  # variance of what is the same everywhere, in units of s^2
SCALE, SCALE_SD = float(np.log(6.0)), 1.5  # log s: edges may be sharp, or failures random
LENGTH, LENGTH_SD = float(np.log(0.5)), 1.0  # log length-scale over the root of their number
MISMATCH, MISMATCH_SD = float(np.log(2.0)), 1.0  # log squared distance of two options
_ITERATIONS = 30
RESTS = math.log(1e-6)  # what is added to log P(success) on a path through a resting node
CHOOSING = 64  # successes, and as many failures, by which weights are chosen
VOTING = 1000  # successes, and as many failures, that vote


class Feasibility:
    """P(success) from rows that succeeded and rows that failed.

    With ``resting`` nodes it is what a search is to believe: that paths through them hardly work.
    """

    def __init__(
        self, space: Space, X: Array, failed: Bools, resting: frozenset[int] = frozenset()
    ) -> None:
        self._space, self._resting = space, resting
        category = np.array(
            [d.parameter.is_category or d.parameter.is_branching for d in space.dimensions]
        )
        self._ordered, self._categories = np.flatnonzero(~category), np.flatnonzero(category)
        rows = _some(failed, CHOOSING)
        usual = float(np.mean(activity(space.tree, X)[:, ~category].sum(axis=1)))
        self.variance, self.weights = _chosen(X[rows], failed[rows], category, usual)
        """s^2, and the weight of each dimension of the space."""
        rows = _some(failed, VOTING)
        self._X = X[rows]
        K = self.variance * (LEVEL + np.exp(-0.5 * self._squared(self._X, self.weights)))
        self._votes = self.variance * mode(K, failed[rows], PRIOR).a
        self._prior = PRIOR + LEVEL * float(self._votes.sum())
        self._on = cache(self._seen_from)

    def log_probability(self, X: Array, path: Sequence[int]) -> Array:
        """log P(success) at rows that lie on one path."""
        nearness = self._on(tuple(path)).nearness(X)
        odds = self._prior + nearness @ self._votes
        return np.asarray(scipy.special.log_expit(odds) + self._rests(path))

    def _rests(self, path: Sequence[int]) -> float:
        return 0.0 if self._resting.isdisjoint(path) else RESTS

    def log_probability_with_gradient(self, X: Array, path: Sequence[int]) -> tuple[Array, Array]:
        """`log_probability`, and its derivatives by the ordered coordinates: (m, d)."""
        seen = self._on(tuple(path))
        votes = seen.nearness(X) * self._votes
        odds = self._prior + votes.sum(axis=1)
        pull = votes * scipy.special.expit(-odds)[:, None]  # d log P / d log nearness
        own = seen.ordered
        gaps = X[:, own] * pull.sum(axis=1)[:, None] - pull @ self._X[:, own]
        gradient = np.zeros_like(X)
        gradient[:, own] = -gaps * self.weights[own]
        return np.asarray(scipy.special.log_expit(odds) + self._rests(path)), gradient

    def _squared(self, rows: Array, weights: Array) -> Array:
        """Squared distances of rows of any paths from all trials."""
        root = np.sqrt(weights[self._ordered])
        squared = scipy.spatial.distance.cdist(
            rows[:, self._ordered] * root, self._X[:, self._ordered] * root, "sqeuclidean"
        )
        for index in self._categories[weights[self._categories] > 0]:
            squared += weights[index] * (rows[:, index][:, None] != self._X[:, index])
        return np.asarray(squared)

    def _seen_from(self, path: Path) -> _Seen:
        free = [d.index for d in self._space.tree.variables_of(path)]
        row = np.full((1, len(self._space)), FILLER)
        for choice, option in self._space.tree.options_of(path).items():
            row[0, choice] = self._space.tree.choice(choice).unit_of(option)
        fixed = self.weights.copy()
        fixed[free] = 0.0
        return _Seen(
            self._X,
            self.weights,
            np.intersect1d(free, self._ordered).astype(np.int64),
            np.intersect1d(free, self._categories).astype(np.int64),
            self._squared(row, fixed)[0],
        )


class _Seen(NamedTuple):
    """The trials, from rows of one path."""

    trials: Array
    weights: Array
    ordered: Index
    """Variables of the path, by index."""
    categories: Index
    apart: Array
    """Squared distances of all that the path decides."""

    def nearness(self, X: Array) -> Array:
        root = np.sqrt(self.weights[self.ordered])
        squared = scipy.spatial.distance.cdist(
            X[:, self.ordered] * root, self.trials[:, self.ordered] * root, "sqeuclidean"
        )
        for index in self.categories:
            squared += self.weights[index] * (X[:, index][:, None] != self.trials[:, index])
        squared += self.apart
        squared *= -0.5
        return np.asarray(np.exp(squared, out=squared))


def _some(failed: Bools, most: int) -> Index:
    """Rows spread over time, the last ones among them: so many that failed, and that did not."""
    groups = [np.flatnonzero(failed), np.flatnonzero(~failed)]
    spread = [rows[:: -max(1, math.ceil(len(rows) / most))] for rows in groups]
    return np.sort(np.concatenate(spread))


def _chosen(X: Array, failed: Bools, category: Bools, usual: float) -> tuple[float, Array]:
    """s^2, and the weight of each dimension; a row has ``usual`` active variables with an order."""
    Z, owner = _coordinates(X, category)
    squares = Z * Z
    length = LENGTH + 0.5 * np.log(max(usual, 1.0))
    mean = np.append(np.where(category, MISMATCH, -2.0 * length), SCALE)
    sd = np.append(np.where(category, MISMATCH_SD, 2.0 * LENGTH_SD), SCALE_SD)
    last: list[Mode] = []

    def loss(theta: Array) -> tuple[float, Array]:
        scaled = Z * np.exp(0.5 * theta[:-1])[owner]
        near = np.exp(-0.5 * scipy.spatial.distance.cdist(scaled, scaled, "sqeuclidean"))
        K = np.exp(2.0 * theta[-1]) * (LEVEL + near)
        found = mode(K, failed, PRIOR, last[0].a if last else None)
        last[:] = [found]
        value, by_K = found.evidence()
        by_near = by_K * near * np.exp(2.0 * theta[-1])
        # d near / d log w_j is -w_j / 2 times near times the squared differences.
        by_column = squares.T @ by_near.sum(axis=1) - np.einsum("ij,ij->j", Z, by_near @ Z)
        by_weight = -np.exp(theta[:-1]) * np.bincount(owner, by_column, len(category))
        gradient = np.append(by_weight, 2.0 * np.sum(by_K * K))
        off = (theta - mean) / sd
        return 0.5 * float(off @ off) - value, off / sd - gradient

    found = scipy.optimize.minimize(
        loss,
        mean,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _ITERATIONS},
        bounds=list(zip(mean - 4 * sd, mean + 4 * sd, strict=True)),
    )
    return float(np.exp(2.0 * found.x[-1])), np.exp(found.x[:-1])


def _coordinates(X: Array, category: Bools) -> tuple[Array, Index]:
    """Coordinates in which squared differences add up to those of rows, and whose each one is.

    A category becomes one coordinate for each of its values, so that two of them are 1 apart.
    """
    columns, owner = [], []
    for index, values in enumerate(X.T):
        if not category[index]:
            columns.append(values)
            owner.append(index)
            continue
        for value in np.unique(values):
            columns.append((values == value) / np.sqrt(2.0))
            owner.append(index)
    return np.array(columns).T, np.array(owner)
