"""The configuration of the declared defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bosquet.arrays import Array, Bools
from bosquet.errors import SpaceError
from bosquet.space.constraints import Constraint, Forbid
from bosquet.space.encoding import FILLER
from bosquet.space.parameter import Choice

if TYPE_CHECKING:
    from bosquet.space.space import Space


_BATCH = 500


def default_units(space: Space) -> Array:
    """Unit coordinates of the declared defaults; elsewhere the first option or the middle."""
    units = np.full(len(space), FILLER)
    for dimension in space.dimensions:
        parameter = dimension.parameter
        if parameter.default is not None:
            units[dimension.index] = parameter.to_unit([parameter.default])[0]
        elif isinstance(parameter, Choice) and parameter.is_category:
            units[dimension.index] = parameter.unit_of(0)
    return units


def default_of_path(space: Space, options: Mapping[int, int]) -> dict[str, Any]:
    """The defaults, but for choices (by dimension) whose options are given, as those of a path."""
    units = default_units(space)
    for choice, option in options.items():
        units[choice] = space.tree.choice(choice).unit_of(option)
    declared = _declared(space, space.activity(units[None])[0])
    chosen = {space.dimensions[choice].name for choice in options}
    config = dict(space.from_unit(units))
    return config | {name: value for name, value in declared.items() if name not in chosen}


def _declared(space: Space, active: Bools) -> dict[str, Any]:
    """The declared defaults of active parameters, as declared: decoding changes last digits."""
    return {
        d.name: d.parameter.default
        for d in space.dimensions
        if active[d.index] and d.parameter.default is not None
    }


def default_config(space: Space, draws: int) -> dict[str, Any]:
    """Declared defaults; elsewhere the first option, or the middle of what is ordered.

    Where that violates a constraint, the parameters without a declared default are drawn, at most
    so many times.
    """
    rng = np.random.default_rng(0)
    units = default_units(space)
    free = [d.index for d in space.dimensions if d.parameter.default is None]
    violated: Forbid | Constraint | None = None
    drawn = 0
    while drawn < (draws if free else 1):
        rows = np.tile(units, (_BATCH if drawn else 1, 1))
        if drawn:
            rows[:, free] = rng.random((len(rows), len(free)))
        drawn += len(rows)
        configs = space.from_unit(rows)
        for config, active in zip(configs, space.activity(rows), strict=True):
            config |= _declared(space, active)
            violated = space.violation(config)
            if violated is None:
                return dict(config)
    whatever = f" in each of {drawn - 1} draws of the other parameters" if free else ""
    raise SpaceError(f"the declared defaults violate the constraint {violated}{whatever}")
