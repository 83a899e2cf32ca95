"""The next best points against sorting all of them."""

import itertools

import numpy as np
import pytest

from bosquet.graphs import edges_of, junction_tree, maximal_cliques
from bosquet.search.message_passing import best_sums, k_best, max_sum

GRAPHS: dict[str, list[tuple[int, ...]]] = {
    "a chain": [(0, 1), (1, 2), (2, 3)],
    "a cycle, which is triangulated": [(0, 1), (1, 2), (2, 3), (0, 3)],
    "parts": [(0, 1, 2), (3,)],
    "alone": [(0,)],
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("seed", range(3))
def test_all_points_come_once_and_in_order(name, seed):
    rng = np.random.default_rng(seed)
    groups = GRAPHS[name]
    vertices = sorted({v for group in groups for v in group})
    sizes = {v: int(rng.integers(1, 5)) for v in vertices}
    edges = edges_of(groups)
    tree = junction_tree(vertices, edges)
    cliques = maximal_cliques(vertices, edges)
    terms = [(c, rng.normal(size=[sizes[v] for v in c])) for c in cliques]
    terms[0][1].flat[0] = -np.inf  # ruled out
    sums = {
        levels: sum(table[tuple(levels[vertices.index(v)] for v in c)] for c, table in terms)
        for levels in itertools.product(*(range(sizes[v]) for v in vertices))
    }
    expected = sorted((value for value in sums.values() if value > -np.inf), reverse=True)
    found = list(k_best(tree, terms, sizes))
    np.testing.assert_allclose([value for value, _ in found], expected, atol=1e-12)
    points = [tuple(levels[v] for v in vertices) for _, levels in found]
    assert len(set(points)) == len(points)
    np.testing.assert_allclose([sums[point] for point in points], expected, atol=1e-12)
    if found:
        assert found[0] == max_sum(tree, terms, sizes)


def test_sums_over_several_streams():
    """Two sets of streams, as two paths of a tree that share a node."""
    values = {0: [3.0, 1.0], 1: [2.0, 1.5, -4.0], 2: [2.5]}
    streams = {
        name: iter([(v, np.array([float(i)])) for i, v in enumerate(some)])
        for name, some in values.items()
    }
    sets = [[0, 1], [0, 2]]
    found = list(best_sums(streams, sets))
    expected = sorted(
        (
            (sum(values[name][i] for name, i in zip(names, places, strict=True)), which, places)
            for which, names in enumerate(sets)
            for places in itertools.product(*(range(len(values[name])) for name in names))
        ),
        reverse=True,
    )
    assert [value for value, *_ in found] == [value for value, *_ in expected]
    for value, which, entries in found:
        assert sorted(entries) == sets[which]
        assert value == sum(values[name][int(entry[0])] for name, entry in entries.items())


def test_a_path_without_streams_has_a_sum_of_zero():
    found = list(best_sums({0: iter([(-1.0, np.zeros(1))])}, [[0], []]))
    assert [(value, which) for value, which, _ in found] == [(0.0, 1), (-1.0, 0)]
