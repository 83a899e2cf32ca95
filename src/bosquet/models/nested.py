"""The weighted log likelihoods of nested sets of rows, all from one Cholesky factor.

Glossary (n rows, the smallest set first; set i holds the first n_i rows and has weight w_i)
    L    the factor of K; its leading block is the factor of the rows of a smaller set
    v    L^-1 y; the leading part belongs to a smaller set too
    s    (n,) by row, the sum of the w_i of all sets that hold it: it never grows along the rows

So Eq. (2) of HTBO, in which a leaf is nested in all cells above it, costs as much as its largest
cell alone:

    sum_i w_i log N(y_i; 0, K_i) = - sum_j s_j (v_j^2 + 2 log L_jj + log 2 pi) / 2
    sum_i w_i K_i^-1 = L^-1' diag(s) L^-1
"""

from __future__ import annotations

import numpy as np
import scipy

from bosquet.arrays import Array
from bosquet.linalg import cholesky, symmetric

_LOG_2PI = float(np.log(2.0 * np.pi))


def weighted_log_likelihood(K: Array, y: Array, shares: Array) -> tuple[float, Array, Array]:
    """sum_i w_i log N(y_i; 0, K_i), and its gradients by K (lower triangle) and by y.

    ``shares`` are s; rows may come in any order. Of K the lower triangle is read.
    """
    order = np.argsort(-shares, kind="stable")
    sorted_already = bool((order[1:] > order[:-1]).all())
    if not sorted_already:
        K, y, shares = symmetric(K)[np.ix_(order, order)], y[order], shares[order]
    L, _ = cholesky(K)
    root, info = scipy.linalg.lapack.dtrtri(L, lower=1)
    if info != 0:
        raise np.linalg.LinAlgError("the Cholesky factor is singular")
    v = root @ y
    log_density = v**2 + 2.0 * np.log(np.diag(L)) + _LOG_2PI
    value = -0.5 * float(shares @ log_density)
    weighted, _ = scipy.linalg.lapack.dlauum(
        np.sqrt(shares)[:, None] * root, lower=1
    )  # sum_i w_i K_i^-1
    by_K = -0.5 * np.asarray(weighted)
    alpha, by_y = np.zeros(len(y)), np.zeros(len(y))
    ends = np.flatnonzero(np.append(shares[1:] < shares[:-1], True)) + 1
    start = 0
    for end in ends:
        alpha += root[start:end].T @ v[start:end]  # K_i^-1 y_i, and zeros
        weight = shares[end - 1] - (shares[end] if end < len(y) else 0.0)
        by_K += np.multiply.outer(0.5 * weight * alpha, alpha)
        by_y -= weight * alpha
        start = int(end)
    if sorted_already:
        return value, by_K, by_y
    back = np.argsort(order)
    return value, symmetric(by_K)[np.ix_(back, back)], by_y[back]
