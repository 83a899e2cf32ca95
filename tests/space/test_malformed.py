"""Whatever is handed in, only SpaceError and ConfigError come out, and they name the culprit."""

from __future__ import annotations

import copy
import datetime
import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from bosquet import Choice, ConfigError, Constraint, Float, Forbid, Int, Space, SpaceError

Rng = np.random.Generator

JSON_GARBAGE: list[Any] = [
    *(None, True, False, 0, 1, -1, 3, 1.5, -0.0, 1e-9, 2**53, 10**30, -(10**400), 5e-324, 1e308),
    *(math.nan, math.inf, -math.inf, "", "x", "a", "1", "float", "é\ud800", " ", "a=b/c"),
    *([], [1], ["a"], ["a", "a"], [[]], [None], [math.nan], {}, {"a": 1}, {"type": "float"}),
    *({"x": {"type": "int", "low": 0, "high": 1}}, {"type": "choice", "options": ["a"]}),
]
GARBAGE: list[Any] = [
    *JSON_GARBAGE,
    *(b"x", bytearray(b"1"), (), ("a",), ("a", "b"), {1, 2}, frozenset("ab"), range(3), ...),
    *(object(), int, len, lambda: None, 1j, Decimal("0.5"), Decimal("NaN"), Fraction(1, 3)),
    *(np.nan, np.float32(0.5), np.int64(1), np.bool_(True), np.str_("a"), np.complex128(1j)),
    *(np.array(0.5), np.array(1), np.array([1.0]), np.array([1, 2]), np.array(["a"]), np.eye(2)),
    *(np.datetime64("2020"), np.timedelta64(1, "s"), np.void(b"x"), datetime.date(2020, 1, 1)),
    *(Float(0, 1), Int(0, 1), Choice(["a", "b"]), Float, Forbid({"a": 1}), {3: Int(0, 1)}),
    *({"y": Float(0, 1)}, {"a": {}}, {("a",): {}}, {math.nan: {}}, {None: {"x": Int(0, 1)}}),
]


NO_ARRAYS = [value for value in GARBAGE if not isinstance(value, np.ndarray)]  # as stored data has


def pick(rng: Rng, items: list[Any]) -> Any:
    return items[int(rng.integers(len(items)))]


def declared_space() -> Space:
    return Space(
        {
            "lr": Float(1e-4, 1e-1, log=True, default=1e-2),
            "grid": Float(0, 1, step=0.25),
            "scale": Choice([None, True, 2, "a"], ordered=True, default=2),
            "model": Choice(
                {
                    "svm": {"C": Float(0, 9), "kernel": Choice({"lin": {}, 1: {"g": Int(1, 9)}})},
                    "net": {"C": Int(1, 500, log=True, default=10)},
                    None: {},
                    ("net", None): {"depth": Int(0, 8, step=2)},
                }
            ),
        },
        constraints=[Forbid({"scale": [None, 2], "model": "net"}), Forbid({"depth": 4})],
    )


def containers(data: Any) -> list[Any]:
    """Every dict and list inside some data, itself included."""
    found = [data] if isinstance(data, (dict, list)) else []
    inside = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return found + [nested for item in inside for nested in containers(item)]


def mutate(data: Any, garbage: list[Any], rng: Rng) -> None:
    """Replace, delete, add or move something somewhere inside."""
    where = pick(rng, [c for c in containers(data) if c] or [data])
    value = copy.deepcopy(pick(rng, garbage if rng.random() < 0.8 else containers(data)))
    if isinstance(where, dict):
        key = pick(rng, list(where))
        match int(rng.integers(4)):
            case 0:
                del where[key]
            case 1:
                new = pick(rng, ["type", "low", "high", "step", "log", "default", "x", "", 3, None])
                where[new] = value
            case _:
                where[key] = value
    elif where:
        index = int(rng.integers(len(where)))
        match int(rng.integers(4)):
            case 0:
                del where[index]
            case 1:
                where.insert(index, value)
            case _:
                where[index] = value


def outcome(make: Any, *arguments: Any) -> SpaceError | ConfigError | None:
    """The error of a call, if any; anything but the two of ours fails the test."""
    try:
        make(*arguments)
    except (SpaceError, ConfigError) as error:
        return error
    except Exception as error:
        raise AssertionError(f"{error!r} escaped from {make} of {arguments!r}") from error
    return None


def use(space: Space) -> None:
    """A space that could be made can be used."""
    for config in space.sample(0, 2):
        assert space.validate(config) == config
    assert Space.from_dict(json.loads(json.dumps(space.to_dict()))) == space
    assert str(space)


@pytest.mark.parametrize("garbage", [JSON_GARBAGE, NO_ARRAYS], ids=["json", "python"])
def test_mutated_stored_spaces(garbage: list[Any]) -> None:
    rng = np.random.default_rng(0)
    original = declared_space().to_dict()
    errors = 0
    for _ in range(1500):
        data = copy.deepcopy(original)
        for _ in range(rng.integers(1, 4)):
            mutate(data, garbage, rng)
        error = outcome(Space.from_dict, data)
        errors += error is not None
        if error is None and rng.random() < 0.1:
            outcome(use, Space.from_dict(data))
    assert 500 < errors < 1500


def test_a_bad_stored_parameter_is_named() -> None:
    rng = np.random.default_rng(1)
    original = declared_space().to_dict()
    bad: list[Any] = [
        None,
        3,
        "x",
        [],
        {},
        {"type": "x"},
        {"type": "float"},
        {"type": "int", "low": "a"},
    ]
    for _ in range(300):
        data = copy.deepcopy(original)
        parameters = data["parameters"]
        name = pick(rng, list(parameters))
        branches = parameters[name].get("branches")
        if branches and rng.random() < 0.7:
            parameters = pick(rng, branches)["parameters"]
            name = pick(rng, list(parameters))
        parameters[name] = pick(rng, bad)
        error = outcome(Space.from_dict, data)
        assert isinstance(error, SpaceError)
        assert name in str(error)


# -- declarations in Python ------------------------------------------------------------------


class Call:
    """A call of a constructor that is not made yet, so that its arguments can be spoiled."""

    def __init__(self, make: Any, *arguments: Any, **keywords: Any) -> None:
        self.make, self.arguments, self.keywords = make, list(arguments), Keywords(keywords)


class Keywords(dict[str, Any]):
    """Keyword arguments: a dict whose keys are left alone."""


def declaration() -> Call:
    return Call(
        Space,
        {
            "lr": Call(Float, 1e-4, 1e-1, log=True, default=1e-2),
            "grid": Call(Float, 0, 1, step=0.25, default=0.5),
            "n": Call(Int, 0, 8, step=2, default=4),
            "scale": Call(Choice, [None, True, 2, "a"], ordered=True, default=2),
            "model": Call(
                Choice,
                {
                    "svm": {"C": Call(Float, 0, 9), "k": Call(Choice, ["lin", "rbf"])},
                    "net": {"C": Call(Int, 1, 500, log=True, default=10)},
                    None: {},
                    ("net", None): {"depth": Call(Choice, {1: {}, 2: {"x": Call(Int, 1, 2)}})},
                },
            ),
        },
        [
            Call(Forbid, {"scale": [None, 2], "model": "net"}),
            Call(Constraint, lambda c: True, on=["lr", "n"]),
            bool,
        ],
    )


def make(plan: Any) -> Any:
    if isinstance(plan, Call):
        keywords = {key: make(value) for key, value in plan.keywords.items()}
        return plan.make(*map(make, plan.arguments), **keywords)
    if isinstance(plan, dict):
        return {key: make(value) for key, value in plan.items()}
    return [make(item) for item in plan] if type(plan) is list else plan


def places(plan: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) inside a plan whose value can be replaced."""
    if isinstance(plan, Call):
        return [*places(plan.arguments), *places(plan.keywords)]
    keys = list(plan) if isinstance(plan, dict) else range(len(plan) if type(plan) is list else 0)
    return [place for key in keys for place in [(plan, key), *places(plan[key])]]


def is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def test_mutated_declarations() -> None:
    rng = np.random.default_rng(2)
    errors = 0
    for _ in range(2000):
        plan = declaration()
        for _ in range(rng.integers(1, 3)):
            where, key = pick(rng, places(plan))
            value = pick(rng, GARBAGE)
            if type(where) is dict and is_hashable(value) and rng.random() < 0.3:
                where[value] = where.pop(key)  # a bad name, option or tuple of options
            else:
                where[key] = value
        errors += outcome(make, plan) is not None
    assert 1000 < errors < 2000


def test_a_bad_declared_parameter_is_named() -> None:
    rng = np.random.default_rng(3)
    bad = [value for value in GARBAGE if not isinstance(value, (Float, Int, Choice))]
    for _ in range(500):
        plan = declaration()
        wheres = [
            (where, key)
            for where, key in places(plan)
            if isinstance(where, dict) and isinstance(where[key], Call) and isinstance(key, str)
        ]
        where, name = pick(rng, wheres)
        where[name] = pick(rng, bad)
        error = outcome(make, plan)
        assert isinstance(error, SpaceError)
        assert repr(name) in str(error)


# -- configurations --------------------------------------------------------------------------


def test_mutated_configs() -> None:
    rng = np.random.default_rng(4)
    space = declared_space()
    configs = space.sample(rng, 200)
    everything = list(space.tree.by_name)
    errors = 0
    for _ in range(3500):
        config: dict[Any, Any] = dict(pick(rng, configs))
        for _ in range(rng.integers(1, 3)):
            match int(rng.integers(4)):
                case 0:
                    config.pop(pick(rng, everything), None)
                case 1:
                    config[pick(rng, ["x", "lrr", "", 3, None, (), 1.5])] = pick(rng, GARBAGE)
                case _:
                    config[pick(rng, everything)] = pick(rng, GARBAGE)
        error = outcome(space.validate, config)
        errors += error is not None
        if error is None or "violates" not in str(error):
            assert str(outcome(space.to_unit, config)) == str(error)
            assert str(outcome(space.qualify, config)) == str(error)
        outcome(space.unqualify, config)
        outcome(space.path_label, config)
        outcome(space.is_active, pick(rng, everything), config)
    assert 2000 < errors < 3500


def test_garbage_instead_of_a_config() -> None:
    space = declared_space()
    for garbage in GARBAGE:
        assert isinstance(outcome(space.validate, garbage), ConfigError)
        assert isinstance(outcome(space.to_unit, [garbage]), ConfigError)
        outcome(space.to_unit, garbage)
        if not isinstance(garbage, np.complex128):  # NumPy warns of it
            outcome(space.from_unit, garbage)
        outcome(space.unqualify, garbage)
        outcome(Space, garbage)
        outcome(Space, {"x": Float(0, 1)}, garbage)
        outcome(Space.from_dict, garbage)


def test_a_bad_value_is_named() -> None:
    rng = np.random.default_rng(5)
    space = declared_space()
    configs = space.sample(rng, 100)
    bad = [[], {}, object(), b"x", math.nan, math.inf, 1j, "no such option", -1e300, (), int]
    for _ in range(1500):
        config = dict(pick(rng, configs))
        name = pick(rng, list(config))
        kind = int(rng.integers(3))
        if kind == 0:
            config[name] = pick(rng, bad)
        elif kind == 1:
            del config[name]
        else:
            name = f"{name}s"
            config[name] = 1
        for reject in (space.validate, space.to_unit, space.qualify):
            error = outcome(reject, config)
            assert isinstance(error, ConfigError)
            assert repr(name) in str(error)
            if kind == 2:
                assert f"did you mean {name[:-1]!r}?" in str(error) or len(name) < 3
