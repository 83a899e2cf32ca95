"""Invariants of Algorithm 1 and of regions, on random spaces."""

import json

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import bosquet as bq
from bosquet.acquisition.base import LowerBound
from bosquet.models.forest import Forest
from bosquet.search.region import Region
from bosquet.search.subregion import subregion
from bosquet.search.tree_path import PathSearch
from tests.space.strategies import relaxed, spaces

few = settings(relaxed, max_examples=15)


def planted(space, n, seed):
    rng = np.random.default_rng(seed)
    X = space.to_unit(space.sample(rng, n))
    z = np.sin(5 * X @ rng.standard_normal(len(space)))
    forest = Forest(space, X, z, rng, n_trees=4)
    return X, forest, space.to_unit(space.sample(rng, 1))[0]


def brute_force(space, forest, x, X, least):
    """Algorithm 1 again: the splits along x of every tree as lists, taken level by level."""
    e, E = forest.encode(x[None])[0], forest.encode(X)
    ways = []
    for tree in forest.trees:
        node, splits = 0, []
        while tree.children_left[node] >= 0:
            column, threshold = tree.feature[node], tree.threshold[node]
            below = e[column] <= threshold
            splits.append((E[:, column] <= threshold) == below)
            node = (tree.children_left if below else tree.children_right)[node]
        ways.append(splits)
    inside = np.array([space.path(c) == space.path(space.from_unit(x)) for c in space.from_unit(X)])
    inside = inside if inside.sum() >= least else np.ones(len(X), dtype=bool)
    while any(ways):
        for splits in ways:
            if splits and (inside & splits[0]).sum() >= least:
                inside = inside & splits.pop(0)
            else:
                splits.clear()
    return inside


@few
@given(spaces, st.integers(0, 100), st.integers(1, 12))
def test_invariants_of_algorithm_1(space, seed, least):
    X, forest, x = planted(space, 30, seed)
    region, inside = subregion(space, forest, x, X, least)
    np.testing.assert_array_equal(inside, brute_force(space, forest, x, X, least))
    assert inside.sum() >= least
    assert region.contains(x[None]).all()
    assert ((region.lower >= 0) & (region.upper <= 1)).all()
    assert 0 < region.volume <= 1
    mine = (space.tree.node_activity(X) == space.tree.node_activity(x[None])).all(axis=1)
    slack = Region(space, x, region.lower - 1e-6, region.upper + 1e-6, region.allowed)
    if mine.sum() >= least:
        assert mine[inside].all()
    # On the path, the box and the sets say the same as the splits, rounding aside.
    assert slack.contains(X[inside & mine]).all()
    tight = Region(space, x, region.lower + 1e-6, region.upper - 1e-6, region.allowed)
    assert not (tight.contains(X) & ~inside).any()


@few
@given(spaces, st.integers(0, 100))
def test_fewer_points_never_make_a_larger_region_with_one_tree(space, seed):
    rng = np.random.default_rng(seed)
    X = space.to_unit(space.sample(rng, 30))
    forest = Forest(space, X, np.sin(7 * X.sum(axis=1)), rng, n_trees=1)
    mine = [subregion(space, forest, X[0], X, least)[1] for least in (1, 3, 9)]
    assume(mine[2].sum() < 30)
    assert (mine[0] <= mine[1]).all()


@few
@given(spaces, st.integers(0, 100), st.integers(1, 12))
def test_draws_and_projections_lie_inside(space, seed, least):
    X, forest, x = planted(space, 30, seed)
    region, _ = subregion(space, forest, x, X, least)
    rng = np.random.default_rng(seed)
    for rows in (region.draw(20, rng), region.project(X), region.project(rng.random(X.shape))):
        assert region.contains(rows).all()
        np.testing.assert_allclose(space.snap(rows), rows, atol=1e-12)
    kept = X[region.contains(X)]
    np.testing.assert_array_equal(region.project(kept), kept)
    back = Region.from_json(space, json.loads(json.dumps(region.to_json())))
    np.testing.assert_array_equal(back.contains(X), region.contains(X))
    assert back.volume == region.volume


class Slope:
    """A belief that falls with every coordinate."""

    def moments(self, X):
        return -X.sum(axis=1), np.ones(len(X))

    def moments_with_gradients(self, X):
        return *self.moments(X), -np.ones_like(X), np.zeros_like(X)


def test_the_search_on_a_path_stays_inside_and_reaches_the_corner():
    space = bq.Space(
        {
            "m": bq.Choice({"a": {"u": bq.Float(0, 1), "n": bq.Int(0, 9)}, "b": {}}),
            "x": bq.Float(0, 1),
            "c": bq.Choice(list("pqr")),
        }
    )
    centre = space.to_unit({"m": "a", "u": 0.3, "n": 4, "x": 0.5, "c": "p"})
    lower, upper = np.maximum(centre - 0.15, 0), np.minimum(centre + 0.15, 1)
    region = Region(space, centre, lower, upper, {4: (0, 1)})
    search = PathSearch(space, lambda _: Slope(), LowerBound(1.0), region=region)
    good = space.to_unit(space.sample(0, 4))
    (found,) = search.maximise([region.path], good, np.random.default_rng(0))
    assert region.contains(found.X).all()
    corner = {"m": "a", "u": 0.45, "n": 5, "x": 0.65, "c": "q"}
    np.testing.assert_allclose(found.X[0], space.to_unit(corner), atol=1e-9)


def test_a_category_is_cut_to_any_set():
    space = bq.Space({"c": bq.Choice(list("abcdef")), "x": bq.Float(0, 1)})
    configs = space.sample(0, 200)
    X = space.to_unit(configs)
    z = np.array([float(c["c"] in "ae") for c in configs])  # not neighbours in the list
    forest = Forest(space, X, z, np.random.default_rng(0))
    region, inside = subregion(
        space, forest, X[configs.index(next(c for c in configs if c["c"] == "a"))], X, 20
    )
    assert set(region.allowed[0]) <= {0, 4}
    assert {configs[i]["c"] for i in np.flatnonzero(inside)} <= {"a", "e"}
    assert region.volume <= 2 / 6


def test_it_shrinks_on_many_points_and_keeps_enough():
    space = bq.Space({f"x{i}": bq.Float(0, 1) for i in range(5)})
    rng = np.random.default_rng(0)
    X = rng.random((400, 5))
    forest = Forest(space, X, np.sum((X - 0.3) ** 2, axis=1), rng)
    region, inside = subregion(space, forest, np.full(5, 0.3), X, 25)
    assert 25 <= inside.sum() <= 50
    assert region.volume < 0.2


def test_a_branch_with_too_few_points_borrows_from_others():
    space = bq.Space(
        {
            "x": bq.Float(0, 1),
            "m": bq.Choice({"a": {"u": bq.Float(0, 1)}, "b": {"v": bq.Float(0, 1)}}),
        }
    )
    many = [{"x": i / 40, "m": "a", "u": (7 * i % 40) / 40} for i in range(40)]
    X = space.to_unit([*many, {"x": 0.2, "m": "b", "v": 0.5}])
    forest = Forest(space, X, X[:, 0] ** 2, np.random.default_rng(0))
    region, inside = subregion(space, forest, X[-1], X, 10)
    assert inside.sum() >= 10
    assert space.path(space.from_unit(X[-1])) == region.path
    assert region.volume == pytest.approx(region.upper[0] - region.lower[0], rel=1)
    assert not region.contains(X[:-1]).any()


def test_a_subregion_says_nothing_of_what_is_not_there():
    """Few trials on the branch of x_g: those of the other one count, split by what it has."""
    space = bq.Space(
        {"m": bq.Choice({"a": {}, "b": {"c": bq.Choice(list("pqr"))}}), "x": bq.Float(0, 1)}
    )
    configs = space.sample(0, 60)
    rows = [c for c in configs if c["m"] == "b"] + [c for c in configs if c["m"] == "a"][:3]
    X = space.to_unit(rows)
    z = np.array([float(c.get("c") == "p") for c in rows])
    forest = Forest(space, X, z, np.random.default_rng(0))
    region, inside = subregion(space, forest, X[-1], X, 8)
    left = {c.get("c") for c, kept in zip(rows, inside, strict=True) if kept}
    assert None in left
    assert "p" not in left
    assert not region.allowed
