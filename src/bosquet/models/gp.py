"""The additive Gaussian-process engine: exact inference for sums of components.

Glossary (n observed rows, p pending ones, m queries, d coordinates, E log-parameters)
    X        (n, d)  unit rows; Z (n, nodes) which nodes each row activates
    y        (n,)    standardised targets; noise (n,) known variances, NaN where it is learned.
                     Repeated rows are merged (`repeats`), so n counts distinct ones
    K        covariance of a block of rows; L its Cholesky factor; alpha = K^-1 y
    block    rows connected through components (Add-Tree, App. B): other blocks cannot matter

Rows are sorted so that on a tree the rows of every node are contiguous: what is gathered and added
then lies together in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy

import numpy as np
import scipy

from bosquet.arrays import Array, Bools, Index
from bosquet.kernels.components import Component
from bosquet.kernels.cross import Cross
from bosquet.kernels.gram import Gram
from bosquet.kernels.sums import Member
from bosquet.linalg import cholesky, inverse_from_cholesky, solve, symmetric
from bosquet.models.fitting import maximise, with_prior
from bosquet.models.nested import weighted_log_likelihood
from bosquet.models.posterior import Conditioned, Posterior
from bosquet.models.priors import Hyperparameters
from bosquet.models.repeats import merge

_LOG_2PI = float(np.log(2.0 * np.pi))


class Block:
    """Rows that are connected through components, and independent of all others."""

    def __init__(
        self,
        components: Sequence[Component],
        X: Array,
        Z: Bools,
        y: Array,
        fixed: Array,
        share: Array,
        weights: Array | None = None,
    ) -> None:
        """The variance of y is ``fixed`` plus a ``share`` of the learned noise."""
        self.X, self.y, self._weights = X, y, weights
        self.members: list[Member] = [
            (component, np.flatnonzero(Z[:, component.node]))
            for component in components
            if Z[:, component.node].any()
        ]
        self._fixed, self._share = fixed, share
        self._learned = share > 0.0
        self._gram = Gram(self.members, X)

    def with_targets(self, y: Array, fixed: Array, share: Array) -> Block:
        """Other targets at the same rows, some of them learned as before."""
        other = copy(self)
        other.y, other._fixed, other._share = y, fixed, share
        return other

    def covariance(self, eta: Array) -> Array:
        """K with noise (lower triangle)."""
        K = self._gram.covariance(eta)
        K.flat[:: len(K) + 1] += self._noise(eta)
        return K

    def _noise(self, eta: Array) -> Array:
        return np.asarray(self._fixed + np.exp(eta[-1]) * self._share)

    def condition(self, eta: Array) -> tuple[Conditioned, Array]:
        """What is known then, and the posterior mean at the rows."""
        K = self.covariance(eta)
        L, _ = cholesky(K)
        alpha = solve(L, self.y)
        conditioned = Conditioned(
            X=self.X,
            rows={component.name: rows for component, rows in self.members},
            nodes={component.node for component, _ in self.members},
            L=L,
            alpha=alpha,
        )
        K.flat[:: len(K) + 1] -= self._noise(eta)
        return conditioned, np.asarray(scipy.linalg.blas.dsymv(1.0, K, alpha, lower=1))

    def log_likelihood(self, eta: Array, mean: float) -> tuple[float, Array, float]:
        """log N(y; mean, K), its gradient by eta and its slope by the mean."""
        value, gradient, _, by_y = self._log_likelihood(eta, mean)
        return value, gradient, -float(by_y.sum())

    def log_likelihood_by_rows(self, eta: Array) -> tuple[float, Array, Array, Array]:
        """`log_likelihood`, and its gradients by y and by the ordered coordinates: (n,), (n, d)."""
        value, gradient, W, by_y = self._log_likelihood(eta)
        W = symmetric(W)
        by_rows = np.zeros_like(self.X)
        for component, rows in self.members:
            cross = Cross([(component, rows)], self.X, eta)
            slopes = cross.with_slopes(self.X[rows])[1]
            by_rows[rows] += 2.0 * slopes.times(W[rows])[0]  # rows enter K on both sides
        return value, gradient, by_y, by_rows

    def _log_likelihood(self, eta: Array, mean: float = 0.0) -> tuple[float, Array, Array, Array]:
        """The value, its gradients by eta, by K (the lower triangle) and by y."""
        y = self.y - mean
        K = self.covariance(eta)
        if self._weights is not None:
            value, W, by_y = weighted_log_likelihood(K, y, self._weights)
        else:
            L, _ = cholesky(K)
            alpha = solve(L, y)
            log_det = 2.0 * float(np.log(np.diag(L)).sum())
            value = -0.5 * (float(y @ alpha) + log_det + len(K) * _LOG_2PI)
            W = inverse_from_cholesky(L)
            W *= -0.5
            W += np.multiply.outer(0.5 * alpha, alpha)  # d value / d K
            by_y = -alpha
        gradient = self._gram.pull_back(W, eta)
        by_noise = (np.diag(W) * self._share)[self._learned]
        gradient[-1] += np.exp(eta[-1]) * float(by_noise.sum())
        return value, gradient, W, by_y


class AdditiveGP:
    """A GP whose covariance is a sum of components, on given rows.

    The mean is zero: targets are to be standardised. ``theta`` is not kept: it is an argument.
    With ``weights`` of the rows, likelihoods are the weighted sum of those of nested sets of rows
    (`nested`); what is predicted does not depend on them.
    """

    def __init__(
        self,
        components: Sequence[Component],
        hyper: Hyperparameters,
        X: Array,
        Z: Bools,
        y: Array,
        noise: Array | None = None,
        weights: Array | None = None,
    ) -> None:
        self.components = tuple(components)
        self.hyper = hyper
        self._weights = weights
        noise = np.full(len(y), np.nan) if noise is None else noise
        self._rows = np.column_stack([X, Z])
        self._merged = merged = merge(self._rows, y, noise)
        X, Z = X[merged.first], Z[merged.first]
        self.order = np.lexsort((~Z)[:, ::-1].T)  # by activity, in the order of the nodes
        self._groups = list(_connected(Z[self.order], {c.node for c in self.components}))
        self.blocks = [
            Block(
                self.components,
                X[rows],
                Z[rows],
                merged.y[rows],
                merged.fixed[rows],
                merged.share[rows],
                None if weights is None else weights[merged.first[rows]],
            )
            for rows in (self.order[group] for group in self._groups)
        ]

    def with_targets(self, y: Array, noise: Array) -> AdditiveGP:
        """The same of other targets at the same rows, with noise known where it was known.

        What covariances are computed with is shared.
        """
        other = copy(self)
        other._merged = merged = merge(self._rows, y, noise)
        pairs = zip(self.blocks, (self.order[group] for group in self._groups), strict=True)
        other.blocks = [
            block.with_targets(merged.y[rows], merged.fixed[rows], merged.share[rows])
            for block, rows in pairs
        ]
        return other

    # -- fitting -----------------------------------------------------------------------------

    def log_likelihood(self, theta: Array) -> tuple[float, Array]:
        """The log marginal likelihood and its gradient by theta."""
        return self.log_likelihood_around(theta, 0.0)[:2]

    def log_likelihood_around(self, theta: Array, mean: float) -> tuple[float, Array, float]:
        """`log_likelihood` with a mean that is not zero, and its slope by the mean."""
        eta, slope = self.hyper.eta(theta), 0.0
        value, gradient = self._scatter(eta)
        for block in self.blocks:
            one, by_eta, by_mean = block.log_likelihood(eta, mean)
            value += one
            gradient += by_eta
            slope += by_mean
        return value, self.hyper.matrix.T @ gradient, slope

    def _scatter(self, eta: Array) -> tuple[float, Array]:
        """What repeats say about the noise, and its gradient by eta."""
        gradient = np.zeros(len(eta))
        value, gradient[-1] = self._merged.log_scatter(eta[-1], self._weights)
        return value, gradient

    def log_likelihood_by_rows(self, theta: Array) -> tuple[float, Array, Array, Array]:
        """`log_likelihood`, and its gradients by the targets and the ordered coordinates: (N, d).

        Repeats move together: the first of them has the gradient of all.
        """
        eta = self.hyper.eta(theta)
        value, gradient = self._scatter(eta)
        by_y, by_rows = [], []
        for block in self.blocks:
            one, by_eta, by_target, by_row = block.log_likelihood_by_rows(eta)
            value += one
            gradient += by_eta
            by_y.append(by_target)
            by_rows.append(by_row)
        at = self._merged.first[self.order[np.concatenate(self._groups)]]
        ordered = np.zeros((len(self._merged.given), self.blocks[0].X.shape[1]))
        targets = np.zeros(len(ordered))
        ordered[at], targets[at] = np.vstack(by_rows), np.concatenate(by_y)
        return value, self.hyper.matrix.T @ gradient, targets, ordered

    def log_posterior(self, theta: Array) -> tuple[float, Array]:
        return with_prior(self.log_likelihood, self.hyper, theta)

    def fit(self, starts: Sequence[Array], max_iterations: int = 200) -> tuple[Array, float]:
        """The best theta by L-BFGS-B from the given starts, and its log posterior."""
        return maximise(self.log_posterior, self.hyper, starts, max_iterations)

    # -- conditioning ------------------------------------------------------------------------

    def posterior(self, theta: Array) -> Posterior:
        eta = self.hyper.eta(theta)
        conditioned, means = [], np.empty(len(self.order))
        for group, block in zip(self._groups, self.blocks, strict=True):
            known, means[self.order[group]] = block.condition(eta)
            conditioned.append(known)
        return Posterior(self.components, eta, conditioned, means[self._merged.of_given])

    def leave_one_out(self, theta: Array) -> Array:
        """log p(y_i | all other y), in the order of the rows given (closed form)."""
        alpha, precision = self._left_out(theta)
        z2 = (alpha / precision) ** 2 * precision
        return np.asarray(0.5 * (np.log(precision) - _LOG_2PI - z2))

    def left_out_moments(self, theta: Array) -> tuple[Array, Array]:
        """Mean and variance of y_i, noise included, given all other y: (N,) each."""
        alpha, precision = self._left_out(theta)
        return self._merged.given - alpha / precision, 1.0 / precision

    def _left_out(self, theta: Array) -> tuple[Array, Array]:
        """K^-1 y and the diagonal of K^-1."""
        eta = self.hyper.eta(theta)
        alpha, precision = np.empty(len(self.order)), np.empty(len(self.order))
        for group, block in zip(self._groups, self.blocks, strict=True):
            L, _ = cholesky(block.covariance(eta))
            precision[self.order[group]] = np.diag(inverse_from_cholesky(L))
            alpha[self.order[group]] = solve(L, block.y)
        if self._merged.repeated:
            return self._merged.leave_one_out(float(np.exp(eta[-1])), alpha, precision)
        return alpha, precision


def _connected(Z: Bools, nodes: set[int]) -> Iterator[Index]:
    """Groups of rows that are connected through the given nodes; ascending within a group."""
    listed = sorted(nodes)
    group = {node: node for node in listed}

    def leader(node: int) -> int:
        while group[node] != node:
            node = group[node]
        return node

    patterns, pattern_of_row = np.unique(Z[:, listed], axis=0, return_inverse=True)
    leaders = []
    for pattern in patterns:
        members = [leader(listed[i]) for i in np.flatnonzero(pattern)]
        for member in members[1:]:
            group[leader(member)] = leader(members[0])
        leaders.append(members[0] if members else None)
    final = [None if first is None else leader(first) for first in leaders]
    of_row = [final[i] for i in np.ravel(pattern_of_row)]
    for which in dict.fromkeys(of_row):
        yield np.array([i for i, one in enumerate(of_row) if one == which], dtype=np.int64)
