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
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from bosquet.acquisition.base import Acquisition
from bosquet.arrays import Array, Index
from bosquet.graphs import Clique, JunctionTree, edges_of, junction_tree
from bosquet.kernels.components import Component
from bosquet.models.clique_sum import CliqueSum
from bosquet.models.gp import Posterior
from bosquet.search.box import climb
from bosquet.space import Space

Table = tuple[Clique, Array]
"""Variables, and a table with one axis for each."""

_FINEST = 33  # levels of a continuous variable
_COARSEST = 3
_ZOOMED = 5  # levels of a continuous variable when zooming in
_RANDOM = 512  # rows of the search without message passing
_CLIMBED = 5
_EXCHANGED = 256  # values of a discrete variable looked at one by one


# -- Algorithm 2 -----------------------------------------------------------------------------


def max_sum(
    tree: JunctionTree, terms: Iterable[Table], sizes: Mapping[int, int]
) -> tuple[float, dict[int, int]]:
    """The largest sum of the terms, and the level of every variable where it is attained."""
    at_home: list[list[Table]] = [[] for _ in tree.bags]
    for clique, table in terms:
        at_home[tree.home(clique)].append((clique, table))
    best_below: list[Index] = [np.zeros(0, dtype=np.int64)] * len(tree.bags)
    total = 0.0
    for i in reversed(range(len(tree.bags))):  # lines 3-9: children before their parents
        bag, parent = tree.bags[i], tree.parents[i]
        sums = np.zeros([sizes[v] for v in bag])
        for clique, table in at_home[i]:
            sums += table[tuple(slice(None) if v in clique else None for v in bag)]
        separator, inside = _split(tree, i)
        axes = [bag.index(v) for v in (*separator, *inside)]
        flat = sums.transpose(axes).reshape(*(sizes[v] for v in separator), -1)
        best_below[i] = flat.argmax(axis=-1)  # line 6
        message = flat.max(axis=-1)
        if parent >= 0:
            at_home[parent].append((separator, message))
        else:
            total = float(message)  # line 10
    levels: dict[int, int] = {}
    for i in range(len(tree.bags)):
        separator, inside = _split(tree, i)
        best = best_below[i][tuple(levels[v] for v in separator)]
        found = np.unravel_index(int(best), [sizes[v] for v in inside])
        levels |= {v: int(level) for v, level in zip(inside, found, strict=True)}
    return total, levels


def _split(tree: JunctionTree, i: int) -> tuple[Clique, Clique]:
    """The variables that a bag shares with its parent, and the others."""
    above = set() if tree.parents[i] < 0 else set(tree.bags[tree.parents[i]])
    bag = tree.bags[i]
    return tuple(v for v in bag if v in above), tuple(v for v in bag if v not in above)


# -- grids -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class TableEffort:
    """How much message passing may cost, and whether its grid is refined."""

    evaluations: int = 1_000
    """Of the acquisition of one clique on its grid: max_eval of the paper."""
    entries: int = 100_000
    """Of the table of one bag."""
    zooms: int = 3
    refine: bool = True
    """False: the best point of the grid, as in the paper."""


def plan_levels(
    cliques: Sequence[Clique],
    bags: Sequence[Clique],
    n_values: Mapping[int, float],
    effort: TableEffort,
) -> dict[int, int] | None:
    """How many levels each variable gets; None where even the coarsest grid costs too much."""

    def finest(scope: Clique, budget: int) -> int:
        for levels in range(_FINEST, _COARSEST - 1, -1):
            if math.prod(min(levels, n_values[v]) for v in scope) <= budget:
                return levels
        return 0

    limits = dict.fromkeys(n_values, _FINEST)
    for scopes, budget in ((cliques, effort.evaluations), (bags, effort.entries)):
        for scope in scopes:
            most = finest(scope, budget)
            limits |= {v: min(limits[v], most) for v in scope}
    if 0 in limits.values():
        return None
    return {v: int(min(limit, n_values[v])) for v, limit in limits.items()}


# -- the search ------------------------------------------------------------------------------


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
        self._nodes = {
            node: _NodeSearch(space, posterior, on_node, effort)
            for node in range(len(space.nodes))
            if (on_node := [c for c in components if c.node == node])
        }

    def maximise(self, acquisition: Acquisition, rng: np.random.Generator) -> CliqueOptimum:
        """``acquisition`` is of each component; it must be a `LowerBound` for the sum to be one."""
        found = {node: one.maximise(acquisition, rng) for node, one in self._nodes.items()}
        rows = np.full((max(len(stages) for stages, _ in found.values()), len(self._space)), 0.5)
        values = [0.0] * len(self._space.nodes)
        for node, (stages, value) in found.items():
            values[node] = value
            own = list(self._nodes[node].variables)
            for i, row in enumerate(rows):
                row[own] = stages[min(i, len(stages) - 1)][own]
        return CliqueOptimum(rows, values, self.summary)

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


@dataclass
class _NodeSearch:
    """The variables of one node: their cliques, junction tree and grids."""

    space: Space
    posterior: Posterior
    components: Sequence[Component]
    effort: TableEffort
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._of_clique = {
            clique: component
            for component in self.components
            if (clique := tuple(sorted({f.dimension for f in component.features})))
        }
        self._first: dict[Clique, tuple[Array, Array]] = {}
        self._constants = [c for c in self.components if not c.features]
        self.cliques = list(self._of_clique)
        self.variables = tuple(sorted({v for clique in self.cliques for v in clique}))
        self._parameters = {v: self.space.dimensions[v].parameter for v in self.variables}
        self._continuous = [v for v in self.variables if self._parameters[v].is_continuous]
        self._masks = self._constraints_inside()
        self.tree, self._levels = self._plan()
        if self._levels is None and self._masks:
            self.notes.append("constraints left out of message passing: they join too much")
            self._masks = {}
            self.tree, self._levels = self._plan()
        self.entries = 0
        if self._levels is None:
            self.notes.append(
                f"no message passing: a clique of {max(map(len, self.cliques))} variables, "
                f"treewidth {self.tree.width}; random rows and climbing instead"
            )
        elif self.cliques:
            levels = self._levels
            self.entries = sum(math.prod(levels[v] for v in bag) for bag in self.tree.bags)
            fewest = min((levels[v] for v in self._continuous), default=_FINEST)
            if fewest < _ZOOMED:
                self.notes.append(f"grids coarsened to {fewest} levels")
        self._inexact = [
            v
            for v, parameter in self._parameters.items()
            if v not in self._continuous
            and (self._levels is None or self._levels[v] < parameter.n_values)
        ]

    def _plan(self) -> tuple[JunctionTree, dict[int, int] | None]:
        """The junction tree, constraints counted as cliques; and the levels of each variable."""
        if not self.variables:
            return JunctionTree(((),), (-1,)), {}
        scopes = [*self.cliques, *self._masks]
        tree = junction_tree(self.variables, edges_of(scopes))
        n_values = {v: parameter.n_values for v, parameter in self._parameters.items()}
        return tree, plan_levels(scopes, tree.bags, n_values, self.effort)

    def _constraints_inside(self) -> dict[Clique, list[Any]]:
        """The constraints on variables of this node alone, by these variables."""
        by_name = {self.space.dimensions[v].name: v for v in self.variables}
        found: dict[Clique, list[Any]] = {}
        for constraint in self.space.constraints:
            if constraint.on is not None and set(constraint.on) <= set(by_name):
                scope = tuple(sorted(by_name[name] for name in constraint.on))
                found.setdefault(scope, []).append(constraint)
        return found

    # Message passing, coarse to fine.

    def maximise(
        self, acquisition: Acquisition, rng: np.random.Generator
    ) -> tuple[list[Array], float]:
        """Rows with the optimum of this node's variables, the best one first; and its sum."""
        level = sum(
            float(acquisition.value(*self.posterior.of([c]).moments(self._rows(1)))[0])
            for c in self._constants
        )
        if not self.cliques:
            return [self._rows(1)[0]], level
        belief = CliqueSum(self.posterior, list(self._of_clique.values()))
        if self._levels is None:
            stages = [self._without_tables(belief, acquisition, rng)]
        else:
            stages = self._zoom(acquisition, self._levels)
        if self.effort.refine:
            stages.insert(0, self._polish(belief, acquisition, stages[0]))
        sums = acquisition.value(*belief.moments(np.array(stages)))
        return stages, level + float(sums[0])

    def _zoom(self, acquisition: Acquisition, levels: Mapping[int, int]) -> list[Array]:
        grids = {v: self._grid(v, np.linspace(0.0, 1.0, levels[v])) for v in self.variables}
        if not self._first:  # kept: the first grid is the same for every acquisition
            self._first = self._tables(grids)
        stages = [self._on_grids(grids, acquisition, self._first)]
        width = {v: 1.0 / max(levels[v] - 1, 1) for v in self.variables}
        for _ in range(self.effort.zooms if self.effort.refine and self._continuous else 0):
            for v in self.variables:
                if v in self._continuous or v in self._inexact:
                    steps = _ZOOMED if levels[v] >= _ZOOMED else _COARSEST
                    near = stages[0][v] + width[v] * np.linspace(-1.0, 1.0, steps)
                    grids[v] = np.unique(self._parameters[v].snap(np.clip(near, 0.0, 1.0)))
                    width[v] *= 2.0 / (steps - 1)
            stages.insert(0, self._on_grids(grids, acquisition, self._tables(grids)))
        return stages

    def _grid(self, v: int, units: Array) -> Array:
        parameter = self._parameters[v]
        if parameter.n_values <= len(units):
            return self._all_values(v)
        return np.unique(parameter.snap(units))

    def _all_values(self, v: int) -> Array:
        parameter = self._parameters[v]
        return np.sort(parameter.to_unit(list(parameter.values())))

    def _tables(self, grids: Mapping[int, Array]) -> dict[Clique, tuple[Array, Array]]:
        """Mean and variance of every clique's component on its grid."""
        tables = {}
        for clique, component in self._of_clique.items():
            rows = self._rows_of(clique, grids)
            mean, variance = self.posterior.of([component]).moments(rows)
            shape = [len(grids[v]) for v in clique]
            tables[clique] = mean.reshape(shape), variance.reshape(shape)
        return tables

    def _on_grids(
        self,
        grids: Mapping[int, Array],
        acquisition: Acquisition,
        tables: Mapping[Clique, tuple[Array, Array]],
    ) -> Array:
        """The best point of a grid."""
        terms = [(clique, acquisition.value(*moments)) for clique, moments in tables.items()]
        sizes = {v: len(grid) for v, grid in grids.items()}
        total, found = max_sum(self.tree, [*terms, *self._mask_terms(grids)], sizes)
        if total == -np.inf:  # no point of the grid is allowed
            _, found = max_sum(self.tree, terms, sizes)
        rows = self._rows(1)
        for v, level in found.items():
            rows[0, v] = grids[v][level]
        return np.asarray(rows[0])

    def _mask_terms(self, grids: Mapping[int, Array]) -> list[Table]:
        """Minus infinity where a constraint says no."""
        terms = []
        for scope, constraints in self._masks.items():
            rows = self._rows_of(scope, grids)
            names = [self.space.dimensions[v].name for v in scope]
            columns = [self._parameters[v].from_unit(rows[:, v]) for v in scope]
            allowed = [
                all(c.allows(dict(zip(names, values, strict=True))) for c in constraints)
                for values in zip(*columns, strict=True)
            ]
            table = np.where(allowed, 0.0, -np.inf)
            terms.append((scope, table.reshape([len(grids[v]) for v in scope])))
        return terms

    def _rows(self, n: int) -> Array:
        return np.full((n, len(self.space)), 0.5)

    def _rows_of(self, scope: Clique, grids: Mapping[int, Array]) -> Array:
        """All combinations of levels, the last variable fastest."""
        mesh = np.meshgrid(*(grids[v] for v in scope), indexing="ij")
        rows = self._rows(mesh[0].size)
        for v, values in zip(scope, mesh, strict=True):
            rows[:, v] = values.ravel()
        return rows

    # Beyond the tables.

    def _without_tables(
        self, belief: CliqueSum, acquisition: Acquisition, rng: np.random.Generator
    ) -> Array:
        """The best of random rows, climbed from."""
        rows = self._rows(_RANDOM)
        for v in self.variables:
            rows[:, v] = self._parameters[v].snap(rng.random(_RANDOM))
        values = acquisition.value(*belief.moments(rows))
        top = rows[np.argsort(-values, kind="stable")[:_CLIMBED]]
        top = climb(belief, acquisition, top, self._continuous)
        return np.asarray(top[np.argmax(acquisition.value(*belief.moments(top)))])

    def _polish(self, belief: CliqueSum, acquisition: Acquisition, x: Array) -> Array:
        """Exchanges of the discrete variables that had fewer levels than values, then a climb."""
        for v in self._inexact:
            n = int(self._parameters[v].n_values)
            near = np.clip(x[v] + np.linspace(-0.5, 0.5, _EXCHANGED) * _EXCHANGED / n, 0.0, 1.0)
            units = self._all_values(v) if n <= _EXCHANGED else self._parameters[v].snap(near)
            rows = np.repeat(x[None], 1 + len(units), axis=0)
            rows[1:, v] = units
            # Only the cliques of this variable change.
            changed = [component for clique, component in self._of_clique.items() if v in clique]
            values = acquisition.value(*CliqueSum(self.posterior, changed).moments(rows))
            x = rows[int(np.argmax(values))]
        climbed = climb(belief, acquisition, x[None], self._continuous)
        pair = np.vstack([x[None], climbed])
        return np.asarray(pair[np.argmax(acquisition.value(*belief.moments(pair)))])
