"""Configurations to unit vectors and back, whole lists at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bosquet.arrays import Array
from bosquet.space.tree import Tree

FILLER = 0.5  # what the unit coordinates of inactive parameters hold


def encode(tree: Tree, configs: Sequence[Mapping[str, Any]]) -> Array | None:
    """The (n, dimensions) matrix of complete configurations; None where one of them is not."""
    units = np.full((len(configs), len(tree.dimensions)), FILLER)
    rows: list[NDArray[np.int64]] = [np.arange(len(configs))]  # by node
    n_active = np.zeros(len(configs), dtype=np.int64)
    try:
        for node in tree.nodes:
            if node.index:
                parents = rows[node.parent]
                option = tree.choice(node.choice).option_index(units[:, node.choice])
                rows.append(parents[np.isin(option[parents], node.options)])
            mine = rows[node.index]
            n_active[mine] += len(node.dimensions)
            chosen = [configs[row] for row in mine.tolist()]
            for index in node.dimensions:
                name = tree.dimensions[index].name
                values = [config[name] for config in chosen]
                units[mine, index] = tree.dimensions[index].parameter.to_unit(values)
        complete = np.array_equal(n_active, [len(config) for config in configs])
    except (LookupError, TypeError, ValueError, OverflowError):
        return None
    return units if complete else None


def decode(tree: Tree, units: Array) -> list[dict[str, Any]]:
    """The configurations of unit rows."""
    active = activity(tree, units)
    configs: list[dict[str, Any]] = [{} for _ in units]
    for dimension in tree.dimensions:
        rows = np.flatnonzero(active[:, dimension.index])
        values = dimension.parameter.from_unit(units[rows, dimension.index])
        name = dimension.name
        for row, value in zip(rows.tolist(), values, strict=True):
            configs[row][name] = value
    return configs


def activity(tree: Tree, units: Array) -> NDArray[np.bool_]:
    """Which coordinates of each row are active: (n, dimensions)."""
    return tree.node_activity(units)[:, tree.node_of_dimension]
