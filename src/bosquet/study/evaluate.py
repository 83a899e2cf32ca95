"""One call of a user's objective, whatever it does."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bosquet.data import Evaluation, Trial
from bosquet.study.command import Command, CommandFailed

Objective = Callable[[dict[str, Any]], Any]


@dataclass(frozen=True)
class Failure:
    """An evaluation that brought no value, and why."""

    reason: str


def evaluate(objective: Objective, trial: Trial) -> Evaluation | Failure:
    """The result of the objective; what it raises or wrongly returns becomes a `Failure`.

    Only KeyboardInterrupt passes: it is meant for the run, not for the trial.
    """
    try:
        config = dict(trial.config)
        if isinstance(objective, Command):
            returned: Any = objective(config, trial.number)
        else:
            returned = objective(config)
    except CommandFailed as failed:
        return Failure(str(failed))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the objective does
        return Failure(failure_text(error))
    if isinstance(returned, Evaluation):
        return returned
    try:
        return Evaluation(returned)
    except TypeError:
        return Failure(f"the objective returned {_shortened(returned)} instead of a number")


def failure_text(error: BaseException) -> str:
    """An error with the line of the innermost call, for somebody who looks for the mistake."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{text} ({Path(last.filename).name}:{last.lineno} in {last.name})"


def _shortened(value: object, longest: int = 80) -> str:
    text = f"{type(value).__name__} {value!r}" if value is not None else "None"
    return text if len(text) <= longest else text[:longest] + "..."
