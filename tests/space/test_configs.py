"""Configurations: what is completed, and what is refused with which words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bosquet import Choice, ConfigError, Float, Space
from tests.space.errors import raises

Config = dict[str, Any]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"lrr": 1}, "unknown parameter 'lrr'; did you mean 'lr'?"),
        (
            {"zzz": 1},
            "unknown parameter 'zzz'; this space has 'scale', 'lr', 'model', 'C', 'kernel', "
            "'gamma', 'depth', 'eta', 'trees'",
        ),
        ({"lr": ...}, "'lr' is missing"),
        ({"C": ...}, "'C' is missing; it is active when model='svm'"),
        (
            {"kernel": "rbf"},
            "'gamma' is missing; it is active when model='svm' and kernel='rbf'",
        ),
        (
            {"lr": ..., "speed": 0.01},
            "unknown parameter 'speed'; this space has 'scale', 'lr', 'model', "
            "'C', 'kernel', 'gamma', 'depth', 'eta', 'trees'",
        ),
        ({"lr": ..., "Lr": 0.01}, "unknown parameter 'Lr'; did you mean 'lr'?"),
        ({"scale": ..., "scael": "none"}, "unknown parameter 'scael'; did you mean 'scale'?"),
        (
            {"gamma": 1},
            "'gamma' is not active when kernel='linear'; "
            "it is active when model='svm' and kernel='rbf'",
        ),
        ({"depth": 3}, "'depth' is not active when model='svm'; it is active when model='forest'"),
        (
            {"trees": 3},
            "'trees' is not active when model='svm'; "
            "it is active when model in ('forest', 'boosting')",
        ),
        ({"C": 1e4}, "'C': 10000.0 is not allowed; it must be a float from 0.001 to 1000 (log)"),
        ({"C": True}, "'C': True is not allowed; it must be a float from 0.001 to 1000 (log)"),
        ({"C": "1"}, "'C': '1' is not allowed; it must be a float from 0.001 to 1000 (log)"),
        ({"C": None}, "'C': None is not allowed; it must be a float from 0.001 to 1000 (log)"),
        (
            {"lr": float("nan")},
            "'lr': nan is not allowed; it must be a float from 0.0001 to 0.1 (log, default 0.01)",
        ),
        (
            {"lr": np.float32(0.1)},
            "'lr': 0.10000000149011612 is not allowed; it must be a float from 0.0001 to 0.1 "
            "(log, default 0.01)",
        ),
        (
            {"scale": "minmax"},
            "'scale': 'minmax' is not allowed; it must be one of 'none', 'standard'",
        ),
        ({"scale": []}, "'scale': [] is not allowed; it must be one of 'none', 'standard'"),
        (
            {"model": "forest", "depth": 2.5, "trees": 10},
            "'depth': 2.5 is not allowed; it must be an integer from 1 to 20",
        ),
        (
            {"model": "forest", "depth": 2, "trees": 10},
            "'C' is not active when model='forest'; it is active when model='svm'",
        ),
    ],
)
def test_bad_configs(example: Space, svm: Config, change: Config, text: str) -> None:
    config = {name: value for name, value in (svm | change).items() if value is not ...}
    for reject in (example.validate, example.key, example.to_unit, example.qualify):
        with raises(ConfigError, text):
            reject(config)
    with raises(ConfigError, text):
        example.to_unit([svm, config])


@pytest.mark.parametrize("config", [None, 3, "model", ["model"], ("a", 1), {"model"}, object()])
def test_not_a_dict(example: Space, config: Any) -> None:
    text = f"a configuration is a dict of parameter values, not {type(config).__name__} {config!r}"
    for reject in (
        example.validate,
        example.key,
        example.path,
        example.path_label,
        example.qualify,
        example.unqualify,
        lambda c: example.is_active("lr", c),
        lambda c: example.to_unit([c]),
    ):
        with raises(ConfigError, text):
            reject(config)
    with pytest.raises(ConfigError, match="a configuration is a dict of parameter values"):
        example.to_unit(config)


def test_a_name_that_is_no_text(example: Space, svm: Config) -> None:
    with pytest.raises(ConfigError, match="unknown parameter 3; this space has 'scale'"):
        example.validate({**svm, 3: 1})  # type: ignore[dict-item]


def test_validate_returns_the_canonical_form(example: Space, svm: Config) -> None:
    spelled = {
        "kernel": np.str_("linear"),
        "model": np.str_("svm"),
        "C": np.int64(1),
        "lr": np.float64(0.01),
        "scale": "none",
    }
    valid = example.validate(spelled)
    assert list(valid.items()) == list(svm.items())
    assert [type(value) for value in valid.values()] == [str, float, str, float, str]
    assert example.key(spelled) == example.key(svm)
    assert valid is not svm
    assert (
        3.0
        in example.validate(
            {"scale": "none", "lr": 0.01, "model": "forest", "depth": 3.0, "trees": np.uint8(20)}
        ).values()
    )


def test_activity_looks_only_at_the_choices_that_decide(example: Space) -> None:
    assert example.is_active("trees", {"model": "boosting"})
    assert example.is_active("lr", {})
    assert not example.is_active("gamma", {"model": "svm"})
    assert not example.is_active("gamma", {"kernel": "rbf"})  # kernel itself is not active
    assert example.is_active("gamma", {"model": "svm", "kernel": "rbf"})
    with raises(ConfigError, "unknown parameter 'gama'; did you mean 'gamma'?"):
        example.is_active("gama", {})
    with raises(
        ConfigError, "'model': 'mlp' is not allowed; it must be one of 'svm', 'forest', 'boosting'"
    ):
        example.is_active("C", {"model": "mlp"})
    with pytest.raises(ConfigError, match=r"'model': \['svm'\] is not allowed"):
        example.is_active("C", {"model": ["svm"]})


def test_a_qualified_name_in_a_configuration_is_told_from_an_unknown_one(example: Space) -> None:
    with raises(
        ConfigError,
        "'model=forest/depth' is a qualified name; a configuration has short ones, here 'depth' "
        "(space.unqualify makes these of those)",
    ):
        example.validate({"model=forest/depth": 3})


def test_unqualify_wants_the_active_parameters_and_no_others() -> None:
    space = Space({"m": Choice({"a": {"x": Float(0, 1)}, "b": {"x": Float(0, 1)}})})
    assert space.unqualify({"m": "b", "m=b/x": 0.5}) == {"m": "b", "x": 0.5}
    with raises(ConfigError, "unknown qualified name 'x'"):
        space.unqualify({"m": "a", "x": 0.5})
    with raises(ConfigError, "'m=b/x' is not active in {'m': 'a', 'x': 0.5}"):
        space.unqualify({"m": "a", "m=b/x": 0.5})
    with raises(ConfigError, "'m=b/x' is not active in {'m': 'a', 'x': 0.5}"):
        space.unqualify({"m": "a", "m=a/x": 0.25, "m=b/x": 0.5})
    with raises(ConfigError, "'x' is missing; it is active when m='a'"):
        space.unqualify({"m": "a"})


def test_configure_asks_for_active_parameters_only(example, svm):
    asked = []

    def value_of(dimension):
        asked.append(dimension.qualified_name)
        return svm[dimension.name]

    assert example.configure(value_of) == svm
    assert asked == ["scale", "lr", "model", "model=svm/C", "model=svm/kernel"]
    wrong = svm | {"model": "tree"}
    with pytest.raises(ValueError):  # noqa: PT011 - the caller knows what was asked
        example.configure(lambda dimension: wrong[dimension.name])
