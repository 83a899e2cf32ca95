"""Cholesky factors that report what they needed, and what is solved with them."""

from __future__ import annotations

import math

import numpy as np
import scipy

from bosquet.arrays import Array

_FIRST_JITTER = 1e-12  # relative to the mean of the diagonal
_LAST_JITTER = 1e-4


def cholesky(K: Array) -> tuple[Array, float]:
    """The lower factor of a symmetric matrix, and the jitter added to its diagonal (mostly 0).

    Only the lower triangle of K is read. Raises LinAlgError when even a large jitter does not
    help, or K is not finite.
    """
    level = float(K.trace()) / max(len(K), 1)
    factor, info = scipy.linalg.lapack.dpotrf(K, lower=1, clean=1)
    if info == 0 and math.isfinite(level):
        return factor, 0.0
    relative = _FIRST_JITTER
    while relative <= _LAST_JITTER and math.isfinite(level):
        jitter = relative * level
        factor, info = scipy.linalg.lapack.dpotrf(K + jitter * np.eye(len(K)), lower=1, clean=1)
        if info == 0:
            return factor, jitter
        relative *= 10
    raise np.linalg.LinAlgError("the covariance matrix is not positive definite")


def inverse_from_cholesky(L: Array) -> Array:
    """The lower triangle of the inverse of L L' (what is above it has no meaning)."""
    inverse, info = scipy.linalg.lapack.dpotri(L, lower=1)
    if info != 0:
        raise np.linalg.LinAlgError("the Cholesky factor is singular")
    return np.asarray(inverse)


def symmetric(lower: Array) -> Array:
    """The matrix with this lower triangle; what is above it is not read."""
    return np.asarray(np.tril(lower) + np.tril(lower, -1).T)


def solve(L: Array, right: Array) -> Array:
    """(L L')^-1 right."""
    solution, _ = scipy.linalg.lapack.dpotrs(L, right, lower=1)
    return np.asarray(solution)


def solve_lower(
    L: Array, right: Array, *, transposed: bool = False, overwrite: bool = False
) -> Array:
    """L^-1 right, or L'^-1 right; fastest when L is in Fortran order, as `cholesky` returns it.

    With ``overwrite`` the solution may take the place of ``right``, if that is in Fortran order.
    """
    if not len(L):  # which LAPACK refuses
        return np.asarray(right, dtype=float)
    solution, info = scipy.linalg.lapack.dtrtrs(
        L, right, lower=1, trans=int(transposed), overwrite_b=int(overwrite)
    )
    if info != 0:
        raise np.linalg.LinAlgError("the Cholesky factor is singular")
    return np.asarray(solution)


def grow_cholesky(L: Array, cross: Array, corner: Array) -> Array:
    """The factor of [[K, cross], [cross', corner]] from the factor L of K.

    n old and p new rows: ``cross`` is (n, p), ``corner`` (p, p).
    """
    n, p = cross.shape
    below = solve_lower(L, cross).T
    grown = np.zeros((n + p, n + p), order="F")
    grown[:n, :n] = L
    grown[n:, :n] = below
    rest = corner - below @ below.T
    # A new row that almost repeats an old one leaves nothing but rounding, which may be negative.
    np.fill_diagonal(rest, np.maximum(np.diag(rest), 1e-14 * np.diag(corner)))
    grown[n:, n:] = cholesky(rest)[0]
    return grown
