"""What a search asks of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class PathPosterior(Protocol):
    """A belief about f that can be asked path by path.

    What `on_path` returns is the model's own affair (components, a leaf): a search only hands it
    back.
    """

    def on_path(self, path: Sequence[int]) -> Sequence[Any]: ...

    def moments(self, X: Array, parts: Sequence[Any], /) -> tuple[Array, Array]:
        """Mean and variance at the m rows of one path."""

    def moments_with_gradients(
        self, X: Array, parts: Sequence[Any], /
    ) -> tuple[Array, Array, Array, Array]:
        """`moments`, and their derivatives by the ordered coordinates: (m, d)."""
