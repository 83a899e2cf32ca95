"""A progress bar for people at a terminal; nothing elsewhere."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from bosquet.data import History, Trial
from bosquet.text import printable


class Progress(Protocol):
    """What the loop tells whoever watches."""

    def started(self, trial: Trial) -> None: ...

    def ended(self, history: History) -> None: ...


class Silent:
    """Nobody watches."""

    def started(self, trial: Trial) -> None:
        pass

    def ended(self, history: History) -> None:
        pass


class Bar(AbstractContextManager["Bar"]):
    """One line: trials done, best value so far, the branch being evaluated, time."""

    def __init__(self, n_trials: int | None, done: int) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as RichProgress
        from rich.table import Column

        self._bar = RichProgress(
            TextColumn("[bold]{task.fields[best]}"),
            BarColumn(bar_width=12),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(compact=True),
            TextColumn(
                "{task.fields[now]}", markup=False, table_column=Column(no_wrap=True, ratio=1)
            ),
            console=Console(stderr=True),
            expand=True,
        )
        self._task = self._bar.add_task(
            "", total=n_trials, completed=done, best="no value yet", now=""
        )

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.update(self._task, now="")
        self._bar.stop()

    def started(self, trial: Trial) -> None:
        self._bar.update(self._task, now=printable(str(trial.info.get("path", ""))))

    def ended(self, history: History) -> None:
        best = "no value yet" if history.best is None else f"best {history.best.value:.6g}"
        if history.failed:
            best += f" ({len(history.failed)} failed)"
        self._bar.update(self._task, advance=1, best=best)


def say(text: str) -> None:
    """One line beside the results, whether or not somebody sits at a terminal."""
    sys.stderr.write(f"bosquet: {printable(text, lines=True)}\n")


def progress_bar(
    wanted: bool | None, n_trials: int | None, done: int = 0
) -> AbstractContextManager[Progress]:
    """A bar if wanted; by default, if somebody sits at a terminal."""
    if wanted is None:
        from rich.console import Console

        wanted = Console(stderr=True).is_terminal
    return Bar(n_trials, done) if wanted else nullcontext(Silent())
