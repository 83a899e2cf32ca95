"""The tables of one node that messages are made of: cliques, junction tree, grids.

Glossary
    clique   the variables of one component, ascending; its table has one axis per variable
    grid     the unit values of a variable that tables look at

Discrete variables have all their values as levels, continuous ones a grid. Where the tables would
be too large the grids are coarser.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bosquet.acquisition.base import Acquisition
from bosquet.arrays import Array
from bosquet.graphs import Clique, JunctionTree, edges_of, junction_tree
from bosquet.kernels.components import Component
from bosquet.models.clique_sum import CliqueSum
from bosquet.models.posterior import Posterior
from bosquet.search.message_passing import Table, max_sum
from bosquet.space import Space

_COARSEST = 3
_FEW = 5  # levels of a continuous variable, below which the summary says so


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
    levels: int = 33
    """Of a continuous variable at most, 3 at least; without ``refine`` these are all its values."""


def plan_levels(
    cliques: Sequence[Clique],
    bags: Sequence[Clique],
    n_values: Mapping[int, float],
    effort: TableEffort,
) -> dict[int, int] | None:
    """How many levels each variable gets; None where even the coarsest grid costs too much."""

    def finest(scope: Clique, budget: int) -> int:
        for levels in range(effort.levels, _COARSEST - 1, -1):
            if math.prod(min(levels, n_values[v]) for v in scope) <= budget:
                return levels
        return 0

    limits = dict.fromkeys(n_values, effort.levels)
    for scopes, budget in ((cliques, effort.evaluations), (bags, effort.entries)):
        for scope in scopes:
            most = finest(scope, budget)
            limits |= {v: min(limits[v], most) for v in scope}
    if 0 in limits.values():
        return None
    return {v: int(min(limit, n_values[v])) for v, limit in limits.items()}


@dataclass
class CliqueTables:
    """The variables of one node: their cliques, junction tree and grids."""

    space: Space
    posterior: Posterior
    components: Sequence[Component]
    effort: TableEffort

    def __post_init__(self) -> None:
        self.notes: list[str] = []
        self.of_clique = {
            clique: component
            for component in self.components
            if (clique := tuple(sorted({f.dimension for f in component.features})))
        }
        self.constants = [c for c in self.components if not c.features]
        self.cliques = list(self.of_clique)
        self.variables = tuple(sorted({v for clique in self.cliques for v in clique}))
        self.parameters = {v: self.space.dimensions[v].parameter for v in self.variables}
        self.continuous = [v for v in self.variables if self.parameters[v].is_continuous]
        self.masks = self._constraints_inside()
        self.tree, self.levels = self._plan()
        if self.levels is None and self.masks:
            self.notes.append("constraints left out of message passing: they join too much")
            self.masks = {}
            self.tree, self.levels = self._plan()
        self.entries = 0
        if self.levels is None:
            self.notes.append(
                f"no message passing: a clique of {max(map(len, self.cliques))} variables, "
                f"treewidth {self.tree.width}; random rows and "
                f"{'climbing' if self.effort.refine else 'exchanges'} instead"
            )
        elif self.cliques:
            levels = self.levels
            self.entries = sum(math.prod(levels[v] for v in bag) for bag in self.tree.bags)
            fewest = min((levels[v] for v in self.continuous), default=self.effort.levels)
            if fewest < _FEW:
                self.notes.append(f"grids coarsened to {fewest} levels")
        self.inexact = [
            v
            for v in self.variables
            if (v not in self.continuous or not self.effort.refine)
            and (self.levels is None or self.levels[v] < self._n_values(v))
        ]

    def _n_values(self, v: int) -> float:
        """The values of a variable; those of a continuous one are a grid unless it is refined."""
        return self.effort.levels if v in self.continuous else self.parameters[v].n_values

    def _plan(self) -> tuple[JunctionTree, dict[int, int] | None]:
        """The junction tree, constraints counted as cliques; and the levels of each variable."""
        if not self.variables:
            return JunctionTree(((),), (-1,)), {}
        scopes = [*self.cliques, *self.masks]
        tree = junction_tree(self.variables, edges_of(scopes))
        n_values = {v: parameter.n_values for v, parameter in self.parameters.items()}
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

    @property
    def belief(self) -> CliqueSum:
        """The summed acquisition is a function of it."""
        return CliqueSum(self.posterior, list(self.of_clique.values()))

    def level(self, acquisition: Acquisition) -> float:
        return sum(
            float(acquisition.value(*self.posterior.of([c]).moments(self.rows(1)))[0])
            for c in self.constants
        )

    def grid(self, v: int, units: Array) -> Array:
        parameter = self.parameters[v]
        if parameter.n_values <= len(units):
            return self.all_values(v)
        return np.unique(parameter.snap(units))

    def all_values(self, v: int) -> Array:
        parameter = self.parameters[v]
        return np.sort(parameter.to_unit(list(parameter.values())))

    def tables(self, grids: Mapping[int, Array]) -> dict[Clique, tuple[Array, Array]]:
        """Mean and variance of every clique's component on its grid."""
        rows = [self._rows_of(clique, grids) for clique in self.cliques]
        found = self.posterior.of_each(list(self.of_clique.values()), rows)
        shapes = [[len(grids[v]) for v in clique] for clique in self.cliques]
        return {
            clique: (mean.reshape(shape), variance.reshape(shape))
            for clique, shape, (mean, variance) in zip(self.cliques, shapes, found, strict=True)
        }

    def on_grids(
        self,
        grids: Mapping[int, Array],
        acquisition: Acquisition,
        tables: Mapping[Clique, tuple[Array, Array]],
    ) -> Array:
        """The best point of a grid."""
        terms = self.terms(acquisition, tables)
        sizes = {v: len(grid) for v, grid in grids.items()}
        total, found = max_sum(self.tree, [*terms, *self.mask_terms(grids)], sizes)
        if total == -np.inf:  # no point of the grid is allowed
            _, found = max_sum(self.tree, terms, sizes)
        return self.row_at(grids, found)

    @staticmethod
    def terms(
        acquisition: Acquisition, tables: Mapping[Clique, tuple[Array, Array]]
    ) -> list[Table]:
        return [(clique, acquisition.value(*moments)) for clique, moments in tables.items()]

    def row_at(self, grids: Mapping[int, Array], levels: Mapping[int, int]) -> Array:
        rows = self.rows(1)
        for v, level in levels.items():
            rows[0, v] = grids[v][level]
        return np.asarray(rows[0])

    def mask_terms(self, grids: Mapping[int, Array]) -> list[Table]:
        """Minus infinity where a constraint says no."""
        terms = []
        for scope, constraints in self.masks.items():
            rows = self._rows_of(scope, grids)
            names = [self.space.dimensions[v].name for v in scope]
            columns = [self.parameters[v].from_unit(rows[:, v]) for v in scope]
            allowed = [
                all(c.allows(dict(zip(names, values, strict=True))) for c in constraints)
                for values in zip(*columns, strict=True)
            ]
            table = np.where(allowed, 0.0, -np.inf)
            terms.append((scope, table.reshape([len(grids[v]) for v in scope])))
        return terms

    def rows(self, n: int) -> Array:
        return np.full((n, len(self.space)), 0.5)

    def _rows_of(self, scope: Clique, grids: Mapping[int, Array]) -> Array:
        """All combinations of levels, the last variable fastest."""
        units = [grids[v] for v in scope]
        mesh = np.meshgrid(*units, indexing="ij") if len(units) > 1 else units
        rows = self.rows(mesh[0].size)
        for v, values in zip(scope, mesh, strict=True):
            rows[:, v] = values.ravel()
        return rows

    def exchange(self, acquisition: Acquisition, x: Array, v: int, units: Array) -> Array:
        """The row with the best of some values of one variable, its own among them."""
        rows = np.repeat(x[None], 1 + len(units), axis=0)
        rows[1:, v] = units
        # Only the cliques of this variable change.
        changed = [component for clique, component in self.of_clique.items() if v in clique]
        values = acquisition.value(*CliqueSum(self.posterior, changed).moments(rows))
        return np.asarray(rows[int(np.argmax(values))])
