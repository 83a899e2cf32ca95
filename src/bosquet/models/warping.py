"""Input warping (Snoek, Swersky, Zemel & Adams, 2014): every variable on a bent axis of its own.

A warp is a distribution function on [0, 1] with two shapes a and b; both 1 is the identity. Small
a stretches the low end, small b the high end. Their logarithms are hyper-parameters like others:
fitted, sampled, and in a treed model estimated along the path of a leaf (HTBO WARP).

``beta``          the Beta distribution function, as in the papers; slopes by a and b by differences
``kumaraswamy``   1 - (1 - x^a)^b: nearly the same family with everything in closed form
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Literal

import numpy as np
import scipy

from bosquet.arrays import Array
from bosquet.models.base import Belief
from bosquet.models.covariance import Covariance, SpaceGP, SpacePosterior
from bosquet.models.fitting import maximise, with_prior
from bosquet.models.gp import AdditiveGP
from bosquet.models.many import ManyLikelihoods
from bosquet.models.posterior import Posterior
from bosquet.models.priors import Hyperparameters

WarpName = Literal["beta", "kumaraswamy"]
Warp = Callable[[Array, Array, Array], tuple[Array, Array, Array, Array]]
"""x, log a, log b -> the warped x, and its slopes by x, log a and log b"""

_SD = 0.5  # of the normal priors of log a and log b
_BOUND = 1.5  # log a and log b lie within
_INSIDE = 1e-9  # from the ends of [0, 1], where slopes may be infinite
_STEP = 1e-5  # of the differences
_MIRRORED = 4  # variables at most whose warps a cold fit also starts with mirrored


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
    by_a = (scipy.special.betainc(a * up, b, x) - scipy.special.betainc(a * down, b, x)) / (
        2.0 * _STEP
    )
    by_b = (scipy.special.betainc(a, b * up, x) - scipy.special.betainc(a, b * down, x)) / (
        2.0 * _STEP
    )
    value, x = scipy.special.betainc(a, b, x), _inside(x)
    density = np.exp((a - 1.0) * np.log(x) + (b - 1.0) * np.log1p(-x) - scipy.special.betaln(a, b))
    return value, density, by_a, by_b


def _inside(x: Array) -> Array:
    return np.clip(x, _INSIDE, 1.0 - _INSIDE)


WARPS: dict[str, Warp] = {"beta": beta, "kumaraswamy": kumaraswamy}
_VALUES: dict[str, Callable[[Array, Array, Array], Array]] = {  # x, a, b -> the warped x alone
    "beta": lambda x, a, b: np.asarray(scipy.special.betainc(a, b, x)),
    "kumaraswamy": lambda x, a, b: 1.0 - (1.0 - x**a) ** b,
}


def warp_name(warp: bool | WarpName) -> WarpName | None:
    """What the option ``warp`` of a strategy means."""
    if isinstance(warp, bool):
        return "kumaraswamy" if warp else None
    if warp not in WARPS:
        raise ValueError(f"warp={warp!r} must be True, False, 'beta' or 'kumaraswamy'")
    return warp


def on_rows(
    covariance: Covariance,
    X: Array,
    z: Array,
    noise: Array,
    warp: WarpName | None,
    weights: Array | None = None,
    mean: bool = False,
) -> SpaceGP | WarpedGP:
    """The GP of targets at rows, as they are or warped; with ``mean`` also that is fitted.

    ``weights`` of rows count in likelihoods only (`AdditiveGP`).
    """
    if warp is None and not mean:
        return SpaceGP(covariance, X, z, noise, weights)
    return WarpedGP(covariance, X, z, noise, warp, weights=weights, mean=mean)


class WarpedGP:
    """A GP whose covariance sees the continuous variables of its space warped: a `PathModel`.

    theta is that of the covariance, followed by log a and by log b of every warped variable and,
    with ``mean``, by the mean of the GP: it has no prior, and lies between the lowest and the
    highest target. Without ``warp`` no variable is warped.
    """

    def __init__(
        self,
        covariance: Covariance,
        X: Array,
        z: Array,
        noise: Array | None = None,
        warp: WarpName | None = "kumaraswamy",
        *,
        weights: Array | None = None,
        mean: bool = False,
    ) -> None:
        self._covariance, self._X, self._z = covariance, X, z
        self._noise = np.full(len(z), np.nan) if noise is None else noise
        self._weights = weights
        self._warp, self._value = WARPS[warp or "kumaraswamy"], _VALUES[warp or "kumaraswamy"]
        space = covariance.space
        continuous = [d.index for d in space.dimensions if d.parameter.is_continuous]
        self._warped = [] if warp is None else continuous
        self._active = space.activity(X)[:, self._warped]
        self._n_own = len(covariance.hyper.mean)
        self.hyper = _with_warps(covariance.hyper, self._warped)
        if mean:
            self.hyper = _with_mean(self.hyper, float(z.min()), float(z.max()))
        self._mean = mean
        # Rows that are not bent need not be sorted again for every theta.
        self._unbent: AdditiveGP | None = None
        if not self._warped:
            self._unbent = self._gp(X, 0.0)

    def _split(self, theta: Array) -> tuple[Array, Array, Array, float]:
        """theta of the covariance, log a, log b, and the mean."""
        n, k = self._n_own, len(self._warped)
        mean = float(theta[-1]) if self._mean else 0.0
        return theta[:n], theta[n : n + k], theta[n + k : n + 2 * k], mean

    def _bent(self, theta: Array) -> tuple[Array, Bent, float]:
        own, log_a, log_b, mean = self._split(theta)
        return own, Bent(self._warp, self._warped, log_a, log_b), mean

    def _gp(self, rows: Array, mean: float) -> AdditiveGP:
        if self._unbent is not None:
            return self._unbent.with_targets(self._z - mean, self._noise)
        return self._covariance.on_rows(rows, self._z - mean, self._noise, self._weights)

    def log_likelihood(self, theta: Array) -> tuple[float, Array]:
        own, log_a, log_b, mean = self._split(theta)
        if self._unbent is not None:
            value, gradient, slope_by_mean = self._unbent.log_likelihood_around(own, mean)
            return value, np.append(gradient, slope_by_mean) if self._mean else gradient
        rows = self._X.copy()
        warped, _, by_a, by_b = self._warp(rows[:, self._warped], log_a, log_b)
        rows[:, self._warped] = warped
        value, gradient, by_z, by_rows = self._gp(rows, mean).log_likelihood_by_rows(own)
        slope = self._covariance.pull_back(rows, by_rows)[:, self._warped] * self._active
        by_mean = [-float(by_z.sum())] if self._mean else []
        return value, np.concatenate(
            [gradient, (slope * by_a).sum(axis=0), (slope * by_b).sum(axis=0), by_mean]
        )

    def log_likelihoods(self, thetas: Array) -> Array:
        return self._many(thetas, thetas[:, -1] if self._mean else np.zeros(len(thetas)))

    @cached_property
    def _many(self) -> ManyLikelihoods:
        bend = self._many_bent if self._warped else None
        given = self._X, self._z, self._noise, self._weights
        return self._covariance.many_on_rows(*given, bend)

    def _many_bent(self, X: Array, thetas: Array) -> Array:
        n, k = self._n_own, len(self._warped)
        a, b = (np.exp(thetas[:, None, i : i + k]) for i in (n, n + k))
        bent = np.repeat(X[None], len(thetas), axis=0)
        bent[:, :, self._warped] = self._value(X[:, self._warped], a, b)
        return bent

    def log_posterior(self, theta: Array) -> tuple[float, Array]:
        return with_prior(self.log_likelihood, self.hyper, theta)

    def fit(self, starts: Sequence[Array], max_iterations: int = 200) -> tuple[Array, float]:
        """The best theta; a cold fit, one that starts from the prior, also tries mirrored warps.

        An axis that rises fast at first does so by a < 1 or by b > 1, which are optima apart. So
        from the one that was found a fit goes on with the warp of one variable mirrored, for each
        of the variables that are bent most.
        """
        theta, value = maximise(self.log_posterior, self.hyper, starts, max_iterations)
        if not any(np.array_equal(start, self.hyper.mean) for start in starts):
            return theta, value
        _, log_a, log_b, _ = self._split(theta)
        for variable in np.argsort(-np.hypot(log_a, log_b), kind="stable")[:_MIRRORED]:
            start = self._mirrored(theta, int(variable))
            other, reached = maximise(self.log_posterior, self.hyper, [start], max_iterations)
            if reached > value:
                theta, value = other, reached
        return theta, value

    def _mirrored(self, theta: Array, variable: int) -> Array:
        """theta with log a and log b of one warped variable exchanged, and their signs turned."""
        mirrored = theta.copy()
        a, b = self._n_own + variable, self._n_own + len(self._warped) + variable
        mirrored[a], mirrored[b] = -theta[b], -theta[a]
        return mirrored

    def posterior(self, theta: Array) -> WarpedPosterior:
        own, bent, mean = self._bent(theta)
        additive = self._gp(bent(self._X), mean).posterior(own)
        return WarpedPosterior(bent, SpacePosterior(self._covariance, additive), mean)

    def leave_one_out(self, theta: Array) -> Array:
        own, bent, mean = self._bent(theta)
        return self._gp(bent(self._X), mean).leave_one_out(own)

    def left_out_moments(self, theta: Array) -> tuple[Array, Array]:
        own, bent, mean = self._bent(theta)
        middle, variance = self._gp(bent(self._X), mean).left_out_moments(own)
        return middle + mean, variance


def _with_warps(hyper: Hyperparameters, warped: Sequence[int]) -> Hyperparameters:
    """The hyper-parameters of a covariance, and two for each warped coordinate."""
    none = np.zeros(2 * len(warped))
    names = tuple(f"warp {shape} {index}" for shape in "ab" for index in warped)
    return _extended(hyper, none, none + _SD, (none - _BOUND, none + _BOUND), names)


def _with_mean(hyper: Hyperparameters, lowest: float, highest: float) -> Hyperparameters:
    bounds = np.array([min(lowest, 0.0)]), np.array([max(highest, 0.0)])
    return _extended(hyper, np.zeros(1), np.array([np.inf]), bounds, ("mean",))


def _extended(
    hyper: Hyperparameters,
    mean: Array,
    sd: Array,
    bounds: tuple[Array, Array],
    names: tuple[str, ...],
) -> Hyperparameters:
    """With more thetas, which eta does not depend on."""
    return replace(
        hyper,
        matrix=np.hstack([hyper.matrix, np.zeros((len(hyper.offset), len(mean)))]),
        mean=np.concatenate([hyper.mean, mean]),
        sd=np.concatenate([hyper.sd, sd]),
        lower=np.concatenate([hyper.lower, bounds[0]]),
        upper=np.concatenate([hyper.upper, bounds[1]]),
        names=(*hyper.names, *names),
        below=np.concatenate([hyper.sd if hyper.below is None else hyper.below, sd]),
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

    def __init__(self, bent: Bent, inner: SpacePosterior, mean: float = 0.0) -> None:
        self._bent, self._inner, self._mean = bent, inner, mean

    @property
    def eta(self) -> Array:
        return self._inner.eta

    @property
    def covariance(self) -> Covariance:
        return self._inner.covariance

    @property
    def additive(self) -> Posterior:
        """The posterior at warped rows, of deviations from the mean."""
        return self._inner.additive

    def on_path(self, path: Sequence[int]) -> Belief:
        return _WarpedBelief(self._bent, self._inner.on_path(path), self._mean)

    def joint(self, X: Array) -> tuple[Array, Array]:
        mean, covariance = self._inner.joint(self._bent(X))
        return mean + self._mean, covariance

    def with_pending(self, X: Array) -> WarpedPosterior:
        return WarpedPosterior(self._bent, self._inner.with_pending(self._bent(X)), self._mean)


class _WarpedBelief:
    def __init__(self, bent: Bent, belief: Belief, mean: float) -> None:
        self._bent, self._belief, self._mean = bent, belief, mean

    def moments(self, X: Array) -> tuple[Array, Array]:
        mean, variance = self._belief.moments(self._bent(X))
        return mean + self._mean, variance

    def moments_with_gradients(self, X: Array) -> tuple[Array, Array, Array, Array]:
        bent, slopes = self._bent.with_slopes(X)
        mean, variance, by_mean, by_variance = self._belief.moments_with_gradients(bent)
        return mean + self._mean, variance, by_mean * slopes, by_variance * slopes
