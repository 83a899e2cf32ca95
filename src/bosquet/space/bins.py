"""Equal bins of [0, 1]: the unit coordinates of values that are finitely many."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bosquet.arrays import Array, Index


def bin_centre(index: NDArray[Any] | int, n: int) -> Any:
    return (index + 0.5) / n


def bin_index(units: Array, n: int) -> Index:
    return np.clip(np.floor(units * n), 0, n - 1).astype(np.int64)
