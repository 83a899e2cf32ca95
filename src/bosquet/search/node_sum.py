"""Maximising a sum of per-node acquisitions (Add-Tree, Algorithm 2).

Each node is searched in its own variables alone; the best path is the one with the largest sum. On
an and-or tree that maximum is found from the leaves up, in time linear in the nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bosquet.acquisition.base import Acquisition
from bosquet.kernels.features import is_continuous
from bosquet.models.gp import Posterior
from bosquet.search.box import climb
from bosquet.space import Space

Array = NDArray[np.float64]

_CANDIDATES = 512
_POLISHED = 5


@dataclass(frozen=True)
class NodeOptimum:
    """x_t^v and u_t^v of Algorithm 2."""

    x: Array
    """A unit row of which only the node's own coordinates count."""
    value: float


def maximise_node_sum(
    space: Space,
    posterior: Posterior,
    acquisition_of: Callable[[int], Acquisition],
    rng: np.random.Generator,
) -> tuple[Array, float]:
    """The unit row of the best path, and its sum.

    ``acquisition_of`` takes the number of variables that a node is searched in.
    """
    best = [  # Alg. 2, lines 3-5
        _search_node(space, posterior, acquisition_of, node.index, rng) for node in space.nodes
    ]
    total, options = best_path(space, [optimum.value for optimum in best])  # lines 6-8
    x = np.full((1, len(space)), 0.5)
    for choice, option in options.items():
        x[0, choice] = (option + 0.5) / space.tree.choice(choice).n_values
    for index in space.tree.path_of(options):  # line 9
        own = _own(space, index)
        x[0, own] = best[index].x[own]
    return space.snap(x)[0], total


def best_path(space: Space, values: Sequence[float]) -> tuple[float, dict[int, int]]:
    """The largest sum of node values over a path, and the options that lead to it."""
    options: dict[int, int] = {}
    below = list(values)
    for node in reversed(space.nodes):  # children come after their parents
        for index in node.dimensions:
            if index in space.tree.children:
                sums = np.zeros(space.tree.choice(index).n_values)
                for child in space.tree.children[index]:
                    sums[list(child.options)] += below[child.index]
                options[index] = int(np.argmax(sums))
                below[node.index] += float(sums.max())
    taken: dict[int, int] = {}
    for index in sorted(options):
        if space.tree.is_active(space.dimensions[index].node, taken):
            taken[index] = options[index]
    return below[0], taken


def _own(space: Space, node: int) -> list[int]:
    """The coordinates of a node that are not branching choices."""
    return [d for d in space.nodes[node].dimensions if d not in space.tree.children]


def promising_paths(
    space: Space,
    posterior: Posterior,
    acquisition: Acquisition,
    n: int,
    rng: np.random.Generator,
) -> list[tuple[int, ...]]:
    """Up to ``n`` distinct paths with a large sum of optimistic node values, best first.

    The first one is the best; the others are the best after random (Gumbel) perturbations of the
    node values, which finds good and different ones without enumerating paths.
    """
    scored = [_score_node(space, posterior, acquisition, node.index, rng) for node in space.nodes]
    values = np.array([0.0 if one is None else one[1][0] for one in scored])
    scale = max(float(np.std(values)), 1e-6)
    paths = {space.tree.path_of(best_path(space, values.tolist())[1]): None}
    for _ in range(4 * n):
        if len(paths) >= n:
            break
        moved = values + scale * rng.gumbel(size=len(values))
        paths[space.tree.path_of(best_path(space, moved.tolist())[1])] = None
    return list(paths)


def _score_node(
    space: Space,
    posterior: Posterior,
    acquisition: Acquisition,
    node: int,
    rng: np.random.Generator,
) -> tuple[Array, Array] | None:
    """Random rows of a node's own coordinates and their values, best first.

    None where the node has no component: it adds nothing.
    """
    components = [c for c in posterior.components if c.node == node]
    if not components:
        return None
    rows = np.full((_CANDIDATES, len(space)), 0.5)
    for index in _own(space, node):
        rows[:, index] = space.dimensions[index].parameter.snap(rng.random(_CANDIDATES))
    values = acquisition.value(*posterior.moments(rows, components))
    order = np.argsort(-values, kind="stable")
    return rows[order], values[order]


def _search_node(
    space: Space,
    posterior: Posterior,
    acquisition_of: Callable[[int], Acquisition],
    node: int,
    rng: np.random.Generator,
) -> NodeOptimum:
    own = _own(space, node)
    acquisition = acquisition_of(max(len(own), 1))
    scored = _score_node(space, posterior, acquisition, node, rng)
    if scored is None:
        return NodeOptimum(np.full(len(space), 0.5), 0.0)
    components = [c for c in posterior.components if c.node == node]
    continuous = [i for i in own if is_continuous(space.dimensions[i].parameter)]
    top = climb(posterior, acquisition, components, scored[0][:_POLISHED], continuous)
    values = acquisition.value(*posterior.moments(top, components))
    return NodeOptimum(top[np.argmax(values)], float(values.max()))
