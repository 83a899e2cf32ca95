"""`minimize` and `maximize`: a whole study in one call."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from bosquet.data import Direction, History, Trial, as_number
from bosquet.errors import SpaceExhausted
from bosquet.optimizer import Optimizer, positive_integer
from bosquet.space import Space
from bosquet.strategies import Strategy
from bosquet.study.evaluate import Failure, Objective, evaluate
from bosquet.study.progress import Progress, progress_bar
from bosquet.study.result import Result

Callback = Callable[[Optimizer, Trial], Any]


def minimize(
    objective: Objective,
    space: Space,
    *,
    n_trials: int | None = None,
    timeout: float | None = None,
    strategy: str | Strategy = "auto",
    seed: int | None = None,
    callbacks: Callback | Iterable[Callback] = (),
    history: History | None = None,
    candidates: Iterable[Mapping[str, Any]] | None = None,
    initial: Iterable[Mapping[str, Any]] = (),
    progress: bool | None = None,
    direction: Direction = "minimize",
) -> Result:
    """Searches a space for the configuration with the lowest value of an objective.

    ``objective`` takes a configuration (a dict of the active parameters) and returns a number or an
    `Evaluation`. When it raises, or returns NaN, an infinity or something else, that trial has
    failed, with its reason, and the search goes on.

    The search ends after ``n_trials`` new trials, when no trial can start before ``timeout``
    seconds have passed, when a callback (called with the optimizer and the trial just ended)
    returns True, when the space is exhausted, or at Ctrl-C: all of these return what was found.
    """
    n_trials, timeout = _checked_limits(n_trials, timeout)
    callbacks = tuple(callbacks) if isinstance(callbacks, Iterable) else (callbacks,)
    for function in (objective, *callbacks):
        if not callable(function):
            raise TypeError(f"objective and callbacks must be functions, not {function!r}")
    optimizer = Optimizer(
        space,
        strategy,
        seed=seed,
        direction=direction,
        history=history,
        candidates=candidates,
        initial=initial,
    )
    started = time.monotonic()
    with progress_bar(progress, n_trials) as watcher:
        try:
            stopped = _run(optimizer, objective, n_trials, timeout, callbacks, watcher)
        except Exception as error:  # of a callback or a constraint: nothing told is lost
            error.history = optimizer.history  # type: ignore[attr-defined]
            error.add_note("the trials so far are in the attribute 'history' of this error")
            raise
    return Result(optimizer.history, optimizer.seed, stopped, time.monotonic() - started)


def maximize(objective: Objective, space: Space, **options: Any) -> Result:
    """Like `minimize`, for the highest value."""
    return minimize(objective, space, **options, direction="maximize")


def _run(
    optimizer: Optimizer,
    objective: Objective,
    n_trials: int | None,
    timeout: float | None,
    callbacks: tuple[Callback, ...],
    watcher: Progress,
) -> str:
    """Runs the study and returns why it ended."""
    deadline = None if timeout is None else time.monotonic() + timeout
    done = 0
    try:
        while n_trials is None or done < n_trials:
            if deadline is not None and time.monotonic() >= deadline:
                return f"timeout of {timeout:g} s"
            try:
                trial = optimizer.ask()
            except SpaceExhausted as exhausted:
                return f"space exhausted: {exhausted}"
            watcher.started(trial)
            outcome = evaluate(objective, trial.config)
            if isinstance(outcome, Failure):
                trial = optimizer.tell_failure(trial, outcome.reason)
            else:
                trial = optimizer.tell(trial, outcome)
            done += 1
            watcher.ended(optimizer.history)
            verdicts = [callback(optimizer, trial) for callback in callbacks]
            if any(isinstance(verdict, (bool, np.bool_)) and verdict for verdict in verdicts):
                return "a callback said so"
    except KeyboardInterrupt:
        return "interrupted"
    return f"all {n_trials} trials done"


def _checked_limits(n_trials: int | None, timeout: float | None) -> tuple[int | None, float | None]:
    if n_trials is None and timeout is None:
        raise ValueError("give n_trials, timeout or both: the search must end")
    if n_trials is not None:
        n_trials = positive_integer(n_trials, "n_trials")
    if timeout is not None:
        timeout = as_number(timeout, "timeout")
        if not timeout > 0:
            raise ValueError(f"timeout={timeout!r} must be a positive number of seconds")
    return n_trials, timeout
