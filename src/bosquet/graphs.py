"""Dependency graphs: maximal cliques, triangulation by min-fill, junction trees.

Vertices are integers, cliques and bags ascending tuples of them. networkx loads when first used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any

import numpy as np

Clique = tuple[int, ...]
Edge = tuple[int, int]
"""The smaller vertex first."""


def edges_of(groups: Iterable[Iterable[int]]) -> list[Edge]:
    """The edges between all members of each group, ascending."""
    return sorted({edge for group in groups for edge in combinations(sorted(set(group)), 2)})


def maximal_cliques(vertices: Sequence[int], edges: Iterable[Edge]) -> list[Clique]:
    """Ascending; an isolated vertex is one too."""
    import networkx as nx

    graph = nx.Graph(edges)  # of the others alone: a graph that is learned has few edges
    found = [tuple(sorted(clique)) for clique in nx.find_cliques(graph)]
    return sorted(found + [(vertex,) for vertex in vertices if vertex not in graph])


def components(vertices: Sequence[int], edges: Iterable[Edge]) -> list[Clique]:
    """The vertices that are connected with each other, ascending."""
    import networkx as nx

    return sorted(tuple(sorted(one)) for one in nx.connected_components(_graph(vertices, edges)))


def connected(edges: Iterable[Edge], first: int, second: int) -> bool:
    """Whether a path of edges leads from one vertex to another."""
    neighbours: dict[int, list[int]] = {}
    for i, j in edges:
        neighbours.setdefault(i, []).append(j)
        neighbours.setdefault(j, []).append(i)
    seen, stack = {first}, [first]
    while stack:
        for other in neighbours.get(stack.pop(), ()):
            if other not in seen:
                seen.add(other)
                stack.append(other)
    return second in seen


def random_tree(vertices: Sequence[int], rng: np.random.Generator) -> list[Edge]:
    """The edges of a tree on all vertices, every such tree equally likely (Pruefer)."""
    if len(vertices) < 3:
        return edges_of([vertices])
    import networkx as nx

    code = rng.integers(len(vertices), size=len(vertices) - 2).tolist()
    return edges_of([[vertices[i], vertices[j]] for i, j in nx.from_prufer_sequence(code).edges])


def treewidth(vertices: Sequence[int], edges: Iterable[Edge]) -> int:
    """Of the min-fill triangulation: an upper bound of the smallest one."""
    return _decomposition(vertices, edges)[0]


@dataclass(frozen=True)
class JunctionTree:
    """The maximal cliques of a triangulated graph, as a tree; parents come before children."""

    bags: tuple[Clique, ...]
    parents: tuple[int, ...]
    """The position of each bag's parent; -1 for the root."""

    @property
    def width(self) -> int:
        return max(len(bag) for bag in self.bags) - 1

    def home(self, clique: Clique) -> int:
        """The one bag to which a clique is assigned: the first that contains it.

        Eq. (7) as printed gives a clique to a bag unless a child of it contains the clique, so that
        two children which both contain it count it twice.
        """
        wanted = set(clique)
        near = self._with_vertex[clique[0]] if clique else range(len(self.bags))
        return next(i for i in near if wanted <= set(self.bags[i]))

    @cached_property
    def _with_vertex(self) -> dict[int, list[int]]:
        """The positions of the bags of every vertex."""
        found: dict[int, list[int]] = {}
        for i, bag in enumerate(self.bags):
            for vertex in bag:
                found.setdefault(vertex, []).append(i)
        return found

    @cached_property
    def splits(self) -> tuple[tuple[Clique, Clique], ...]:
        """Of every bag, the variables that it shares with its parent, and the others."""
        above: list[Clique] = [() if i < 0 else self.bags[i] for i in self.parents]
        return tuple(
            (tuple(v for v in bag if v in up), tuple(v for v in bag if v not in up))
            for bag, up in zip(self.bags, above, strict=True)
        )


def junction_tree(vertices: Sequence[int], edges: Iterable[Edge], root: int = 0) -> JunctionTree:
    """Of the min-fill triangulation; ``root`` is the position of a bag among the sorted ones."""
    return _junction_tree(tuple(vertices), tuple(edges), root)


@lru_cache(maxsize=32)  # a learned graph stays the same for many asks
def _junction_tree(vertices: Clique, edges: tuple[Edge, ...], root: int) -> JunctionTree:
    import networkx as nx

    _, tree = _decomposition(vertices, edges)
    top = sorted(tree.nodes, key=sorted)[root]
    links = nx.bfs_edges(tree, top, sort_neighbors=lambda b: sorted(b, key=sorted))
    parent_of = {below: above for above, below in links}
    order = [top, *parent_of]
    position = {bag: i for i, bag in enumerate(order)}
    return JunctionTree(
        bags=tuple(tuple(sorted(bag)) for bag in order),
        parents=(-1, *(position[parent] for parent in parent_of.values())),
    )


def _graph(vertices: Sequence[int], edges: Iterable[Edge]) -> Any:
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(vertices)
    graph.add_edges_from(edges)
    return graph


def _decomposition(vertices: Sequence[int], edges: Iterable[Edge]) -> tuple[int, Any]:
    from networkx.algorithms.approximation import treewidth_min_fill_in

    width, tree = treewidth_min_fill_in(_graph(vertices, edges))
    return width, tree
