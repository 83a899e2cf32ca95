"""What the trials of each branch brought: where the budget went, and what it found there."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from bosquet.data.history import History
from bosquet.data.trial import Trial


@dataclass(frozen=True)
class Branch:
    """The ended trials of one path, or of one option of a choice."""

    label: str
    """As `Space.path_label` has it; empty in a space without branches."""
    trials: int
    failed: int
    best: Trial | None
    """None where no trial returned a value."""
    seconds: float | None
    """The median duration of a trial; None where none is known."""


def branches(history: History) -> list[Branch]:
    """The paths that have trials, the best first; those that only failed come last."""
    by_label: dict[str, list[Trial]] = {}
    for trial in history.trials:
        by_label.setdefault(history.space.path_label(trial.config), []).append(trial)
    order = list(history.best_by_path())
    order += [label for label in by_label if label not in order]
    return [branch_of(history, label, by_label[label]) for label in order]


def branch_of(history: History, label: str, trials: Iterable[Trial]) -> Branch:
    """What became of the given trials of a history."""
    own = tuple(trials)
    complete = [trial for trial in own if trial.state == "complete"]
    durations = [trial.duration for trial in own if trial.duration is not None]
    return Branch(
        label,
        len(own),
        len(own) - len(complete),
        min(complete, key=history.loss, default=None),
        statistics.median(durations) if durations else None,
    )
