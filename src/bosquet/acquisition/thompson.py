"""Thompson sampling: one function drawn from the posterior, seen at given points."""

from __future__ import annotations

import numpy as np

from bosquet.arrays import Array
from bosquet.linalg import cholesky


def draw(mean: Array, covariance: Array, rng: np.random.Generator) -> Array:
    """The values of one function at m points, with the jitter that their covariance needs."""
    level = float(np.mean(np.diag(covariance)))
    steady = covariance + 1e-8 * max(level, 1e-12) * np.eye(len(mean))
    return mean + cholesky(steady)[0] @ rng.standard_normal(len(mean))
