"""A space used as a dict of its parameters."""

from __future__ import annotations

import pytest
from hypothesis import given

from bosquet import Choice, Float, Int, Space, SpaceError
from tests.space.strategies import relaxed, spaces

SVM, NET = Float(1e-3, 1e3, log=True), Int(1, 9)


@pytest.fixture
def space() -> Space:
    return Space(
        {
            "lr": Float(0, 1),
            "two words": Int(0, 3),
            "model": Choice({"svm": {"C": SVM, "gamma": Float(0, 1)}, "net": {"C": NET}}),
        }
    )


def test_by_short_and_by_qualified_names(space: Space) -> None:
    assert space["lr"] == Float(0, 1)
    assert space["model=svm/C"] == SVM
    assert space["gamma"] == space["model=svm/gamma"] == Float(0, 1)
    assert space["two words"] == space['"two words"'] == Int(0, 3)
    assert "lr" in space
    assert "C" in space
    assert "model=net/C" in space
    assert "model=net/gamma" not in space
    assert 3 not in space


def test_a_name_of_several_parameters_is_not_guessed(space: Space) -> None:
    text = "several parameters are called 'C': 'model=svm/C', 'model=net/C'"
    with pytest.raises(KeyError, match=text):
        space["C"]
    with pytest.raises(KeyError, match=text):
        space.get("C")


def test_a_missing_name(space: Space) -> None:
    with pytest.raises(KeyError, match="unknown parameter 'gama'; did you mean 'gamma'"):
        space["gama"]
    with pytest.raises(KeyError, match="unknown parameter 'q'; this space has 'lr', 'two words'"):
        space["q"]
    assert space.get("q") is None
    assert space.get("q", 7) == 7
    assert space.get("lr") == Float(0, 1)


@relaxed
@given(spaces)
def test_keys_values_and_items_are_those_of_the_dimensions(space: Space) -> None:
    names = [dimension.qualified_name for dimension in space.dimensions]
    parameters = [dimension.parameter for dimension in space.dimensions]
    assert list(space) == list(space.keys()) == names
    assert list(space.values()) == parameters
    assert list(space.items()) == list(zip(names, parameters, strict=True))
    assert len(space) == len(space.keys()) == len(names)
    assert [space[name] for name in space] == parameters
    assert dict(space.items()) == {name: space[name] for name in names}
    for dimension in space.dimensions:
        assert dimension.name in space


def test_a_space_is_extended_by_its_declaration_and_not_by_its_qualified_names(
    space: Space,
) -> None:
    longer = Space({**dict(space.parameters), "new": Float(0, 1)})
    assert list(longer) == [*space, "new"]
    with pytest.raises(
        SpaceError, match=r"qualified name of .*once more.*begin with dict\(space.parameters"
    ):
        Space({**space, "new": Float(0, 1)})
    with pytest.raises(SpaceError, match=r"not Space .*; give dict\(space.parameters\)"):
        Choice({"a": space, "b": {}})
