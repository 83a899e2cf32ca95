"""One call of a user's objective, whatever it does."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bosquet.data import Evaluation

Objective = Callable[[dict[str, Any]], Any]


@dataclass(frozen=True)
class Failure:
    """An evaluation that brought no value, and why."""

    reason: str


def evaluate(objective: Objective, config: dict[str, Any]) -> Evaluation | Failure:
    """The result of the objective; what it raises or wrongly returns becomes a `Failure`.

    Only KeyboardInterrupt passes: it is meant for the run, not for the trial.
    """
    try:
        returned = objective(dict(config))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the objective does
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return Failure(f"{text} ({_where(error)})")
    if isinstance(returned, Evaluation):
        return returned
    try:
        return Evaluation(returned)
    except TypeError:
        return Failure(f"the objective returned {_shortened(returned)} instead of a number")


def _where(error: BaseException) -> str:
    """The line of the innermost call, for somebody who looks for the mistake."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(last.filename).name}:{last.lineno} in {last.name}"


def _shortened(value: object, longest: int = 80) -> str:
    text = f"{type(value).__name__} {value!r}" if value is not None else "None"
    return text if len(text) <= longest else text[:longest] + "..."
