"""Unit vectors to decode: random or low-discrepancy, with options or paths equally likely."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from bosquet.arrays import Array
from bosquet.errors import NothingFound
from bosquet.space.sobol import sobol
from bosquet.space.tree import Tree
from bosquet.text import must_be_one_of

MOST_REJECTED = 10_000  # in a row, before a feasible part counts as not to be found

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


def feasible(
    units: UnitStream,
    violations: Callable[[Array], Iterable[tuple[dict[str, Any], object | None]]],
    n: int,
) -> list[dict[str, Any]]:
    """The first n configurations of a stream that violate nothing.

    ``violations`` gives the configurations of unit rows, and what each of them violates.
    """
    found: list[dict[str, Any]] = []
    rejected = 0
    while len(found) < n:
        rows = units(max(n - len(found), min(2 * rejected, 1_000)))
        for config, violated in violations(rows):
            if violated is None:
                found.append(config)
                rejected = 0
            elif (rejected := rejected + 1) >= MOST_REJECTED:
                raise NothingFound(
                    f"{rejected} samples in a row violate a constraint (the last one "
                    f"{violated}): the feasible part is empty or too small to be found"
                )
    return found[:n]


def weigh_paths(tree: Tree, units: Array) -> Array:
    """Uniform coordinates of branching choices moved so that paths become equally likely."""
    units = units.copy()
    for index, counts in tree.paths_per_option.items():
        total = sum(counts)
        edges = np.cumsum([count / total for count in counts])[:-1]
        option = np.searchsorted(edges, units[:, index], side="right")
        units[:, index] = tree.choice(index).unit_of(option)
    return units
