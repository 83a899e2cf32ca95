"""A space as JSON-able data and back. Nothing is ever executed: functions are not stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from bosquet.errors import SpaceError
from bosquet.space.constraints import Constraint, Forbid
from bosquet.space.parameter import Choice, Float, Int, Parameter
from bosquet.space.tree import Parameters

SCHEMA = 1
_FLAGS = ("bool", "boolean", "flag")  # types that people try
_NUMBER = ("low", "high", "log", "step", "default")
_FIELDS = {
    "float": _NUMBER,
    "int": _NUMBER,
    "choice": ("options", "branches", "ordered", "default"),
}


def space_to_dict(
    parameters: Parameters, constraints: Sequence[Forbid | Constraint]
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "parameters": _parameters_to_dict(parameters),
        "constraints": [_constraint_to_dict(constraint) for constraint in constraints],
    }


def _parameters_to_dict(parameters: Parameters) -> dict[str, Any]:
    return {name: _parameter_to_dict(parameter) for name, parameter in parameters}


def _parameter_to_dict(parameter: Parameter) -> dict[str, Any]:
    if isinstance(parameter, Choice):
        data: dict[str, Any] = {"type": "choice", "options": list(parameter.options)}
        if parameter.branches:
            data["branches"] = [
                {
                    "options": [parameter.options[i] for i in members],
                    "parameters": _parameters_to_dict(named),
                }
                for members, named in parameter.branches
            ]
        flags: dict[str, Any] = {"ordered": parameter.ordered or None}
    else:
        kind = "float" if isinstance(parameter, Float) else "int"
        data = {"type": kind, "low": parameter.low, "high": parameter.high}
        flags = {"log": parameter.log or None, "step": parameter.step}
    flags["default"] = parameter.default
    return data | {key: value for key, value in flags.items() if value is not None}


def _constraint_to_dict(constraint: Forbid | Constraint) -> dict[str, Any]:
    if isinstance(constraint, Forbid):
        values = {name: list(forbidden) for name, forbidden in constraint.values}
        return {"type": "forbid", "values": values}
    on = None if constraint.on is None else list(constraint.on)
    return {"type": "function", "name": constraint.name, "on": on}


def space_from_dict(
    data: Mapping[str, Any], functions: Sequence[Forbid | Constraint]
) -> tuple[dict[str, Parameter], list[Forbid | Constraint]]:
    """The arguments of a Space. ``functions`` stand in for the ones that were not stored."""
    if not isinstance(data, Mapping) or "parameters" not in data:
        raise SpaceError("a stored space is a dict with 'schema' and 'parameters'")
    if "schema" not in data:
        raise SpaceError(
            f"the version of the format is missing: put \"schema\": {SCHEMA} beside 'parameters'"
        )
    schema = data["schema"]
    if not isinstance(schema, (int, float)) or schema != SCHEMA:
        raise SpaceError(f"schema={schema!r}: this version of bosquet reads schema {SCHEMA}")
    parameters = _parameters_from_dict(data["parameters"])
    return parameters, _constraints_from_list(data.get("constraints", []), functions)


def _parameters_from_dict(data: Any) -> dict[str, Parameter]:
    if not isinstance(data, Mapping):
        raise SpaceError(f"parameters={data!r} must be a dict of parameters")
    return {name: _parameter_from_dict(entry, name) for name, entry in data.items()}


def _parameter_from_dict(data: Any, name: str) -> Parameter:
    if not isinstance(data, Mapping):
        raise SpaceError(f"{name}: {data!r} must be a dict with a 'type'")
    fields = dict(data)
    given = fields.pop("type", None)
    kind = _text(given)
    try:
        if kind in _FIELDS:
            _check_fields(kind, fields)
            if kind == "choice":
                return _choice_from_dict(fields)
            return (Float if kind == "float" else Int)(**fields)
    except SpaceError as error:
        raise SpaceError(f"{name}: {error}") from None
    flag = "; a flag is a choice with the options [false, true]" if kind in _FLAGS else ""
    raise SpaceError(f"{name}: type={given!r} must be 'float', 'int' or 'choice'{flag}")


def _text(value: Any) -> str:
    """A text, or none: other values need not even be comparable with one."""
    return value if isinstance(value, str) else ""


def _check_fields(kind: str, fields: Mapping[str, Any]) -> None:
    known = _FIELDS[kind]
    for field in fields:
        if _text(field) not in known:
            raise SpaceError(
                f"the field {field!r} is unknown; {kind!r} has {', '.join(map(repr, known))}"
            )
    for field in ("low", "high"):
        if field in known and field not in fields:
            raise SpaceError(f"the field {field!r} is missing: {kind!r} needs 'low' and 'high'")


def _choice_from_dict(fields: dict[str, Any]) -> Choice:
    options = fields.pop("options", None)
    branches = fields.pop("branches", [])
    if not isinstance(options, list):
        raise SpaceError(f"a choice needs a list of 'options', not {options!r}")
    if not isinstance(branches, list):
        raise SpaceError(
            'branches must be a list such as [{"options": ["a"], "parameters": {...}}], where '
            "options are those of the choice that have these parameters"
        )
    plain = Choice(options, **fields)  # also checks the options before they become keys
    subspaces: dict[Any, dict[str, Parameter]] = {option: {} for option in plain.options}
    for branch in branches:
        if not isinstance(branch, Mapping) or not isinstance(branch.get("options"), list):
            raise SpaceError(f"branch {branch!r} needs a list of 'options'")
        key = tuple(branch["options"])
        below = _parameters_from_dict(branch.get("parameters"))
        try:
            taken = key in subspaces
        except TypeError:  # an option that is a list or a dict
            raise SpaceError(f"branch {key!r}: options must be those of the choice") from None
        if taken:
            raise SpaceError(f"branch {key!r} appears twice")
        _check_options(branch["options"], plain)
        subspaces[key] = below
    return Choice(subspaces, **fields) if branches else plain


def _check_options(named: list[Any], choice: Choice) -> None:
    """A choice says the same, but of the keys that branches have in Python."""
    for option in named:
        try:
            choice.check(option)
        except (TypeError, ValueError):
            raise SpaceError(
                f"branch {named!r}: {option!r} must be one of the 'options' of the choice, "
                f"{list(choice.options)!r}"
            ) from None


def _constraints_from_list(
    data: Any, functions: Sequence[Forbid | Constraint]
) -> list[Forbid | Constraint]:
    if not isinstance(data, list):
        raise SpaceError(f"constraints={data!r} must be a list")
    given = list(functions)
    constraints: list[Forbid | Constraint] = []
    for entry in data:
        kind = _text(entry.get("type")) if isinstance(entry, Mapping) else ""
        if kind == "forbid":
            constraints.append(Forbid(cast(Any, entry.get("values"))))
        elif kind == "function" and given:
            constraints.append(_function(given.pop(0), entry.get("on")))
        elif kind == "function":
            raise SpaceError(
                f"the constraint function {entry.get('name')!r} is not stored with a space; "
                "hand it in again with from_dict(..., constraints=[...])"
            )
        else:
            raise SpaceError(f"constraint {entry!r} must have type 'forbid' or 'function'")
    if given:
        raise SpaceError(f"the stored space has no place for the constraint {given[0]}")
    return constraints


def _function(given: Forbid | Constraint, on: Any) -> Forbid | Constraint:
    """A function handed in again; a plain one counts on the parameters that were stored."""
    if isinstance(given, Constraint) and given.on is None:
        return Constraint(given.fn, on)
    return given
