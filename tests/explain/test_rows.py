"""Rows at which a model is looked at belong to their branch and satisfy the constraints."""

import numpy as np
import pytest

from bosquet import Choice, Float, Forbid, Int, Space
from bosquet.explain.rows import crossed, grid, rows_on, rows_with, strata, values_at
from bosquet.search.mixed import feasible
from tests.explain.studies import tree_space

SPACE = Space(
    {
        "x": Float(1e-3, 1, log=True),
        "n": Int(1, 5),
        "c": Choice(["a", "b", "c"]),
        "m": Choice({"p": {"u": Float(0, 1)}, "q": {"v": Float(0, 1)}, ("p", "q"): {}}),
    },
    constraints=[Forbid({"c": "a", "m": "p"})],
)


def test_a_grid_goes_from_end_to_end_and_takes_all_of_few_values():
    x, n, c, _ = SPACE.dimensions[:4]
    assert values_at(x, grid(x, 3)) == pytest.approx([1e-3, 10**-1.5, 1.0])
    assert values_at(n, grid(n, 7)) == [1, 2, 3, 4, 5]
    assert len(grid(n, 3)) == 3
    assert values_at(c, grid(c, 9)) == ["a", "b", "c"]
    assert 0.0 < strata(x, 4)[0] < strata(x, 4)[-1] < 1.0


def test_rows_of_a_path_and_of_a_node_satisfy_what_they_must():
    path = SPACE.path({"m": "p"})
    rows = rows_on(SPACE, path, 30)
    assert len(rows) == 30
    assert set(SPACE.tree.paths_of_rows(rows)) == {path}
    assert all(config["c"] != "a" for config in SPACE.from_unit(rows))
    space = tree_space()
    assert len(set(space.tree.paths_of_rows(rows_with(space, 0, 16)))) == 2
    node = space.tree.by_qualified_name["model=svm/C"].node
    assert space.tree.node_activity(rows_with(space, node, 16))[:, node].all()
    assert not feasible(SPACE, SPACE.to_unit([{"x": 1, "n": 1, "c": "a", "m": "p", "u": 0}]))[0]


def test_rows_are_crossed_with_values():
    rows = np.zeros((3, 4))
    many = crossed(rows, {1: np.array([0.2, 0.8]), 2: np.array([0.1, 0.9])})
    assert many.shape == (2, 3, 4)
    np.testing.assert_array_equal(many[1, :, 1:3], [[0.8, 0.9]] * 3)
    assert not rows.any()
