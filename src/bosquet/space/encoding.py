"""Configurations to unit vectors and back, whole lists at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bosquet.arrays import Array
from bosquet.errors import ConfigError
from bosquet.space.configs import complete
from bosquet.space.tree import Path, Tree

FILLER = 0.5  # what the unit coordinates of inactive parameters hold


def encode(tree: Tree, configs: Sequence[Mapping[str, Any]]) -> Array:
    """The (n, dimensions) matrix of complete configurations; ConfigError where one is not."""
    units = _encoded(tree, configs)
    if units is not None:
        return units
    for config in configs:  # Something is off: the slow way finds it and says what.
        complete(tree, config)
    raise ConfigError(f"{configs!r} cannot be encoded: values are of unusual types")


def _encoded(tree: Tree, configs: Sequence[Mapping[str, Any]]) -> Array | None:
    """The matrix; None where a configuration is not complete."""
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
        whole = np.array_equal(n_active, [len(config) for config in configs])
    except (LookupError, TypeError, ValueError, OverflowError):
        return None
    return units if whole else None


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


def snap(tree: Tree, units: Array) -> Array:
    """Unit rows as encoding their configurations would give them."""
    snapped = np.empty(units.shape)
    for dimension in tree.dimensions:
        snapped[:, dimension.index] = dimension.parameter.snap(units[:, dimension.index])
    if len(tree.nodes) > 1:
        snapped[~activity(tree, snapped)] = FILLER
    return snapped


def snap_on(tree: Tree, path: Path, units: Array) -> Array:
    """As `snap`, of rows with the branching choices of one path."""
    snapped = np.full(units.shape, FILLER)
    for node in path:
        for index in tree.nodes[node].dimensions:
            snapped[:, index] = tree.dimensions[index].parameter.snap(units[:, index])
    return snapped


def checked_units(units: Any, n_dimensions: int) -> Array:
    """A unit vector, or a matrix with one in each row, as a finite array."""
    try:
        array = np.asarray(units, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ConfigError(f"a unit vector is an array of numbers, not {units!r}") from None
    if array.ndim not in (1, 2) or array.shape[-1] != n_dimensions:
        raise ConfigError(
            f"a unit vector of this space has {n_dimensions} coordinates, "
            f"got an array of shape {array.shape}"
        )
    if not np.all(np.isfinite(array)):
        raise ConfigError("a unit vector must be finite")
    return array
