from __future__ import annotations

import re
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest

from bosquet import Choice, ConfigError, Float, Forbid, Int, Space, SpaceError
from bosquet.space import as_space
from bosquet.space.encoding import FILLER
from tests.space.errors import raises
from tests.space.test_sampling import is_uniform

Config = dict[str, Any]


# -- declarations ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({}, "a space needs at least one parameter"),
        (None, "a space must be a dict of parameters, not NoneType None"),
        ([("x", Float(0, 1))], "a space must be a dict of parameters, not list"),
        ({3: Float(0, 1)}, "a space: the name 3 must be a non-empty string"),
        ({None: Float(0, 1)}, "a space: the name None must be a non-empty string"),
        ({"": Float(0, 1)}, "a space: the name '' must be a non-empty string"),
        ({"x": 3}, "a space: 'x' must be a Float, an Int or a Choice, not 3"),
        ({"x": (0, 1)}, "a space: 'x' must be a Float, an Int or a Choice, not (0, 1)"),
        ({"x": (0, 1)}, "not (0, 1); did you mean Int(0, 1)?"),
        ({"x": (0.5, 1)}, "not (0.5, 1); did you mean Float(0.5, 1)?"),
        ({"x": ["a", 1]}, "not ['a', 1]; did you mean Choice(['a', 1])?"),
        ({"x": {"y": Int(0, 1)}}, "; did you mean a Choice, with a dict of parameters for each"),
        ({"x": Int}, "a space: 'x' must be a Float, an Int or a Choice, not <class"),
        ({"x": {"y": Int(0, 1)}}, "a space: 'x' must be a Float, an Int or a Choice, not {'y'"),
    ],
)
def test_bad_spaces(parameters: Any, text: str) -> None:
    with pytest.raises(SpaceError, match=re.escape(text)):
        Space(parameters)


def test_what_is_no_range_and_no_list_is_not_guessed_at() -> None:
    odds: tuple[Any, ...] = ((1, 2, 3), ("a", "b"), [], 3)
    for odd in odds:
        with pytest.raises(SpaceError) as error:
            Space({"x": odd})
        assert str(error.value).endswith(f"not {odd!r}")


def test_a_dict_is_a_space_where_one_is_asked_for() -> None:
    space = Space({"x": Float(0, 1)})
    assert as_space(space) is space
    assert as_space({"x": Float(0, 1)}) == space
    with pytest.raises(TypeError, match=r"bosquet\.Space or a dict of parameters, not int 3"):
        as_space(3)  # type: ignore[arg-type]


x = Float(0, 1)


def test_the_same_name_in_exclusive_branches() -> None:
    space = Space(
        {
            "m": Choice(
                {
                    1: {"x": Float(0, 1), "n": Choice({"p": {"y": x}, "q": {}})},
                    2: {"x": Int(5, 9)},
                    3: {},
                    4: {},
                    (3, 4): {"x": Choice(["u", "v"]), "y": Int(0, 3)},
                }
            )
        }
    )
    assert len(space.tree.by_name["x"]) == 3
    assert space.validate({"m": 2, "x": 7}) == {"m": 2, "x": 7}
    assert space.validate({"m": 4, "x": "u", "y": 3}) == {"m": 4, "x": "u", "y": 3}
    with raises(ConfigError, "'x': 0.5 is not allowed; it must be an integer from 5 to 9"):
        space.validate({"m": 2, "x": 0.5})
    with raises(
        ConfigError,
        "'y' is not active when m=2; it is active when m=1 and n='p'",
    ):
        space.validate({"m": 2, "x": 7, "y": 3})


# -- structure -------------------------------------------------------------------------------


def test_path_and_activity_of_a_config(example: Space, svm: Config) -> None:
    assert example.path(svm) == (0, 1, 2)
    assert example.path_label(svm) == "model=svm, kernel=linear"
    assert example.is_active("C", svm)
    assert not example.is_active("gamma", svm)
    assert example.is_active("model=svm/C", svm)
    assert not example.is_active("model=forest|boosting/trees", svm)
    units = example.to_unit(svm)
    assert units[[5, 6, 7, 8]].tolist() == [FILLER] * 4
    assert example.activity(units[None, :])[0].tolist() == [True] * 5 + [False] * 4


def test_a_subspace_shared_by_all_options_belongs_to_the_choice() -> None:
    space = Space(
        {"m": Choice({"a": {}, "b": {}, ("b", "a"): {"x": x}}), "k": Choice({1: {"y": x}})}
    )
    assert len(space.nodes) == 1
    assert space.n_paths == 1
    assert space.path_label({"m": "a", "x": 0.5, "k": 1, "y": 0.5}) == ""
    assert [d.qualified_name for d in space.dimensions] == ["m", "m=a|b/x", "k", "k=1/y"]
    assert space.validate({"m": "b", "x": 0.5, "k": 1, "y": 0.5})


def test_names_that_look_like_qualified_ones() -> None:
    space = Space(
        {
            "m": Choice({"a": {"x": Float(0, 1, default=0.25)}, "b": {}}, default="b"),
            "m=a/x": Float(0, 1, default=0.75),
        }
    )
    config = space.default_config()
    assert config == {"m": "b", "m=a/x": 0.75}
    assert space.qualify(config) == {"m": "b", '"m=a/x"': 0.75}
    assert space.unqualify(space.qualify(config)) == config


# -- sizes -----------------------------------------------------------------------------------


def test_configs_of_a_small_space() -> None:
    space = Space(
        {"m": Choice({"a": {"x": Int(1, 2)}, "b": {}}), "f": Float(0, 0.2, step=0.1)},
        constraints=[Forbid({"m": "b", "f": [0.0, 0.1]})],
    )
    assert space.size == 9
    assert list(space.configs()) == [
        {"m": "a", "x": 1, "f": 0.0},
        {"m": "a", "x": 1, "f": 0.1},
        {"m": "a", "x": 1, "f": 0.2},
        {"m": "a", "x": 2, "f": 0.0},
        {"m": "a", "x": 2, "f": 0.1},
        {"m": "a", "x": 2, "f": 0.2},
        {"m": "b", "f": 0.2},
    ]


def exercise(space: Space) -> None:
    """Everything a search does with a space."""
    configs = space.sample(0, 20)
    assert space.from_unit(space.to_unit(configs)) == configs
    for config in configs:
        assert space.validate(config) == config
        assert space.unqualify(space.qualify(config)) == config
    space.sample(0, 4, by="path")
    space.sample(0, 4, method="sobol")
    space.snap(np.random.default_rng(0).random((100, len(space))))
    assert space.validate(space.default_config())
    assert Space.from_dict(space.to_dict()) == space
    assert str(space)
    assert repr(space)
    assert next(space.tree.paths())


def test_a_wide_space() -> None:
    start = time.process_time()  # whatever else the machine does
    kinds: list[Any] = [
        Int(1, 9),
        Int(1, 999, log=True),
        Choice(["a", "b"]),
        Float(0, 1, step=0.125, default=0),
    ]
    space = Space({f"p{i}": kinds[i % 4] for i in range(1000)})
    exercise(space)
    first = next(space.configs())
    assert len(first) == 1000
    assert space.size == (9 * 999 * 2 * 9) ** 250
    assert time.process_time() - start < 10


def test_many_branching_choices() -> None:
    start = time.process_time()
    space = Space({f"c{i}": Choice({"on": {f"x{i}": Int(1, 3)}, "off": {}}) for i in range(300)})
    exercise(space)
    assert space.n_paths == 2**300
    assert len(next(space.configs())) == 600
    assert time.process_time() - start < 10


def test_many_options_with_the_same_name_below() -> None:
    start = time.process_time()
    space = Space({"m": Choice({i: {"lr": Int(1, 9), "k": Int(0, i + 1)} for i in range(300)})})
    exercise(space)
    assert space.n_paths == 300
    assert time.process_time() - start < 10


def test_a_deep_space() -> None:
    start = time.process_time()
    below: dict[str, Any] = {}
    for level in reversed(range(100)):
        choice = Choice({"go": below, "stop": {}}, default="go")
        below = {f"c{level}": choice, f"x{level}": Int(0, 9)}
    space = Space(below)
    exercise(space)
    assert space.n_paths == 100  # stop at one of 99 levels, or reach the last choice
    assert len(space.default_config()) == 200
    assert len(list(space.tree.paths())) == 100
    lengths = Counter(len(config) for config in space.sample(0, 4000, by="path"))
    assert is_uniform(list(lengths.values()), 100)
    assert time.process_time() - start < 10


# -- equality --------------------------------------------------------------------------------


def test_equality(example: Space, example_parameters: dict[str, Any]) -> None:
    assert example == Space(example_parameters)
    assert hash(example) == hash(Space(example_parameters))
    assert example != Space(example_parameters, constraints=[Forbid({"scale": "none"})])
    assert example != Space({**example_parameters, "z": x})
    assert example != "space"
