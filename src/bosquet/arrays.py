"""The arrays of the package, by what they hold."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Index = NDArray[np.int64]
"""Positions of rows, options or dimensions."""
