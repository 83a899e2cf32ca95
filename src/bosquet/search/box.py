"""Climbing in the continuous coordinates of a box."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from bosquet.acquisition.base import Acquisition
from bosquet.models.base import PathPosterior

Array = NDArray[np.float64]


def climb(
    posterior: PathPosterior,
    acquisition: Acquisition,
    components: Sequence[Any],
    X: Array,
    continuous: Sequence[int],
) -> Array:
    """L-BFGS-B from all rows at once: their sum is maximised by maximising each."""
    if not continuous:
        return X
    columns = list(continuous)
    start = X[:, columns]

    def negative(flat: Array) -> tuple[float, Array]:
        moved = X.copy()
        moved[:, columns] = flat.reshape(start.shape)
        values, gradients = acquisition.with_gradient(
            *posterior.moments_with_gradients(moved, components)
        )
        return -float(values.sum()), -gradients[:, columns].ravel()

    found = minimize(
        negative,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, 1.0)] * start.size,
        options={"maxiter": 60, "ftol": 1e-10},
    )
    climbed = X.copy()
    climbed[:, columns] = found.x.reshape(start.shape)
    return climbed
