"""A Gaussian process on the log-odds of success, by Laplace's approximation.

C. E. Rasmussen and C. K. I. Williams. Gaussian Processes for Machine Learning. MIT Press, 2006,
sections 3.4 and 5.5.

==========  =======  =================================================================
symbol      shape    meaning
==========  =======  =================================================================
K           (n, n)   covariance of the log-odds f
success     (n,)     1 where an evaluation succeeded, 0 where it failed
a           (n,)     d log P(success | f) / d f at the mode, where f = m + K a
W           (n,)     minus the second derivatives there
L           (n, n)   Cholesky factor of I + W^1/2 K W^1/2
==========  =======  =================================================================
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from bosquet.arrays import Array, Bools

_NEWTON = 50  # steps; a dozen are usual
_ENOUGH = 1e-9  # of the log posterior


@dataclass(frozen=True)
class Mode:
    """The most probable log-odds given outcomes, and what they leave of the prior."""

    K: Array
    success: Array
    a: Array
    f: Array
    log_posterior: float

    @property
    def _weights(self) -> Array:
        p = scipy.special.expit(self.f)
        return np.asarray(np.maximum(p * (1.0 - p), 1e-12))

    def evidence(self) -> tuple[float, Array]:
        """log P(success), approximately, and its symmetric derivative by K."""
        root = np.sqrt(self._weights)
        L = _factor(self.K, root)
        value = self.log_posterior - float(np.log(np.diag(L)).sum())
        # R = W^1/2 B^-1 W^1/2, and the variances diag(K - K R K) of the posterior.
        R = root[:, None] * scipy.linalg.cho_solve((L, True), np.diag(root))
        C = scipy.linalg.solve_triangular(L, root[:, None] * self.K, lower=True)
        variances = np.diag(self.K) - np.einsum("ij,ij->j", C, C)
        third = self._weights * (2.0 * scipy.special.expit(self.f) - 1.0)
        # Through the mode: half the variances times the third derivatives (Eq. 5.23 has the other
        # sign), and how the mode moves (Eq. 5.24).
        moved = 0.5 * variances * third
        moved = moved - R @ (self.K @ moved)
        through = np.outer(moved, self.a)
        by_K = 0.5 * (np.outer(self.a, self.a) - R) + 0.5 * (through + through.T)
        return value, by_K


def mode(K: Array, failed: Bools, prior: float, start: Array | None = None) -> Mode:
    """Algorithm 3.1, from the ``a`` of another mode; steps are halved until they are gains."""
    success = np.where(failed, 0.0, 1.0)

    def at(a: Array) -> Mode:
        f = prior + K @ a
        value = scipy.special.log_expit(np.where(failed, -f, f)).sum() - 0.5 * a @ (f - prior)
        return Mode(K, success, a, f, float(value))

    now = at(np.zeros(len(K)))
    if start is not None:
        other = at(start)
        now = other if other.log_posterior > now.log_posterior else now
    for _ in range(_NEWTON):
        p = scipy.special.expit(now.f)
        w = now._weights
        root = np.sqrt(w)
        b = w * (now.f - prior) + success - p
        inner = scipy.linalg.cho_solve((_factor(K, root), True), root * (K @ b))
        step = b - root * inner - now.a
        size = 1.0
        after = at(now.a + step)
        while after.log_posterior < now.log_posterior and size > 1e-6:
            size *= 0.5
            after = at(now.a + size * step)
        gain = after.log_posterior - now.log_posterior
        if gain > 0:
            now = after
        if gain < _ENOUGH:
            break
    return now


def _factor(K: Array, root: Array) -> Array:
    B = root[:, None] * K * root
    B[np.diag_indices_from(B)] += 1.0
    return np.asarray(scipy.linalg.cholesky(B, lower=True))
