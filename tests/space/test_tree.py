from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bosquet import Choice, Float, Int, Space, SpaceError
from bosquet.space.tree import option_label
from tests.space.errors import raises
from tests.space.strategies import relaxed, spaces

x = Float(0, 1)


@pytest.mark.parametrize(
    ("parameters", "first", "second"),
    [
        ({"x": x, "m": Choice({"a": {"x": x}, "b": {}})}, "x", "m=a/x"),
        ({"m": Choice({"a": {"x": x}}), "x": x}, "m=a/x", "x"),
        ({"m": Choice({"a": {"m": x}, "b": {}})}, "m", "m=a/m"),
        (
            {"m": Choice({"a": {"x": x}, "b": {}}), "n": Choice({"c": {"x": x}, "d": {}})},
            "m=a/x",
            "n=c/x",
        ),
        ({"m": Choice({"a": {"x": x}, "b": {}, ("a", "b"): {"x": x}})}, "m=a/x", "m=a|b/x"),
        ({"m": Choice({"a": {"x": x}, "b": {}, ("a",): {"x": x}})}, "m=a/x", "m=a/x"),
        (
            {"m": Choice({1: {}, 2: {}, 3: {}, (1, 2): {"x": x}, (2, 3): {"x": x}})},
            "m=1|2/x",
            "m=2|3/x",
        ),
        (
            {"m": Choice({"a": {"n": Choice({"c": {"x": x}, "d": {}}), "x": x}, "b": {}})},
            "m=a/n=c/x",
            "m=a/x",
        ),
    ],
)
def test_a_name_that_can_be_active_twice(parameters: Any, first: str, second: str) -> None:
    text = (
        f"the name {'m' if first == 'm' else 'x'!r} is used twice by parameters that can be "
        f"active together: {first} and {second}"
    )
    with raises(SpaceError, text):
        Space(parameters)


def test_the_example(example: Space) -> None:
    assert len(example) == 9
    assert example.n_paths == 4
    assert example.size == float("inf")
    assert [d.qualified_name for d in example.dimensions] == [
        "scale",
        "lr",
        "model",
        "model=svm/C",
        "model=svm/kernel",
        "model=svm/kernel=rbf/gamma",
        "model=forest/depth",
        "model=boosting/eta",
        "model=forest|boosting/trees",
    ]
    assert [(node.label, node.dimensions) for node in example.nodes] == [
        ("root", (0, 1, 2)),
        ("model=svm", (3, 4)),
        ("kernel=linear", ()),
        ("kernel=rbf", (5,)),
        ("model=forest", (6,)),
        ("model=boosting", (7,)),
        ("model=forest|boosting", (8,)),
    ]
    assert [example.tree.path_label(path) for path in example.tree.paths()] == [
        "model=svm, kernel=linear",
        "model=svm, kernel=rbf",
        "model=forest",
        "model=boosting",
    ]
    assert example.tree.paths_per_option == {2: (2, 1, 1), 4: (1, 1)}


def test_an_and_or_tree_has_the_product_of_its_choices_as_paths() -> None:
    def branching(name: str) -> Choice:
        return Choice({"on": {name: x}, "off": {}, "auto": {}})

    space = Space({"a": branching("x"), "b": branching("y"), "c": Choice(["u", "v"])})
    assert space.n_paths == 9
    assert len(set(space.tree.paths())) == 9


@pytest.mark.parametrize(
    ("option", "label"),
    [
        ("rbf", "rbf"),
        (1, "1"),
        ("1", '"1"'),
        (1.5, "1.5"),
        ("1.5", '"1.5"'),
        ("-3", '"-3"'),
        (True, "True"),
        ("True", '"True"'),
        (None, "None"),
        ("None", '"None"'),
        ("", '""'),
        ("a b", '"a b"'),
        ("a|b", '"a|b"'),
        ('"1"', '"\\"1\\""'),
    ],
)
def test_option_labels(option: Any, label: str) -> None:
    assert option_label(option) == label


# -- what a tree knows of its paths ----------------------------------------------------------


def test_the_variables_of_the_example(example: Space) -> None:
    assert [node.variables for node in example.nodes] == [(0, 1), (3,), (), (5,), (6,), (7,), (8,)]
    names = [[d.name for d in example.tree.variables_of(p)] for p in example.tree.paths()]
    assert names == [
        ["scale", "lr", "C"],
        ["scale", "lr", "C", "gamma"],
        ["scale", "lr", "depth", "trees"],
        ["scale", "lr", "eta", "trees"],
    ]
    assert example.tree.largest_dimension == 4
    assert example.tree.options_of(example.path({"model": "svm", "kernel": "rbf"})) == {2: 0, 4: 1}


def test_choices_side_by_side_add_to_the_largest_path() -> None:
    parts = {
        f"c{i}": Choice({"a": {}, "b": {f"x{i}{j}": Int(0, 3) for j in range(i + 1)}})
        for i in range(3)
    }
    tree = Space(parts | {"z": x}).tree
    assert (tree.largest_dimension, tree.n_paths, tree.cover) == (1 + 2 + 3 + 1, 8, 2)


@relaxed
@given(spaces, st.integers(0, 2**32 - 1))
def test_facts_of_paths(space: Space, seed: int) -> None:
    tree = space.tree
    assert {d.index for d in space.dimensions if d.parameter.is_branching} == set(tree.children)
    assume(space.n_paths <= 500)
    paths = list(tree.paths())
    for path in paths:
        assert tree.path_of(tree.options_of(path)) == path
        own = [i for index in path for i in space.nodes[index].variables]
        assert [d.index for d in tree.variables_of(path)] == sorted(own)
    assert tree.largest_dimension == max(len(tree.variables_of(path)) for path in paths)
    rows = np.random.default_rng(seed).random((9, len(space)))
    found = tree.paths_of_rows(rows)
    assert found == [space.path(config) for config in space.from_unit(rows)]
    assert {p: [i for i in range(9) if found[i] == p] for p in found} == {
        p: which.tolist() for p, which in tree.rows_by_path(rows).items()
    }
