"""The trials of a study as rows, for spreadsheets and programs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from typing import Any

from bosquet.data import History
from bosquet.data.rows import FIXED, columns, trial_rows
from bosquet.text import json_text

# A spreadsheet takes a text that begins so for a formula; the last is what makes it harmless.
_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20'")


def to_json(history: History) -> str:
    """One object a trial; inactive parameters are left out."""
    return json_text(trial_rows(history.space, history.trials), indent=1) + "\n"


def to_csv(history: History) -> str:
    """One line a trial; inactive parameters are empty, true, false and null as in JSON.

    A text that a spreadsheet would take for a formula has an apostrophe in front, and so has one
    that begins with an apostrophe: without the first one it is the text again.
    """
    parameters = columns(history.space).values()
    lines = [_line(map(_cell, [*FIXED, *parameters]))]
    for row in trial_rows(history.space, history.trials):
        fixed = ["" if row[name] is None else _cell(row[name]) for name in FIXED]
        given = [_cell(row[name]) if name in row else "" for name in parameters]
        lines.append(_line([*fixed, *given]))
    return "".join(lines)


def _line(cells: Iterable[str]) -> str:
    written = io.StringIO(newline="")
    # Of line ends in cells the writer quotes only those that its own line end has in it.
    csv.writer(written, lineterminator="\r\n").writerow(cells)
    return written.getvalue().removesuffix("\r\n") + "\n"


def _cell(value: Any) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    return f"'{value}" if value.startswith(_FORMULA) else value
