"""Declared defaults, and what stands in for those that are not."""

from __future__ import annotations

from typing import Any

import pytest

from bosquet import Choice, Constraint, Float, Forbid, Int, Space, SpaceError
from bosquet.space.parameter import Parameter
from tests.space.errors import raises

Config = dict[str, Any]
x = Float(0, 1)


def test_default_config(example: Space) -> None:
    assert example.default_config() == {
        "scale": "none",
        "lr": 0.01,
        "model": "svm",
        "C": pytest.approx(1.0),
        "kernel": "linear",
    }
    assert example.has_defaults
    assert not Space({"x": x, "none": Choice([None, 1])}).has_defaults


def test_falsy_defaults_are_kept() -> None:
    space = Space(
        {
            "i": Int(-5, 5, default=0),
            "f": Float(-1, 3, default=0),
            "b": Choice([True, False], default=False),
            "s": Choice(["x", ""], default=""),
            "z": Choice([1, 0], default=0),
            "n": Choice(["a", None], default=None),  # no default: the first option
        }
    )
    assert space.default_config() == {"i": 0, "f": 0.0, "b": False, "s": "", "z": 0, "n": "a"}
    assert space.has_defaults


def test_default_config_looks_for_what_the_constraints_allow() -> None:
    space = Space(
        {"a": Choice([1, 2, 3]), "b": Choice([1, 2, 3], default=1)},
        constraints=[lambda c: c["a"] > c["b"] + 1],
    )
    assert space.default_config() == {"a": 3, "b": 1}


def test_defaults_that_violate_a_constraint_are_refused_when_the_space_is_made() -> None:
    with raises(SpaceError, "the declared defaults violate the constraint not (a=1)"):
        Space({"a": Int(1, 3, default=1)}, constraints=[Forbid({"a": 1})])
    branches: dict[str, dict[str, Parameter]] = {"p": {"x": Float(0, 1, default=0.5)}, "q": {}}
    both: dict[str, Parameter] = {"m": Choice(branches, default="p"), "n": Int(0, 9)}
    text = " in each of 10000 draws of the other parameters"
    large = Constraint(lambda c: c["x"] > 0.7, on=["x"])
    with raises(SpaceError, f"the declared defaults violate the constraint <lambda>(x){text}"):
        Space(both, constraints=[large])
    with raises(SpaceError, f"the declared defaults violate the constraint <lambda>{text}"):
        Space(both, constraints=[lambda c: c["m"] == "q"])
    Space({"m": Choice(branches)}, constraints=[large])  # another branch will do
    Space(both, constraints=[lambda c: c["n"] == 9])  # another value of n will do
    Space({"m": Choice(branches)}, constraints=[lambda c: c["m"] == "q"])  # the default is inactive


def test_constraints_are_not_called_where_there_are_no_defaults() -> None:
    def broken(config: Config) -> bool:
        raise AssertionError(f"called with {config}")

    Space({"a": Int(1, 3), "m": Choice({"p": {"x": Float(0, 1)}, "q": {}})}, constraints=[broken])
    with pytest.raises(SpaceError, match="constraint broken raised AssertionError: called with"):
        Space({"a": Int(1, 3, default=2)}, constraints=[broken])
