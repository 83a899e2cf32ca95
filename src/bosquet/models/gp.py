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
from dataclasses import dataclass

import numpy as np
import scipy

from bosquet.arrays import Array, Bools, Index
from bosquet.kernels.components import Component
from bosquet.kernels.sums import Cross, Gram, Member
from bosquet.linalg import cholesky, grow_cholesky, inverse_from_cholesky, solve_lower
from bosquet.models.fitting import maximise, with_prior
from bosquet.models.nested import weighted_log_likelihood
from bosquet.models.priors import Hyperparameters
from bosquet.models.repeats import NOISE_FLOOR, merge

ENTRIES = 500_000  # of cross-covariances that are held at once, by component
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

    def covariance(self, eta: Array) -> tuple[Array, tuple[Array, Array]]:
        """K with noise (lower triangle), and what its gradient needs."""
        K, parts = self._gram.covariance(eta)
        K.flat[:: len(K) + 1] += self._fixed + np.exp(eta[-1]) * self._share
        return K, parts

    def condition(self, eta: Array) -> _Conditioned:
        L, _ = cholesky(self.covariance(eta)[0])
        return _Conditioned(
            X=self.X,
            rows={component.name: rows for component, rows in self.members},
            nodes={component.node for component, _ in self.members},
            L=L,
            alpha=solve(L, self.y),
        )

    def log_likelihood(self, eta: Array, mean: float) -> tuple[float, Array, float]:
        """log N(y; mean, K), its gradient by eta and its slope by the mean."""
        value, gradient, _, by_y = self._log_likelihood(eta, mean)
        return value, gradient, -float(by_y.sum())

    def log_likelihood_by_rows(self, eta: Array) -> tuple[float, Array, Array, Array]:
        """`log_likelihood`, and its gradients by y and by the ordered coordinates: (n,), (n, d)."""
        value, gradient, W, by_y = self._log_likelihood(eta)
        W = np.tril(W) + np.tril(W, -1).T
        by_rows = np.zeros_like(self.X)
        for component, rows in self.members:
            cross = Cross([(component, rows)], self.X, eta)
            slopes = cross.with_slopes(self.X[rows])[1]
            by_rows[rows] += 2.0 * slopes.times(W[rows])  # rows enter K on both sides
        return value, gradient, by_y, by_rows

    def _log_likelihood(self, eta: Array, mean: float = 0.0) -> tuple[float, Array, Array, Array]:
        """The value, its gradients by eta, by K (the lower triangle) and by y."""
        y = self.y - mean
        K, parts = self.covariance(eta)
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
        gradient = self._gram.pull_back(W, parts, eta)
        by_noise = (np.diag(W) * self._share)[self._learned]
        gradient[-1] += np.exp(eta[-1]) * float(by_noise.sum())
        return value, gradient, W, by_y


def solve(L: Array, right: Array) -> Array:
    """(L L')^-1 right."""
    solution, _ = scipy.linalg.lapack.dpotrs(L, right, lower=1)
    return np.asarray(solution)


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
        self._merged = merged = merge(np.column_stack([X, Z]), y, noise)
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
        return Posterior(self.components, eta, [block.condition(eta) for block in self.blocks])

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
            L, _ = cholesky(block.covariance(eta)[0])
            precision[self.order[group]] = np.diag(inverse_from_cholesky(L))
            alpha[self.order[group]] = solve(L, block.y)
        if self._merged.repeated:
            return self._merged.leave_one_out(float(np.exp(eta[-1])), alpha, precision)
        return alpha, precision


class Posterior:
    """What the model believes about f (without noise), as a sum and by component."""

    def __init__(
        self, components: Sequence[Component], eta: Array, conditioned: Sequence[_Conditioned]
    ) -> None:
        self.components = tuple(components)
        self.eta = eta
        self._conditioned = tuple(conditioned)
        self._partial: dict[tuple[str, ...], PartialPosterior] = {}

    def with_pending(self, X: Array, Z: Bools) -> Posterior:
        """The same mean with less variance: conditioned on believing the mean at new rows.

        Their weights alpha are exactly zero, so only the factors grow. Rows that connect two
        blocks merge them.
        """
        conditioned = list(self._conditioned)
        for x, z in zip(X, Z, strict=True):
            active = [c for c in self.components if z[c.node]]
            nodes = {c.node for c in active}
            near = [block for block in conditioned if block.nodes & nodes]
            rest = [block for block in conditioned if not block.nodes & nodes]
            conditioned = [*rest, _join(near, active, x, self.eta)]
        return Posterior(self.components, self.eta, conditioned)

    def joint(self, X: Array, Z: Bools) -> tuple[Array, Array]:
        """Mean and covariance matrix of f at rows that activate any nodes: (m,) and (m, m)."""
        mean, covariance = np.zeros(len(X)), np.zeros((len(X), len(X)))
        crosses = [np.zeros((len(X), block.n)) for block in self._conditioned]
        for c in self.components:
            at = np.flatnonzero(Z[:, c.node])
            if not len(at):
                continue
            everywhere = len(at) == len(X)  # as on the rows of one path: nothing to be picked out
            own = Cross([(c, np.arange(len(at)))], X[at], self.eta)(X[at])
            covariance[... if everywhere else np.ix_(at, at)] += own
            for block, cross in zip(self._conditioned, crosses, strict=True):
                if c.name in block.rows:
                    found = Cross([(c, block.rows[c.name])], block.X, self.eta)(X[at])
                    cross[... if everywhere else at] += found
        for block, cross in zip(self._conditioned, crosses, strict=True):
            mean += cross @ block.alpha
            V = solve_lower(block.L, cross.T)
            covariance -= V.T @ V
        return mean, covariance

    def of(self, components: Sequence[Component]) -> PartialPosterior:
        """The posterior of the sum of some components, at rows where they are active."""
        names = tuple(component.name for component in components)
        if names not in self._partial:
            crosses = ((block, block.cross(components, self.eta)) for block in self._conditioned)
            near = [(block, cross) for block, cross in crosses if cross is not None]
            self._partial[names] = PartialPosterior(components, self.eta, near)
        return self._partial[names]


class PartialPosterior:
    """The posterior of a sum of components: m queries at a time."""

    def __init__(
        self,
        components: Sequence[Component],
        eta: Array,
        near: Sequence[tuple[_Conditioned, Cross]],
    ) -> None:
        self._components, self._eta, self._near = components, eta, near

    def moments(self, X: Array) -> tuple[Array, Array]:
        """Mean and variance: (m,) each."""
        columns = sum(cross.columns for _, cross in self._near)
        pieces = -(-len(X) * columns // ENTRIES)
        if pieces <= 1:
            return self._moments(X)
        parts = [self._moments(part) for part in np.array_split(X, pieces)]
        return np.concatenate([m for m, _ in parts]), np.concatenate([v for _, v in parts])

    def _moments(self, X: Array) -> tuple[Array, Array]:
        mean = np.zeros(len(X))
        variance = self._prior_variance(X)
        for block, cross_of in self._near:
            cross = cross_of(X)
            mean += cross @ block.alpha
            V = solve_lower(block.L, cross.T)
            variance -= np.einsum("ij,ij->j", V, V)
        return mean, np.maximum(variance, NOISE_FLOOR)

    def joint(self, X: Array) -> tuple[Array, Array]:
        """Mean and covariance matrix: (m,) and (m, m)."""
        mean, covariance = np.zeros(len(X)), np.zeros((len(X), len(X)))
        for component in self._components:
            covariance += component.cross(X, X, self._eta)
        for block, cross_of in self._near:
            cross = cross_of(X)
            mean += cross @ block.alpha
            V = solve_lower(block.L, cross.T)
            covariance -= V.T @ V
        return mean, covariance

    def moments_with_gradients(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """`moments`, and their derivatives by the ordered coordinates: (m, d)."""
        mean = np.zeros(len(X))
        variance = self._prior_variance(X)
        by_mean, by_variance = np.zeros_like(X), np.zeros_like(X)
        for block, cross_of in self._near:
            cross, slopes = cross_of.with_slopes(X)
            mean += cross @ block.alpha
            V = solve_lower(block.L, cross.T)
            variance -= np.einsum("ij,ij->j", V, V)
            gain = solve_lower(block.L, V, transposed=True).T
            by_mean += slopes.times(block.alpha)
            by_variance -= 2.0 * slopes.times(gain)
        return mean, np.maximum(variance, NOISE_FLOOR), by_mean, by_variance

    def _prior_variance(self, X: Array) -> Array:
        return np.full(len(X), np.exp(self._eta[[c.variance for c in self._components]]).sum())


@dataclass(frozen=True)
class _Conditioned:
    """Connected rows with the factor of their covariance."""

    X: Array
    rows: dict[str, Index]
    """By name of the component, the rows where it is active."""
    nodes: set[int]
    L: Array
    alpha: Array

    @property
    def n(self) -> int:
        return len(self.alpha)

    def cross(self, components: Sequence[Component], eta: Array) -> Cross | None:
        """The covariance between queries and the rows of this block; None when there is none."""
        members = [(c, self.rows[c.name]) for c in components if c.name in self.rows]
        return Cross(members, self.X, eta) if members else None


def _join(
    near: Sequence[_Conditioned], components: Sequence[Component], x: Array, eta: Array
) -> _Conditioned:
    """Blocks and one believed row that touches them all, as one block."""
    n = sum(block.n for block in near)
    L, cross, alpha = np.zeros((n, n)), np.zeros((n, 1)), np.zeros(n + 1)
    rows: dict[str, list[Index]] = {}
    start = 0
    for block in near:
        inside = slice(start, start + block.n)
        L[inside, inside] = block.L
        alpha[inside] = block.alpha
        found = block.cross(components, eta)
        cross[inside, 0] = 0.0 if found is None else found(x[None])[0]
        for name, old in block.rows.items():
            rows.setdefault(name, []).append(old + start)
        start += block.n
    for component in components:
        rows.setdefault(component.name, []).append(np.array([n]))
    noise = float(np.exp(eta[-1])) + NOISE_FLOOR
    corner = sum(float(c.diagonal(x[None], eta)[0]) for c in components) + noise
    return _Conditioned(
        X=np.vstack([*(block.X for block in near), x[None]]),
        rows={name: np.concatenate(parts) for name, parts in rows.items()},
        nodes={c.node for c in components}.union(*(block.nodes for block in near)),
        L=grow_cholesky(L, cross, np.array([[corner]])),
        alpha=alpha,
    )


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
