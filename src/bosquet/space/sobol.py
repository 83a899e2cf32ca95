"""Points of scrambled Sobol sequences: bit by bit those of ``scipy.stats.qmc.Sobol``.

Made here because loading scipy.stats takes longer than all else that a first proposal needs. The
direction numbers (Joe and Kuo 2008) are read from a file of SciPy's; without it, SciPy is asked.

    P   bits of a coordinate
    V   directions, (dimension, P): V[d, k] flips bits of coordinate d, see ``sobol``
    L   lower triangular matrices of bits, (dimension, P, P), of the scrambling (Matousek 1998)
"""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path

import numpy as np
import scipy
from numpy.typing import NDArray

from bosquet.arrays import Array

Bits = NDArray[np.int64]  # whole numbers, looked at bit by bit

P = 30
_POWERS = 1 << np.arange(P)
FILE = Path(scipy.__file__).parent / "stats" / "_sobol_direction_numbers.npz"
_HELD = 4  # scramblings: a run goes on with its own, models have a few of theirs


def sobol(dimension: int, seed: int, start: int, n: int) -> Array:
    """Points ``start .. start + n - 1`` of the scrambled Sobol sequence that a seed names."""
    try:
        directions, shift = scrambled(dimension, seed)
    except (OSError, LookupError):  # the file is no part of SciPy's interface
        return of_scipy(dimension, seed, start, n)
    number = np.arange(start, start + n)
    gray = number ^ (number >> 1)
    points = np.tile(shift, (n, 1))
    for k in range((start + n - 1).bit_length()):
        points ^= np.where(gray[:, None] & (1 << k), directions[:, k], 0)
    return points.astype(np.float64) * 2.0**-P


def of_scipy(dimension: int, seed: int, start: int, n: int) -> Array:
    """The same points, slowly."""
    from scipy.stats import qmc

    engine = qmc.Sobol(dimension, rng=np.random.default_rng(seed))
    block = engine.random_base2(math.ceil(math.log2(start + n)))
    return np.asarray(block[start : start + n])


@lru_cache(maxsize=_HELD)
def scrambled(dimension: int, seed: int) -> tuple[Bits, Bits]:
    """Directions and the first point, drawn in the order in which SciPy draws."""
    (rng,) = np.random.default_rng(seed).spawn(1)
    shift = rng.integers(2, size=(dimension, P), dtype=np.uint32) @ _POWERS
    L = np.tril(rng.integers(2, size=(dimension, P, P), dtype=np.uint32), -1) + np.eye(P)
    highest_first = _POWERS[::-1, None]
    bits = (initial_directions(dimension)[:, None, :] & highest_first) > 0  # (dimension, P, P)
    mixed = (L @ bits).astype(np.int64) & 1
    return (mixed * highest_first).sum(axis=1), shift


@lru_cache(maxsize=_HELD)
def initial_directions(dimension: int) -> Bits:
    polynomials, first = direction_numbers()
    m = np.zeros((dimension, P), dtype=np.int64)
    m[:1] = 1
    for d in range(1, dimension):
        polynomial = int(polynomials[d])
        degree = polynomial.bit_length() - 1
        m[d, :degree] = first[d, :degree]
        for j in range(degree, P):  # the recurrence whose coefficients are the polynomial's
            m[d, j] = m[d, j - degree]
            for k in range(1, degree + 1):
                if polynomial >> (degree - k) & 1:
                    m[d, j] ^= m[d, j - k] << k
    return m * _POWERS[::-1]


@lru_cache(maxsize=1)
def direction_numbers() -> tuple[Bits, Bits]:
    """Primitive polynomials as bits, (most dimensions,), and the numbers each begins with."""
    with np.load(FILE) as kept:
        return kept["poly"], kept["vinit"]
