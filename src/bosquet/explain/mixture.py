"""Several posteriors as one: moments, quantiles and sample functions, in the values of the trials.

Glossary (V views, m rows, S draws, q levels)
    z       targets of a view: a view sees values through its own increasing map, `Scale`
    y       values with the sign that is minimised. Every view says z ~ N(mean, variance); the
            distribution of y is the weighted mixture of what these normals become under the maps
    centre  the mean of y by a view: (V, m)

A view that is too sure (`View.asked`) has the standard deviation of its z multiplied. Quantiles
follow from that, so that a long tail on one side does not become one on both. Means stay what they
are without it, as they would grow without bound where the map is an exponential function; sample
functions are stretched about the centre of y, which keeps it. Chances of new bests have odds of
their own (`held_out`), and no part in this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import scipy

from bosquet.arrays import Array
from bosquet.explain.fit import View
from bosquet.explain.held_out import with_odds
from bosquet.linalg import cholesky
from bosquet.space import Space
from bosquet.threads import one_thread

DRAWS = 64  # sample functions, in pairs on both sides of a mean
_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(16)
_SHARES = _NODE_WEIGHTS / _NODE_WEIGHTS.sum()
_HALVINGS = 60


class Mixture:
    """What the views believe together."""

    def __init__(self, space: Space, views: Sequence[View]) -> None:
        self._space = space
        self._views = tuple(views)
        self._weights = np.array([view.weight for view in views])
        self._wider = np.array([view.asked.wider for view in views])

    # -- one row at a time -------------------------------------------------------------------

    def mean_and_sd(self, X: Array, *, noise: bool = False) -> tuple[Array, Array]:
        """Of y, by quadrature: (m,) each."""
        return self._mean_and_sd(*self._moments(X, noise))

    def levels(self, X: Array) -> Array:
        """About the mean of y, for searches: what the mean of z becomes, best theta alone."""
        total, weight = np.zeros(len(X)), 0.0
        for view in self._views:
            if view.is_best:
                for path, rows in self._space.tree.rows_by_path(X).items():
                    z = view.posterior.on_path(path).moments(X[rows])[0]
                    total[rows] += view.weight * view.scale.to_y(z)
                weight += view.weight
        return total / weight

    def quantiles(self, X: Array, levels: Sequence[float], *, noise: bool = False) -> Array:
        """Of y: (q, m)."""
        return self._quantiles(*self._moments(X, noise), levels)

    def improvement(self, X: Array, below: float) -> tuple[Array, Array]:
        """The probability that y is lower than ``below``, and by how much on average: (m,) each."""
        mean, variance = self._moments(X, noise=False)
        # Equally likely places of a normal distribution.
        spread = scipy.special.ndtri((np.arange(128) + 0.5) / 128)
        chance, gain = np.zeros((2, len(X)))
        for i, view in enumerate(self._views):
            sd = np.sqrt(variance[i])
            fitted = scipy.special.ndtr((view.scale.to_z(np.array(below)) - mean[i]) / sd)
            doubted = with_odds(fitted, view.asked.odds)
            y = view.scale.to_y(mean[i][:, None] + sd[:, None] * spread)
            lower = np.maximum(below - y, 0.0).mean(axis=1)
            chance += view.weight * doubted
            gain += view.weight * lower * doubted / np.maximum(fitted, np.finfo(float).tiny)
        return chance, gain

    @one_thread()
    def room(self, X: Array, below: float) -> float:
        """The probability that y is lower than ``below`` in any row."""
        found = [
            (len(y), with_odds((y.min(axis=1) < below).mean(), view.asked.odds))
            for view, y, _ in self._drawn(X, DRAWS)
        ]
        return float(sum(n * share for n, share in found) / sum(n for n, _ in found))

    def left_out(self, levels: Sequence[float]) -> tuple[Array, Array, Array]:
        """Mean, standard deviation and quantiles of each fitted trial's y, given all others."""
        mean, variance = self._left_out
        return *self._mean_and_sd(mean, variance), self._quantiles(mean, variance, levels)

    def left_out_levels(self, y: Array) -> Array:
        """The probability of less than ``y``, of each fitted trial given all others."""
        return self._below(y, *self._left_out)

    @cached_property
    def _left_out(self) -> tuple[Array, Array]:
        found = [view.model.left_out_moments(view.theta) for view in self._views]
        return np.array([m for m, _ in found]), np.array([v for _, v in found])

    @property
    def spread(self) -> float:
        """The standard deviation of the fitted values."""
        scale = self._views[0].scale
        return float(np.ldexp(scale.spread, scale.exponent))

    @one_thread()
    def _moments(self, X: Array, noise: bool) -> tuple[Array, Array]:
        """Of z, by view: (V, m) each."""
        mean, variance = np.empty((2, len(self._views), len(X)))
        paths = self._space.tree.rows_by_path(X)
        for i, view in enumerate(self._views):
            for path, rows in paths.items():
                belief = view.posterior.on_path(path)
                mean[i, rows], variance[i, rows] = belief.moments(X[rows])
            variance[i] += view.noise if noise else 0.0
        return mean, variance

    def _quadrature(self, mean: Array, variance: Array) -> Array:
        """y of each view at the nodes of a quadrature: (V, m, k)."""
        z = mean[..., None] + np.sqrt(variance)[..., None] * _NODES
        return np.array([view.scale.to_y(one) for view, one in zip(self._views, z, strict=True)])

    def _sd(self, variance: Array) -> Array:
        """Of z, widened: (V, m)."""
        return self._wider[:, None] * np.sqrt(variance)

    def _mean_and_sd(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        y = self._quadrature(mean, variance)
        centres = y @ _SHARES
        centre = self._weights @ centres
        away = _stretched(y, centres[..., None], self._wider[:, None, None]) - centre[:, None]
        size = size_of(away)
        square = np.einsum("v,vmk,k->m", self._weights, (away / size) ** 2, _SHARES)
        return centre, size * np.sqrt(square)

    def _quantiles(self, mean: Array, variance: Array, levels: Sequence[float]) -> Array:
        places = scipy.special.ndtri(np.asarray(levels, dtype=float))[:, None]
        each = np.array(
            [
                view.scale.to_y(m + s * places)
                for view, m, s in zip(self._views, mean, self._sd(variance), strict=True)
            ]
        )  # (V, q, m): those of the mixture lie between
        low, high = each.min(axis=0), each.max(axis=0)
        wanted = np.asarray(levels, dtype=float)[:, None]
        for _ in range(_HALVINGS):
            middle = 0.5 * low + 0.5 * high
            below = self._below(middle, mean, variance)
            low, high = (
                np.where(below < wanted, middle, low),
                np.where(below < wanted, high, middle),
            )
        return np.asarray(0.5 * low + 0.5 * high)

    def _below(self, y: Array, mean: Array, variance: Array) -> Array:
        """The probability of less than y."""
        below = np.zeros(np.shape(y))
        sd = self._sd(variance)
        for i, view in enumerate(self._views):
            below += view.weight * scipy.special.ndtr((view.scale.to_z(y) - mean[i]) / sd[i])
        return below

    # -- all rows together -------------------------------------------------------------------

    @one_thread()
    def draws(self, X: Array, n: int = DRAWS) -> Array:
        """Sample functions at rows of any paths: (S, m); they come in pairs about a mean.

        The same ones for the same rows, so that what is said about a study does not change. Where
        a view is too sure, they are further from their mean.
        """
        return np.vstack(
            [_stretched(y, centre, view.asked.wider) for view, y, centre in self._drawn(X, n)]
        )

    def _drawn(self, X: Array, n: int) -> Iterator[tuple[View, Array, Array]]:
        """Sample functions by view, and the centre of its y."""
        rng = np.random.default_rng(0)
        for view, pairs in zip(self._views, self._pairs(n), strict=True):
            if pairs:
                mean, covariance = view.posterior.joint(X)
                away = rng.standard_normal((pairs, len(X))) @ root(covariance).T
                spread = np.sqrt(np.maximum(np.diag(covariance), 0.0))
                centre = view.scale.to_y(mean[:, None] + spread[:, None] * _NODES) @ _SHARES
                yield view, view.scale.to_y(np.vstack([mean + away, mean - away])), centre

    def _pairs(self, n: int) -> list[int]:
        """How many pairs of draws each view has: as its weight says, none left over."""
        ends = np.round(np.cumsum(self._weights) / self._weights.sum() * max(n // 2, 1)).astype(int)
        return [int(k) for k in np.diff(ends, prepend=0)]


def _stretched(y: Array, centre: Array, factor: float | Array) -> Array:
    """Values about a centre, that much further away from it; as they are where it is 1."""
    return np.asarray(factor * y + (1.0 - factor) * centre)


def size_of(values: Array) -> float:
    """The largest magnitude, by which to divide before squaring; 1 where all is zero."""
    return float(np.max(np.abs(values), initial=0.0)) or 1.0


def root(covariance: Array) -> Array:
    """A matrix R with R R' = covariance, which may be singular.

    Where trials leave no doubt, a covariance is rounding and has no Cholesky factor.
    """
    try:
        return cholesky(covariance)[0]
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(covariance)
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def interval_levels(level: float) -> tuple[float, float]:
    """The quantiles between which a central interval lies."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level={level!r} must lie between 0 and 1, as 0.9 does")
    return 0.5 - level / 2, 0.5 + level / 2
