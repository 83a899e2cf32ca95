"""Which variables a fitted sum of components lives on: alone or together, and in which branch.

With c a component of variance v_c and shape k_c, and r_j^2 the squared distance, in length-scales,
of two values of variable j that are drawn at random,

    share of c       v_c (1 - k_c(sum_j r_j^2)), of the sum over all components
    j matters in c   1 - k_c(r_j^2) is at least a twentieth of 1 - k_c(sum_j r_j^2)

Variables that matter in one component act together: its covariance is no sum of theirs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bosquet.arrays import Array, Bools
from bosquet.kernels.components import Component, Kind
from bosquet.kernels.features import Feature
from bosquet.kernels.stationary import SHAPES
from bosquet.models.covariance import Covariance
from bosquet.space.parameter import Parameter

_UNIFORM = 1.0 / 6.0  # the mean squared difference of two uniform coordinates
_PART = 0.05  # of what a component varies by: less of it does not matter
_MOST = 50  # components that are looked at, those with the largest shares


@dataclass(frozen=True)
class Matter:
    """A part of what is believed to make values differ."""

    branch: str
    """Where: the choices that lead there; empty for everywhere."""
    variables: tuple[str, ...]
    """Names of those that act together, what matters most first; empty for the branch's level.

    Qualified ones where exclusive branches have the same name.
    """
    share: float
    """Of all that makes values differ, from 0 to 1."""


def matters(covariance: Covariance, eta: Array, rows: Array | None = None) -> list[Matter]:
    """By share, the largest first; the same variables in one branch are one part.

    Left out is of what ``rows``, those with a value, tell nothing: branches without any, and
    variables of which all have one value. There a model knows only what it was made to believe.
    """
    components = covariance.components
    squared = [_squared_distances(covariance, component, eta) for component in components]
    varies = np.exp(eta[[component.variance for component in components]])
    for kind in {component.kind for component in components} - {"constant"}:
        same = [i for i, component in enumerate(components) if component.kind == kind]
        varies[same] *= _varies(kind, [sum(squared[i].values()) for i in same])
    shares = varies / max(varies.sum(), np.finfo(float).tiny)
    found: dict[tuple[str, frozenset[str]], Matter] = {}
    known = np.ones(len(components), dtype=bool)
    if rows is not None:
        known = _known(covariance, [list(distances) for distances in squared], rows)
    for i in np.argsort(-shares, kind="stable")[:_MOST]:
        if not known[i]:
            continue
        names = _names(covariance, components[i].kind, squared[i])
        branch = covariance.group_label(components[i].node)
        part = found.setdefault((branch, frozenset(names)), Matter(branch, names, 0.0))
        found[branch, frozenset(names)] = replace(part, share=part.share + float(shares[i]))
    return sorted(found.values(), key=lambda part: -part.share)


def _known(covariance: Covariance, variables: Sequence[Sequence[int]], rows: Array) -> Bools:
    """By component, whether rows tell something of it."""
    space = covariance.space
    paths = set(space.tree.paths_of_rows(rows))
    groups = {group for path in paths for group in covariance.groups_on(path)}
    active = space.activity(rows)
    lowest, highest = (np.where(active, rows, end) for end in (np.inf, -np.inf))
    varied = lowest.min(axis=0) < highest.max(axis=0)
    return np.array(
        [
            any(varied[j] for j in its) if its else component.node in groups
            for component, its in zip(covariance.components, variables, strict=True)
        ]
    )


def _squared_distances(
    covariance: Covariance, component: Component, eta: Array
) -> dict[int, float]:
    """r_j^2 by the index of the variable."""
    dimensions = covariance.space.dimensions
    found: defaultdict[int, float] = defaultdict(float)
    for feature, weight in zip(component.features, component.weights(eta).tolist(), strict=True):
        index = covariance.variable_of(feature)
        found[index] += weight * _typical(feature, dimensions[index].parameter)
    return found


def _names(covariance: Covariance, kind: Kind, squared: Mapping[int, float]) -> tuple[str, ...]:
    """Of the variables that matter in a component."""
    if not squared:
        return ()
    *alone, whole = _varies(kind, [*squared.values(), sum(squared.values())])
    some = sorted((-part, index) for part, index in zip(alone, squared, strict=True))
    tree = covariance.space.tree
    those = (tree.dimensions[index] for part, index in some if -part >= _PART * whole)
    return tuple(d.name if len(tree.by_name[d.name]) == 1 else d.qualified_name for d in those)


def _varies(kind: Kind, squared: Sequence[float]) -> Array:
    return np.asarray(1.0 - SHAPES[kind](np.array(squared))[0])


def _typical(feature: Feature, parameter: Parameter) -> float:
    """The mean squared distance of two values drawn at random."""
    return _UNIFORM if feature.kind == "difference" else 1.0 - 1.0 / parameter.n_values
