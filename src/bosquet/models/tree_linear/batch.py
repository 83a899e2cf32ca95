"""Many small Gaussian processes at once: the leaves of the 2017 tree model.

Trees have many leaves with few rows each, where a loop over leaves would cost more than the
arithmetic. Leaves with about equally many rows are padded to the same size and stacked.

Glossary (g leaves in a batch; at most n rows, F features and v weights each)
    M    (g, n, n)   K_p + s_b + noise
    Z    (g, n, v)   rows z', scaled to weights of unit prior variance
    padding          rows with M = 1, y = 0, z = 0 add nothing to anything; columns of Z beyond
                     those of a leaf point to an entry V of c that is always 0
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bosquet.arrays import Array, Index
from bosquet.kernels.stationary import SHAPES
from bosquet.kernels.weights import Weight
from bosquet.linalg import cholesky
from bosquet.models.tree_linear.structure import PathLeaf, TreeLinear


@dataclass(frozen=True)
class Rows:
    """The rows of one leaf."""

    leaf: PathLeaf
    X: Array
    y: Array
    fixed: Array
    share: Array
    """The variance of y is ``fixed`` plus a ``share`` of the learned noise."""

    def followed_by(self, more: Rows) -> Rows:
        return Rows(
            self.leaf,
            np.vstack([self.X, more.X]),
            np.concatenate([self.y, more.y]),
            np.concatenate([self.fixed, more.fixed]),
            np.concatenate([self.share, more.share]),
        )


@dataclass(frozen=True)
class GivenLeaf:
    """The rows of one leaf, given the hyper-parameters and the weights."""

    rows: Rows
    L: Array
    """M_p = L L'"""
    MZ: Array
    """M_p^-1 Z_p, with scaled Z_p"""
    alpha: Array
    """M_p^-1 (y_p - b_p - Z_p c) at the posterior mean of c: the inverse of Eq. (4) times y - b."""
    offset: float = 0.0
    """b_p, where it is a scalar."""


@dataclass(frozen=True)
class WeightPosterior:
    """c | y ~ N(Lambda_c^-1 f_c, Lambda_c^-1), for weights scaled to unit prior variance.

    One entry more than V: the last is always 0, for padded columns to point to.
    """

    mean: Array
    covariance: Array
    B: Array
    """Lambda_c = B B', without that entry."""

    def covariance_of(self, columns: Index) -> Array:
        """Of some columns, for one leaf (v,) or several (g, v)."""
        return np.asarray(self.covariance[columns[..., :, None], columns[..., None, :]])


@dataclass(frozen=True)
class Factored:
    """A batch, given the hyper-parameters."""

    columns: Index
    L: Array
    inverse: Array
    """M_p^-1"""
    Z: Array
    MZ: Array
    My: Array
    unit: Array
    """K_p / v_p"""
    slope: Array
    """Its derivative by the squared distance."""
    offsets: Array | None = None
    """b_p of every leaf, where they are scalars; they are then subtracted from y in ``My``."""

    def less_offsets(self, M1: Array, offsets: Array) -> Factored:
        """The same with y_p - b_p in place of y_p; ``M1`` is M_p^-1 1."""
        return replace(self, My=self.My - offsets[:, None] * M1, offsets=offsets)

    def alpha(self, weights: WeightPosterior) -> Array:
        """M_p^-1 (y_p - b_p - Z_p c) at the posterior mean of c."""
        c = weights.mean[self.columns][:, :, None]
        return np.asarray(self.My - (self.MZ @ c)[:, :, 0])


def batches(model: TreeLinear, rows: Sequence[Rows]) -> list[Batch]:
    """Batches of leaves whose numbers of rows differ by less than a factor of sqrt(2)."""
    alike: dict[int, list[Rows]] = {}
    for one in rows:
        alike.setdefault(math.ceil(2 * math.log2(len(one.y))), []).append(one)
    return [Batch(model, group) for group in alike.values()]


class Batch:
    """Leaves that are computed together."""

    def __init__(self, model: TreeLinear, rows: Sequence[Rows]) -> None:
        self._model = model
        self._rows = tuple(rows)
        kernels = [one.leaf.kernel for one in rows]
        V, d = model.n_weights, len(model.space)
        g, n = len(rows), max(len(one.y) for one in rows)
        F = max(0 if kernel is None else len(kernel.features) for kernel in kernels)
        v = max(len(one.leaf.columns) for one in rows)
        self.n_rows = sum(len(one.y) for one in rows)
        self.y, self._fixed, self._share = np.zeros((3, g, n))
        self.there = np.zeros((g, n))
        """1 for a row, 0 for padding."""
        self.columns = np.full((g, v), V)
        self._X, self._Z = np.full((g, n, d), 0.5), np.zeros((g, n, v))
        self._variances, self._curved = np.zeros(g, dtype=int), np.zeros(g)
        self._lengths, self._used = np.zeros((g, F), dtype=int), np.zeros((g, F))
        distances = np.zeros((g, F, n, n))
        for i, (one, kernel) in enumerate(zip(rows, kernels, strict=True)):
            m = len(one.y)
            self.there[i, :m] = 1.0
            self.y[i, :m], self._X[i, :m] = one.y, one.X
            self._fixed[i, :m], self._share[i, :m] = one.fixed, one.share
            self.columns[i, : len(one.leaf.columns)] = one.leaf.columns
            for weight, part in one.leaf.parts():
                if weight.length < 0:  # those of Fourier features change with their length-scale
                    self._Z[i, :m, part] = weight.features(one.X, np.zeros(0))
            if kernel is not None:
                self._variances[i], self._curved[i] = kernel.variance, 1.0
                for j, (f, slot) in enumerate(zip(kernel.features, kernel.lengths, strict=True)):
                    distances[i, j, :m, :m] = f.distances(one.X, one.X)
                    self._lengths[i, j], self._used[i, j] = slot, 1.0
        self._distances = distances.reshape(g, F, n * n)
        self._pairs = self.there[:, :, None] * self.there[:, None, :]
        self._learned = self._share > 0.0
        self._waves = list(self._find_waves())
        self.pairs_of_columns = (
            self.columns[:, :, None] * (V + 1) + self.columns[:, None, :]
        ).ravel()
        """Where entries of a stack of (v, v) matrices belong in the flat (V + 1, V + 1) one."""

    def _find_waves(self) -> Iterator[tuple[Weight, list[int], Any]]:
        """Fourier weights, the leaves that have them, and the index of their part of Z."""
        found: dict[Weight, list[tuple[int, Any]]] = {}
        for i, one in enumerate(self._rows):
            for weight, part in one.leaf.parts():
                if weight.length >= 0:
                    found.setdefault(weight, []).append((i, np.r_[part]))
        rows = np.arange(self.y.shape[1])[None, :, None]
        for weight, where in found.items():
            leaves = [i for i, _ in where]
            columns = np.array([part for _, part in where])[:, None, :]
            yield weight, leaves, (np.array(leaves)[:, None, None], rows, columns)

    def factor(self, eta: Array) -> Factored:
        g, n = self.y.shape
        r2 = (self._weights(eta)[:, None, :] @ self._distances).reshape(g, n, n)
        unit, slope = SHAPES[self._model.kind](r2)
        M = self._v(eta)[:, None, None] * unit + np.exp(eta[self._model.offset])
        M *= self._pairs
        noise = self._fixed + np.exp(eta[-1]) * self._share
        np.einsum("gii->gi", M)[...] += np.where(self.there > 0.0, noise, 1.0)
        L = _cholesky(M)
        inverse_of_L = np.linalg.inv(L)
        inverse = np.swapaxes(inverse_of_L, 1, 2) @ inverse_of_L
        Z = self._scale(eta) * self._features(eta)
        My = (inverse @ self.y[:, :, None])[:, :, 0]
        return Factored(self.columns, L, inverse, Z, inverse @ Z, My, unit, slope)

    def _features(self, eta: Array) -> Array:
        if not self._waves:
            return self._Z
        Z = self._Z.copy()
        for weight, leaves, at in self._waves:
            Z[at] = self._on_rows(weight.features, leaves, eta)
        return Z

    def _on_rows(self, function: Any, leaves: list[int], eta: Array) -> Array:
        """A function of rows, on the rows of some leaves; 0 where they are padded."""
        X = self._X[leaves]
        values = function(X.reshape(-1, X.shape[2]), eta).reshape(*X.shape[:2], -1)
        return np.asarray(values * self.there[leaves][:, :, None])

    def _scale(self, eta: Array) -> Array:
        return np.asarray(np.append(self._model.scale(eta), 0.0)[self.columns][:, None, :])

    def _weights(self, eta: Array) -> Array:
        return np.asarray(self._used * np.exp(-2.0 * eta[self._lengths]))

    def _v(self, eta: Array) -> Array:
        return np.asarray(self._curved * np.exp(eta[self._variances]))

    # -- gradients ---------------------------------------------------------------------------

    def pull_back(self, W: Array, given: Factored, eta: Array, gradient: Array) -> None:
        """Adds d sum(W * M) / d eta to ``gradient``."""
        W = W * self._pairs
        by_unit = self._v(eta)[:, None, None] * W
        np.add.at(gradient, self._variances, np.einsum("gij,gij->g", by_unit, given.unit))
        by_r2 = (by_unit * given.slope).reshape(len(W), -1, 1)
        by_weight = (self._distances @ by_r2)[:, :, 0]
        np.add.at(gradient, self._lengths, -2.0 * self._weights(eta) * by_weight)
        gradient[self._model.offset] += np.exp(eta[self._model.offset]) * W.sum()
        by_noise = (np.einsum("gii->gi", W) * self._share)[self._learned]
        gradient[-1] += np.exp(eta[-1]) * by_noise.sum()

    def pull_back_waves(self, by_Z: Array, eta: Array, gradient: Array) -> None:
        """Adds d sum(by_Z * Z) / d eta: the length-scales of Fourier features."""
        by_Z = by_Z * self._scale(eta) if self._waves else by_Z
        for weight, leaves, at in self._waves:
            slope = self._on_rows(weight.slope_by_length, leaves, eta)
            gradient[weight.length] += np.sum(by_Z[at] * slope)

    # -- leaf by leaf ------------------------------------------------------------------------

    def split(self, given: Factored, alpha: Array) -> Iterator[GivenLeaf]:
        for i, rows in enumerate(self._rows):
            n, v = len(rows.y), len(rows.leaf.columns)
            offset = 0.0 if given.offsets is None else float(given.offsets[i])
            yield GivenLeaf(rows, given.L[i, :n, :n], given.MZ[i, :n, :v], alpha[i, :n], offset)


def _cholesky(M: Array) -> Array:
    """Lower factors of a stack; those that have none get a little on their diagonal."""
    try:
        return np.asarray(np.linalg.cholesky(M), dtype=float)
    except np.linalg.LinAlgError:
        return np.stack([cholesky(one)[0] for one in M])
