"""Climbing in the continuous coordinates of a box."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from bosquet.acquisition.base import Acquisition
from bosquet.models.base import Belief

Array = NDArray[np.float64]


def climb(
    belief: Belief,
    acquisition: Acquisition,
    X: Array,
    continuous: Sequence[int],
    joined: Callable[[Array], tuple[Array, Array]] | None = None,
) -> Array:
    """L-BFGS-B from all rows at once: their sum is maximised by maximising each.

    ``joined`` gives values and gradients of what is added to the acquisition.
    """
    if not continuous:
        return X
    columns = list(continuous)
    start = X[:, columns]

    def negative(flat: Array) -> tuple[float, Array]:
        moved = X.copy()
        moved[:, columns] = flat.reshape(start.shape)
        values, gradients = acquisition.with_gradient(*belief.moments_with_gradients(moved))
        if joined is not None:
            more, slopes = joined(moved)
            values, gradients = values + more, gradients + slopes
        return -float(values.sum()), -gradients[:, columns].ravel()

    found = minimize(
        negative,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, 1.0)] * start.size,
        options={"maxiter": 50, "ftol": 1e-7},
    )
    climbed = X.copy()
    climbed[:, columns] = found.x.reshape(start.shape)
    return climbed
