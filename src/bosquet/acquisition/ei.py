"""Expected improvement below an incumbent, in log form.

With z = (best - mean) / sd and h(z) = phi(z) + z Phi(z), EI = sd h(z).
"""

from __future__ import annotations

import numpy as np
import scipy

from bosquet.arrays import Array

_LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)
_SQRT_HALF_PI = np.sqrt(0.5 * np.pi)
_FAR = -25.0  # below it, 1 + z * Phi/phi loses all digits to cancellation


def log_h(z: Array) -> Array:
    """log(phi(z) + z Phi(z)), accurate for every z.

    For z > -1 the plain formula; then log phi + log(1 + z Phi/phi) with Phi/phi from the scaled
    error function; below _FAR its asymptotic series, (1 - 3/z^2 + 15/z^4 - 105/z^6) / z^2.
    """
    z = np.asarray(z, dtype=float)
    near, not_far = z > -1.0, z > _FAR
    value = np.empty_like(z)
    for where, of in ((near, _near), (not_far & ~near, _middle), (~not_far, _far)):
        if where.all():
            return of(z)
        if where.any():
            value[where] = of(z[where])
    return value


def _near(z: Array) -> Array:
    return np.asarray(np.log(np.exp(-0.5 * z**2 - _LOG_SQRT_2PI) + z * scipy.special.ndtr(z)))


def _middle(z: Array) -> Array:
    ratio = _SQRT_HALF_PI * scipy.special.erfcx(-z / np.sqrt(2.0))
    return np.asarray(-0.5 * z**2 - _LOG_SQRT_2PI + np.log1p(z * ratio))


def _far(z: Array) -> Array:
    w = z**-2.0
    tail = np.log1p(w * (-3 + w * (15 - 105 * w)))
    return np.asarray(-0.5 * z**2 - _LOG_SQRT_2PI + np.log(w) + tail)


def log_ei(mean: Array, variance: Array, best: float | Array) -> Array:
    """The logarithm of the expected improvement below ``best``."""
    sd = np.sqrt(variance)
    return log_h((best - mean) / sd) + np.log(sd)


def log_ei_gradient(
    mean: Array, variance: Array, best: float | Array, by_mean: Array, by_variance: Array
) -> tuple[Array, Array]:
    """`log_ei` of m points and its gradient by their coordinates, (m, d); or of stacks of them."""
    sd = np.sqrt(variance)
    z = (best - mean) / sd
    value = log_h(z)
    # d EI / d mean = -Phi(z), d EI / d sd = phi(z); both divided by h(z) in log form.
    to_mean = -np.exp(scipy.special.log_ndtr(z) - value) / sd
    to_sd = np.exp(-0.5 * z**2 - _LOG_SQRT_2PI - value) / sd
    gradient = to_mean[..., None] * by_mean + (to_sd / (2.0 * sd))[..., None] * by_variance
    return value + np.log(sd), gradient
