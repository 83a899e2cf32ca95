"""Rows at which a model is looked at: a few values of one parameter, others spread over a branch.

Everything is drawn uniformly in unit coordinates, every option of a choice alike, and constraints
are kept. The same space gives the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bosquet.arrays import Array
from bosquet.search.mixed import feasible
from bosquet.space import Space
from bosquet.space.sobol import sobol
from bosquet.space.tree import Dimension, Path

_TRIED = 16  # times as many rows as are wanted, where constraints leave few


def grid(dimension: Dimension, n: int) -> Array:
    """Unit coordinates of ``n`` values from end to end, ascending; of all values if they are few.

    Of many categories, which have no ends, every so many.
    """
    if dimension.parameter.is_category:
        return strata(dimension, n)
    return _distinct(dimension, np.linspace(0.0, 1.0, n))


def strata(dimension: Dimension, n: int) -> Array:
    """Unit coordinates in the middle of ``n`` equally likely parts; of all values if few."""
    return _distinct(dimension, (np.arange(n) + 0.5) / n)


def _distinct(dimension: Dimension, units: Array) -> Array:
    parameter = dimension.parameter
    if parameter.n_values <= len(units):
        return np.asarray(parameter.to_unit(list(parameter.values())))
    return np.unique(parameter.snap(units))


def values_at(dimension: Dimension, units: Array) -> list[object]:
    """The parameter's values at unit coordinates."""
    return list(dimension.parameter.from_unit(units))


def rows_on(space: Space, path: Path, n: int) -> Array:
    """Up to ``n`` rows of a path; fewer where constraints leave few."""
    return _spread(space, {c: (o,) for c, o in space.tree.options_of(path).items()}, n)


def rows_with(space: Space, node: int, n: int) -> Array:
    """Up to ``n`` rows in which a node is active, on whatever paths."""
    return _spread(space, {c.choice: c.options for c in space.tree.conditions(node)}, n)


def _spread(space: Space, options: Mapping[int, Sequence[int]], n: int) -> Array:
    """Up to ``n`` rows whose choices take given options, each alike."""
    units = sobol(len(space), 0, 0, n if not space.constraints else _TRIED * n)
    for choice, allowed in options.items():
        which = np.minimum((units[:, choice] * len(allowed)).astype(int), len(allowed) - 1)
        units[:, choice] = space.tree.choice(choice).unit_of(np.asarray(allowed)[which])
    rows = space.snap(units)
    return np.asarray(rows[feasible(space, rows)][:n])


def crossed(rows: Array, columns: Mapping[int, Array]) -> Array:
    """Every row with every value of some coordinates: (values, rows, d).

    ``columns`` are values of several coordinates, of the same number.
    """
    n = len(next(iter(columns.values())))
    many = np.repeat(rows[None], n, axis=0)
    for index, values in columns.items():
        many[:, :, index] = values[:, None]
    return many
