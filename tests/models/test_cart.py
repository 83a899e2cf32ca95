"""The tree against brute force."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bosquet as bq
from bosquet.models.cart import Cart, thinned
from tests.models.uneven import box, jagged, tree_space
from tests.space.strategies import spaces


def uncertainty(y):
    return float(np.mean((y - y.mean()) ** 2))


def brute_force(X, y, least):
    """The highest I of Eq. (1) over all thresholds at data points that belong to both children."""
    best = 0.0
    for k in range(X.shape[1]):
        for t in X[:, k]:
            left, right = y[X[:, k] <= t], y[X[:, k] >= t]
            if least <= len(left) < len(y) and least <= len(right) < len(y):
                gain = uncertainty(y)
                gain -= len(left) / len(y) * uncertainty(left)
                gain -= len(right) / len(y) * uncertainty(right)
                best = max(best, gain)
    return best


@pytest.mark.parametrize("grid", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_splits_are_those_of_equation_1(seed, grid):
    rng = np.random.default_rng(seed)
    X, y = rng.random((30, 2)), rng.standard_normal(30)
    if grid:
        X = np.round(X * 4) / 4
    tree = Cart(box(2), X, y, least=4)
    for leaf in tree.leaves:
        for above, below in pairwise(leaf.path):
            cut = np.flatnonzero((above.lower != below.lower) | (above.upper != below.upper))
            assert len(cut) == 1
            k = int(cut[0])
            at = below.upper[k] if below.upper[k] < above.upper[k] else below.lower[k]
            rows, here = above.rows, X[above.rows, k]
            sides = rows[here <= at], rows[here >= at]
            shared = (here == at).sum()
            assert shared >= 1
            assert len(sides[0]) + len(sides[1]) == len(rows) + shared
            assert set(below.rows) in [set(side) for side in sides]
            gain = uncertainty(y[rows]) - sum(
                len(side) / len(rows) * uncertainty(y[side]) for side in sides
            )
            assert gain == pytest.approx(brute_force(X[rows], y[rows], 4))
            assert len(below.rows) >= 4
        assert brute_force(X[leaf.cell.rows], y[leaf.cell.rows], 4) <= 1e-9  # and no more


def test_a_leaf_holds_the_rows_in_its_box_and_a_query_has_one_leaf():
    X, z = jagged(40)
    tree = Cart(box(), X, z)
    edges = sorted({float(leaf.cell.lower[0]) for leaf in tree.leaves} | {1.0})
    assert len(tree.leaves) > 3
    assert all(edge in X for edge in edges[1:-1])  # thresholds are at data points
    for leaf in tree.leaves:
        inside = (X[:, 0] >= leaf.cell.lower[0]) & (X[:, 0] <= leaf.cell.upper[0])
        np.testing.assert_array_equal(np.sort(leaf.cell.rows), np.flatnonzero(inside))
        at = np.array([[leaf.cell.upper[0]]])
        found = tree.leaves[tree.leaf_of(at)[0]]
        assert found is leaf  # at a threshold the left one


def test_nothing_is_split_without_gain():
    X = np.random.default_rng(0).random((20, 2))
    assert len(Cart(box(2), X, np.full(20, 3.7)).leaves) == 1
    same = np.repeat(X[:2], 10, axis=0)
    assert len(Cart(box(2), same, np.arange(20.0)).leaves) == 1  # a slab would not get smaller
    assert len(Cart(box(2), X[:8], np.arange(8.0)).leaves) == 1  # 5 + 5 - 1 > 8
    assert len(Cart(box(2), X[:9], X[:9, 0]).leaves) == 2
    with pytest.raises(ValueError, match="least=0 must be at least 1"):
        Cart(box(2), X, X[:, 0], least=0)


def test_categories_and_branches_are_split_by_option():
    space = bq.Space({"c": bq.Choice(["p", "q", "r"]), "x": bq.Float(0, 1)})
    rng = np.random.default_rng(0)
    configs = space.sample(rng, 60)
    X = space.to_unit(configs)
    y = np.array([10.0 * (c["c"] == "q") + (5 * c["x"] if c["c"] == "r" else 0) for c in configs])
    tree = Cart(space, X, y)
    first = tree.leaves[0].path[1]
    assert first.allowed == {0: (1,)}
    assert not any(0 < leaf.cell.upper[1] < 1 for leaf in tree.leaves if 1 in leaf.cell.allowed[0])
    assert any(leaf.cell.allowed[0] == (2,) and leaf.cell.upper[1] < 1 for leaf in tree.leaves)


def test_a_conditional_variable_splits_where_its_branch_is_certain():
    space = tree_space()
    configs = space.sample(3, 120)
    X = space.to_unit(configs)
    y = np.array(
        [
            {"a": lambda c: 20 * (c["x"] > 0.6), "b": lambda c: 5.0, "c": lambda c: 5.0}[c["m"]](c)
            + (30 * (c["t"] > 0.5) if "t" in c else 0)
            for c in configs
        ]
    )
    tree = Cart(space, X, y, least=8)
    names = [d.name for d in space.dimensions]
    x, t, m = names.index("x"), names.index("t"), names.index("m")
    cut = {"x": 0, "t": 0}
    for leaf in tree.leaves:
        for cell in leaf.path:
            if cell.lower[x] > 0 or cell.upper[x] < 1:
                assert cell.allowed[m] == (0,)
                cut["x"] += 1
            if cell.lower[t] > 0 or cell.upper[t] < 1:  # shared by two options: a need not be ...
                assert set(cell.allowed[m]) <= {1, 2}  # ... there, but not which of the two is
                cut["t"] += 1
    assert all(cut.values())


@settings(max_examples=15, deadline=None)
@given(space=spaces, seed=st.integers(0, 9))
def test_on_any_space_leaves_are_a_partition_of_what_is_active(space, seed):
    rng = np.random.default_rng(seed)
    X = space.snap(rng.random((40, len(space))))
    tree = Cart(space, X, rng.standard_normal(40), least=3)
    leaf_of = tree.leaf_of(X)
    for i, leaf in enumerate(tree.leaves):
        assert set(np.flatnonzero(leaf_of == i)) <= set(leaf.cell.rows)
        assert len(leaf.cell.rows) >= 3
        active = space.activity(X[leaf.cell.rows])
        cut = (leaf.cell.lower > 0) | (leaf.cell.upper < 1)
        cut[list(leaf.cell.allowed)] = True
        assert active[:, cut].all()
    assert set(np.concatenate([leaf.cell.rows for leaf in tree.leaves])) == set(range(40))


# -- the rows of a path ----------------------------------------------------------------------


def test_rows_of_a_path_are_nested_and_weigh_what_their_cells_do():
    X, z = jagged(40)
    leaf = max(Cart(box(), X, z).leaves, key=lambda leaf: len(leaf.path))
    rows, weights = leaf.nested()
    assert sorted(rows) == list(range(40))
    for cell in leaf.path:
        assert set(rows[: len(cell.rows)]) == set(cell.rows)
    expected = [
        sum(w for cell, w in zip(leaf.path, leaf.weights, strict=True) if row in cell.rows)
        for row in rows
    ]
    np.testing.assert_allclose(weights, expected)
    np.testing.assert_array_equal(leaf.nested(40)[0], rows)


def test_many_rows_are_thinned_and_weigh_as_much_together():
    X, z = jagged(200)
    leaf = max(Cart(box(), X, z, 20).leaves, key=lambda leaf: len(leaf.path))
    rows, weights = leaf.nested(40)
    all_weights = leaf.nested()[1]
    assert len(rows) <= 40
    assert len(set(rows)) == len(rows)
    assert len(np.intersect1d(rows, leaf.cell.rows)) == 20
    assert weights.sum() == pytest.approx(all_weights.sum())
    assert (np.diff(weights) <= 0).all()
    assert thinned(np.arange(10), 4).tolist() == [0, 3, 6, 9]


def test_distances_from_a_leaf():
    space = tree_space()
    X = space.to_unit(space.sample(0, 60))
    tree = Cart(space, X, np.sin(9 * X.sum(axis=1)), 5)
    for leaf in tree.leaves:
        distances = tree.distances(leaf)
        assert (distances[leaf.cell.rows] == -1.0).all()
        others = np.setdiff1d(np.arange(60), leaf.cell.rows)
        assert (distances[others] >= 0.0).all()
        far = others[int(np.argmax(distances[others]))]
        outside = np.maximum(leaf.cell.lower - X[far], X[far] - leaf.cell.upper)
        options = [space.tree.choice(k).option_index(X[[far], k])[0] for k in leaf.cell.allowed]
        wrong = [
            o not in leaf.cell.allowed[k] for k, o in zip(leaf.cell.allowed, options, strict=True)
        ]
        ordered = [k for k in range(len(space)) if k not in leaf.cell.allowed]
        expected = (np.maximum(outside[ordered], 0.0) ** 2).sum() + sum(wrong)
        assert distances[far] == pytest.approx(expected)
