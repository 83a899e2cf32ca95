"""Unit vectors to decode: random or low-discrepancy, with options or paths equally likely."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

import numpy as np

from bosquet.errors import must_be_one_of
from bosquet.space.parameter import Array
from bosquet.space.structure import Tree

By = Literal["option", "path"]
Method = Literal["random", "sobol"]
UnitStream: TypeAlias = Callable[[int], Array]
"""The next n unit vectors: (n, dimensions)."""


def unit_stream(tree: Tree, rng: np.random.Generator, by: By, method: Method) -> UnitStream:
    for what, given, known in (("by", by, get_args(By)), ("method", method, get_args(Method))):
        if given not in known:
            raise ValueError(must_be_one_of(what, given, known))
    dimension = len(tree.dimensions)
    seed = int(rng.integers(2**32)) if method == "sobol" else None
    drawn = 0

    def draw(n: int) -> Array:
        nonlocal drawn
        units = rng.random((n, dimension)) if seed is None else sobol(dimension, seed, drawn, n)
        drawn += n
        return weigh_paths(tree, units) if by == "path" else units

    return draw


def sobol(dimension: int, seed: int, start: int, n: int) -> Array:
    """Points ``start .. start + n - 1`` of the scrambled Sobol sequence that a seed names."""
    from scipy.stats import qmc  # imported late: scipy.stats is slow to load

    engine = qmc.Sobol(dimension, rng=np.random.default_rng(seed))
    block = engine.random_base2(math.ceil(math.log2(start + n)))
    return np.asarray(block[start : start + n])


def weigh_paths(tree: Tree, units: Array) -> Array:
    """Uniform coordinates of branching choices moved so that paths become equally likely."""
    units = units.copy()
    for index, counts in tree.paths_per_option.items():
        total = sum(counts)
        edges = np.cumsum([count / total for count in counts])[:-1]
        option = np.searchsorted(edges, units[:, index], side="right")
        units[:, index] = (option + 0.5) / len(counts)
    return units
