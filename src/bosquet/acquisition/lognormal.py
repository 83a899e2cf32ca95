"""Expected improvement of a cost whose logarithm is normal (Hutter et al., 2012; "logEI" of SMAC).

With log cost ~ N(m, s^2), v = (log best - m) / s: EI = best Phi(v) - exp(m + s^2 / 2) Phi(v - s).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from bosquet.arrays import Array


@dataclass(frozen=True)
class LognormalEI:
    """The logarithm of the improvement expected below exp(``log_best``)."""

    log_best: float

    def value(self, mean: Array, variance: Array) -> Array:
        sd = np.sqrt(variance)
        v = (self.log_best - mean) / sd
        kept = self.log_best + scipy.special.log_ndtr(v)
        lost = mean + 0.5 * variance + scipy.special.log_ndtr(v - sd)
        # lost < kept; far below the mean rounding may say otherwise.
        return np.asarray(kept + np.log(-np.expm1(np.minimum(lost - kept, -1e-15))))
