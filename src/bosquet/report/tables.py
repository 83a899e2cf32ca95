"""Tables of a study for a terminal: at most a screen, with digits that tell values apart."""

from __future__ import annotations

from typing import Any

from rich import markup
from rich.table import Table

from bosquet.data import History, Trial, alike
from bosquet.data.branches import branch_of, branches
from bosquet.space import Choice
from bosquet.text import duration_text, printable, value_format

_LEAST_SEEN = 24  # characters of a configuration that are worth a column
MOST_ROWS = 12  # of a table: with what is printed around it, a screen
_SHOWN_NUMBERS = 5  # of the trials that failed alike
_LONG_REASON = 300  # characters


def escape(text: str) -> str:
    """Text for a console of rich's: what is in it is neither markup nor control characters."""
    return markup.escape(printable(text, lines=True))


def branches_table(history: History, *, width: int | None = None) -> Table:
    """The best configuration of each path, best path first.

    ``width`` of a screen, in characters: a configuration that is longer is cut, lest it scroll away
    what is above, and left out where hardly anything of it could be seen.
    """
    decided = _branching(history)
    found = branches(history)
    value_text = value_format(b.best.value for b in found if b.best and b.best.value is not None)
    timed = any(branch.seconds is not None for branch in found)
    rows = []
    for branch in found[:MOST_ROWS]:
        best = branch.best
        time = "" if branch.seconds is None else duration_text(branch.seconds)
        value = "failed" if best is None or best.value is None else value_text(best.value)
        rows.append([escape(branch.label or "all"), str(branch.trials), value, time])
    columns = ["branch", "trials", "best", *(["takes"] if timed else [])]
    taken = sum(
        max(len(name), *(len(row[i]) for row in rows), 0) + 3 for i, name in enumerate(columns)
    )
    whole = width is None or width - taken >= _LEAST_SEEN
    title = "Best configuration of each branch" if whole else "Best value of each branch"
    table = Table(title=title, title_justify="left", expand=whole and width is not None)
    table.add_column("branch", style="bold")
    for name in columns[1:]:
        table.add_column(name, justify="right")
    if whole and width is not None:
        table.add_column("configuration", overflow="ellipsis", no_wrap=True, ratio=1)
    elif whole:
        table.add_column("configuration", overflow="fold")
    for branch, row in zip(found, rows, strict=False):
        best = branch.best
        config = "" if best is None else escape(config_text(best, leave_out=decided))
        style = "green" if best is not None and best is history.best else None
        table.add_row(*row[: len(columns)], *([config] if whole else []), style=style)
    if len(found) > MOST_ROWS:
        table.caption = f"... and {len(found) - MOST_ROWS} branches more"
    return table


def failures_table(history: History) -> Table:
    """Failures by cause, the most frequent first; what reasons differ in is not shown."""
    table = Table(title="Failures", title_justify="left")
    table.add_column("count", justify="right")
    table.add_column("reason (of the last one)", overflow="fold")
    table.add_column("trials", overflow="fold")
    causes = failures_by_cause(history)
    for trials in causes[:MOST_ROWS]:
        numbers = [str(trial.number) for trial in trials[:_SHOWN_NUMBERS]]
        more = len(trials) - _SHOWN_NUMBERS
        dots = [f"and {more} more"] if more > 0 else []
        reason = str(trials[-1].reason)
        cut = f"{reason[:_LONG_REASON]}..." if len(reason) > _LONG_REASON else reason
        table.add_row(str(len(trials)), escape(cut), ", ".join(numbers + dots))
    if len(causes) > MOST_ROWS:
        table.caption = f"... and {len(causes) - MOST_ROWS} causes more"
    return table


def failures_by_cause(history: History) -> list[list[Trial]]:
    """The failed trials, those of one cause together; the most frequent cause first."""
    causes: dict[str, list[Trial]] = {}
    for trial in history.failed:
        causes.setdefault(alike(str(trial.reason), history.space), []).append(trial)
    return sorted(causes.values(), key=len, reverse=True)


def tree_with_counts(history: History) -> str:
    """The space as a tree; behind every option its trials, failures and best value."""
    space = history.space
    taken: dict[tuple[str, int], list[Trial]] = {}
    for trial in history.trials:
        for name, value in space.qualify(trial.config).items():
            parameter = space.tree.by_qualified_name[name].parameter
            if isinstance(parameter, Choice) and parameter.branches:
                taken.setdefault((name, parameter.index(value)), []).append(trial)
    value_text = value_format(history.loss(trial) for trial in history.complete)

    def note(choice: str, options: tuple[int, ...]) -> str:
        own = [trial for option in options for trial in taken.get((choice, option), ())]
        branch = branch_of(history, "", own)
        if not own:
            return "no trials"
        said = [f"{branch.trials} trial{'s' * (branch.trials != 1)}"]
        if branch.failed:
            said.append(f"{branch.failed} failed")
        if branch.best is not None and branch.best.value is not None:
            said.append(f"best {value_text(branch.best.value)}")
        return ", ".join(said)

    return space.drawn(note)


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
