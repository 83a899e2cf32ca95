"""What a search asks of a model."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Belief(Protocol):
    """The posterior of f at rows of one path, or of one component of it."""

    def moments(self, X: Array) -> tuple[Array, Array]:
        """Mean and variance at m rows: (m,) each."""

    def moments_with_gradients(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """`moments`, and their derivatives by the ordered coordinates: (m, d)."""
