"""Tables of a study for a terminal."""

from __future__ import annotations

from typing import Any

from rich import markup
from rich.table import Table

from bosquet.data import History, Trial, alike
from bosquet.text import printable

_SHOWN_NUMBERS = 5  # of the trials that failed alike


def escape(text: str) -> str:
    """Text for a console of rich's: what is in it is neither markup nor control characters."""
    return markup.escape(printable(text, lines=True))


def branches_table(history: History) -> Table:
    """The best configuration of each path, best path first."""
    decided = _branching(history)
    visits: dict[str, int] = {}
    for trial in history.trials:
        label = history.space.path_label(trial.config)
        visits[label] = visits.get(label, 0) + 1
    table = Table(title="Best configuration of each branch", title_justify="left")
    table.add_column("branch", style="bold")
    table.add_column("trials", justify="right")
    table.add_column("best", justify="right")
    table.add_column("configuration", overflow="fold")
    best = history.best_by_path()
    for label, trial in best.items():
        table.add_row(
            escape(label or "all"),
            str(visits[label]),
            f"{trial.value:#.4g}",  # with zeros at the end, so that digits compare
            escape(config_text(trial, leave_out=decided)),
            style="green" if trial is history.best else None,
        )
    for label in [label for label in visits if label not in best]:
        table.add_row(escape(label or "all"), str(visits[label]), "failed", "")
    return table


def failures_table(history: History) -> Table:
    """Failures by cause, the most frequent first; what reasons differ in is not shown."""
    causes: dict[str, list[Trial]] = {}
    for trial in history.failed:
        causes.setdefault(alike(str(trial.reason), history.space), []).append(trial)
    table = Table(title="Failures", title_justify="left")
    table.add_column("count", justify="right")
    table.add_column("reason (of the last one)", overflow="fold")
    table.add_column("trials", overflow="fold")
    for trials in sorted(causes.values(), key=len, reverse=True):
        numbers = [str(trial.number) for trial in trials[-_SHOWN_NUMBERS:]]
        dots = ["..."] if len(trials) > _SHOWN_NUMBERS else []
        reason = escape(str(trials[-1].reason))
        table.add_row(str(len(trials)), reason, ", ".join(dots + numbers))
    return table


def config_text(trial: Trial, leave_out: set[str] | frozenset[str] = frozenset()) -> str:
    return ", ".join(
        printable(f"{name}={_value_text(value)}")
        for name, value in trial.config.items()
        if name not in leave_out
    )


def _branching(history: History) -> set[str]:
    space = history.space
    return {space.dimensions[choice].name for choice in space.tree.children}


def _value_text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
