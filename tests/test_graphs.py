"""Cliques and junction trees."""

import itertools

import networkx as nx
import numpy as np
import pytest

from bosquet.graphs import (
    components,
    edges_of,
    junction_tree,
    maximal_cliques,
    random_tree,
    treewidth,
)

FIGURE_1 = [(1, 2, 3), (1, 3, 4), (4, 5), (6,)]


def test_the_cliques_of_figure_1():
    assert maximal_cliques(range(1, 7), edges_of(FIGURE_1)) == FIGURE_1
    assert treewidth(range(1, 7), edges_of(FIGURE_1)) == 2


def test_three_pairs_are_one_clique():
    assert maximal_cliques([0, 1, 2], edges_of([(0, 1), (1, 2), (2, 0)])) == [(0, 1, 2)]


def test_no_edges():
    assert maximal_cliques([3, 5], []) == [(3,), (5,)]
    assert components([3, 5, 7], [(3, 7)]) == [(3, 7), (5,)]
    assert junction_tree([3, 5], []).width == 0


@pytest.mark.parametrize("seed", range(30))
def test_junction_trees_have_the_running_intersection_property(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    vertices = list(range(n))
    pairs = itertools.combinations(vertices, 2)
    edges = [edge for edge in pairs if rng.random() < rng.choice([0.1, 0.3, 0.6])]
    n_bags = len(junction_tree(vertices, edges).bags)
    tree = junction_tree(vertices, edges, root=int(rng.integers(n_bags)))
    assert len(tree.bags) == n_bags
    assert tree.parents[0] == -1
    assert all(0 <= parent < i for i, parent in enumerate(tree.parents) if i)
    assert {v for bag in tree.bags for v in bag} == set(vertices)
    for clique in maximal_cliques(vertices, edges):
        assert set(clique) <= set(tree.bags[tree.home(clique)])
    for v in vertices:  # the bags of a vertex are connected: one of them has no parent among them
        mine = {i for i, bag in enumerate(tree.bags) if v in bag}
        assert sum(tree.parents[i] not in mine for i in mine) == 1
    assert tree.width == treewidth(vertices, edges)


def test_random_trees_are_trees_of_every_shape():
    rng = np.random.default_rng(0)
    vertices = [2, 3, 5, 7]
    seen = set()
    for _ in range(300):
        edges = random_tree(vertices, rng)
        assert nx.is_tree(nx.Graph(edges))
        assert set(itertools.chain(*edges)) == set(vertices)
        seen.add(tuple(edges))
    assert len(seen) == 16  # Cayley: 4^2
    assert random_tree([4, 1], rng) == [(1, 4)]
    assert random_tree([4], rng) == []
