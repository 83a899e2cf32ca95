"""Targets as a model wants them: zero mean, unit variance, perhaps with bad values compressed.

Where a search fails in many ways and succeeds in one, bad values spread over decades: how bad they
are says little about where good ones lie, and a covariance that has to explain it explains nothing
else. So values above the median may be compressed by a logarithm, in units of the spread below it.
Good values are left as they are, because the search has to tell them apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bosquet.arrays import Array

COMPRESSED = 1.0  # the strength of a compression that the evidence may ask for
_ORDINARY = 300  # the largest power of two, and its inverse, that values may be near
_NO_INFORMATION = 1e6  # a noise variance beyond which a standardised target says nothing


def compress(s: Array, strength: float) -> tuple[Array, Array]:
    """log(1 + strength s) / strength of what is above 0, and the log of the slope everywhere."""
    above = np.log1p(strength * np.maximum(s, 0.0))
    return (np.where(s > 0.0, above / strength, s) if strength else s), -above


def expand(t: Array, strength: float) -> Array:
    """The values that `compress` gives ``t`` for."""
    if not strength:
        return t
    return np.where(t > 0.0, np.expm1(strength * np.maximum(t, 0.0)) / strength, t)


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
    """The map between values y and targets z that given values define; increasing."""

    exponent: int
    centre: float
    spread: float
    strength: float
    """Of the compression of values above the centre; 0 is none."""
    middle: float
    width: float

    @classmethod
    def of(cls, y: Array, strength: float = 0.0) -> Scale:
        e = exponent(y)
        y = np.ldexp(y, -e)
        centre, spread = lower_half(y) if strength else moments(y)
        t, _ = compress((y - centre) / spread, strength)
        return cls(e, centre, spread, strength, *moments(t))

    def to_z(self, y: Array) -> Array:
        return self.with_slope(y)[0]

    def with_slope(self, y: Array) -> tuple[Array, Array]:
        """The targets, and their derivative by y in units of two to the power of the exponent."""
        s = (np.ldexp(y, -self.exponent) - self.centre) / self.spread
        t, log_slope = compress(s, self.strength)
        return (t - self.middle) / self.width, np.exp(log_slope) / (self.spread * self.width)

    def to_y(self, z: Array) -> Array:
        s = expand(self.middle + self.width * np.asarray(z), self.strength)
        return np.ldexp(self.centre + self.spread * s, self.exponent)


def transform(y: Array, noise: Array, strength: float = 0.0) -> Targets:
    """The targets a model is fitted to."""
    scale = Scale.of(y, strength)
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


def moments(y: Array) -> tuple[float, float]:
    """Mean and standard deviation; 1 for values that do not differ, and safe for huge ones."""
    size = float(np.max(np.abs(y)))
    if size == 0.0:
        return 0.0, 1.0
    scaled = y / size
    sd = float(np.std(scaled))
    return float(np.mean(scaled)) * size, (sd if sd > 1e-12 else 1.0) * size


def lower_half(y: Array) -> tuple[float, float]:
    """The median, and the spread of what is below it; of all values where nothing is."""
    median = float(np.median(y))
    below = y[y < median]
    size = float(np.max(np.abs(y)))
    if not len(below) or size == 0.0:
        return median, moments(y)[1]
    spread = size * float(np.sqrt(np.mean((below / size - median / size) ** 2)))
    return median, spread if spread > 1e-12 * size else moments(y)[1]
