"""The tree-structured semi-parametric model (Jenatton et al., 2017, section 2).

    y = g_p(x) + z_p' c + noise,    g_p ~ GP(b_p, K_p),    c ~ N(0, Sigma_c)               Eq. (1)

A GP of its own at every leaf p, and random weights c at the inner nodes that tie leaves together.

==================  =========================================================================
in the paper        here
==================  =========================================================================
leaf, path p        a path of the space: the indices of its active nodes
inner node v        a node that is active on more than one path
r_v, c_v            `Weight`: per inner node a constant, and one per variable of its own
x                   variables of nodes on one path only; g_p sees these alone (``leaf="own"``),
                    since the paper has shared variables enter "in a linear fashion" only; with
                    ``leaf="path"`` g_p sees all variables of the path
b_p                 b_p ~ N(0, s_b) and integrated out, that is, K_p + s_b (see below)
M_p, L_p            covariance of the n_p rows of leaf p with noise, and its Cholesky factor
Z_p                 (n_p, V_p) rows z'; only the columns of the path. Scaled: Z_p Sigma_c^1/2
Lambda_c, f_c       for scaled weights: I + sum_p Z_p' M_p^-1 Z_p, and sum_p Z_p' M_p^-1 y_p
==================  =========================================================================

Everything costs O(V^3 + sum_p n_p^3): the n x n matrix of Eq. (4) is never formed.

The offsets: with one point in every leaf, free b_p explain all data and nothing is shared; with one
b for all leaves, the leaves below one inner node have the same path EI. So they are shrunk: normal
around a common value with a variance that is fitted. The common value is 0, since targets are
standardised and the root, which is on every path, has a weight of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from bosquet.linalg import cholesky, inverse_from_cholesky
from bosquet.models.fitting import maximise
from bosquet.models.gp import NOISE_FLOOR, solve
from bosquet.models.tree_leaves import Leaf, TreeLinear, by_path

Array = NDArray[np.float64]

_LOG_2PI = float(np.log(2.0 * np.pi))


class TreeGP:
    """The model on given rows: likelihood, fit and posterior."""

    def __init__(self, model: TreeLinear, X: Array, y: Array, noise: Array | None = None) -> None:
        noise = np.full(len(y), np.nan) if noise is None else noise
        self.model = model
        self.hyper = model.hyper
        self.blocks = [
            Block(model.leaf(path), X[rows], y[rows], noise[rows])
            for path, rows in by_path(model.space, X).items()
        ]

    # -- fitting -----------------------------------------------------------------------------

    def log_likelihood(self, theta: Array) -> tuple[float, Array]:
        """log P(y), Eq. (3), and its gradient by theta."""
        eta = self.hyper.eta(theta)
        factored, weights = infer(self.model, self.blocks, eta)
        value = -float(np.log(np.diag(weights.B)).sum())
        gradient = np.zeros(len(eta))
        s_b = np.exp(eta[self.model.offset])
        scale = self.model.scale(eta)
        for block, given in zip(self.blocks, factored, strict=True):
            columns = block.leaf.columns
            alpha = given.alpha(weights)
            value -= float(np.log(np.diag(given.L)).sum())
            value -= 0.5 * float(block.y @ alpha) + 0.5 * len(alpha) * _LOG_2PI
            MZ_Q = given.MZ @ weights.covariance[np.ix_(columns, columns)]
            # d value / d M_p, with the inverse of Eq. (4) by Woodbury.
            W = np.outer(0.5 * alpha, alpha)
            W -= 0.5 * inverse_from_cholesky(given.L)
            W += 0.5 * MZ_Q @ given.MZ.T
            block.pull_back(W.ravel(), given, eta, gradient)
            gradient[self.model.offset] += s_b * float(W.sum())
            gradient[-1] += np.exp(eta[-1]) * float(np.diag(W)[np.isnan(block.noise)].sum())
            if any(weight.length >= 0 for weight in block.leaf.weights):
                by_Z = (np.outer(alpha, weights.mean[columns]) - MZ_Q) * scale[columns]
                block.pull_back_lengths(by_Z, eta, gradient)
        # Scaled weights have unit prior variance: by log Sigma_c, (c^2 - 1 + var c) / 2.
        by_variance = 0.5 * (weights.mean**2 - 1.0 + np.diag(weights.covariance))
        np.add.at(gradient, self.model.variance_of_column, by_variance)
        return value, self.hyper.matrix.T @ gradient

    def log_posterior(self, theta: Array) -> tuple[float, Array]:
        """The log likelihood plus the log prior, and the gradient."""
        likelihood, gradient = self.log_likelihood(theta)
        prior, by_theta = self.hyper.log_prior(theta)
        return likelihood + prior, gradient + by_theta

    def fit(self, starts: Sequence[Array], max_iterations: int = 200) -> tuple[Array, float]:
        """The best theta by L-BFGS-B from the given starts, and its log posterior."""
        return maximise(self.log_posterior, self.hyper, starts, max_iterations)

    # -- conditioning ------------------------------------------------------------------------

    def posterior(self, theta: Array) -> TreePosterior:
        eta = self.hyper.eta(theta)
        factored, weights = infer(self.model, self.blocks, eta)
        alphas = [given.alpha(weights) for given in factored]
        return TreePosterior(self.model, eta, self.blocks, factored, alphas, weights)


class Block:
    """The rows of one leaf."""

    def __init__(self, leaf: Leaf, X: Array, y: Array, noise: Array) -> None:
        self.leaf, self.X, self.y, self.noise = leaf, X, y, noise
        self.prepared = None if leaf.kernel is None else leaf.kernel.prepare(X)
        fitted = any(weight.length >= 0 for weight in leaf.weights)
        self._Z = None if fitted else features(leaf, X, np.zeros(0))

    def factor(self, model: TreeLinear, eta: Array) -> Factored:
        n = len(self.y)
        M = np.full((n, n), np.exp(eta[model.offset]))
        unit = slope = np.zeros(0)
        if self.leaf.kernel is not None and self.prepared is not None:
            unit, slope = self.leaf.kernel.gram(self.prepared, eta)
            M += np.exp(eta[self.leaf.kernel.variance]) * unit.reshape(n, n)
        learned = np.exp(eta[-1])
        M.flat[:: n + 1] += np.where(np.isnan(self.noise), learned, self.noise) + NOISE_FLOOR
        L, _ = cholesky(M)
        Z = features(self.leaf, self.X, eta) if self._Z is None else self._Z
        Z = Z * model.scale(eta)[self.leaf.columns]
        solved = solve(L, np.column_stack([Z, self.y]))
        return Factored(self.leaf, L, Z, solved[:, :-1], solved[:, -1], unit, slope)

    def pull_back(self, W: Array, given: Factored, eta: Array, gradient: Array) -> None:
        """Adds d sum(W * K_p) / d eta to ``gradient``."""
        if self.leaf.kernel is not None and self.prepared is not None:
            kernel = self.leaf.kernel
            kernel.pull_back(W, given.unit, given.slope, self.prepared, eta, gradient)

    def pull_back_lengths(self, by_Z: Array, eta: Array, gradient: Array) -> None:
        """Adds d sum(by_Z * Z_p) / d eta of the length-scales of Fourier features."""
        start = 0
        for weight in self.leaf.weights:
            if weight.length >= 0:
                mine = by_Z[:, start : start + weight.size]
                gradient[weight.length] += np.sum(mine * weight.slope_by_length(self.X, eta))
            start += weight.size


@dataclass(frozen=True)
class Factored:
    """The rows of one leaf, given the hyper-parameters."""

    leaf: Leaf
    L: Array
    """M_p = L L'"""
    Z: Array
    """Scaled rows z'."""
    MZ: Array
    """M_p^-1 Z_p"""
    My: Array
    """M_p^-1 y_p"""
    unit: Array
    slope: Array
    """K_p / v_p and its derivative, as `Component.gram` returns them."""

    def alpha(self, weights: WeightPosterior) -> Array:
        """M_p^-1 (y_p - Z_p c) at the posterior mean of c: the inverse of Eq. (4) times y."""
        return np.asarray(self.My - self.MZ @ weights.mean[self.leaf.columns])


@dataclass(frozen=True)
class WeightPosterior:
    """c | y ~ N(Lambda_c^-1 f_c, Lambda_c^-1), for weights scaled to unit prior variance."""

    mean: Array
    covariance: Array
    B: Array
    """Lambda_c = B B'"""


def infer(
    model: TreeLinear, blocks: Sequence[Block], eta: Array
) -> tuple[list[Factored], WeightPosterior]:
    """Section 2.2: leaf by leaf, then the weights."""
    factored = [block.factor(model, eta) for block in blocks]
    V = int(model.starts[-1])
    Lambda, f = np.eye(V), np.zeros(V)
    for given, block in zip(factored, blocks, strict=True):
        columns = given.leaf.columns
        Lambda[np.ix_(columns, columns)] += given.Z.T @ given.MZ
        f[columns] += given.MZ.T @ block.y
    if V == 0:  # one path: there is nothing to share
        return factored, WeightPosterior(f, Lambda, Lambda)
    B, _ = cholesky(Lambda)
    return factored, WeightPosterior(solve(B, f), inverse_from_cholesky(B), B)


class TreePosterior:
    """What the model believes about f (without noise) on any path, visited or not."""

    def __init__(
        self,
        model: TreeLinear,
        eta: Array,
        blocks: Sequence[Block],
        factored: Sequence[Factored],
        alphas: Sequence[Array],
        weights: WeightPosterior,
    ) -> None:
        self.model = model
        self.eta = eta
        self._blocks = tuple(blocks)
        self._weights = weights
        self._scale = model.scale(eta)
        self._s_b = float(np.exp(eta[model.offset]))
        self._on = {
            block.leaf.path: (block, given, alpha)
            for block, given, alpha in zip(blocks, factored, alphas, strict=True)
        }

    def with_pending(self, X: Array) -> TreePosterior:
        """The same mean with less variance: conditioned on believing the mean at new rows.

        Their alpha is exactly zero and c stays where it was, so only the factors change.
        """
        blocks = {block.leaf.path: block for block in self._blocks}
        alphas = {path: alpha for path, (_, _, alpha) in self._on.items()}
        nothing = (np.zeros((0, X.shape[1])), np.zeros(0), np.zeros(0))
        for path, rows in by_path(self.model.space, X).items():
            old = blocks.get(path)
            X_p, y, noise = nothing if old is None else (old.X, old.y, old.noise)
            none = np.zeros(len(rows))
            blocks[path] = Block(
                self.model.leaf(path),
                np.vstack([X_p, X[rows]]),
                np.concatenate([y, none]),
                np.concatenate([noise, none + np.nan]),
            )
            alphas[path] = np.concatenate([alphas.get(path, np.zeros(0)), none])
        factored, less = infer(self.model, list(blocks.values()), self.eta)
        weights = WeightPosterior(self._weights.mean, less.covariance, less.B)
        return TreePosterior(
            self.model,
            self.eta,
            list(blocks.values()),
            factored,
            [alphas[path] for path in blocks],
            weights,
        )

    # -- c -----------------------------------------------------------------------------------

    @cached_property
    def weights_mean(self) -> Array:
        """Lambda_c^-1 f_c"""
        return np.asarray(self._scale * self._weights.mean)

    @cached_property
    def weights_covariance(self) -> Array:
        """Lambda_c^-1"""
        return np.asarray(self._weights.covariance * np.outer(self._scale, self._scale))

    def draw_weights(self, n: int, rng: np.random.Generator) -> Array:
        """Draws from P(c | y): (n, V)."""
        V = len(self._scale)
        if V == 0:
            return np.zeros((n, 0))
        white = solve_triangular(
            self._weights.B, rng.standard_normal((V, n)), lower=True, trans=1, check_finite=False
        )
        return np.asarray((self._weights.mean + white.T) * self._scale)

    # -- g_p + z_p' c -----------------------------------------------------------------------

    def on_path(self, path: Sequence[int]) -> list[Leaf]:
        return [self.model.leaf(path)]

    def moments(self, X: Array, leaves: Sequence[Leaf]) -> tuple[Array, Array]:
        """Mean and variance of g_p(x) + z_p' c (section 3.2), at rows of the one leaf given."""
        (leaf,) = leaves
        return self._moments(leaf, self._z(leaf, X), self._prior(leaf, X), self._cross(leaf, X))

    def moments_of_path(
        self, X: Array, path: Sequence[int], *, plug_in: bool = False
    ) -> tuple[Array, Array]:
        """Mean and variance of b_p + z_p' c, which Eq. (6) looks at: X counts where it is shared.

        With ``plug_in`` the variance is that of c alone, as in the paper: b_p is taken as known.
        """
        leaf = self.model.leaf(path)
        Z = self._z(leaf, X)
        prior = np.full(len(X), self._s_b)
        cross = None
        if leaf.path in self._on:  # b_p is the part of g_p that has covariance s_b everywhere
            cross = np.full((len(X), len(self._on[leaf.path][2])), self._s_b)
        mean, variance = self._moments(leaf, Z, prior, cross)
        if plug_in:
            variance = np.maximum(self._quadratic(leaf, Z), NOISE_FLOOR)
        return mean, variance

    def leaf_moments(self, X: Array, path: Sequence[int], c: Array) -> tuple[Array, Array]:
        """m_p(x) and S_p(x, x): g_p given the weights c (section 2.2)."""
        leaf = self.model.leaf(path)
        prior = self._prior(leaf, X)
        if leaf.path not in self._on:
            return np.zeros(len(X)), prior
        _, given, alpha = self._on[leaf.path]
        k = self._cross(leaf, X)
        assert k is not None
        # alpha is M_p^-1 (y_p - Z_p c) at the mean of c; away from it, by the difference.
        away = (c / self._scale - self._weights.mean)[leaf.columns]
        V = solve_triangular(given.L, k.T, lower=True, check_finite=False)
        return k @ (alpha - given.MZ @ away), prior - np.einsum("ij,ij->j", V, V)

    def moments_with_gradients(
        self, X: Array, leaves: Sequence[Leaf]
    ) -> tuple[Array, Array, Array, Array]:
        """`moments`, and their derivatives by the ordered coordinates: (m, d)."""
        (leaf,) = leaves
        Z, k = self._z(leaf, X), self._cross(leaf, X)
        mean, variance = self._moments(leaf, Z, self._prior(leaf, X), k)
        by_mean, by_variance = np.zeros_like(X), np.zeros_like(X)
        c, Q = self._on_columns(leaf)
        T = Z
        if k is not None:
            block, given, alpha = self._on[leaf.path]
            T = Z - k @ given.MZ
            if leaf.kernel is not None:
                gain = solve(given.L, k.T).T + (T @ Q) @ given.MZ.T
                _, slopes = leaf.kernel.cross_with_slope(X, block.X, self.eta)
                for dimension, slope in slopes.items():
                    by_mean[:, dimension] += slope @ alpha
                    by_variance[:, dimension] -= 2.0 * np.einsum("ij,ij->i", slope, gain)
        start = 0
        to_z = 2.0 * (T @ Q)
        for weight in leaf.weights:
            columns = slice(start, start + weight.size)
            by_coordinate = weight.slope(X, self.eta)
            if by_coordinate is not None:
                dz = by_coordinate * self._scale[leaf.columns[columns]]
                by_mean[:, weight.dimension] += dz @ c[columns]
                by_variance[:, weight.dimension] += np.einsum("ij,ij->i", dz, to_z[:, columns])
            start += weight.size
        return mean, variance, by_mean, by_variance

    # -- parts -------------------------------------------------------------------------------

    def _moments(self, leaf: Leaf, Z: Array, prior: Array, k: Array | None) -> tuple[Array, Array]:
        """m~ and S~ of section 3.2 for a function with covariance ``k`` to the rows of its leaf."""
        mean = Z @ self._weights.mean[leaf.columns]
        if k is None:
            return mean, prior + self._quadratic(leaf, Z)
        _, given, alpha = self._on[leaf.path]
        V = solve_triangular(given.L, k.T, lower=True, check_finite=False)
        variance = prior - np.einsum("ij,ij->j", V, V)
        variance += self._quadratic(leaf, Z - k @ given.MZ)  # t_p' Lambda_c^-1 t_p
        return mean + k @ alpha, np.maximum(variance, NOISE_FLOOR)

    def _on_columns(self, leaf: Leaf) -> tuple[Array, Array]:
        """Mean and covariance of the scaled weights of a path."""
        columns = leaf.columns
        return self._weights.mean[columns], self._weights.covariance[np.ix_(columns, columns)]

    def _quadratic(self, leaf: Leaf, T: Array) -> Array:
        return np.asarray(np.einsum("ij,ij->i", T @ self._on_columns(leaf)[1], T))

    def _z(self, leaf: Leaf, X: Array) -> Array:
        return features(leaf, X, self.eta) * self._scale[leaf.columns]

    def _prior(self, leaf: Leaf, X: Array) -> Array:
        prior = np.full(len(X), self._s_b)
        return prior if leaf.kernel is None else prior + leaf.kernel.diagonal(X, self.eta)

    def _cross(self, leaf: Leaf, X: Array) -> Array | None:
        """Covariance of g_p at X with the rows of its leaf; None for a leaf without rows."""
        if leaf.path not in self._on:
            return None
        block, _, alpha = self._on[leaf.path]
        cross = np.full((len(X), len(alpha)), self._s_b)
        return cross if leaf.kernel is None else cross + leaf.kernel.cross(X, block.X, self.eta)


def features(leaf: Leaf, X: Array, eta: Array) -> Array:
    """z_p' at rows of a leaf: (m, V_p)."""
    return np.hstack([np.zeros((len(X), 0)), *(w.features(X, eta) for w in leaf.weights)])
