"""Input warping (Snoek, Swersky, Zemel & Adams, 2014): every variable on a bent axis of its own.

A warp is a distribution function on [0, 1] with two shapes a and b; both 1 is the identity. Small
a stretches the low end, small b the high end. Their logarithms are hyper-parameters like others:
fitted, sampled, and in a treed model estimated along the path of a leaf (HTBO WARP).

``beta``          the Beta distribution function, as in the papers; slopes by a and b by differences
``kumaraswamy``   1 - (1 - x^a)^b: nearly the same family with everything in closed form
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from scipy.special import betainc, betaln

from bosquet.arrays import Array
from bosquet.models.base import Belief
from bosquet.models.covariance import Covariance, SpaceGP, SpacePosterior
from bosquet.models.fitting import maximise, with_prior
from bosquet.models.gp import AdditiveGP, Posterior
from bosquet.models.priors import Hyperparameters

WarpName = Literal["beta", "kumaraswamy"]
Warp = Callable[[Array, Array, Array], tuple[Array, Array, Array, Array]]
"""x, log a, log b -> the warped x, and its slopes by x, log a and log b"""

_SD = 0.5  # of the normal priors of log a and log b
_BOUND = 1.5  # log a and log b lie within
_INSIDE = 1e-9  # from the ends of [0, 1], where slopes may be infinite
_STEP = 1e-5  # of the differences


def kumaraswamy(x: Array, log_a: Array, log_b: Array) -> tuple[Array, Array, Array, Array]:
    a, b = np.exp(log_a), np.exp(log_b)
    value = 1.0 - (1.0 - x**a) ** b
    log_x = np.log(_inside(x))
    log_rest = np.log1p(-np.exp(a * log_x))  # of 1 - x^a
    by_log_x = a * b * np.exp(a * log_x + (b - 1.0) * log_rest)
    by_b = -b * log_rest * np.exp(b * log_rest)
    return value, by_log_x * np.exp(-log_x), by_log_x * log_x, by_b


def beta(x: Array, log_a: Array, log_b: Array) -> tuple[Array, Array, Array, Array]:
    a, b = np.exp(log_a), np.exp(log_b)
    up, down = np.exp(_STEP), np.exp(-_STEP)
    by_a = (betainc(a * up, b, x) - betainc(a * down, b, x)) / (2.0 * _STEP)
    by_b = (betainc(a, b * up, x) - betainc(a, b * down, x)) / (2.0 * _STEP)
    value, x = betainc(a, b, x), _inside(x)
    density = np.exp((a - 1.0) * np.log(x) + (b - 1.0) * np.log1p(-x) - betaln(a, b))
    return value, density, by_a, by_b


def _inside(x: Array) -> Array:
    return np.clip(x, _INSIDE, 1.0 - _INSIDE)


WARPS: dict[str, Warp] = {"beta": beta, "kumaraswamy": kumaraswamy}


def warp_name(warp: bool | WarpName) -> WarpName | None:
    """What the option ``warp`` of a strategy means."""
    if isinstance(warp, bool):
        return "kumaraswamy" if warp else None
    if warp not in WARPS:
        raise ValueError(f"warp={warp!r} must be True, False, 'beta' or 'kumaraswamy'")
    return warp


def on_rows(
    covariance: Covariance, X: Array, z: Array, noise: Array, warp: WarpName | None
) -> SpaceGP | WarpedGP:
    """The GP of targets at rows, as they are or warped."""
    if warp is None:
        return SpaceGP(covariance, X, z, noise)
    return WarpedGP(covariance, X, z, noise, warp)


class WarpedGP:
    """A GP whose covariance sees the continuous variables of its space warped: a `PathModel`.

    theta is that of the covariance followed by log a and by log b of every warped variable.
    """

    def __init__(
        self,
        covariance: Covariance,
        X: Array,
        z: Array,
        noise: Array | None = None,
        warp: WarpName = "kumaraswamy",
    ) -> None:
        self._covariance, self._X, self._z, self._noise = covariance, X, z, noise
        self._warp = WARPS[warp]
        space = covariance.space
        self._warped = [d.index for d in space.dimensions if d.parameter.is_continuous]
        self._active = space.activity(X)[:, self._warped]
        self.hyper = _with_warps(covariance.hyper, self._warped)

    def _split(self, theta: Array) -> tuple[Array, Array, Array]:
        n, k = len(self._covariance.hyper.mean), len(self._warped)
        return theta[:n], theta[n : n + k], theta[n + k :]

    def _bent(self, theta: Array) -> tuple[Array, Bent]:
        own, log_a, log_b = self._split(theta)
        return own, Bent(self._warp, self._warped, log_a, log_b)

    def _gp(self, rows: Array) -> AdditiveGP:
        return self._covariance.on_rows(rows, self._z, self._noise)

    def log_likelihood(self, theta: Array) -> tuple[float, Array]:
        own, log_a, log_b = self._split(theta)
        rows = self._X.copy()
        warped, _, by_a, by_b = self._warp(rows[:, self._warped], log_a, log_b)
        rows[:, self._warped] = warped
        value, gradient, by_rows = self._gp(rows).log_likelihood_by_rows(own)
        slope = self._covariance.pull_back(rows, by_rows)[:, self._warped] * self._active
        return value, np.concatenate(
            [gradient, (slope * by_a).sum(axis=0), (slope * by_b).sum(axis=0)]
        )

    def log_posterior(self, theta: Array) -> tuple[float, Array]:
        return with_prior(self.log_likelihood, self.hyper, theta)

    def fit(self, starts: Sequence[Array], max_iterations: int = 200) -> tuple[Array, float]:
        return maximise(self.log_posterior, self.hyper, starts, max_iterations)

    def posterior(self, theta: Array) -> WarpedPosterior:
        own, bent = self._bent(theta)
        additive = self._gp(bent(self._X)).posterior(own)
        return WarpedPosterior(bent, SpacePosterior(self._covariance, additive))

    def leave_one_out(self, theta: Array) -> Array:
        own, bent = self._bent(theta)
        return self._gp(bent(self._X)).leave_one_out(own)

    def left_out_moments(self, theta: Array) -> tuple[Array, Array]:
        own, bent = self._bent(theta)
        return self._gp(bent(self._X)).left_out_moments(own)


def _with_warps(hyper: Hyperparameters, warped: Sequence[int]) -> Hyperparameters:
    """The hyper-parameters of a covariance, and two for each warped coordinate.

    eta does not depend on these.
    """
    none = np.zeros(2 * len(warped))
    return Hyperparameters(
        hyper.offset,
        np.hstack([hyper.matrix, np.zeros((len(hyper.offset), len(none)))]),
        np.concatenate([hyper.mean, none]),
        np.concatenate([hyper.sd, none + _SD]),
        np.concatenate([hyper.lower, none - _BOUND]),
        np.concatenate([hyper.upper, none + _BOUND]),
        (*hyper.names, *(f"warp {shape} {index}" for shape in "ab" for index in warped)),
        np.concatenate([hyper.sd if hyper.below is None else hyper.below, none + _SD]),
    )


class Bent:
    """Rows of a space with their continuous variables warped by given shapes."""

    def __init__(self, warp: Warp, warped: list[int], log_a: Array, log_b: Array) -> None:
        self._warp, self._warped = warp, warped
        self._shapes = log_a, log_b

    def __call__(self, X: Array) -> Array:
        return self.with_slopes(X)[0]

    def with_slopes(self, X: Array) -> tuple[Array, Array]:
        """The warped rows, and the slope of every coordinate by itself."""
        bent, slopes = X.copy(), np.ones_like(X)
        here = self._warped
        bent[:, here], slopes[:, here], _, _ = self._warp(X[:, here], *self._shapes)
        return bent, slopes


class WarpedPosterior:
    """The posterior at warped rows, asked at rows before they are warped."""

    def __init__(self, bent: Bent, inner: SpacePosterior) -> None:
        self._bent, self._inner = bent, inner

    @property
    def eta(self) -> Array:
        return self._inner.eta

    @property
    def additive(self) -> Posterior:
        """The posterior at warped rows."""
        return self._inner.additive

    def on_path(self, path: Sequence[int]) -> Belief:
        return _WarpedBelief(self._bent, self._inner.on_path(path))

    def joint(self, X: Array) -> tuple[Array, Array]:
        return self._inner.joint(self._bent(X))

    def with_pending(self, X: Array) -> WarpedPosterior:
        return WarpedPosterior(self._bent, self._inner.with_pending(self._bent(X)))


class _WarpedBelief:
    def __init__(self, bent: Bent, belief: Belief) -> None:
        self._bent, self._belief = bent, belief

    def moments(self, X: Array) -> tuple[Array, Array]:
        return self._belief.moments(self._bent(X))

    def moments_with_gradients(self, X: Array) -> tuple[Array, Array, Array, Array]:
        bent, slopes = self._bent.with_slopes(X)
        mean, variance, by_mean, by_variance = self._belief.moments_with_gradients(bent)
        return mean, variance, by_mean * slopes, by_variance * slopes
