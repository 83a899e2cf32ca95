"""Trials as rows: what data frames, CSV and JSON are made of."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from bosquet.data.trial import Trial, time_text
from bosquet.space import Choice, Float, Space
from bosquet.space.parameter import Parameter

if TYPE_CHECKING:
    import pandas as pd

FIXED = (
    *("number", "state", "value", "noise_variance", "reason"),
    *("started", "ended", "duration"),
)
"""The columns of every trial, whatever the space; those of the parameters follow."""
TIMES = ("started", "ended")
"""The columns with moments; the duration is in seconds."""
NUMBERS = ("value", "noise_variance", "duration")
"""The columns with numbers, also where no trial has one."""

_LARGEST = 2**63 - 1  # that a column of integers can hold


def columns(space: Space) -> dict[str, str]:
    """The column of every parameter, by qualified name.

    It has the short name where that means one parameter only: a name used in several branches, or
    equal to the qualified name of another parameter, is qualified. Beside a column of every trial
    with the same name it gets the prefix ``config.``.
    """
    qualified = space.tree.by_qualified_name
    names = {}
    for d in space.dimensions:
        clear = len(space.tree.by_name[d.name]) == 1 and qualified.get(d.name, d) is d
        names[d.qualified_name] = d.name if clear else d.qualified_name
    taken = {*FIXED, *names.values()}
    return {key: _beside_fixed(name, taken) for key, name in names.items()}


def _beside_fixed(name: str, taken: set[str]) -> str:
    if name in FIXED:
        while name in taken:
            name = f"config.{name}"
    return name


def trial_rows(space: Space, trials: Iterable[Trial]) -> list[dict[str, Any]]:
    """The values of each trial by column, times as ISO texts; inactive parameters are left out."""
    column = columns(space)
    return [
        {name: getattr(trial, name) for name in FIXED}
        | {name: time_text(getattr(trial, name)) for name in TIMES}
        | {column[name]: value for name, value in space.qualify(trial.config).items()}
        for trial in trials
    ]


def data_frame(space: Space, trials: Iterable[Trial]) -> pd.DataFrame:
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("to_dataframe needs pandas: pip install 'bosquet[dataframe]'") from error
    rows = trial_rows(space, trials)
    cells: dict[str, Any] = {name: [row[name] for row in rows] for name in FIXED}
    for name in TIMES:
        texts = pd.Series(cells[name], dtype=object)
        cells[name] = pd.to_datetime(texts, utc=True, format="ISO8601")
    for name in NUMBERS:
        cells[name] = pd.Series(cells[name], dtype=float)
    for qualified, name in columns(space).items():
        dtype = _dtype(space.tree.by_qualified_name[qualified].parameter, name, rows)
        cells[name] = pd.Series([row.get(name, math.nan) for row in rows], dtype=dtype)
    return pd.DataFrame(cells)


def _dtype(
    parameter: Parameter, column: str, rows: Iterable[Mapping[str, Any]]
) -> str | type | None:
    """The type of a column in which integers stay integers; None where pandas finds it itself."""
    if isinstance(parameter, Float):
        return None
    if isinstance(parameter, Choice):
        integers = [o for o in parameter.options if isinstance(o, int) and not isinstance(o, bool)]
        if not integers:
            return None
        if len(integers) < parameter.n_values or max(map(abs, integers)) > _LARGEST:
            return object
    return "int64" if all(column in row for row in rows) else "Int64"  # that one has gaps
