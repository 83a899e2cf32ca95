"""The leaves of a regression tree as regions, path by path."""

from __future__ import annotations

from collections.abc import Sequence

from bosquet.arrays import Array
from bosquet.models.cart import Cell
from bosquet.search.region import Region
from bosquet.search.tree_path import on_path
from bosquet.space import Space
from bosquet.space.tree import Path


def regions(space: Space, cell: Cell, paths: Sequence[Path]) -> list[Region]:
    """The parts of a cell on those of the given paths that it allows."""
    centre = _centre(space, cell)
    others = {k: v for k, v in cell.allowed.items() if not space.tree.choice(k).is_branching}
    return [
        Region(space, on_path(space, path, centre[None].copy())[0], cell.lower, cell.upper, others)
        for path in paths
        if _allows(space, cell, path)
    ]


def _allows(space: Space, cell: Cell, path: Path) -> bool:
    taken = space.tree.options_of(path)
    return all(taken[choice] in cell.allowed[choice] for choice in taken if choice in cell.allowed)


def _centre(space: Space, cell: Cell) -> Array:
    """A row inside: at an edge where values are discrete, as edges are values of trials."""
    x = 0.5 * (cell.lower + cell.upper)
    for d in space.dimensions:
        low, high = cell.lower[d.index], cell.upper[d.index]
        if d.parameter.is_category or d.parameter.is_branching:
            if d.index in cell.allowed:
                x[d.index] = space.tree.choice(d.index).unit_of(cell.allowed[d.index][0])
        elif not d.parameter.is_continuous:
            x[d.index] = high if high < 1.0 else low if low > 0.0 else 0.5
    return x
