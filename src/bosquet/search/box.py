"""Climbing in the continuous coordinates of a box."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bosquet.acquisition.base import Acquisition
from bosquet.arrays import Array
from bosquet.models.base import Belief
from bosquet.models.fitting import minimise


def climb(
    belief: Belief,
    acquisition: Acquisition,
    X: Array,
    continuous: Sequence[int],
    joined: Sequence[Callable[[Array], tuple[Array, Array]]] = (),
    bounds: tuple[Array, Array] | None = None,
) -> Array:
    """L-BFGS-B from all rows at once: their sum is maximised by maximising each.

    ``joined`` give values and gradients of what is added to the acquisition. ``bounds`` are the
    lowest and highest coordinates, (d,) each; the unit cube by default.
    """
    if not continuous:
        return X
    columns = list(continuous)
    start = X[:, columns]
    low, high = (np.zeros(X.shape[1]), np.ones(X.shape[1])) if bounds is None else bounds

    def negative(flat: Array) -> tuple[float, Array]:
        moved = X.copy()
        moved[:, columns] = flat.reshape(start.shape)
        values, gradients = acquisition.with_gradient(*belief.moments_with_gradients(moved))
        for one in joined:
            more, slopes = one(moved)
            values, gradients = values + more, gradients + slopes
        return -float(values.sum()), -gradients[:, columns].ravel()

    box = (np.tile(bound[columns], len(start)) for bound in (low, high))
    found, _ = minimise(negative, start.ravel(), *box, maxiter=50, ftol=1e-7)
    climbed = X.copy()
    climbed[:, columns] = found.reshape(start.shape)
    return climbed
