"""What a run tells while it goes on: a bar at a terminal, a line in a notebook, and a log."""

from __future__ import annotations

import logging
import math
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from bosquet import notebook
from bosquet.data import History, Trial, alike
from bosquet.space import Space
from bosquet.text import counted_text, duration_text, printable

LINE_EVERY = 10.0  # seconds
REDRAW_EVERY = 0.5
LONG = 60.0  # seconds, at least, and
LONGER = 10.0  # times as long as the longest trial so far: a trial that perhaps hangs
LONG_FIRST = 600.0  # seconds, where no trial has ended yet

_log = logging.getLogger("bosquet")


class Progress(Protocol):
    """What the loop tells whoever watches."""

    def started(self, trial: Trial) -> None: ...

    def ended(self, trial: Trial, history: History) -> None: ...

    def waiting(self, history: History) -> None:
        """Now and then, while trials run that nothing would end should they hang."""


class Silent:
    """Nobody watches."""

    def started(self, trial: Trial) -> None:
        pass

    def ended(self, trial: Trial, history: History) -> None:
        pass

    def waiting(self, history: History) -> None:
        pass


class Overdue:
    """Tells, once for each, of trials that take much longer than those before."""

    def __init__(self) -> None:
        self._began: dict[int, float] = {}

    def started(self, trial: Trial) -> None:
        self._began[trial.number] = time.monotonic()

    def ended(self, trial: Trial) -> None:
        self._began.pop(trial.number, None)

    def texts(self, history: History) -> list[str]:
        longest = max((trial.duration or 0.0 for trial in history.trials), default=None)
        patience = LONG_FIRST if longest is None else max(LONG, LONGER * longest)
        before = "" if longest is None else f", the longest before it {duration_text(longest)}"
        now = time.monotonic()
        late = [(n, now - began) for n, began in self._began.items() if now - began > patience]
        for number, _ in late:
            del self._began[number]
        return [
            f"trial {number} has been running for {duration_text(round(seconds))}{before}; "
            "a limit (--trial-timeout, trial_timeout=) would end trials that hang"
            for number, seconds in late
        ]


class Bar(AbstractContextManager["Bar"]):
    """One line: trials done, best value so far, the branch being evaluated, time.

    The first failure of each kind appears above it.
    """

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

        self.display = RichProgress(
            TextColumn("[bold]{task.fields[best]}"),
            BarColumn(bar_width=12),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(compact=True),
            TextColumn("left"),
            TextColumn(
                "{task.fields[now]}", markup=False, table_column=Column(no_wrap=True, ratio=1)
            ),
            console=Console(stderr=True),
            expand=True,
        )
        self._task = self.display.add_task(
            "", total=n_trials, completed=done, best="no value yet", now=""
        )
        self._kinds: set[str] = set()
        self._overdue = Overdue()

    def __enter__(self) -> Bar:
        self.display.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.display.update(self._task, now="")
        self.display.stop()

    def started(self, trial: Trial) -> None:
        self._overdue.started(trial)
        self.display.update(self._task, now=printable(str(trial.info.get("path", ""))))

    def ended(self, trial: Trial, history: History) -> None:
        self._overdue.ended(trial)
        if _is_new(trial, history.space, self._kinds):
            self._say(_failure(trial))
        best = "no value yet" if history.best is None else f"best {history.best.value:.6g}"
        if history.failed:
            best += f" ({len(history.failed)} failed)"
        self.display.update(self._task, advance=1, best=best)

    def waiting(self, history: History) -> None:
        for text in self._overdue.texts(history):
            self._say(text)

    def _say(self, text: str) -> None:
        """A line above the bar."""
        self.display.console.print(text, markup=False, highlight=False)


class Lines(AbstractContextManager["Lines"]):
    """A line after the first trial and after the last one, and between them at most one in ten
    seconds; beside them one for the first failure of each kind."""

    def __init__(self, n_trials: int | None) -> None:
        self._wanted = n_trials
        self._began = time.monotonic()
        self._said = -LINE_EVERY
        self._unsaid: History | None = None
        self._kinds: set[str] = set()
        self._overdue = Overdue()

    def __exit__(self, *_: object) -> None:
        if self._unsaid is not None:
            self._say(self._unsaid)

    def started(self, trial: Trial) -> None:
        self._overdue.started(trial)

    def waiting(self, history: History) -> None:
        for text in self._overdue.texts(history):
            say(text)

    def ended(self, trial: Trial, history: History) -> None:
        self._overdue.ended(trial)
        if _is_new(trial, history.space, self._kinds):
            say(_failure(trial))
        self._unsaid = history
        if time.monotonic() - self._began >= self._said + LINE_EVERY:
            self._say(history)

    def _say(self, history: History) -> None:
        seconds = time.monotonic() - self._began
        took = duration_text(round(seconds))
        say(f"{_done_text(len(history), self._wanted)}, {_found(history)}, {took}")
        self._said, self._unsaid = seconds, None


class Cell(AbstractContextManager["Cell"]):
    """One line below the cell of a notebook, rewritten at most twice a second.

    The first failure of each kind is said above it.
    """

    def __init__(self, n_trials: int | None, done: int) -> None:
        from IPython.display import display

        self._total = n_trials
        self._done = done
        self._began = time.monotonic()
        self._drawn = -math.inf
        self._now = ""
        self._found = "no value yet"
        self._kinds: set[str] = set()
        self._overdue = Overdue()
        self._handle = display(_Html(self._html()), display_id=True)

    def __exit__(self, *_: object) -> None:
        self._now = ""
        self._draw()

    def waiting(self, history: History) -> None:
        for text in self._overdue.texts(history):
            say(text)

    def started(self, trial: Trial) -> None:
        self._overdue.started(trial)
        self._now = str(trial.info.get("path", ""))
        self._draw_now_and_then()

    def ended(self, trial: Trial, history: History) -> None:
        if _is_new(trial, history.space, self._kinds):
            say(_failure(trial))
        self._overdue.ended(trial)
        self._done += 1
        self._found = _found(history)
        self._draw_now_and_then()

    def _draw_now_and_then(self) -> None:
        if time.monotonic() - self._drawn >= REDRAW_EVERY:
            self._draw()

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        self._handle.update(_Html(self._html()))

    def _html(self) -> str:
        done = _done_text(self._done, self._total)
        took = duration_text(time.monotonic() - self._began)
        now = f"; now {self._now}" if self._now else ""
        bar = notebook.progress(self._done, self._total)
        return notebook.block(bar, notebook.line(f"{done}, {self._found}, {took}{now}"))


class _Html:
    """What IPython displays as HTML."""

    def __init__(self, html: str) -> None:
        self._written = html

    def _repr_html_(self) -> str:
        return self._written


def log_end(trial: Trial) -> None:
    """Tells the logger ``bosquet`` how a trial has ended."""
    if trial.state == "failed":
        _log.warning("%s", _failure(trial))
    else:
        _log.info("trial %d brought %r", trial.number, trial.value)


def say(text: str) -> None:
    """One line beside the results, whether or not somebody sits at a terminal."""
    sys.stderr.write(f"bosquet: {printable(text, lines=True)}\n")


def progress_bar(
    wanted: bool | None, n_trials: int | None, done: int = 0
) -> AbstractContextManager[Progress]:
    """At a terminal a bar and in a notebook a line, unless unwanted; elsewhere lines, if wanted."""
    if wanted is False:
        return nullcontext(Silent())
    if in_notebook():
        return Cell(n_trials, done)
    from rich.console import Console

    if Console(stderr=True).is_terminal:
        return Bar(n_trials, done)
    return Lines(n_trials) if wanted else nullcontext(Silent())


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook, which has loaded IPython then."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


def _found(history: History) -> str:
    """The best value so far, and how many trials failed."""
    best = history.best
    found = "no value yet" if best is None else f"best {best.value:.6g} in trial {best.number}"
    return f"{len(history.failed)} failed, {found}" if history.failed else found


def _is_new(trial: Trial, space: Space, kinds: set[str]) -> bool:
    """Whether a trial has failed for a reason unlike all that were seen, which it joins."""
    kind = alike(str(trial.reason), space)
    if trial.state != "failed" or kind in kinds:
        return False
    kinds.add(kind)
    return True


def _failure(trial: Trial) -> str:
    """One line, whatever the reason has in it."""
    return f"trial {trial.number} failed: {printable(str(trial.reason))}"


def _done_text(done: int, wanted: int | None) -> str:
    return counted_text(done, "trial") if wanted is None else f"{done} of {wanted} trials"
