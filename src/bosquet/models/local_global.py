"""LGPGA, the local Gaussian process with a global approximation of BOinG (Appendix B.1).

A GP on the points inside a subregion, to which the points outside speak through m inducing values
u = f(U). Hyper-parameters are those of the points inside.

Glossary (n_l rows inside, n_g outside, m inducing; z standardised targets)
    A        K_uu^-1 K_uo: f outside is A' u plus a residual of variance e = diag(K_oo - Q_oo)
    Lambda   the noise of the outside targets plus e
    q(u)     N(m, S), the posterior of u given the outside targets: S^-1 - K_uu^-1 = A Lambda^-1 A'
    R, eta   the summary q(u) / p(u) as observations R u = eta with unit noise, R' R the precision
             above: it may be singular, so it is never inverted. Points inside enter alike, with
             R = noise^-1/2 and eta = z noise^-1/2

The paper trains q(u) by natural gradients on a predictive bound, in which the residual variance e
counts as noise. With e inside Lambda (FITC) the same is in closed form: u is integrated out, and
the positions maximise log N(z; 0, Q_oo + Lambda). Without e (the bound of Titsias, 2009) and almost
no noise, a few inducing values would be certain of what they can only roughly know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from bosquet.arrays import Array, Bools, Index
from bosquet.kernels.components import Component
from bosquet.kernels.cross import Cross, Slopes
from bosquet.linalg import cholesky, solve, solve_lower
from bosquet.models.covariance import Covariance, SpaceGP
from bosquet.models.priors import Hyperparameters
from bosquet.models.repeats import NOISE_FLOOR, merge
from bosquet.space import Space
from bosquet.space.tree import Path

_MOST = 50
_ROWS_PER_INDUCING = 20
_STEPS = 20  # of L-BFGS-B on the positions
_RELATIVE_JITTER = 1e-8  # of K_uu, so that the bound is smooth where inducing points meet


def n_inducing(dimension: int, n: int) -> int:
    """At least min(2 d, 10), a twentieth of all n observations, 50 at most (Appendix B.1)."""
    return min(_MOST, max(min(10, 2 * dimension), n // _ROWS_PER_INDUCING))


class LocalGlobalGP:
    """A GP on the rows inside, informed by those outside."""

    def __init__(
        self,
        covariance: Covariance,
        inside: tuple[Array, Array, Array],
        outside: tuple[Array, Array, Array],
        m: int,
    ) -> None:
        """``inside`` and ``outside`` are rows, targets and noise variances (NaN: learned)."""
        if m < 1:
            raise ValueError(f"m={m} must be at least 1 inducing point")
        self._covariance = covariance
        self._inside, self._outside = inside, outside
        self._m = m
        self._local = SpaceGP(covariance, *inside)

    @property
    def hyper(self) -> Hyperparameters:
        return self._covariance.hyper

    def fit(self, starts: Sequence[Array], max_iterations: int = 200) -> tuple[Array, float]:
        """Hyper-parameters from the points inside alone."""
        return self._local.fit(starts, max_iterations)

    def posterior(self, theta: Array) -> LocalGlobalPosterior:
        eta = self.hyper.eta(theta)
        kernel = Kernel(self._covariance, eta)
        merged = merge(*self._inside)
        scale = 1.0 / np.sqrt(merged.variance(kernel.noise))
        seen = _Seen(self._inside[0][merged.first], np.diag(scale), scale * merged.y)
        if len(self._outside[1]):
            summary = Outside(kernel, *self._outside)
            U = summary.optimise(summary.choose(self._m))
            seen = summary.summarise(U).joined(seen)
        return LocalGlobalPosterior(kernel, seen, kernel.condition(seen))


@dataclass(frozen=True)
class _Seen:
    """Observations eta = R f(X) + unit noise."""

    X: Array
    R: Array
    eta: Array

    def joined(self, other: _Seen) -> _Seen:
        return _Seen(
            np.vstack([self.X, other.X]),
            scipy.linalg.block_diag(self.R, other.R),
            np.concatenate([self.eta, other.eta]),
        )


@dataclass(frozen=True)
class _Factor:
    """mean(x) = k(x) alpha, variance(x) = k(x, x) - |L^-1 R k(x)|^2."""

    L: Array
    R: Array
    alpha: Array


class Kernel:
    """A covariance with fixed hyper-parameters, between any rows of its space."""

    def __init__(self, covariance: Covariance, eta: Array) -> None:
        self.space: Space = covariance.space
        self.eta = eta
        self._covariance = covariance

    @property
    def noise(self) -> float:
        """The variance that is learned."""
        return float(np.exp(self.eta[-1]))

    def on(self, path: Sequence[int]) -> list[Component]:
        """The components that are active on a path."""
        return self._covariance.components_on(path)

    def prior_variance(self, components: Sequence[Component], X: Array) -> Array:
        return np.asarray(sum((c.diagonal(X, self.eta) for c in components), np.zeros(len(X))))

    def diagonal(self, X: Array) -> Array:
        variance = np.empty(len(X))
        for path, rows in self.space.tree.rows_by_path(X).items():
            variance[rows] = self.prior_variance(self.on(path), X[rows])
        return variance

    def against(self, X: Array) -> Against:
        return Against(self, X, self._covariance.groups(X))

    def cross(self, A: Array, B: Array) -> Array:
        """(len(A), len(B)), rows of any paths."""
        return self.against(B).cross(A)

    def condition(self, seen: _Seen) -> _Factor:
        RK = seen.R @ self.cross(seen.X, seen.X)
        L, _ = cholesky(np.eye(len(RK)) + RK @ seen.R.T)
        return _Factor(L, seen.R, seen.R.T @ solve(L, seen.eta))


class Against:
    """The covariance of queries with rows that stay: what does not depend on queries is kept."""

    def __init__(self, kernel: Kernel, X: Array, groups: Bools) -> None:
        self._kernel, self._X = kernel, X
        self._rows_of = [np.flatnonzero(column) for column in groups.T]
        self._crosses: dict[Path, Cross] = {}

    def on(self, path: Path) -> Cross:
        """Of queries on one path."""
        if path not in self._crosses:
            members = [(c, self._rows_of[c.node]) for c in self._kernel.on(path)]
            self._crosses[path] = Cross(members, self._X, self._kernel.eta)
        return self._crosses[path]

    def cross(self, A: Array) -> Array:
        """(len(A), rows), queries of any paths."""
        K = np.empty((len(A), len(self._X)))
        for path, rows in self._kernel.space.tree.rows_by_path(A).items():
            K[rows] = self.on(path)(A[rows])
        return K

    def with_slopes(self, A: Array) -> tuple[Array, list[tuple[Index, Slopes]]]:
        """`cross`, and its derivatives by the coordinates of A for groups of its rows."""
        K, slopes = np.empty((len(A), len(self._X))), []
        for path, rows in self._kernel.space.tree.rows_by_path(A).items():
            K[rows], of_path = self.on(path).with_slopes(A[rows])
            slopes.append((rows, of_path))
        return K, slopes


class Outside:
    """The points outside: where to put inducing points, and what they say."""

    def __init__(self, kernel: Kernel, X: Array, z: Array, noise: Array) -> None:
        merged = merge(X, z, noise)
        X = X[merged.first]
        self._kernel, self._X, self._z = kernel, X, merged.y
        self._noise = merged.variance(kernel.noise)
        self._diagonal = kernel.diagonal(X)
        self._against = kernel.against(X)

    def choose(self, m: int) -> Array:
        """m rows to start from, or all: each the one explained least by those before it."""
        m = min(m, len(self._X))
        left = self._diagonal.copy()
        explained = np.zeros((m, len(left)))
        chosen: list[int] = []
        for k in range(m):
            i = int(np.argmax(left))
            chosen.append(i)
            column = self._against.cross(self._X[[i]])[0]
            rest = column - explained[:k, i] @ explained[:k]
            explained[k] = rest / np.sqrt(max(left[i], NOISE_FLOOR))
            left = np.maximum(left - explained[k] ** 2, 0.0)
            left[chosen] = -np.inf  # once only
        return self._X[chosen]

    def optimise(self, U: Array) -> Array:
        """Positions by L-BFGS-B, in the active continuous coordinates: all else stays."""
        space = self._kernel.space
        continuous = np.array([d.parameter.is_continuous for d in space.dimensions])
        free = space.activity(U) & continuous
        if not free.any() or len(U) == len(self._X):  # nothing can move, or to gain
            return U

        def negative(flat: Array) -> tuple[float, Array]:
            moved = U.copy()
            moved[free] = flat
            value, gradient = self.log_likelihood(moved)
            return -value, -gradient[free]

        found = scipy.optimize.minimize(
            negative,
            U[free],
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, 1.0)] * int(free.sum()),
            options={"maxiter": _STEPS},
        )
        moved = U.copy()
        moved[free] = found.x
        return moved

    def log_likelihood(self, U: Array) -> tuple[float, Array]:
        """log N(z; 0, Q_oo + Lambda) and its gradient by U, (m, d).

        With C = Q_oo + Lambda, b = C^-1 z and G = d/dC = (b b' - C^-1) / 2, whose diagonal does
        not count as C has a fixed one: d/dK_uo = 2 A G and d/dK_uu = -A G A'.
        """
        K_uu, among = self._kernel.against(U).with_slopes(U)
        K_uo, towards = self._against.with_slopes(U)
        L, V, residual = self.explained(K_uu, K_uo)
        noise = self._noise + residual
        W = V / noise
        LB, _ = cholesky(np.eye(len(U)) + W @ V.T)
        b = (self._z - V.T @ solve(LB, W @ self._z)) / noise
        value = -0.5 * (
            float(self._z @ b)
            + 2.0 * float(np.log(np.diag(LB)).sum())
            + float(np.log(2.0 * np.pi * noise).sum())
        )
        # The factors are small and V wide: products with inverses are faster than solving.
        root, root_B = (solve_lower(factor, np.eye(len(U))) for factor in (L, LB))
        A = root.T @ V
        H = root_B @ W
        inverse_diagonal = 1.0 / noise - np.einsum("ij,ij->j", H, H)  # of C^-1
        AC = (root_B @ root).T @ H  # A C^-1
        AG = 0.5 * (np.outer(A @ b, b) - AC - A * (b**2 - inverse_diagonal))
        by_uu = -AG @ A.T
        gradient = np.zeros_like(U)
        for rows, slopes in towards:
            gradient[rows] += slopes.times(2.0 * AG[rows])[0]
        for rows, slopes in among:
            gradient[rows] += slopes.times(2.0 * by_uu[rows])[0]
        return value, gradient

    def summarise(self, U: Array) -> _Seen:
        """q(u) / p(u) as m observations of u."""
        L, V, residual = self.explained(self._kernel.cross(U, U), self._against.cross(U))
        scale = 1.0 / np.sqrt(self._noise + residual)
        # Lambda^-1/2 A' = Q T L^-1, so that the precision A Lambda^-1 A' has the root T L^-1.
        Q, T = scipy.linalg.qr((V * scale).T, mode="economic")
        R = solve_lower(L, T.T, transposed=True).T
        return _Seen(U, R, Q.T @ (scale * self._z))

    def explained(self, K_uu: Array, K_uo: Array) -> tuple[Array, Array, Array]:
        """The factor L of K_uu, V = L^-1 K_uo, and the variances that U leaves unexplained."""
        L, _ = cholesky(K_uu + _RELATIVE_JITTER * np.diag(np.diag(K_uu)))
        V = solve_lower(L, K_uo)
        return L, V, np.maximum(self._diagonal - np.einsum("ij,ij->j", V, V), 0.0)


@dataclass(frozen=True)
class LocalGlobalPosterior:
    """What is believed about f, at rows of any path."""

    kernel: Kernel
    seen: _Seen
    factor: _Factor

    @property
    def eta(self) -> Array:
        return self.kernel.eta

    def on_path(self, path: Sequence[int]) -> LocalGlobalBelief:
        cross = self.kernel.against(self.seen.X).on(tuple(path))
        return LocalGlobalBelief(self.kernel, self.kernel.on(path), cross, self.factor)

    def with_pending(self, X: Array) -> LocalGlobalPosterior:
        """The same mean with less variance: the mean is believed at new rows."""
        scale = np.full(len(X), 1.0 / np.sqrt(self.kernel.noise + NOISE_FLOOR))
        seen = self.seen.joined(_Seen(X, np.diag(scale), np.zeros(len(X))))
        alpha = np.concatenate([self.factor.alpha, np.zeros(len(X))])
        return replace(self, seen=seen, factor=replace(self.kernel.condition(seen), alpha=alpha))


class LocalGlobalBelief:
    """The posterior at rows of one path: a `Belief`."""

    def __init__(
        self, kernel: Kernel, components: Sequence[Component], cross: Cross, factor: _Factor
    ) -> None:
        self._kernel, self._components = kernel, components
        self._cross, self._factor = cross, factor

    def moments(self, X: Array) -> tuple[Array, Array]:
        K = self._cross(X)
        V = solve_lower(self._factor.L, self._factor.R @ K.T)
        variance = self._kernel.prior_variance(self._components, X)
        variance = variance - np.einsum("ij,ij->j", V, V)
        return K @ self._factor.alpha, np.maximum(variance, NOISE_FLOOR)

    def moments_with_gradients(self, X: Array) -> tuple[Array, Array, Array, Array]:
        factor = self._factor
        K, slopes = self._cross.with_slopes(X)
        V = solve_lower(factor.L, factor.R @ K.T)
        variance = self._kernel.prior_variance(self._components, X)
        variance = variance - np.einsum("ij,ij->j", V, V)
        gain = solve_lower(factor.L, V, transposed=True).T @ factor.R
        by_mean, by_variance = slopes.times(factor.alpha, gain)
        mean = K @ factor.alpha
        return mean, np.maximum(variance, NOISE_FLOOR), by_mean, -2.0 * by_variance
