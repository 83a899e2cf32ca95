"""Targets as a model wants them: zero mean, unit variance, perhaps less skewed.

The Yeo-Johnson family (Yeo & Johnson, 2000) is applied to standardised targets; lambda = 1 is the
identity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bosquet.arrays import Array

_ORDINARY = 300  # the largest power of two, and its inverse, that values may be near
_NO_INFORMATION = 1e6  # a noise variance beyond which a standardised target says nothing


def yeo_johnson(y: Array, lam: float) -> tuple[Array, Array]:
    """The transformed values and log dt/dy."""
    magnitude = np.log1p(np.abs(y))
    power = np.where(y >= 0, lam, 2.0 - lam)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        transformed = np.where(power == 0.0, magnitude, np.expm1(power * magnitude) / power)
    return np.sign(y) * transformed, (power - 1.0) * magnitude


def undo_yeo_johnson(t: Array, lam: float) -> Array:
    """The values that `yeo_johnson` gives ``t`` for; lambda between 0 and 2, where all have one."""
    power = np.where(t >= 0, lam, 2.0 - lam)
    size = np.abs(t)
    with np.errstate(divide="ignore", invalid="ignore"):
        magnitude = np.where(power == 0.0, size, np.log1p(power * size) / power)
    return np.asarray(np.sign(t) * np.expm1(magnitude))


@dataclass(frozen=True)
class Targets:
    """Standardised, transformed and standardised again."""

    z: Array
    noise: Array
    """Variances of z by the delta method; NaN where unknown."""
    log_jacobian: float
    """log |dz / dy|, summed; what a likelihood of z needs to be one of y."""


@dataclass(frozen=True)
class Scale:
    """The map between values y and targets z that given values define; increasing.

    Beyond the lowest and the highest of these it runs no steeper from z to y than there, where the
    transform would be an exponential function: a model that is unsure believes in no huge values.
    """

    exponent: int
    centre: float
    spread: float
    lam: float
    middle: float
    width: float
    ends: tuple[float, float]
    """The lowest and the highest value, standardised."""

    @classmethod
    def of(cls, y: Array, lam: float = 1.0) -> Scale:
        e = exponent(y)
        y = np.ldexp(y, -e)
        centre, spread = moments(y)
        s = (y - centre) / spread
        t, _ = yeo_johnson(s, lam)
        return cls(e, centre, spread, lam, *moments(t), (float(s.min()), float(s.max())))

    def to_z(self, y: Array) -> Array:
        s = self._standardised(y)
        t, _ = yeo_johnson(s, self.lam)
        low, high = (at + (s - end) * np.exp(slope) for end, at, slope in self._tangents)
        t = np.where(s < self.ends[0], np.minimum(t, low), t)
        t = np.where(s > self.ends[1], np.maximum(t, high), t)
        return np.asarray((t - self.middle) / self.width)

    def with_slope(self, y: Array) -> tuple[Array, Array]:
        """The targets, and their derivative by y in units of two to the power of the exponent."""
        t, log_slope = yeo_johnson(self._standardised(y), self.lam)
        return (t - self.middle) / self.width, np.exp(log_slope) / (self.spread * self.width)

    def to_y(self, z: Array) -> Array:
        t = self.middle + self.width * np.asarray(z)
        with np.errstate(over="ignore"):
            s = undo_yeo_johnson(t, self.lam)
        low, high = (end + (t - at) * np.exp(-slope) for end, at, slope in self._tangents)
        s = np.where(s < self.ends[0], np.maximum(s, low), s)
        s = np.where(s > self.ends[1], np.minimum(s, high), s)
        return np.ldexp(self.centre + self.spread * s, self.exponent)

    def _standardised(self, y: Array) -> Array:
        return np.asarray((np.ldexp(y, -self.exponent) - self.centre) / self.spread)

    @property
    def _tangents(self) -> list[tuple[float, float, float]]:
        """At both ends: the end, what it becomes, and the logarithm of the slope."""
        ends = np.array(self.ends)
        return list(zip(self.ends, *(p.tolist() for p in yeo_johnson(ends, self.lam)), strict=True))


def transform(y: Array, noise: Array, lam: float = 1.0) -> Targets:
    """The targets a model is fitted to."""
    scale = Scale.of(y, lam)
    z, slope = scale.with_slope(y)
    with np.errstate(over="ignore"):
        sd = np.ldexp(np.sqrt(noise), -scale.exponent)
        spoiled = np.minimum((sd * slope) ** 2, _NO_INFORMATION)
    log_jacobian = float(np.sum(np.log(slope))) - len(y) * scale.exponent * float(np.log(2.0))
    return Targets(z, spoiled, log_jacobian)


def exponent(y: Array) -> int:
    """The power of two by which to divide values before computing with them.

    It is 0 for ordinary ones; near the ends of the floats slopes would overflow, or differences.
    """
    e = int(np.frexp(np.max(np.abs(y)))[1])
    return e if abs(e) > _ORDINARY else 0


def log_prior_of_lambda(lam: float) -> float:
    """Centred on the identity: a transform can break additivity, so it must be worth it."""
    return -0.5 * ((lam - 1.0) / 0.75) ** 2


def moments(y: Array) -> tuple[float, float]:
    """Mean and standard deviation; 1 for values that do not differ, and safe for huge ones."""
    size = float(np.max(np.abs(y)))
    if size == 0.0:
        return 0.0, 1.0
    scaled = y / size
    sd = float(np.std(scaled))
    return float(np.mean(scaled)) * size, (sd if sd > 1e-12 else 1.0) * size
