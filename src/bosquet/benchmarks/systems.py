"""Measured software systems: every configuration was run once, an evaluation is a look-up.

A table is two files of the same name. ``NAME.json`` describes the parameters (categorical or
ordinal levels, conditions on a parent's levels) and what is forbidden; ``NAME.npz`` has the rows.
Where a few allowed configurations were never measured, each of them is one more forbidden clause,
so that every method searches the same finite set.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bosquet.benchmarks.problem import Problem
from bosquet.space import Choice, Config, Forbid, Space
from bosquet.space.parameter import Parameter
from bosquet.text import must_be_one_of


def system_names(data: Path) -> list[str]:
    """The names of the tables in ``data/systems``."""
    found = sorted(path.stem for path in (data / "systems").glob("*.json"))
    if not found:
        raise FileNotFoundError(f"no NAME.json in {data / 'systems'}")
    return found


def system(data: Path, name: str) -> Problem:
    """One of the tables in ``data/systems``, to be minimised; its minimum is known."""
    known = system_names(data)
    if name not in known:
        raise ValueError(must_be_one_of("system", name, known))
    text = (data / "systems" / f"{name}.json").read_text(encoding="utf-8")
    description = json.loads(text)
    parameters = description["parameters"]
    with np.load(data / "systems" / f"{name}.npz") as file:
        levels, y = file["config"], file["y"].astype(float)
    values: dict[bytes, float] = {
        row.tobytes(): value for row, value in zip(levels, y.tolist(), strict=True)
    }
    position = {
        parameter["name"]: {level: i for i, level in enumerate(parameter["levels"])}
        for parameter in parameters
    }

    def function(config: Config) -> float:
        row = [positions[config[n]] if n in config else -1 for n, positions in position.items()]
        return values[np.array(row, dtype=levels.dtype).tobytes()]

    return Problem(f"system-{name}", table_space(description), function, float(y.min()))


def table_space(description: Mapping[str, Any]) -> Space:
    """The space that a description of parameters, conditions and forbidden clauses means."""
    children: dict[str, list[Mapping[str, Any]]] = {}
    top = []
    for parameter in description["parameters"]:
        match parameter["conditions"]:
            case []:
                top.append(parameter)
            case [[parent, _]]:
                children.setdefault(parent, []).append(parameter)
            case conditions:
                raise ValueError(f"{parameter['name']}: one condition at most, not {conditions}")

    def choice(parameter: Mapping[str, Any]) -> Choice:
        below: dict[Any, dict[str, Parameter]] = {level: {} for level in parameter["levels"]}
        for child in children.get(parameter["name"], ()):
            ((_, allowed),) = child["conditions"]
            group = allowed[0] if len(allowed) == 1 else tuple(allowed)
            below.setdefault(group, {})[child["name"]] = choice(child)
        ordered = parameter["type"] == "ordinal"
        return Choice(below if any(below.values()) else parameter["levels"], ordered=ordered)

    clauses = [*description["forbidden"], *description.get("missing", ())]
    return Space(
        {parameter["name"]: choice(parameter) for parameter in top},
        constraints=[Forbid(clause) for clause in clauses],
    )
