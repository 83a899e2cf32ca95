"""Thompson sampling: one function drawn from the posterior, seen at given points."""

from __future__ import annotations

import numpy as np

from bosquet.arrays import Array
from bosquet.linalg import cholesky

_JITTERS = (1e-8, 1e-4, 1e-2, 1.0, 1e2, 1e4, 1e6, 1e8)  # relative to the mean variance


def draw(mean: Array, covariance: Array, rng: np.random.Generator) -> Array:
    """The values of one function at m points, with the jitter that their covariance needs.

    A posterior covariance is a difference: where hardly anything is left to learn, its rounding
    errors are larger than itself, and so is then the jitter.
    """
    level = max(float(np.mean(np.diag(covariance))), 1e-12)
    white = rng.standard_normal(len(mean))
    for jitter in _JITTERS:
        try:
            root, _ = cholesky(covariance + jitter * level * np.eye(len(mean)))
        except np.linalg.LinAlgError:
            continue
        return np.asarray(mean + root @ white)
    raise np.linalg.LinAlgError("the posterior covariance is not finite")
