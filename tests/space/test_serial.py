from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from bosquet import Choice, Constraint, Float, Forbid, Int, Space, SpaceError


def small(config: dict[str, Any]) -> bool:
    return bool(config["lr"] < 0.05)


def through_json(space: Space) -> Any:
    return json.loads(json.dumps(space.to_dict(), allow_nan=False))


def raises(text: str) -> Any:
    return pytest.raises(SpaceError, match=re.escape(text))


def test_what_is_stored() -> None:
    space = Space(
        {
            "lr": Float(1e-4, 0.1, log=True, default=0.01),
            "n": Int(0, 10, step=5, default=0),
            "m": Choice({"a": {"x": Float(0, 1)}, 1: {}, None: {}, ("a", None): {"y": Int(1, 2)}}),
            "flag": Choice([True, False], ordered=True, default=False),
        },
        constraints=[Forbid({"m": ["a", None], "n": 0}), Constraint(small, on=["lr"]), small],
    )
    assert through_json(space) == {
        "schema": 1,
        "parameters": {
            "lr": {"type": "float", "low": 1e-4, "high": 0.1, "log": True, "default": 0.01},
            "n": {"type": "int", "low": 0, "high": 10, "step": 5, "default": 0},
            "m": {
                "type": "choice",
                "options": ["a", 1, None],
                "branches": [
                    {
                        "options": ["a"],
                        "parameters": {"x": {"type": "float", "low": 0.0, "high": 1.0}},
                    },
                    {
                        "options": ["a", None],
                        "parameters": {"y": {"type": "int", "low": 1, "high": 2}},
                    },
                ],
            },
            "flag": {"type": "choice", "options": [True, False], "ordered": True, "default": False},
        },
        "constraints": [
            {"type": "forbid", "values": {"m": ["a", None], "n": [0]}},
            {"type": "function", "name": "small", "on": ["lr"]},
            {"type": "function", "name": "small", "on": None},
        ],
    }
    again = Space.from_dict(through_json(space), constraints=[small, small])
    assert again == space


def test_types_of_options_survive() -> None:
    options = [None, True, 0, 2.0, "2.0", "None", 1e300, 10**30, "é\n\ud800"]
    again = Space.from_dict(through_json(Space({"c": Choice(options, default=2.0)})))
    choice: Any = again.dimensions[0].parameter
    assert list(choice.options) == options
    assert [type(option) for option in choice.options] == [type(option) for option in options]
    assert type(choice.default) is float


def test_numpy_values_do_not_get_in_the_way() -> None:
    space = Space(
        {
            "f": Float(np.float32(1), np.float64(2), log=np.True_),  # type: ignore[arg-type]
            "i": Int(np.int64(1), np.int32(3), default=np.int8(2)),  # type: ignore[arg-type]
            "c": Choice(np.array(["a", "b"]), ordered=np.True_, default=np.str_("b")),  # type: ignore[arg-type]
        },
        constraints=[Forbid({"i": np.int64(3), "c": np.array("a").item()})],
    )
    assert Space.from_dict(through_json(space)) == space


def test_functions_are_handed_in_again(example_parameters: dict[str, Any]) -> None:
    other = Constraint(lambda c: True, on=["lr"])
    space = Space(
        example_parameters, [Constraint(small, on=["lr"]), Forbid({"scale": "none"}), other]
    )
    stored = through_json(space)
    with raises("the constraint function 'small' is not stored with a space; hand it in again"):
        Space.from_dict(stored)
    with raises("the constraint function '<lambda>' is not stored with a space"):
        Space.from_dict(stored, constraints=[small])
    with raises("the stored space has no place for the constraint small"):
        Space.from_dict(stored, constraints=[small, other, small])
    again = Space.from_dict(stored, constraints=[small, other])
    assert again == space  # a plain function counts where the stored one did
    assert [str(c) for c in again.constraints] == [
        "small(lr)",
        "not (scale='none')",
        "<lambda>(lr)",
    ]
    again = Space.from_dict(stored, constraints=[Constraint(small, on=["lr", "scale"]), other])
    assert str(again.constraints[0]) == "small(lr, scale)"  # who says more is believed


PARAMETER = {"type": "float", "low": 0, "high": 1}
CHOICE = {"type": "choice", "options": ["a", "b"]}


def stored(parameter: Any, **more: Any) -> Any:
    return {"schema": 1, "parameters": {"speed": parameter}, **more}


def below(parameter: Any) -> Any:
    return {**CHOICE, "branches": [{"options": ["a"], "parameters": {"deep": parameter}}]}


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (None, "a stored space is a dict with 'schema' and 'parameters'"),
        ([], "a stored space is a dict with 'schema' and 'parameters'"),
        ({"schema": 1}, "a stored space is a dict with 'schema' and 'parameters'"),
        (
            {"parameters": {"x": PARAMETER}},
            "format is missing: put \"schema\": 1 beside 'parameters'",
        ),
        ({**stored(PARAMETER), "schema": 2}, "schema=2: this version of bosquet reads schema 1"),
        ({**stored(PARAMETER), "parameters": []}, "parameters=[] must be a dict of parameters"),
        ({**stored(PARAMETER), "parameters": {}}, "a space needs at least one parameter"),
        (stored(3), "speed: 3 must be a dict with a 'type'"),
        (stored({}), "speed: type=None must be 'float', 'int' or 'choice'"),
        (stored({**PARAMETER, "type": "real"}), "speed: type='real' must be"),
        (stored({**PARAMETER, "type": ["float"]}), "speed: type=['float'] must be"),
        (stored({**PARAMETER, "low": 2}), "speed: Float(low=2.0, high=1.0, log=False"),
        (stored({**PARAMETER, "low": "2"}), "low='2' must be a finite number"),
        (
            stored({"type": "int", "low": 2}),
            "speed: the field 'high' is missing: 'int' needs 'low' and 'high'",
        ),
        (
            stored({**PARAMETER, "wide": 1}),
            "speed: the field 'wide' is unknown; 'float' has 'low', ",
        ),
        (stored({**PARAMETER, "log": "no"}), "log='no' must be True or False"),
        (stored({"type": "bool"}), "; a flag is a choice with the options [false, true]"),
        (stored({"type": "choice"}), "speed: a choice needs a list of 'options'"),
        (stored({**CHOICE, "options": "ab"}), "speed: a choice needs a list of 'options'"),
        (stored({**CHOICE, "options": []}), "speed: Choice: there must be at least one option"),
        (stored({**CHOICE, "options": [["a"]]}), "speed: Choice: option ['a'] is a list"),
        (stored({**CHOICE, "options": [1, True]}), "speed: Choice: options 1 and True are equal"),
        (stored({**CHOICE, "default": "c"}), "speed: Choice: default='c' is not one of 'a', 'b'"),
        (stored({**CHOICE, "ordered": 1}), "ordered=1 must be True or False"),
        (stored({**CHOICE, "colour": 1}), "speed: the field 'colour' is unknown; 'choice' has "),
        (stored({**CHOICE, "branches": {}}), "speed: branches must be a list such as [{"),
        (stored({**CHOICE, "branches": [3]}), "speed: branch 3 needs a list of 'options'"),
        (
            stored({**CHOICE, "branches": [{"options": "a"}]}),
            "speed: branch {'options': 'a'} needs a list of 'options'",
        ),
        (
            stored({**CHOICE, "branches": [{"options": ["a"]}]}),
            "speed: parameters=None must be a dict of parameters",
        ),
        (
            stored({**CHOICE, "branches": [{"options": ["c"], "parameters": {}}]}),
            "speed: branch ['c']: 'c' must be one of the 'options' of the choice, ['a', 'b']",
        ),
        (
            stored({**CHOICE, "branches": [{"options": [], "parameters": {}}]}),
            "speed: Choice: an empty tuple names no options",
        ),
        (
            stored({**CHOICE, "branches": [{"options": [["a"]], "parameters": {}}]}),
            "speed: branch (['a'],): options must be those of the choice",
        ),
        (
            stored({**CHOICE, "branches": [{"options": ["a"], "parameters": {}}] * 2}),
            "speed: branch ('a',) appears twice",
        ),
        (stored(below({**PARAMETER, "high": -1})), "speed: deep: Float(low=0.0, high=-1.0"),
        (stored(below(below(3))), "speed: deep: deep: 3 must be a dict with a 'type'"),
        (stored(below(below(PARAMETER))), "the name 'deep' is used twice"),
        (stored(PARAMETER, constraints={}), "constraints={} must be a list"),
        (stored(PARAMETER, constraints=[3]), "constraint 3 must have type 'forbid' or 'function'"),
        (stored(PARAMETER, constraints=[{"type": "x"}]), "constraint {'type': 'x'} must have type"),
        (stored(PARAMETER, constraints=[{"type": "forbid"}]), "Forbid(None): give a dict"),
        (
            stored(PARAMETER, constraints=[{"type": "forbid", "values": {"sped": 1}}]),
            "constraint not (sped=1): unknown parameter 'sped'; did you mean 'speed'?",
        ),
        (
            stored(PARAMETER, constraints=[{"type": "forbid", "values": {"speed": [2]}}]),
            "constraint not (speed=2): 'speed' is never 2; it must be a float from 0 to 1",
        ),
    ],
)
def test_bad_data(data: Any, text: str) -> None:
    with raises(text):
        Space.from_dict(data)


def test_a_message_names_each_level_once() -> None:
    with pytest.raises(SpaceError, match=r"\Aspeed: deep: Float\(.*\): low=3.0 must be less than"):
        Space.from_dict(stored(below({**PARAMETER, "low": 3})))


def test_a_bad_stored_on_is_noticed() -> None:
    data = stored(PARAMETER, constraints=[{"type": "function", "name": "f", "on": ["sped"]}])
    with raises("constraint <lambda>(sped): unknown parameter 'sped'"):
        Space.from_dict(data, constraints=[lambda c: True])
    data["constraints"][0]["on"] = 3
    with raises("on=3 must be a list of parameter names"):
        Space.from_dict(data, constraints=[lambda c: True])


def test_stored_text_is_never_executed() -> None:
    data = stored(PARAMETER, constraints=[{"type": "function", "name": "print", "on": None}])
    with raises("'print' is not stored"):
        Space.from_dict(data)
