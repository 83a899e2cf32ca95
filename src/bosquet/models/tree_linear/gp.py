"""The model on given rows: likelihood, fit, and what it believes about any path (section 2.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy

from bosquet.arrays import Array
from bosquet.kernels.components import Component
from bosquet.kernels.stationary import SHAPES
from bosquet.linalg import cholesky, inverse_from_cholesky, solve, symmetric
from bosquet.models.fitting import maximise, with_prior
from bosquet.models.repeats import NOISE_FLOOR, merge
from bosquet.models.tree_linear.batch import (
    Batch,
    Factored,
    GivenLeaf,
    Rows,
    WeightPosterior,
    batches,
)
from bosquet.models.tree_linear.structure import PathLeaf, TreeLinear
from bosquet.space.tree import Path

_LOG_2PI = float(np.log(2.0 * np.pi))


class TreeGP:
    """The model on given rows: likelihood, fit and posterior."""

    def __init__(self, model: TreeLinear, X: Array, y: Array, noise: Array | None = None) -> None:
        noise = np.full(len(y), np.nan) if noise is None else noise
        self.model = model
        self.hyper = model.hyper
        self._merged = merged = merge(X, y, noise)
        X = X[merged.first]
        self.batches = batches(
            model,
            [
                Rows(
                    model.leaf(path),
                    X[rows],
                    merged.y[rows],
                    merged.fixed[rows],
                    merged.share[rows],
                )
                for path, rows in model.space.tree.rows_by_path(X).items()
            ],
        )

    # -- fitting -----------------------------------------------------------------------------

    def log_likelihood(self, theta: Array) -> tuple[float, Array]:
        """log P(y), Eq. (3), and its gradient by theta.

        Scalar offsets are at their maximum: they need no gradient (the envelope theorem), and
        alpha sums to zero over each leaf, so that y' alpha is (y - b)' alpha.
        """
        eta = self.hyper.eta(theta)
        factored, weights = infer(self.model, self.batches, eta)
        value = -float(np.log(np.diag(weights.B)).sum())
        gradient = np.zeros(len(eta))
        scatter, gradient[-1] = self._merged.log_scatter(eta[-1])
        value += scatter
        for batch, given in zip(self.batches, factored, strict=True):
            alpha = given.alpha(weights)
            value -= float(np.log(np.einsum("gii->gi", given.L)).sum())
            value -= 0.5 * float(np.sum(batch.y * alpha)) + 0.5 * batch.n_rows * _LOG_2PI
            MZ_Q = given.MZ @ weights.covariance_of(batch.columns)
            # d value / d M_p, with the inverse of Eq. (4) by Woodbury.
            W = alpha[:, :, None] * alpha[:, None, :] - given.inverse + MZ_Q @ _t(given.MZ)
            batch.pull_back(0.5 * W, given, eta, gradient)
            by_Z = alpha[:, :, None] * weights.mean[batch.columns][:, None, :] - MZ_Q
            batch.pull_back_waves(by_Z, eta, gradient)
        # Scaled weights have unit prior variance: by log Sigma_c, (c^2 - 1 + var c) / 2.
        by_variance = 0.5 * (weights.mean**2 - 1.0 + np.diag(weights.covariance))[:-1]
        np.add.at(gradient, self.model.variance_of_column, by_variance)
        return value, self.hyper.matrix.T @ gradient

    def log_posterior(self, theta: Array) -> tuple[float, Array]:
        """The log likelihood plus the log prior, and the gradient."""
        return with_prior(self.log_likelihood, self.hyper, theta)

    def fit(self, starts: Sequence[Array], max_iterations: int = 200) -> tuple[Array, float]:
        """The best theta by L-BFGS-B from the given starts, and its log posterior."""
        return maximise(self.log_posterior, self.hyper, starts, max_iterations)

    # -- conditioning ------------------------------------------------------------------------

    def posterior(self, theta: Array) -> TreePosterior:
        eta = self.hyper.eta(theta)
        factored, weights = infer(self.model, self.batches, eta)
        given = [
            leaf
            for batch, one in zip(self.batches, factored, strict=True)
            for leaf in batch.split(one, one.alpha(weights))
        ]
        return TreePosterior(self.model, eta, given, weights)


def infer(
    model: TreeLinear, parts: Sequence[Batch], eta: Array
) -> tuple[list[Factored], WeightPosterior]:
    """Section 2.2: the leaves one by one, then the weights; and the offsets, where scalars."""
    factored = [batch.factor(eta) for batch in parts]
    V = model.n_weights
    Lambda, f = np.zeros((V + 1) ** 2), np.zeros(V + 1)
    for given, batch in zip(factored, parts, strict=True):
        ZMZ = _t(given.Z) @ given.MZ
        ZMy = _t(given.MZ) @ batch.y[:, :, None]
        Lambda += np.bincount(batch.pairs_of_columns, ZMZ.ravel(), len(Lambda))
        f += np.bincount(batch.columns.ravel(), ZMy.ravel(), len(f))
    mean, covariance = np.zeros(V + 1), np.zeros((V + 1, V + 1))
    B = np.zeros((0, 0))
    precision = np.eye(V) + Lambda.reshape(V + 1, V + 1)[:V, :V]
    if V:  # on a space with one path there is nothing to share
        B, _ = cholesky(precision)
        mean[:V], covariance[:V, :V] = solve(B, f[:V]), symmetric(inverse_from_cholesky(B))
    if model.offsets == "scalar":
        factored, mean = _with_offsets(parts, factored, precision, f)
    return factored, WeightPosterior(mean, covariance, B)


def _with_offsets(
    parts: Sequence[Batch], factored: Sequence[Factored], precision: Array, f: Array
) -> tuple[list[Factored], Array]:
    """Scalar b_p by maximum likelihood, given all other hyper-parameters; and c given them.

    Both solve one linear system: b_p is the generalised least squares level of y_p - Z_p c, and c
    has its posterior mean at y - b. The offsets are eliminated first, leaf by leaf, so that what is
    left to be solved is no larger than c, and I plus something positive.
    """
    V = len(precision)
    less, f = np.zeros((V + 1) ** 2), f.copy()
    ones, levels, shares = [], [], []
    for given, batch in zip(factored, parts, strict=True):
        M1 = (given.inverse @ batch.there[:, :, None])[:, :, 0]
        total = M1.sum(axis=1)  # 1' M_p^-1 1
        level = np.einsum("gi,gi->g", M1, batch.y) / total
        share = np.einsum("gi,giv->gv", M1, given.Z) / total[:, None]  # the same level of Z_p
        squares = total[:, None, None] * share[:, :, None] * share[:, None, :]
        less += np.bincount(batch.pairs_of_columns, squares.ravel(), len(less))
        by_level = (total * level)[:, None] * share
        f -= np.bincount(batch.columns.ravel(), by_level.ravel(), len(f))
        ones.append(M1)
        levels.append(level)
        shares.append(share)
    mean = np.zeros(V + 1)
    if V:
        B, _ = cholesky(precision - less.reshape(V + 1, V + 1)[:V, :V])
        mean[:V] = solve(B, f[:V])
    subtracted = [
        given.less_offsets(M1, level - np.einsum("gv,gv->g", share, mean[batch.columns]))
        for given, batch, M1, level, share in zip(
            factored, parts, ones, levels, shares, strict=True
        )
    ]
    return subtracted, mean


class TreePosterior:
    """What the model believes about f (without noise) on any path, visited or not."""

    def __init__(
        self,
        model: TreeLinear,
        eta: Array,
        given: Sequence[GivenLeaf],
        weights: WeightPosterior,
    ) -> None:
        self.model = model
        self.eta = eta
        self._weights = weights
        self._scale = model.scale(eta)
        self._s_b = float(np.exp(eta[model.offset]))
        self._given = {one.rows.leaf.path: one for one in given}
        self._common = float(np.mean([one.offset for one in given])) if len(given) else 0.0
        self._of_path: dict[Path, tuple[Array, Array]] = {}  # asked for again and again

    def with_pending(self, X: Array) -> TreePosterior:
        """The same mean with less variance: conditioned on believing the mean at new rows.

        Their alpha is exactly zero and c stays where it was, so only the factors change.
        """
        rows = {path: one.rows for path, one in self._given.items()}
        for path, new in self.model.space.tree.rows_by_path(X).items():
            none, floor = np.zeros(len(new)), np.full(len(new), NOISE_FLOOR)
            more = Rows(self.model.leaf(path), X[new], none, floor, np.ones(len(new)))
            rows[path] = rows[path].followed_by(more) if path in rows else more
        parts = batches(self.model, list(rows.values()))
        factored, less = infer(self.model, parts, self.eta)
        given = [
            replace(leaf, alpha=self._padded_alpha(leaf.rows), offset=self._offset(leaf.rows.leaf))
            for batch, one in zip(parts, factored, strict=True)
            for leaf in batch.split(one, np.zeros_like(batch.y))
        ]
        return TreePosterior(self.model, self.eta, given, replace(less, mean=self._weights.mean))

    def _padded_alpha(self, rows: Rows) -> Array:
        old = self._given.get(rows.leaf.path)
        alpha = np.zeros(len(rows.y))
        if old is not None:
            alpha[: len(old.alpha)] = old.alpha
        return alpha

    # -- c -----------------------------------------------------------------------------------

    @cached_property
    def weights_mean(self) -> Array:
        """Lambda_c^-1 f_c"""
        return np.asarray(self._scale * self._weights.mean[:-1])

    def draw_weights(self, n: int, rng: np.random.Generator) -> Array:
        """Draws from P(c | y): (n, V)."""
        V = len(self._scale)
        if V == 0:
            return np.zeros((n, 0))
        white = scipy.linalg.solve_triangular(
            self._weights.B, rng.standard_normal((V, n)), lower=True, trans=1, check_finite=False
        )
        return np.asarray((self._weights.mean[:-1] + white.T) * self._scale)

    # -- g_p + z_p' c -----------------------------------------------------------------------

    def on_path(self, path: Sequence[int]) -> LeafBelief:
        """The posterior of g_p + z_p' c at rows of one path."""
        return LeafBelief(self, self.model.leaf(path))

    def moments(self, leaf: PathLeaf, X: Array) -> tuple[Array, Array]:
        """Mean and variance of g_p(x) + z_p' c (section 3.2), at rows of a leaf."""
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
        if leaf.path in self._given:  # b_p is the part of g_p with covariance s_b everywhere
            cross = np.full((len(X), len(self._given[leaf.path].alpha)), self._s_b)
        mean, variance = self._moments(leaf, Z, prior, cross)
        if plug_in:
            variance = np.maximum(self._quadratic(leaf, Z), NOISE_FLOOR)
        return mean, variance

    def moments_with_gradients(self, leaf: PathLeaf, X: Array) -> tuple[Array, Array, Array, Array]:
        """`moments`, and their derivatives by the ordered coordinates: (m, d)."""
        Z, k = self._z(leaf, X), self._cross(leaf, X)
        mean, variance = self._moments(leaf, Z, self._prior(leaf, X), k)
        by_mean, by_variance = np.zeros_like(X), np.zeros_like(X)
        c, Q = self._on_columns(leaf)
        T = Z
        if k is not None:
            given = self._given[leaf.path]
            T = Z - k @ given.MZ
            if leaf.kernel is not None:
                gain = solve(given.L, k.T).T + (T @ Q) @ given.MZ.T
                for dimension, slope in self._slopes(leaf.kernel, X, given.rows.X):
                    by_mean[:, dimension] += slope @ given.alpha
                    by_variance[:, dimension] -= 2.0 * np.einsum("ij,ij->i", slope, gain)
        to_z = 2.0 * (T @ Q)
        for weight, columns in leaf.parts():
            by_coordinate = weight.slope(X, self.eta)
            if by_coordinate is not None:
                dz = by_coordinate * self._scale[leaf.columns[columns]]
                by_mean[:, weight.dimension] += dz @ c[columns]
                by_variance[:, weight.dimension] += np.einsum("ij,ij->i", dz, to_z[:, columns])
        return mean, variance, by_mean, by_variance

    # -- parts -------------------------------------------------------------------------------

    def _moments(
        self, leaf: PathLeaf, Z: Array, prior: Array, k: Array | None
    ) -> tuple[Array, Array]:
        """m~ and S~ of section 3.2 for a function with covariance ``k`` to the rows of its leaf."""
        mean = Z @ self._on_columns(leaf)[0] + self._offset(leaf)
        if k is None:
            return mean, prior + self._quadratic(leaf, Z)
        given = self._given[leaf.path]
        V = scipy.linalg.solve_triangular(given.L, k.T, lower=True, check_finite=False)
        variance = prior - np.einsum("ij,ij->j", V, V)
        variance += self._quadratic(leaf, Z - k @ given.MZ)  # t_p' Lambda_c^-1 t_p
        return mean + k @ given.alpha, np.maximum(variance, NOISE_FLOOR)

    def _offset(self, leaf: PathLeaf) -> float:
        """b_p where it is a scalar; that of a leaf without rows is the mean of the others."""
        given = self._given.get(leaf.path)
        return self._common if given is None else given.offset

    def _on_columns(self, leaf: PathLeaf) -> tuple[Array, Array]:
        """Mean and covariance of the scaled weights of a path."""
        if leaf.path not in self._of_path:
            covariance = self._weights.covariance_of(leaf.columns)
            self._of_path[leaf.path] = self._weights.mean[leaf.columns], covariance
        return self._of_path[leaf.path]

    def _quadratic(self, leaf: PathLeaf, T: Array) -> Array:
        return np.asarray(np.einsum("ij,ij->i", T @ self._on_columns(leaf)[1], T))

    def _z(self, leaf: PathLeaf, X: Array) -> Array:
        return leaf.features(X, self.eta) * self._scale[leaf.columns]

    def _prior(self, leaf: PathLeaf, X: Array) -> Array:
        prior = np.full(len(X), self._s_b)
        return prior if leaf.kernel is None else prior + leaf.kernel.diagonal(X, self.eta)

    def _cross(self, leaf: PathLeaf, X: Array) -> Array | None:
        """Covariance of g_p at X with the rows of its leaf; None for a leaf without rows."""
        given = self._given.get(leaf.path)
        if given is None:
            return None
        cross = np.full((len(X), len(given.alpha)), self._s_b)
        if leaf.kernel is not None:
            cross += leaf.kernel.cross(X, given.rows.X, self.eta)
        return cross

    def _slopes(self, kernel: Component, A: Array, B: Array) -> Iterator[tuple[int, Array]]:
        """Derivatives of K_p(A, B) by the ordered coordinates of A, by dimension."""
        weights = kernel.weights(self.eta)
        r2 = np.zeros((len(A), len(B)))
        for f, w in zip(kernel.features, weights, strict=True):
            r2 += w * f.distances(A, B)
        by_r2 = 2.0 * np.exp(self.eta[kernel.variance]) * SHAPES[kernel.kind](r2)[1]
        for f, w in zip(kernel.features, weights, strict=True):
            if f.kind == "difference":
                yield f.dimension, w * by_r2 * (A[:, f.dimension][:, None] - B[:, f.dimension])


@dataclass(frozen=True)
class LeafBelief:
    """The posterior at rows of one leaf."""

    posterior: TreePosterior
    leaf: PathLeaf

    def moments(self, X: Array) -> tuple[Array, Array]:
        return self.posterior.moments(self.leaf, X)

    def moments_with_gradients(self, X: Array) -> tuple[Array, Array, Array, Array]:
        return self.posterior.moments_with_gradients(self.leaf, X)


def _t(stack: Array) -> Array:
    """A stack of matrices, each transposed."""
    return np.swapaxes(stack, -1, -2)
