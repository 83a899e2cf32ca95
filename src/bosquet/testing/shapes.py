"""What every shape of a kernel must be, whoever wrote it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bosquet.arrays import Array
from bosquet.kernels.stationary import Shape

_POINTS = 80  # of each matrix whose eigenvalues are looked at
_SCALES = (0.3, 1.0, 4.0)  # sides of the cube they are in, in length-scales
_STEP = 1e-4  # of finite differences, as a part of r2


def check_shape(shape: Shape, dimensions: Sequence[int] = (1, 2, 5, 20)) -> None:
    """Raises AssertionError where a function cannot be the shape of a kernel (`SHAPES`).

    It must return the covariance and its slope, be 1 at distance 0, have the slope that finite
    differences have, and give covariance matrices without negative eigenvalues.

    Args:
        shape: the function, of squared distances in length-scales: ``(k, dk / d r2)``.
        dimensions: numbers of features in which matrices are looked at.
    """
    r2 = np.logspace(-3, 2, 60).reshape(6, 10)
    slope = _pair(shape, r2)[1]
    at_zero = float(_pair(shape, np.zeros(1))[0][0])
    assert np.isclose(at_zero, 1.0), f"it must be 1 at distance 0, and is {at_zero:.6g}"
    above, below = (_pair(shape, r2 * (1 + sign * _STEP))[0] for sign in (1, -1))
    differences = (above - below) / (2 * _STEP * r2)
    wrong = ~np.isclose(slope, differences, rtol=1e-3, atol=1e-6)
    if wrong.any():
        first = tuple(np.argwhere(wrong)[0])
        raise AssertionError(
            f"the slope by r2 at r2 = {r2[first]:.3g} is {slope[first]:.6g}, but finite "
            f"differences give {differences[first]:.6g}"
        )
    rng = np.random.default_rng(0)
    for d in dimensions:
        for scale in _SCALES:
            _check_matrix(shape, scale * rng.random((_POINTS, d)))


def _check_matrix(shape: Shape, X: Array) -> None:
    distances = np.sum((X[:, None] - X) ** 2, axis=2)
    lowest = float(np.linalg.eigvalsh(_pair(shape, distances)[0])[0])
    assert lowest > -1e-8 * len(X), (
        f"it is not positive definite in {X.shape[1]} dimensions: "
        f"a matrix of {len(X)} points has the eigenvalue {lowest:.3g}"
    )


def _pair(shape: Shape, r2: Array) -> tuple[Array, Array]:
    returned = shape(r2.copy())
    assert isinstance(returned, tuple), f"it must return (k, dk / d r2), not {type(returned)}"
    assert len(returned) == 2, f"it must return (k, dk / d r2), not {len(returned)} things"
    for name, array in zip(("k", "the slope"), returned, strict=True):
        got = np.shape(array)
        assert got == r2.shape, f"{name} must have the shape of r2, {r2.shape}, not {got}"
    return returned
