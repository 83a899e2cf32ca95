"""The log likelihoods of one Gaussian process for many hyper-parameters at once.

A sampler wants the values at hundreds of thetas, and no gradients. With the few rows of a leaf,
stacked factorisations cost little more than one likelihood does by itself.

Glossary (s thetas, n distinct rows, sorted by how much they count, d coordinates)
    K       (s, n, n)   covariances with noise
    v       (s, n)      L^-1 y: the last row of the factor of K with y appended as a row
    shares  (n,)        how often a row counts in the sum over nested sets of rows (`nested`)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bosquet.arrays import Array, Bools
from bosquet.kernels.components import Component
from bosquet.kernels.stationary import SHAPES
from bosquet.models.priors import Hyperparameters
from bosquet.models.repeats import merge

ENTRIES = 1_000_000  # of covariances that are held at once
_HUGE = 1e300  # the corner of the appended matrix, whose factor is not used
_LOG_2PI = float(np.log(2.0 * np.pi))

Bend = Callable[[Array, Array], Array]
"""Rows (n, d), thetas (s, T) -> the rows as each theta bends them, (s, n, d)"""


class ManyLikelihoods:
    """log N(y; mean, K) at given rows, theta by theta; the arguments are those of `AdditiveGP`.

    ``bend`` changes the rows first, as theta says.
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
        bend: Bend | None = None,
    ) -> None:
        noise = np.full(len(y), np.nan) if noise is None else noise
        self._merged = merged = merge(np.column_stack([X, Z]), y, noise)
        self._weights = np.ones(len(y)) if weights is None else weights
        order = np.argsort(-self._weights[merged.first], kind="stable")
        rows = merged.first[order]
        self._X, self._shares = X[rows], self._weights[rows]
        self._y = merged.y[order]
        self._fixed, self._share = merged.fixed[order], merged.share[order]
        self._components, self._hyper, self._bend = tuple(components), hyper, bend
        self._active = [np.flatnonzero(Z[rows, c.node]) for c in components]
        self._distances = [
            np.array([f.distances(self._X[at], self._X[at]).ravel() for f in c.features])
            for c, at in zip(components, self._active, strict=True)
        ]
        self._at_once = max(ENTRIES // (len(rows) + 1) ** 2, 1)

    def __call__(self, thetas: Array, means: Array) -> Array:
        """At thetas of the covariance and of what bends it, (s, T), with a mean each: (s,).

        It is -inf where K has no factor.
        """
        starts = range(0, len(thetas), self._at_once)
        parts = [slice(start, start + self._at_once) for start in starts]
        return np.concatenate([self._some(thetas[part], means[part]) for part in parts])

    def _some(self, thetas: Array, means: Array) -> Array:
        hyper, n = self._hyper, len(self._y)
        eta = hyper.offset + thetas[:, : len(hyper.mean)] @ hyper.matrix.T
        bent = None if self._bend is None else self._bend(self._X, thetas)
        appended = np.zeros((len(eta), n + 1, n + 1))
        K, diagonal = appended[:, :n, :n], np.arange(n)
        for i, at in enumerate(self._active):
            K[:, at[:, None], at] += self._covariances(i, eta, bent)
        K[:, diagonal, diagonal] += self._fixed + np.exp(eta[:, -1:]) * self._share
        appended[:, n, :n] = self._y - means[:, None]
        appended[:, n, n] = _HUGE
        L = factors(appended)
        log_density = L[:, n, :n] ** 2 + 2.0 * np.log(L[:, diagonal, diagonal]) + _LOG_2PI
        value = -0.5 * (log_density @ self._shares)
        if self._merged.repeated:
            value += [self._merged.log_scatter(one, self._weights)[0] for one in eta[:, -1]]
        return np.where(np.isfinite(value), value, -np.inf)

    def _covariances(self, i: int, eta: Array, bent: Array | None) -> Array:
        """Of component i, at the rows where it is active: (s or 1, m, m)."""
        component, at = self._components[i], self._active[i]
        v = np.exp(eta[:, component.variance])[:, None, None]
        if component.kind == "constant":
            return np.broadcast_to(v, (len(eta), len(at), len(at)))
        w = np.exp(-2.0 * eta[:, list(component.lengths)])
        if bent is None:
            r2 = (w @ self._distances[i]).reshape(-1, len(at), len(at))
        else:
            r2 = np.zeros((len(eta), len(at), len(at)))
            for j, f in enumerate(component.features):
                x = bent[:, at, f.dimension]
                r2 += w[:, j, None, None] * f.distance(x[:, :, None], x[:, None, :])
        return np.asarray(v * SHAPES[component.kind](r2)[0])


def factors(K: Array) -> Array:
    """Lower factors of a stack; those that have none are NaN."""
    try:
        return np.asarray(np.linalg.cholesky(K))
    except np.linalg.LinAlgError:
        L = np.full_like(K, np.nan)
        for i, one in enumerate(K):
            try:
                L[i] = np.linalg.cholesky(one)
            except np.linalg.LinAlgError:
                continue
        return L
