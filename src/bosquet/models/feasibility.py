"""Where evaluations fail: a smooth vote of the trials nearby.

The log-odds of success at x are a prior plus, for every ended trial, a Gaussian weight of its
distance: positive for a success, negative for a failure. So a failure is felt nearby, repeated
failures add up, successes push back, and no region is given up for ever: where nothing is left to
gain elsewhere, the search returns. How far "nearby" reaches is learned: of a few length-scales, the
one that best predicts each trial from all others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

from bosquet.arrays import Array, Bools
from bosquet.kernels.features import features_of
from bosquet.space import Space

_PRIOR = 2.0  # log-odds of success where nothing is known: 88 %
_VOTE = 6.0  # log-odds of one trial at the very place
LENGTHS = (0.15, 0.3, 0.6, 1.2)  # unit coordinates, times the root of the number of variables
LOOKED_AT = 128  # successes, and as many failures, by which the reach of a vote is chosen
_MISMATCH = 2.0  # squared distance of a category, or of a node that only one of both has


class Feasibility:
    """P(success) from rows that succeeded and rows that failed."""

    def __init__(self, space: Space, X: Array, failed: Bools) -> None:
        self._X = X
        self._nodes = space.tree.node_activity(X)
        variables = [d for d in space.dimensions if not d.parameter.is_branching]
        kinds = {d.index: features_of(d)[0].kind for d in variables}
        self._counts = np.zeros(len(space.nodes), dtype=np.int64)
        """Variables of each node."""
        self._ordered: list[tuple[int, list[int]]] = []
        """Nodes and their variables with an order."""
        self._categories = [(d.node, d.index) for d in variables if kinds[d.index] == "overlap"]
        for node in space.nodes:
            self._counts[node.index] = len(node.variables)
            ordered = [i for i in node.variables if kinds[i] == "difference"]
            self._ordered.append((node.index, ordered))
        self._votes = np.where(failed, -_VOTE, _VOTE)
        self.length = self._best_length()

    def log_probability(self, X: Array, path: Sequence[int]) -> Array:
        """log P(success) at rows that lie on one path."""
        return np.asarray(scipy.special.log_expit(_PRIOR + self._weights_on(X, path) @ self._votes))

    def log_probability_with_gradient(self, X: Array, path: Sequence[int]) -> tuple[Array, Array]:
        """`log_probability`, and its derivatives by the ordered coordinates: (m, d)."""
        weights = self._weights_on(X, path)
        odds = _PRIOR + weights @ self._votes
        pull = weights * self._votes * scipy.special.expit(-odds)[:, None]  # d log P / d log weight
        gradient = np.zeros_like(X)
        scale = self.length**2 * max(int(self._counts[list(path)].sum()), 1)
        for node, dims in self._ordered:
            if node in path and dims:
                shared = pull * self._nodes[:, node]
                gaps = X[:, dims] * shared.sum(axis=1)[:, None] - shared @ self._X[:, dims]
                gradient[:, dims] = -gaps / scale
        return np.asarray(scipy.special.log_expit(odds)), gradient

    def _weights_on(self, X: Array, path: Sequence[int]) -> Array:
        """The weight of every trial at rows of a path."""
        nodes = np.zeros((len(X), self._nodes.shape[1]), dtype=bool)
        nodes[:, list(path)] = True
        return self._weights(*self._distances(X, nodes), self.length)

    def _weights(self, ordered: Array, mismatch: Array, length: float) -> Array:
        return np.asarray(np.exp(-0.5 * (ordered / length**2 + _MISMATCH * mismatch)))

    def _distances(self, X: Array, nodes: Bools) -> tuple[Array, Array]:
        """To every trial: mean squared differences of shared variables, and mismatches."""
        ordered = np.zeros((len(X), len(self._X)))
        mismatch = nodes.sum(axis=1)[:, None] + self._nodes.sum(axis=1)
        mismatch = mismatch - 2.0 * (nodes.astype(float) @ self._nodes.T)
        for node, dims in self._ordered:
            if dims and nodes[:, node].any():
                both = nodes[:, node][:, None] & self._nodes[:, node]
                ordered += (
                    scipy.spatial.distance.cdist(X[:, dims], self._X[:, dims], "sqeuclidean") * both
                )
        for node, index in self._categories:
            both = nodes[:, node][:, None] & self._nodes[:, node]
            mismatch += (X[:, index][:, None] != self._X[:, index]) & both
        return ordered / np.maximum(nodes @ self._counts, 1)[:, None], mismatch

    def _best_length(self) -> float:
        """By the likelihood of outcomes, each given all others; the first wins ties.

        Of very many trials, some of the failures and some of the successes are predicted.
        """
        failed = self._votes < 0
        groups = [np.flatnonzero(failed), np.flatnonzero(~failed)]
        looked_at = [rows[:: -(-len(rows) // LOOKED_AT) or 1] for rows in groups]
        each = np.concatenate(
            [
                np.full(len(some), len(rows) / max(len(some), 1))
                for rows, some in zip(groups, looked_at, strict=True)
            ]
        )
        rows = np.concatenate(looked_at)
        ordered, mismatch = self._distances(self._X[rows], self._nodes[rows])

        def likelihood(length: float) -> float:
            weights = self._weights(ordered, mismatch, length)
            weights[np.arange(len(rows)), rows] = 0.0
            odds = _PRIOR + weights @ self._votes
            return float(each @ scipy.special.log_expit(odds * np.sign(self._votes[rows])))

        return max(LENGTHS, key=likelihood)
