"""The discrete part of a space, walked systematically: for when sampling finds nothing.

A *skeleton* gives a value to every active parameter that has finitely many of them; the continuous
ones stay open. A constraint is looked at as soon as all its parameters have been decided, so that
what it forbids is left out in whole branches, and a space of very many configurations can be walked
if few of them are allowed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bosquet.arrays import Array
from bosquet.space.constraints import Constraint, Forbid
from bosquet.space.parameter import Choice

if TYPE_CHECKING:
    from bosquet.space.space import Space


_MOST_KEPT = 10_000  # skeletons; where there are more, draws find them too


@dataclass(frozen=True)
class Walk:
    """The skeletons of a space that no constraint is known to forbid."""

    configs: list[dict[str, Any]]
    """Those without an open parameter: whole configurations."""
    open: Array
    """Those with one, as unit rows; NaN where they are open, and where nothing is active."""
    complete: bool
    """Whether these are all."""


def walk(space: Space, most: int) -> Walk:
    """The skeletons found by trying at most so many values of parameters."""
    configs: list[dict[str, Any]] = []
    rows: list[Array] = []
    skeletons = _Skeletons(space, most)
    complete = True
    for values, is_open in skeletons:
        if len(configs) + len(rows) >= _MOST_KEPT:
            complete = False
            break
        config = {space.dimensions[index].name: value for index, value in values.items()}
        if is_open:
            row = np.full(len(space), np.nan)
            for index, value in values.items():
                row[index] = space.dimensions[index].parameter.to_unit([value])[0]
            rows.append(row)
        elif space.violation(config) is None:
            configs.append(config)
    complete &= skeletons.tried <= most
    return Walk(configs, np.array(rows).reshape(-1, len(space)), complete)


class _Skeletons:
    """Depth first, in declared order; ends early when too many values have been tried."""

    def __init__(self, space: Space, most: int) -> None:
        self._space = space
        self._most = most
        self._decided = _decided(space)
        self.tried = 0

    def __iter__(self) -> Iterator[tuple[dict[int, Any], bool]]:
        """Values by dimension, and whether a continuous parameter is active beside them."""
        dimensions, tree = self._space.dimensions, self._space.tree
        values: dict[int, Any] = {}
        options: dict[int, int] = {}
        left_open: set[int] = set()
        untried: list[Iterator[Any]] = []  # of every dimension up to the current one
        while True:
            if len(untried) < len(dimensions):
                dimension = dimensions[len(untried)]
                active = tree.is_active(dimension.node, options)
                is_open = active and dimension.parameter.is_continuous
                left_open |= {dimension.index} if is_open else set()
                several = active and not is_open
                untried.append(iter(dimension.parameter.values() if several else (_NOTHING,)))
            else:
                yield dict(values), bool(left_open)
            while untried:  # the last dimension that has a value left takes it
                dimension = dimensions[len(untried) - 1]
                values.pop(dimension.index, None)
                options.pop(dimension.index, None)
                value = next(untried[-1], _END)
                if value is _END:
                    untried.pop()
                    left_open.discard(dimension.index)
                    continue
                if value is not _NOTHING:
                    self.tried += 1
                    if self.tried > self._most:
                        return
                    values[dimension.index] = value
                    if isinstance(dimension.parameter, Choice):
                        options[dimension.index] = dimension.parameter.index(value)
                if self._allowed(dimension.index, values):
                    break
            else:
                return

    def _allowed(self, index: int, values: dict[int, Any]) -> bool:
        """Whether no constraint that is decided by this dimension is violated."""
        decided = self._decided[index]
        if not decided:
            return True
        config = {self._space.dimensions[i].name: value for i, value in values.items()}
        return all(constraint.allows(config) for constraint in decided)


_NOTHING, _END = object(), object()


def _decided(space: Space) -> list[list[Forbid | Constraint]]:
    """For every dimension, the constraints whose last parameter it is.

    One that names an open parameter allows what it sees, as it does where one is inactive.
    """
    by_dimension: list[list[Forbid | Constraint]] = [[] for _ in space.dimensions]
    for constraint in space.constraints:
        if constraint.on is not None:
            named = [d.index for name in constraint.on for d in space.tree.by_name[name]]
            by_dimension[max(named)].append(constraint)
    return by_dimension
