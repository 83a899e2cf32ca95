"""The leaves of a regression tree as regions, path by path."""

from __future__ import annotations

from collections.abc import Sequence

from bosquet.arrays import Array
from bosquet.kernels.features import is_category, is_continuous
from bosquet.models.cart import Cell
from bosquet.search.region import Region
from bosquet.search.tree_path import on_path
from bosquet.space import Space
from bosquet.space.structure import Path


def regions(space: Space, cell: Cell, paths: Sequence[Path]) -> list[Region]:
    """The parts of a cell on those of the given paths that it allows."""
    centre = _centre(space, cell)
    others = {k: v for k, v in cell.allowed.items() if k not in space.tree.children}
    return [
        Region(space, on_path(space, path, centre[None].copy())[0], cell.lower, cell.upper, others)
        for path in paths
        if _allows(space, cell, path)
    ]


def _allows(space: Space, cell: Cell, path: Path) -> bool:
    nodes = [space.nodes[index] for index in path]
    return all(
        node.options[0] in cell.allowed[node.choice]
        for node in nodes
        if len(node.options) == 1 and node.choice in cell.allowed
    )


def _centre(space: Space, cell: Cell) -> Array:
    """A row inside: at an edge where values are discrete, as edges are values of trials."""
    x = 0.5 * (cell.lower + cell.upper)
    for d in space.dimensions:
        low, high = cell.lower[d.index], cell.upper[d.index]
        if is_category(d.parameter) or d.index in space.tree.children:
            if d.index in cell.allowed:
                x[d.index] = (cell.allowed[d.index][0] + 0.5) / d.parameter.n_values
        elif not is_continuous(d.parameter):
            x[d.index] = high if high < 1.0 else low if low > 0.0 else 0.5
    return x
