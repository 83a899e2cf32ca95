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
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from bosquet.kernels.features import features_of
from bosquet.space import Space

Array = NDArray[np.float64]

_PRIOR = 2.0  # log-odds of success where nothing is known: 88 %
_VOTE = 3.0  # log-odds of one trial at the very place
_LENGTHS = (0.15, 0.3, 0.6, 1.2)  # unit coordinates, times the root of the number of variables
_MISMATCH = 2.0  # squared distance of a category, or of a node that only one of both has


class Feasibility:
    """P(success) from rows that succeeded and rows that failed."""

    def __init__(self, space: Space, X: Array, failed: NDArray[np.bool_]) -> None:
        self._X = X
        self._nodes = space.tree.node_activity(X)
        self._active = space.activity(X)
        self._features = {
            d.index: features_of(d)[0]
            for d in space.dimensions
            if d.index not in space.tree.children
        }
        self._votes = np.where(failed, -_VOTE, _VOTE)
        self._node_of = space.tree.node_of_dimension
        self._length = self._best_length()

    def log_probability(self, X: Array, path: Sequence[int]) -> Array:
        """log P(success) at rows that lie on one path."""
        weights, _ = self._weights_on(X, path)
        return np.asarray(log_expit(_PRIOR + weights @ self._votes))

    def log_probability_with_gradient(self, X: Array, path: Sequence[int]) -> tuple[Array, Array]:
        """`log_probability`, and its derivatives by the ordered coordinates: (m, d)."""
        weights, active = self._weights_on(X, path)
        odds = _PRIOR + weights @ self._votes
        pull = weights * self._votes * expit(-odds)[:, None]  # d log P / d log weight
        gradient = np.zeros_like(X)
        n_active = max(int(active[list(self._features)].sum()), 1)
        for index, feature in self._features.items():
            if feature.kind == "difference" and active[index]:
                gap = (X[:, index][:, None] - self._X[:, index]) * self._active[:, index]
                gradient[:, index] = -np.sum(pull * gap, axis=1) / (self._length**2 * n_active)
        return np.asarray(log_expit(odds)), gradient

    def _weights_on(self, X: Array, path: Sequence[int]) -> tuple[Array, NDArray[np.bool_]]:
        """The weight of every trial at rows of a path, and which coordinates the path has."""
        nodes = np.zeros((len(X), self._nodes.shape[1]), dtype=bool)
        nodes[:, list(path)] = True
        weights = self._weights(*self._distances(X, nodes), self._length)
        return weights, np.isin(self._node_of, list(path))

    def _weights(self, ordered: Array, mismatch: Array, length: float) -> Array:
        return np.asarray(np.exp(-0.5 * (ordered / length**2 + _MISMATCH * mismatch)))

    def _distances(self, X: Array, nodes: NDArray[np.bool_]) -> tuple[Array, Array]:
        """To every trial: mean squared differences of shared variables, and mismatches."""
        active = nodes[:, self._node_of]
        ordered = np.zeros((len(X), len(self._X)))
        mismatch = nodes.sum(axis=1)[:, None] + self._nodes.sum(axis=1)
        mismatch = mismatch - 2.0 * (nodes.astype(float) @ self._nodes.T)
        for index, feature in self._features.items():
            both = active[:, index][:, None] & self._active[:, index]
            gaps = feature.distances(X, self._X) * both
            if feature.kind == "difference":
                ordered += gaps
            else:
                mismatch += gaps
        return ordered / np.maximum(active[:, list(self._features)].sum(axis=1), 1)[
            :, None
        ], mismatch

    def _best_length(self) -> float:
        """By the likelihood of each outcome given all others; the first wins ties."""
        ordered, mismatch = self._distances(self._X, self._nodes)

        def likelihood(length: float) -> float:
            weights = self._weights(ordered, mismatch, length)
            np.fill_diagonal(weights, 0.0)
            odds = _PRIOR + weights @ self._votes
            return float(log_expit(odds * np.sign(self._votes)).sum())

        return max(_LENGTHS, key=likelihood)
