"""The configuration of the declared defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bosquet.errors import SpaceError
from bosquet.space.constraints import Constraint, Forbid
from bosquet.space.encoding import FILLER
from bosquet.space.parameter import Choice

if TYPE_CHECKING:
    from bosquet.space.space import Space


_BATCH = 500


def default_config(space: Space, draws: int) -> dict[str, Any]:
    """Declared defaults; elsewhere the first option or the middle of the range.

    Where that violates a constraint, the parameters without a declared default are drawn, at most
    so many times.
    """
    rng = np.random.default_rng(0)
    units = np.full(len(space), FILLER)
    free, declared = [], []
    for dimension in space.dimensions:
        parameter = dimension.parameter
        if parameter.default is not None:
            declared.append(dimension)
            units[dimension.index] = parameter.to_unit([parameter.default])[0]
        else:
            free.append(dimension.index)
            if isinstance(parameter, Choice):
                units[dimension.index] = parameter.to_unit(parameter.options[:1])[0]
    violated: Forbid | Constraint | None = None
    drawn = 0
    while drawn < (draws if free else 1):
        rows = np.tile(units, (_BATCH if drawn else 1, 1))
        if drawn:
            rows[:, free] = rng.random((len(rows), len(free)))
        drawn += len(rows)
        configs = space.from_unit(rows)
        for config, active in zip(configs, space.activity(rows), strict=True):
            fixed = {d.name: d.parameter.default for d in declared if active[d.index]}
            config |= fixed  # to the last digit
            violated = space.violation(config)
            if violated is None:
                return dict(config)
    whatever = f" in each of {drawn - 1} draws of the other parameters" if free else ""
    raise SpaceError(f"the declared defaults violate the constraint {violated}{whatever}")
