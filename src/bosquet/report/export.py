"""The trials of a study as rows, for spreadsheets and programs."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from bosquet.data import History

_FIXED = ("number", "state", "value", "noise_variance", "reason")


def to_json(history: History) -> str:
    """One object a trial; inactive parameters are left out."""
    return json.dumps(_rows(history), indent=1) + "\n"


def to_csv(history: History) -> str:
    """One line a trial; inactive parameters are empty, true, false and null as in JSON."""
    columns = [*_FIXED, *_columns(history).values()]
    written = io.StringIO()
    table = csv.DictWriter(written, columns, lineterminator="\n")
    table.writeheader()
    for row in _rows(history):
        for name in columns[len(_FIXED) :]:
            if name in row and not isinstance(row[name], str):
                row[name] = json.dumps(row[name])
        table.writerow(row)
    return written.getvalue()


def _rows(history: History) -> list[dict[str, Any]]:
    column = _columns(history)
    return [
        {name: getattr(trial, name) for name in _FIXED}
        | {column[name]: value for name, value in history.space.qualify(trial.config).items()}
        for trial in history.trials
    ]


def _columns(history: History) -> dict[str, str]:
    """The column of every parameter, by qualified name."""
    names = [dimension.qualified_name for dimension in history.space.dimensions]
    return {name: f"config.{name}" if name in _FIXED else name for name in names}
