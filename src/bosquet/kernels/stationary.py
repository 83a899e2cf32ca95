"""Covariances as functions of the squared scaled distance, with their derivative by it.

r2 is the sum over features of (distance / length-scale)^2; a value at r2 = 0 is 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bosquet.arrays import Array

Shape = Callable[[Array], tuple[Array, Array]]
"""r2 -> (k, dk / d r2)"""


def matern52(r2: Array) -> tuple[Array, Array]:
    """(1 + s + s^2/3) exp(-s) with s = sqrt(5 r2): twice differentiable."""
    s = np.sqrt(5.0 * r2)
    decay = np.exp(-s)
    slope = (1.0 + s) * decay
    return slope + (s * s / 3.0) * decay, (-5.0 / 6.0) * slope


def squared_exponential(r2: Array) -> tuple[Array, Array]:
    """exp(-r2 / 2): infinitely smooth."""
    k = np.exp(-0.5 * r2)
    return k, -0.5 * k


SHAPES: dict[str, Shape] = {"matern52": matern52, "se": squared_exponential}
"""The shapes of kernels, by name: functions of squared distances in length-scales that return the
covariance and its slope by them. Add one of your own under a new name."""


def write_matern52(r2: Array, slope: Array | None) -> None:
    r2 *= 5.0
    s = np.sqrt(r2, out=slope)
    decay = np.negative(s)
    np.exp(decay, out=decay)
    s += 1.0
    r2 *= 1.0 / 3.0
    r2 += s
    r2 *= decay
    if slope is not None:
        slope *= decay
        slope *= -5.0 / 6.0


def write_squared_exponential(r2: Array, slope: Array | None) -> None:
    r2 *= -0.5
    np.exp(r2, out=r2)
    if slope is not None:
        np.multiply(r2, -0.5, out=slope)


PROPORTIONAL = {"se": -0.5}
"""Shapes whose slope is so many times the covariance: it need not be kept."""

WRITTEN: dict[str, Callable[[Array, Array | None], None]] = {
    "matern52": write_matern52,
    "se": write_squared_exponential,
}
"""Some of these shapes, which write the covariance over r2, and its slope where one is wanted: half
the time."""
