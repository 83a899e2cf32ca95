"""How much each parameter matters where it exists, and each choice that decides what exists.

Glossary (S sample functions, g values of the parameter, b rows in which it is active)
    f[s, g, b]   a sample function with the parameter at value g and all else as in row b
    alone        Var_g E_b f: what the parameter explains by itself (its first Sobol index)
    total        E_b Var_g f: also what it explains together with others (its total index)
    all          Var_gb f: the variance where the parameter is active; shares are of it

Of a choice that branches, the values are its options and f is averaged over the parameters that
only one of its options has: what an option changes beyond what its parameters do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from bosquet.arrays import Array
from bosquet.explain.mixture import Mixture, interval_levels, size_of
from bosquet.explain.rows import crossed, rows_with, strata
from bosquet.search.mixed import feasible
from bosquet.space import Space
from bosquet.space.sobol import sobol
from bosquet.space.tree import Dimension

_VALUES = 8  # of a parameter
_ROWS = 24
_OUTSIDE, _BELOW = 4, 16  # rows beside a choice, and of what is below it


@dataclass(frozen=True)
class Importance:
    """How much a parameter moves the objective where it is active; in the user's units."""

    parameter: str
    """Its qualified name."""
    kind: Literal["parameter", "choice"]
    """A choice decides which parameters exist."""
    condition: str
    """Where it is active: ``model=svm, kernel=rbf``; empty for everywhere."""
    sd: float
    """The standard deviation of the objective when this alone changes, all else as it is."""
    low: float
    high: float
    """The interval of ``sd``."""
    share: float
    """Of the variance of the objective where the parameter is active, interactions included."""
    alone: float
    """The same without interactions."""


def importance_of(
    space: Space, mixture: Mixture, dimension: Dimension, level: float
) -> Importance | None:
    """None where constraints leave nothing to vary."""
    branching = dimension.parameter.is_branching
    f = _of_choice(space, mixture, dimension) if branching else _of(space, mixture, dimension)
    if f is None:
        return None
    size = size_of(f)
    alone, total, everything = variances(f / size)
    low, high = size * np.quantile(np.sqrt(total), interval_levels(level))
    conditions = (space.nodes[node.index].label for node in space.tree.conditions(dimension.node))
    # Shares of averages, not averages of shares: where nothing varies they would be anything.
    whole = max(float(everything.mean()), np.finfo(float).tiny)
    return Importance(
        dimension.qualified_name,
        "choice" if branching else "parameter",
        ", ".join(conditions),
        size * float(np.sqrt(total.mean())),
        float(low),
        float(high),
        min(float(total.mean()) / whole, 1.0),
        min(float(alone.mean()) / whole, 1.0),
    )


def variances(f: Array) -> tuple[Array, Array, Array]:
    """``alone``, ``total`` and ``all`` of functions at (S, g, b, r), averaged over r: (S,) each."""
    averaged = f.mean(axis=3)
    alone, total = averaged.mean(axis=2).var(axis=1), averaged.var(axis=1).mean(axis=1)
    return np.asarray(alone), np.asarray(total), np.asarray(f.var(axis=(1, 2, 3)))


def _of(space: Space, mixture: Mixture, dimension: Dimension) -> Array | None:
    """Sample functions at (S, g, b, 1)."""
    rows = rows_with(space, dimension.node, _ROWS)
    many = crossed(rows, {dimension.index: strata(dimension, _VALUES)})
    kept = feasible(space, many.reshape(-1, len(space))).reshape(many.shape[:2]).all(axis=0)
    many = many[:, kept]
    if many.shape[0] < 2 or not many.shape[1]:
        return None
    drawn = mixture.draws(many.reshape(-1, len(space)))
    return np.asarray(drawn.reshape(-1, *many.shape[:2], 1))


def _of_choice(space: Space, mixture: Mixture, choice: Dimension) -> Array | None:
    """Sample functions at (S, options, rows outside, rows below); constraints aside."""
    parameter = space.tree.choice(choice.index)
    below = [d.index for d in space.dimensions if _is_below(space, d, choice)]
    outside = rows_with(space, choice.node, _OUTSIDE)
    if not len(outside):
        return None
    rows = np.repeat(outside[:, None], _BELOW, axis=1)
    rows[:, :, below] = sobol(len(space), 1, 0, _BELOW)[:, below]
    options = parameter.unit_of(np.arange(parameter.n_values))
    many = crossed(rows.reshape(-1, len(space)), {choice.index: options})
    drawn = mixture.draws(space.snap(many.reshape(-1, len(space))))
    return np.asarray(drawn.reshape(-1, len(options), *rows.shape[:2]))


def _is_below(space: Space, dimension: Dimension, choice: Dimension) -> bool:
    return any(link.choice == choice.index for link in space.tree.conditions(dimension.node))
