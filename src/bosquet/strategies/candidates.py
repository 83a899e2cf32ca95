"""The only configurations allowed, when a user gives them: encoded once for all asks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cached_property

import numpy as np

from bosquet.arrays import Array, Bools, Index
from bosquet.data import Key, key_of
from bosquet.space import Config, Space
from bosquet.space.tree import Path


class Candidates(Collection[Config]):
    """Distinct configurations of a space, with what a search asks about them."""

    def __init__(self, space: Space, configs: Iterable[Config]) -> None:
        self._space = space
        self.configs = tuple(configs)

    def __len__(self) -> int:
        return len(self.configs)

    def __iter__(self) -> Iterator[Config]:
        return iter(self.configs)

    def __contains__(self, config: object) -> bool:
        return isinstance(config, dict) and key_of(config) in self._positions

    @cached_property
    def _positions(self) -> dict[Key, int]:
        return {key_of(config): i for i, config in enumerate(self.configs)}

    @cached_property
    def units(self) -> Array:
        """Their unit vectors: (n, d)."""
        return self._space.to_unit(self.configs)

    @cached_property
    def paths(self) -> list[Path]:
        """The path of each."""
        return self._space.tree.paths_of_rows(self.units)

    @cached_property
    def _by_row(self) -> dict[bytes, Config]:
        return {x.tobytes(): c for x, c in zip(self.units, self.configs, strict=True)}

    def of_row(self, x: Array) -> Config:
        """The candidate with this unit vector: decoding could change its last digit."""
        return self._by_row[x.tobytes()]

    def free(self, taken: Collection[Key]) -> Bools:
        """Which of them are not taken."""
        free = np.ones(len(self), dtype=bool)
        known = (self._positions.get(key) for key in taken)
        free[[position for position in known if position is not None]] = False
        return free

    def rows_by_path(self, taken: Collection[Key]) -> dict[Path, Array]:
        """The unit vectors of those that are not taken, by their path."""
        free = self.free(taken)
        by_path = ((path, rows[free[rows]]) for path, rows in self._positions_by_path.items())
        return {path: self.units[rows] for path, rows in by_path if len(rows)}

    @cached_property
    def _positions_by_path(self) -> dict[Path, Index]:
        return self._space.tree.rows_by_path(self.units)
