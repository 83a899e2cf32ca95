"""Algorithm 2 against brute force."""

import itertools

import numpy as np
import pytest

import bosquet as bq
from bosquet.acquisition.base import LowerBound
from bosquet.models.add_tree import add_tree
from bosquet.models.gp import AdditiveGP
from bosquet.search.node_sum import best_path, best_paths, maximise_node_sum, optimistic_paths

SPACES = {
    "tree": bq.benchmarks.large_balanced(shared=True).space,
    "and-or": bq.benchmarks.and_or(3).space,
    "caterpillar": bq.benchmarks.unbalanced(5).space,
    "tuple keys": bq.Space(
        {
            "s": bq.Float(0, 1),
            "m": bq.Choice(
                {
                    "a": {"x": bq.Float(0, 1)},
                    "b": {},
                    "c": {"k": bq.Choice({0: {"y": bq.Float(0, 1)}, 1: {}})},
                    ("a", "b"): {"z": bq.Float(0, 1)},
                    ("b", "c"): {"w": bq.Float(0, 1)},
                }
            ),
        }
    ),
}


@pytest.mark.parametrize("name", SPACES)
def test_the_best_path_is_the_best_of_all(name):
    space = SPACES[name]
    for seed in range(20):
        values = np.random.default_rng(seed).normal(size=len(space.nodes)).tolist()
        sums = {path: sum(values[i] for i in path) for path in space.tree.paths()}
        total, options = best_path(space, values)
        assert total == pytest.approx(max(sums.values()))
        assert sums[space.tree.path_of(options)] == pytest.approx(total)


@pytest.mark.parametrize("name", SPACES)
def test_the_k_best_paths_are_those_of_all(name):
    space = SPACES[name]
    for seed in range(5):
        values = np.random.default_rng(seed).normal(size=len(space.nodes)).tolist()
        sums = {path: sum(values[i] for i in path) for path in space.tree.paths()}
        for k in (1, 3, 1000):
            found = best_paths(space, values, k)
            expected = sorted(sums.values(), reverse=True)[:k]
            np.testing.assert_allclose([total for total, _ in found], expected)
            paths = [space.tree.path_of(options) for _, options in found]
            assert len(set(paths)) == len(paths)
            np.testing.assert_allclose([sums[path] for path in paths], expected)


def test_nodes_are_searched_one_by_one():
    """Every node's optimum equals that on a fine grid of its own variable."""
    space = bq.benchmarks.small_balanced(shared=True).space
    rng = np.random.default_rng(0)
    components, hyper = add_tree(space, interactions=False)
    X = space.to_unit(space.sample(rng, 12))
    gp = AdditiveGP(components, hyper, X, space.tree.node_activity(X), rng.normal(size=12))
    posterior = gp.posterior(hyper.mean)
    bound = LowerBound(0.7)
    x, value = maximise_node_sum(space, posterior, lambda _: bound, rng)
    best = []
    grid = np.linspace(0, 1, 2001)
    for node in space.nodes:
        mine = [c for c in components if c.node == node.index]
        own = [d for d in node.dimensions if d not in space.tree.children]
        rows = np.full((len(grid) if own else 1, len(space)), 0.5)
        for index in own:
            rows[:, index] = grid
        best.append(bound.value(*posterior.of(mine).moments(rows)).max() if mine else 0.0)
    expected = max(sum(best[i] for i in path) for path in space.tree.paths())
    assert value == pytest.approx(expected, abs=1e-5)
    path = space.path(space.from_unit(x))
    parts = [
        bound.value(*posterior.of(mine).moments(x[None]))[0]
        for i in path
        if (mine := [c for c in components if c.node == i])
    ]
    assert sum(parts) == pytest.approx(value, abs=1e-9)


def test_promising_paths_are_good_and_different():
    space = SPACES["and-or"]
    rng = np.random.default_rng(0)
    components, hyper = add_tree(space)
    X = space.to_unit(space.sample(rng, 30))
    y = np.array([float(c["part0"] != "b") + float(c["part2"] != "a") for c in space.from_unit(X)])
    gp = AdditiveGP(components, hyper, X, space.tree.node_activity(X), (y - y.mean()) / y.std())
    posterior = gp.posterior(gp.fit([hyper.mean])[0])
    paths = optimistic_paths(space, posterior, LowerBound(0.01), 8, rng)
    assert len(set(paths)) == len(paths) >= 4
    assert space.tree.path_label(paths[0]).startswith("part0=b")
    assert space.tree.path_label(paths[0]).endswith("part2=a")


def test_time_does_not_grow_with_the_paths():
    """2^40 paths: only possible when paths are not enumerated."""
    space = bq.Space({f"c{i}": bq.Choice({0: {f"x{i}": bq.Float(0, 1)}, 1: {}}) for i in range(40)})
    values = [0.0] * len(space.nodes)
    for node, sign in zip(space.nodes[1:], itertools.cycle([1.0, -1.0])):
        values[node.index] = sign
    assert best_path(space, values)[0] == 40.0
