from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np
import pytest

import bosquet
from bosquet import Choice, ConfigError, Float, Int, Space, SpaceError

Constraint: Any = bosquet.Constraint  # Any, because many calls here are wrong on purpose
Forbid: Any = bosquet.Forbid


def small(config: dict[str, Any]) -> bool:
    return bool(config["a"] < 3)


def raises(text: str) -> Any:
    return pytest.raises(SpaceError, match=re.escape(text))


def space(*constraints: Any) -> Space:
    return Space(
        {
            "a": Int(1, 5),
            "f": Float(0, 1, step=0.1),
            "m": Choice({"svm": {"C": Float(0, 1)}, "forest": {"C": Int(2, 9)}, None: {}}),
        },
        constraints=constraints,
    )


# -- declarations ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Forbid({}), "Forbid({}): give a dict from parameter name to value"),
        (lambda: Forbid(None), "Forbid(None): give a dict"),
        (lambda: Forbid(["a"]), "Forbid(['a']): give a dict"),
        (lambda: Forbid({3: 1}), "the name 3 must be a string"),
        (lambda: Forbid({"a": []}), "'a' has no value to forbid"),
        (lambda: Constraint(None), "Constraint: None must be a function"),
        (lambda: Constraint("a < 3"), "Constraint: 'a < 3' must be a function"),
        (lambda: Constraint(small, on="a"), "small: on='a' must be a list of parameter names"),
        (lambda: Constraint(small, on=5), "small: on=5 must be a list of parameter names"),
        (lambda: Constraint(small, on=[]), "small: on=[] must be a list of parameter names"),
        (lambda: Constraint(small, on=["a", 5]), "small: on=['a', 5] must be a list of"),
        (lambda: space(3), "constraint 3 must be a Forbid, a Constraint or a function"),
        (lambda: space({"a": 1}), "constraint {'a': 1} must be a Forbid"),
        (lambda: Space({"a": Int(0, 1)}, Forbid({"a": 1})), "must be a list"),
        (lambda: Space({"a": Int(0, 1)}, small), "must be a list"),  # type: ignore[arg-type]
        (lambda: Space({"a": Int(0, 1)}, {"a": 1}), "constraints={'a': 1} must be a list"),
        (lambda: Space({"a": Int(0, 1)}, "a"), "constraints='a' must be a list"),
        (lambda: Space({"a": Int(0, 1)}, None), "constraints=None must be a list"),  # type: ignore[arg-type]
        (lambda: space(Forbid({"b": 1})), "constraint not (b=1): unknown parameter 'b'"),
        (lambda: space(Forbid({"a": 6})), "'a' is never 6; it must be an integer from 1 to 5"),
        (lambda: space(Forbid({"a": [1, "x"]})), "'a' is never 'x'"),
        (lambda: space(Forbid({"a": True})), "'a' is never True"),
        (lambda: space(Forbid({"f": 0.15})), "'f' is never 0.15"),
        (lambda: space(Forbid({"m": "mlp"})), "'m' is never 'mlp'; it must be one of 'svm'"),
        (lambda: space(Forbid({"m": [["svm"]]})), "'m' is never ['svm']"),
        (lambda: space(Forbid({"C": 10})), "'C' is never 10; it must be a float from 0 to 1"),
        (lambda: space(Forbid({"a": 10**400})), "'a' is never 1"),
        (
            lambda: space(Constraint(small, on=["aa"])),
            "constraint small(aa): unknown parameter 'aa'",
        ),
        (
            lambda: space(Constraint(small, on=["modell", "a"])),
            "constraint small(modell, a): unknown parameter 'modell'",
        ),
    ],
)
def test_bad_constraints(make: Any, text: str) -> None:
    with raises(text):
        make()


# -- Forbid ----------------------------------------------------------------------------------


def test_forbid_wants_every_clause_to_match() -> None:
    forbid = Forbid({"a": 1, "m": ["svm", None]})
    assert forbid.on == ("a", "m")
    assert not forbid.allows({"a": 1, "m": "svm"})
    assert not forbid.allows({"a": 1, "m": None})
    assert forbid.allows({"a": 2, "m": "svm"})
    assert forbid.allows({"a": 1, "m": "forest"})
    assert forbid.allows({"a": 1})
    assert str(forbid) == "not (a=1 and m in ('svm', None))"
    assert forbid == Forbid({"a": [1], "m": ("svm", None)})
    assert hash(forbid) == hash(Forbid({"a": [1], "m": ("svm", None)}))


def test_a_violation_is_a_config_error_that_names_the_constraint() -> None:
    constrained = space(Forbid({"a": 1, "m": None}), small)
    with pytest.raises(
        ConfigError,
        match=re.escape(
            "{'a': 1, 'f': 0.1, 'm': None} violates the constraint not (a=1 and m=None)"
        ),
    ):
        constrained.validate({"a": 1, "f": 0.1, "m": None})
    with pytest.raises(ConfigError, match="violates the constraint small"):
        constrained.key({"a": 4, "f": 0.1, "m": None})
    assert constrained.to_unit({"a": 4, "f": 0.1, "m": None}).shape == (5,)  # not looked at
    assert constrained.violation({"a": 2, "f": 0.1, "m": None}) is None


def test_forbidden_values_are_spelled_as_configs_have_them() -> None:
    constrained = space(Forbid({"f": 0.1 * 3, "a": np.int64(2)}), Forbid({"C": 2.0}))
    assert constrained.constraints[0] == Forbid({"f": 0.3, "a": 2})
    assert type(constrained.constraints[0].values[1][1][0]) is int  # type: ignore[union-attr]
    with pytest.raises(ConfigError, match=r"not \(f=0.3 and a=2\)"):
        constrained.validate({"a": 2, "f": 0.3, "m": None})
    assert constrained.validate({"a": 2, "f": 0.4, "m": None})
    with pytest.raises(ConfigError, match=r"not \(C=2"):
        constrained.validate({"a": 1, "f": 0.3, "m": "forest", "C": 2})


def test_forbid_knows_none_as_a_value() -> None:
    constrained = space(Forbid({"m": None}))
    assert {config["m"] for config in constrained.sample(0, 100)} == {"svm", "forest"}


# -- Constraint ------------------------------------------------------------------------------


def test_a_constraint_counts_only_where_its_names_are_active() -> None:
    seen: list[dict[str, Any]] = []

    def record(config: dict[str, Any]) -> bool:
        seen.append(config)
        return bool(config["C"] < 0.5)

    constrained = space(Constraint(record, on=["C", "a"]))
    assert constrained.validate({"a": 1, "f": 0.1, "m": None})
    assert seen == []
    assert constrained.validate({"a": 1, "f": 0.1, "m": "svm", "C": 0.25})
    assert seen == [{"C": 0.25, "a": 1}]
    assert all(config["m"] is None or config["C"] < 0.5 for config in constrained.sample(0, 50))


def test_a_plain_function_sees_the_whole_config_and_cannot_change_it() -> None:
    def meddle(config: dict[str, Any]) -> bool:
        assert set(config) == {"a", "f", "m"}
        config.clear()
        return True

    config = {"a": 1, "f": 0.1, "m": None}
    assert space(meddle).validate(config) == {"a": 1, "f": 0.1, "m": None}


def test_a_failing_function_is_named_with_what_it_was_given() -> None:
    constrained = space(Constraint(lambda c: c["m"] > 3, on=["m"]))
    with raises("constraint <lambda>(m) raised TypeError: '>' not supported between"):
        constrained.validate({"a": 1, "f": 0.1, "m": None})
    with raises("it was given {'m': None}"):
        constrained.validate({"a": 1, "f": 0.1, "m": None})


@pytest.mark.parametrize("verdict", [None, 1, "yes", np.array([True])])
def test_a_function_must_return_a_bool(verdict: Any) -> None:
    with raises("constraint <lambda> returned"):
        space(lambda c: verdict).sample(0)
    with raises("it must return True (allowed) or False"):
        space(lambda c: verdict).sample(0)


def test_numpy_verdicts_and_callables_without_a_name() -> None:
    assert space(lambda c: np.bool_(c["a"] < 3)).sample(0)["a"] < 3
    partial = Constraint(functools.partial(lambda most, c: c["a"] < most, 3), on=["a"])
    assert str(partial) == "partial(a)"
    assert space(partial).sample(0)["a"] < 3
    assert str(space(small).constraints[0]) == "small"


# -- sampling --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["random", "sobol"])
@pytest.mark.parametrize("by", ["option", "path"])
def test_samples_satisfy_all_constraints(method: Any, by: Any) -> None:
    constrained = space(
        small, Forbid({"m": None}), Constraint(lambda c: c["f"] * c["a"] > 0.5, on=["f", "a"])
    )
    configs = constrained.sample(0, 300, method=method, by=by)
    assert len(configs) == 300
    for config in configs:
        assert config["a"] < 3
        assert config["m"] is not None
        assert config["f"] * config["a"] > 0.5
    assert {config["m"] for config in configs} == {"svm", "forest"}


def test_a_small_feasible_part_is_found() -> None:
    rare = Space({"x": Float(0, 1)}, constraints=[lambda c: c["x"] < 1e-3])
    for method in ("random", "sobol"):
        configs = rare.sample(0, 5, method=method)
        assert all(config["x"] < 1e-3 for config in configs)
    assert rare.default_config()["x"] < 1e-3


def test_an_empty_feasible_part_is_an_error() -> None:
    empty = space(Forbid({"m": ["svm", "forest", None]}))
    text = "samples in a row violate a constraint (the last one not (m in ('svm', 'forest', None)))"
    for method in ("random", "sobol"):
        with raises(text):
            empty.sample(0, 1, method=method)
    assert list(Space({"a": Int(1, 9)}, [lambda c: False]).configs()) == []
