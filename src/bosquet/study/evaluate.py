"""One call of a user's objective, whatever it does."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from bosquet.data import Evaluation, Trial

Objective = Callable[[dict[str, Any]], Any]

_LONGEST = 80  # characters of a value in a message


class NoValue(RuntimeError):
    """An objective's own word that it brought no value: its text is the reason, as it is."""


@runtime_checkable
class RunsPrograms(Protocol):
    """An objective that starts programs, such as a `Command`.

    It is evaluated in worker processes only, which end what they have started.
    """

    def run_trial(self, config: dict[str, Any], trial: int) -> float:
        """The value of a trial; the number tells files of trials that run at once apart."""

    def last_words(self, trial: int) -> str:
        """The end of what the program of a trial wrote, also after it was killed."""


@dataclass(frozen=True)
class Failure:
    """An evaluation that brought no value, and why."""

    reason: str
    error: BaseException | None = field(default=None, repr=False, compare=False)
    """What was raised, where that was in this process: it may not survive being sent."""


def evaluate(objective: Objective, trial: Trial, *, here: bool = False) -> Evaluation | Failure:
    """The result of the objective; what it raises or wrongly returns becomes a `Failure`.

    ``here``: in the process and thread that runs the study. There a KeyboardInterrupt is Ctrl-C,
    which is meant for the run, and passes; elsewhere nothing does.
    """
    try:
        return _called(objective, trial)
    except NoValue as failed:
        return Failure(str(failed))
    except BaseException as error:  # SystemExit, and what others have derived from it
        if here and isinstance(error, KeyboardInterrupt):
            raise
        return Failure(failure_text(error), error if here else None)


def _called(objective: Objective, trial: Trial) -> Evaluation | Failure:
    config = dict(trial.config)
    if isinstance(objective, RunsPrograms):
        return Evaluation(objective.run_trial(config, trial.number))
    returned = objective(config)
    if isinstance(returned, Evaluation):
        return returned
    try:
        return Evaluation(returned)
    except TypeError:
        return Failure(f"the objective returned {_shortened(returned)} instead of a number")


def failure_text(error: BaseException) -> str:
    """An error with the line of the innermost call, for somebody who looks for the mistake.

    That is no line of the functions here which do the calling.
    """
    try:
        said = str(error)
    except Exception as worse:  # noqa: BLE001 - an error that cannot even be printed
        said = f"its text cannot be had ({type(worse).__name__})"
    text = f"{type(error).__name__}: {said}" if said else type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    if not frames or Path(frames[-1].filename).parent == Path(__file__).parent:
        return text
    return f"{text} ({Path(frames[-1].filename).name}:{frames[-1].lineno} in {frames[-1].name})"


def _shortened(value: object) -> str:
    text = f"{type(value).__name__} {value!r}" if value is not None else "None"
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
