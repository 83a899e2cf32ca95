"""A history as a notebook shows it."""

from __future__ import annotations

from bosquet import notebook
from bosquet.data.branches import Branch, branches
from bosquet.data.history import History
from bosquet.text import duration_text, value_format

_MOST_BRANCHES = 12


def history_html(history: History, title: str, *notes: str) -> str:
    """The best configuration, and the best value of each branch; ``notes`` come last."""
    best = history.best
    parts = [notebook.heading(title)]
    if best is not None:
        parts += [notebook.line(f"Best configuration, of trial {best.number}:")]
        parts += [notebook.named_values(best.config)]
    if history.space.n_paths > 1 and len(history):
        parts.append(_branches_html(history))
    return notebook.block(*parts, *map(notebook.line, notes))


def _branches_html(history: History) -> str:
    found = branches(history)
    value_text = value_format(b.best.value for b in found if b.best and b.best.value is not None)

    def cells(branch: Branch) -> list[str]:
        best = None if branch.best is None else branch.best.value
        return [
            branch.label,
            str(branch.trials),
            str(branch.failed),
            "" if best is None else value_text(best),
            "" if branch.seconds is None else duration_text(branch.seconds),
        ]

    columns = ["branch", "trials", "failed", "best value", "median time of a trial"]
    left = len(found) - _MOST_BRANCHES
    more = notebook.line(f"... and {left} more branches") if left > 0 else ""
    return notebook.table(columns, map(cells, found[:_MOST_BRANCHES])) + more
