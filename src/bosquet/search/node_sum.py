"""Maximising a sum of per-node acquisitions (Add-Tree, Algorithm 2).

Each node is searched in its own variables alone; the best path is the one with the largest sum. On
an and-or tree that maximum is found from the leaves up, in time linear in the nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bosquet.acquisition.base import Acquisition
from bosquet.arrays import Array
from bosquet.models.posterior import Posterior
from bosquet.search.box import climb
from bosquet.space import Space
from bosquet.space.tree import Path

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
        x[0, choice] = space.tree.choice(choice).unit_of(option)
    for index in space.tree.path_of(options):  # line 9
        own = list(space.nodes[index].variables)
        x[0, own] = best[index].x[own]
    return space.snap(x)[0], total


def best_path(space: Space, values: Sequence[float]) -> tuple[float, dict[int, int]]:
    """The largest sum of node values over a path, and the options that lead to it."""
    return best_paths(space, values, 1)[0]


def best_paths(space: Space, values: Sequence[float], k: int) -> list[tuple[float, dict[int, int]]]:
    """The k largest sums of node values over a path, best first, and the options that lead there.

    From the leaves up: of a node and all below it, only the k best ways to go on can be part of the
    k best paths.
    """
    below: dict[int, list[_Way]] = {}
    for node in reversed(space.nodes):  # children come after their parents
        ways: list[_Way] = [(values[node.index], ())]
        for choice in node.dimensions:
            if space.dimensions[choice].parameter.is_branching:
                taken: list[_Way] = []
                for option in range(space.tree.choice(choice).n_values):
                    under: list[_Way] = [(0.0, ((choice, option),))]
                    for child in space.tree.children[choice]:
                        if option in child.options:
                            under = _sums(under, below[child.index], k)
                    taken += under
                ways = _sums(ways, _largest(taken, k), k)
        below[node.index] = ways
    return [(value, dict(_flatten(options))) for value, options in below[0]]


_Options = tuple[Any, ...]
"""Pairs (choice, option), nested: (left, right) joins two of them without copying."""
_Way = tuple[float, _Options]


def _sums(left: list[_Way], right: list[_Way], k: int) -> list[_Way]:
    return _largest([(a + b, (p, q)) for a, p in left for b, q in right], k)


def _largest(ways: list[_Way], k: int) -> list[_Way]:
    return sorted(ways, key=lambda way: -way[0])[:k]


def _flatten(options: _Options) -> Iterator[tuple[int, int]]:
    stack = [options]
    while stack:
        top = stack.pop()
        if len(top) == 2 and isinstance(top[0], int):
            yield top[0], top[1]
        else:
            stack.extend(top)


def optimistic_paths(
    space: Space,
    posterior: Posterior,
    acquisition: Acquisition,
    n: int,
    rng: np.random.Generator,
) -> list[Path]:
    """The ``n`` paths with the largest sums of optimistic node values, best first."""
    scored = [_score_node(space, posterior, acquisition, node.index, rng) for node in space.nodes]
    values = [0.0 if one is None else float(one[1][0]) for one in scored]
    return [space.tree.path_of(options) for _, options in best_paths(space, values, n)]


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
    for index in space.nodes[node].variables:
        rows[:, index] = space.dimensions[index].parameter.snap(rng.random(_CANDIDATES))
    values = acquisition.value(*posterior.of(components).moments(rows))
    order = np.argsort(-values, kind="stable")
    return rows[order], values[order]


def _search_node(
    space: Space,
    posterior: Posterior,
    acquisition_of: Callable[[int], Acquisition],
    node: int,
    rng: np.random.Generator,
) -> NodeOptimum:
    own = space.nodes[node].variables
    acquisition = acquisition_of(max(len(own), 1))
    scored = _score_node(space, posterior, acquisition, node, rng)
    if scored is None:
        return NodeOptimum(np.full(len(space), 0.5), 0.0)
    belief = posterior.of([c for c in posterior.components if c.node == node])
    continuous = [i for i in own if space.dimensions[i].parameter.is_continuous]
    top = climb(belief, acquisition, scored[0][:_POLISHED], continuous)
    values = acquisition.value(*belief.moments(top))
    return NodeOptimum(top[np.argmax(values)], float(values.max()))
