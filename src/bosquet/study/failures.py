"""What a run does about evaluations that fail."""

from __future__ import annotations

from typing import Literal

from bosquet.data import Evaluation, History, Trial, alike
from bosquet.errors import EvaluationError
from bosquet.space import Space
from bosquet.study.evaluate import Failure

OnFailure = Literal["stop", "continue", "raise"]
ENOUGH = 5  # failures alike that make a run without any value stop


class FailurePolicy:
    """Sees the trials of one run that have failed, and says when it shall end.

    Failures of earlier runs of the same study do not count, so that a study that was stopped gets
    another chance when it is started again; values of earlier runs do.
    """

    def __init__(self, on_failure: OnFailure, space: Space) -> None:
        if on_failure not in ("stop", "continue", "raise"):
            raise ValueError(f"on_failure={on_failure!r} must be 'stop', 'continue' or 'raise'")
        self._on_failure = on_failure
        self._space = space
        self._alike: dict[str, list[Trial]] = {}
        self._error: EvaluationError | None = None

    def see(self, trial: Trial, outcome: Evaluation | Failure) -> None:
        """Takes note of a trial that has ended, if it has failed."""
        if trial.state != "failed":
            return
        self._alike.setdefault(alike(str(trial.reason), self._space), []).append(trial)
        if self._error is None:
            self._error = EvaluationError(f"trial {trial.number} failed: {trial.reason}")
            self._error.__cause__ = outcome.error if isinstance(outcome, Failure) else None

    def verdict(self, history: History) -> str:
        """Why no further trial shall start, as things are; empty if the run goes on.

        A trial still running may bring the first value, and the run goes on after all.
        """
        if self._on_failure == "raise" and self._error is not None:
            raise self._error
        if self._on_failure == "stop" and not history.complete:
            for trials in self._alike.values():
                if len(trials) >= ENOUGH:
                    reason = trials[-1].reason
                    failed = f"{len(trials)} trials failed in the same way"
                    return f"{failed} and none returned a value: {reason}"
        return ""
