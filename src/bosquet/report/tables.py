"""Tables of a study for a terminal."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from bosquet.data import History, Trial


def branches_table(history: History) -> Table:
    """The best configuration of each path, best path first."""
    space = history.space
    decided = {space.dimensions[choice].name for choice in space.tree.children}
    visits: dict[str, int] = {}
    for trial in history.trials:
        label = space.path_label(trial.config)
        visits[label] = visits.get(label, 0) + 1
    table = Table(title="Best configuration of each branch", title_justify="left")
    table.add_column("branch", style="bold")
    table.add_column("trials", justify="right")
    table.add_column("best", justify="right")
    table.add_column("configuration", overflow="fold")
    best = history.best_by_path()
    for label, trial in best.items():
        table.add_row(
            label or "all",
            str(visits[label]),
            f"{trial.value:.4g}",
            config_text(trial, leave_out=decided),
            style="green" if trial is history.best else None,
        )
    for label in visits.keys() - best.keys():
        table.add_row(label or "all", str(visits[label]), "failed", "")
    return table


def config_text(trial: Trial, leave_out: set[str] | frozenset[str] = frozenset()) -> str:
    return ", ".join(
        f"{name}={_value_text(value)}"
        for name, value in trial.config.items()
        if name not in leave_out
    )


def _value_text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
