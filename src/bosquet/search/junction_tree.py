"""Maximising a sum of acquisitions over the cliques of a graph (Rolland et al., 2018, Algorithm 2).

Glossary
    clique   the variables of one component, ascending; its table has one axis per variable
    bag      a clique of the triangulated graph: a vertex of the junction tree
    message  what the best of everything below a bag adds, as a table over its separator, the
             variables that it shares with its parent

Discrete variables have all their values as levels, continuous ones a grid that is then refined:
zoomed in on around the maximiser, and at the end all at once by L-BFGS-B. Where the tables would
be too large the grids are coarser, and where even three levels are too many the node is searched
without message passing; `CliqueOptimum.summary` says so.

Without ``refine`` (the paper) a continuous variable has the levels of a grid and no other values.
`CliqueSearch.ranked` gives the points of that grid, best first: exactly where the tables hold all
of it; else the best one found by exchanges, and then those of the coarser tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from bosquet.acquisition.base import Acquisition
from bosquet.arrays import Array
from bosquet.graphs import Clique
from bosquet.kernels.components import Component
from bosquet.models.clique_sum import CliqueSum
from bosquet.models.posterior import Posterior
from bosquet.search.box import climb
from bosquet.search.clique_tables import CliqueTables, TableEffort
from bosquet.search.message_passing import best_sums, k_best, max_sum
from bosquet.search.node_sum import best_paths
from bosquet.space import Space
from bosquet.space.tree import Path

__all__ = ["CliqueOptimum", "CliqueSearch", "TableEffort"]

_COARSEST = 3
_ZOOMED = 5  # levels of a continuous variable when zooming in
_FINE, _COARSE = (np.linspace(-1.0, 1.0, steps) for steps in (_ZOOMED, _COARSEST))
_RANDOM = 512  # rows of the search without message passing
_CLIMBED = 5
_EXCHANGED = 256  # values of a discrete variable looked at one by one
_ROUNDS = 20  # of exchanges


@dataclass(frozen=True)
class CliqueOptimum:
    """The maximum of the summed acquisition on every node of a space."""

    rows: Array
    """Unit rows that hold the optima of all nodes side by side: refined first, then coarser."""
    values: list[float]
    """By node, the sum at the first row; zero where there is nothing to be summed."""
    summary: dict[str, Any]
    """What the search cost, and where it was cut short: JSON-able."""


class CliqueSearch:
    """Message passing on some components of a posterior, node by node."""

    def __init__(
        self,
        space: Space,
        posterior: Posterior,
        components: Sequence[Component],
        effort: TableEffort | None = None,
    ) -> None:
        self._space = space
        effort = TableEffort() if effort is None else effort
        search = _Refined if effort.refine else _OnGrid
        self._nodes: dict[int, _Refined | _OnGrid] = {
            node: search(space, posterior, on_node, effort)
            for node in range(len(space.nodes))
            if (on_node := [c for c in components if c.node == node])
        }

    def maximise(
        self, acquisition: Acquisition, rng: np.random.Generator, *, polished: bool = True
    ) -> CliqueOptimum:
        """``acquisition`` is of each component; it must be a `LowerBound` for the sum to be one.

        An optimum that is not ``polished`` is the best point of the last grid that was zoomed to.
        """
        found = {
            node: one.maximise(acquisition, rng, polished=polished)
            for node, one in self._nodes.items()
        }
        rows = np.full((max(len(stages) for stages, _ in found.values()), len(self._space)), 0.5)
        values = [0.0] * len(self._space.nodes)
        for node, (stages, value) in found.items():
            values[node] = value
            own = list(self._nodes[node].variables)
            for i, row in enumerate(rows):
                row[own] = stages[min(i, len(stages) - 1)][own]
        return CliqueOptimum(rows, values, self.summary)

    def ranked(
        self, acquisition: Acquisition, rng: np.random.Generator, most_paths: int
    ) -> Iterator[tuple[float, Path, Array]]:
        """Points of the grid on the ``most_paths`` best paths, the best one first, with their sums.

        Whatever is among the k best points is on one of the k best paths.
        """
        tree = self._space.tree
        streams: dict[int, Iterator[tuple[float, Array]]] = {
            node: one.ranked(acquisition, rng) for node, one in self._nodes.items()
        }
        tops = [0.0] * len(self._space.nodes)
        for node, stream in streams.items():
            top = next(stream)
            tops[node], streams[node] = top[0], chain([top], stream)
        ways = best_paths(self._space, tops, min(most_paths, self._space.n_paths))
        paths = [tree.path_of(options) for _, options in ways]
        sets = [[node for node in path if node in streams] for path in paths]
        for value, which, rows in best_sums(streams, sets):
            x = np.full(len(self._space), 0.5)
            for node, row in rows.items():
                own = list(self._nodes[node].variables)
                x[own] = row[own]
            yield value, paths[which], x

    @property
    def passes(self) -> bool:
        """Whether message passing is possible on any node."""
        return any(node.entries for node in self._nodes.values())

    @cached_property
    def summary(self) -> dict[str, Any]:
        nodes = list(self._nodes.values())
        summary: dict[str, Any] = {
            "cliques": sum(len(node.cliques) for node in nodes),
            "treewidth": max(node.tree.width for node in nodes),
            "table_entries": sum(node.entries for node in nodes),
        }
        notes = [note for node in nodes for note in node.notes]
        return summary | ({"notes": notes} if notes else {})


class _Refined(CliqueTables):
    """Coarse to fine: the grid is zoomed in on, and climbed from at the end."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._first: tuple[dict[int, Array], dict[Clique, tuple[Array, Array]]] | None = None
        self._zoomed = {*self.continuous, *self.inexact}

    def maximise(
        self, acquisition: Acquisition, rng: np.random.Generator, *, polished: bool = True
    ) -> tuple[list[Array], float]:
        """Rows with the optimum of this node's variables, the best one first; and its sum."""
        level = self.level(acquisition)
        if not self.cliques:
            return [self.rows(1)[0]], level
        belief = self.belief
        if self.levels is None:
            stages = [self._without_tables(belief, acquisition, rng)]
        else:
            stages = self._zoom(acquisition, self.levels)
        if polished:
            stages.insert(0, self._polish(belief, acquisition, stages[0]))
        sums = acquisition.value(*belief.moments(np.array(stages)))
        return stages, level + float(sums[0])

    def ranked(
        self, acquisition: Acquisition, rng: np.random.Generator
    ) -> Iterator[tuple[float, Array]]:
        """The optimum alone: there is no grid to have a next best point."""
        stages, value = self.maximise(acquisition, rng)
        yield value, stages[0]

    def _zoom(self, acquisition: Acquisition, levels: Mapping[int, int]) -> list[Array]:
        if self._first is None:  # kept: the first grid is the same for every acquisition
            first = {v: self.grid(v, np.linspace(0.0, 1.0, levels[v])) for v in self.variables}
            self._first = first, self.tables(first)
        grids = dict(self._first[0])
        stages = [self.on_grids(grids, acquisition, self._first[1])]
        width = {v: 1.0 / max(levels[v] - 1, 1) for v in self.variables}
        for _ in range(self.effort.zooms if self.continuous else 0):
            for v in self.variables:
                if v in self._zoomed:
                    steps = _FINE if levels[v] >= _ZOOMED else _COARSE
                    near = self.parameters[v].snap(stages[0][v] + width[v] * steps)
                    grids[v] = near[np.append(True, near[1:] > near[:-1])]  # no value twice
                    width[v] *= 2.0 / (len(steps) - 1)
            stages.insert(0, self.on_grids(grids, acquisition, self.tables(grids)))
        return stages

    def _without_tables(
        self, belief: CliqueSum, acquisition: Acquisition, rng: np.random.Generator
    ) -> Array:
        """The best of random rows, climbed from."""
        rows = self.rows(_RANDOM)
        for v in self.variables:
            rows[:, v] = self.parameters[v].snap(rng.random(_RANDOM))
        values = acquisition.value(*belief.moments(rows))
        top = rows[np.argsort(-values, kind="stable")[:_CLIMBED]]
        top = climb(belief, acquisition, top, self.continuous)
        return np.asarray(top[np.argmax(acquisition.value(*belief.moments(top)))])

    def _polish(self, belief: CliqueSum, acquisition: Acquisition, x: Array) -> Array:
        """Exchanges of the discrete variables that had fewer levels than values, then a climb."""
        for v in self.inexact:
            n = int(self.parameters[v].n_values)
            near = np.clip(x[v] + np.linspace(-0.5, 0.5, _EXCHANGED) * _EXCHANGED / n, 0.0, 1.0)
            units = self.all_values(v) if n <= _EXCHANGED else self.parameters[v].snap(near)
            x = self.exchange(acquisition, x, v, units)
        climbed = climb(belief, acquisition, x[None], self.continuous)
        pair = np.vstack([x[None], climbed])
        return np.asarray(pair[np.argmax(acquisition.value(*belief.moments(pair)))])


class _OnGrid(CliqueTables):
    """The paper: a continuous variable has the levels of a grid, and no other values."""

    def maximise(
        self,
        acquisition: Acquisition,
        rng: np.random.Generator,
        *,
        polished: bool = True,  # noqa: ARG002 - the grid is all there is
    ) -> tuple[list[Array], float]:
        """The row with the optimum of this node's variables, and its sum."""
        value, row = next(self.ranked(acquisition, rng))
        return [row], value

    def ranked(
        self, acquisition: Acquisition, rng: np.random.Generator
    ) -> Iterator[tuple[float, Array]]:
        """Points of the grid with their sums, the best one first: see the top of this file."""
        level = self.level(acquisition)
        if not self.cliques:
            yield level, self.rows(1)[0]
            return
        if self.levels is None:
            found = self._random_points(acquisition, rng)
        else:
            found = self._points_of_tables(acquisition, self.levels)
        value, first = next(found)
        best = self._exchanged(acquisition, first) if self.inexact else first
        if not np.array_equal(best, first):
            yield level + float(acquisition.value(*self.belief.moments(best[None]))[0]), best
        yield level + value, first
        for value, row in found:
            yield level + value, row

    def _points_of_tables(
        self, acquisition: Acquisition, levels: Mapping[int, int]
    ) -> Iterator[tuple[float, Array]]:
        every = np.linspace(0.0, 1.0, self.effort.levels)
        grids = {}
        for v, n in levels.items():  # a coarser table has some of the levels of the grid
            some = np.round(np.linspace(0.0, len(every) - 1.0, n)).astype(int)
            grids[v] = self.grid(v, every[some])
        terms = self.terms(acquisition, self.tables(grids))
        sizes = {v: len(grid) for v, grid in grids.items()}
        nothing = True
        for value, found in k_best(self.tree, [*terms, *self.mask_terms(grids)], sizes):
            nothing = False
            yield value, self.row_at(grids, found)
        if nothing:  # no point of the grid is allowed
            value, found = max_sum(self.tree, terms, sizes)
            yield value, self.row_at(grids, found)

    def _random_points(
        self, acquisition: Acquisition, rng: np.random.Generator
    ) -> Iterator[tuple[float, Array]]:
        """As many as a table may have entries."""
        rows = self.rows(self.effort.evaluations)
        for v in self.variables:
            rows[:, v] = rng.choice(self._values(v), len(rows))
        values = acquisition.value(*self.belief.moments(rows))
        for i in np.argsort(-values, kind="stable"):
            yield float(values[i]), rows[i]

    def _exchanged(self, acquisition: Acquisition, x: Array) -> Array:
        """The best value of one variable after the other, until none is better."""
        for _ in range(_ROUNDS):
            before = x
            for v in self.inexact:
                x = self.exchange(acquisition, x, v, self._values(v))
            if np.array_equal(x, before):
                break
        return x

    def _values(self, v: int) -> Array:
        """The values that a variable is exchanged for: the grid of a continuous one."""
        if v in self.continuous:
            return np.linspace(0.0, 1.0, self.effort.levels)
        if self.parameters[v].n_values <= _EXCHANGED:
            return self.all_values(v)
        return np.unique(self.parameters[v].snap(np.linspace(0.0, 1.0, _EXCHANGED)))
