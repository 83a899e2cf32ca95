"""`minimize` and `maximize`: a whole study in one call."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from contextlib import ExitStack, suppress
from typing import Any

from bosquet.data import Direction, History, as_number
from bosquet.optimizer import Optimizer, positive_integer
from bosquet.space import Space
from bosquet.space.parameter import Parameter
from bosquet.strategies import Strategy
from bosquet.study.evaluate import Objective, RunsPrograms
from bosquet.study.failures import FailurePolicy, OnFailure
from bosquet.study.fingerprint import fingerprint_of
from bosquet.study.ledger import InMemory, Ledger, Stored
from bosquet.study.loop import Callback, Loop
from bosquet.study.optuna_store import OptunaStore, Wanted
from bosquet.study.progress import progress_bar, say
from bosquet.study.result import Result
from bosquet.study.runners import InProcess, OnExecutor, Runner
from bosquet.study.workers import Workers
from bosquet.text import counted_text


def minimize(
    objective: Objective,
    space: Space | Mapping[str, Parameter],
    *,
    n_trials: int | None = None,
    timeout: float | None = None,
    strategy: str | Strategy = "auto",
    seed: int | None = None,
    storage: Any = None,
    study_name: str | None = None,
    allow_changed: bool = False,
    n_jobs: int | None = None,
    trial_timeout: float | None = None,
    executor: Executor | None = None,
    callbacks: Callback | Iterable[Callback] | None = None,
    history: History | None = None,
    candidates: Iterable[Mapping[str, Any]] | None = None,
    initial: Iterable[Mapping[str, Any]] = (),
    progress: bool | None = None,
    on_failure: OnFailure = "stop",
    direction: Direction = "minimize",
) -> Result:
    """Searches a space for the configuration with the lowest value of an objective.

    The search ends after ``n_trials``, when no trial can start before ``timeout`` has passed, when
    a callback returns True, when the space is exhausted, when trials keep failing in the same
    way, or at Ctrl-C. All of these return what was found.

    The logger ``bosquet`` tells the end of each trial at INFO, failures at WARNING.

    Args:
        objective: takes a configuration (a dict of the active parameters) and returns a number or
            an `Evaluation`. When it raises, calls ``sys.exit``, or returns NaN, an infinity, None
            or text, that trial has failed, with its reason, and the search goes on.
        space: what to search: a `Space`, or the dict of parameters that `Space` takes.
        n_trials: how many trials to run. In a stored study it counts all its trials, so the same
            call after a kill finishes the same study.
        timeout: seconds after which no further trial starts. Give ``n_trials``, ``timeout`` or
            both.
        strategy: what proposes the trials: a name (``"auto"``, ``"add-tree"``,
            ``"add-tree.paper"``, ...; `bosquet.strategies.STRATEGIES` has all) or a `Strategy`.
        seed: the same seed gives the same run. None draws one, which `Result.seed` then tells.
        storage: where trials are kept: the name of a SQLite file, a database URL or an Optuna
            storage (needs the extra ``study``). A study that is there already goes on.
        study_name: which study of the storage; by default one called ``"bosquet"``.
        allow_changed: go on with a stored study although the objective has been edited since.
        n_jobs: how many trials to evaluate at once: in worker processes, which are replaced when
            they die, or on the ``executor``. None or 1: one after the other in this process; -1:
            as many as there are cores.
        trial_timeout: seconds after which the worker process of a trial is ended, together with
            all that it has started; the trial has then failed.
        executor: anything with the interface of `concurrent.futures.Executor`, such as Dask's
            ``client.get_executor()``; needs ``n_jobs``.
        callbacks: called with the optimizer and the trial that has just ended; one that returns
            True ends the search.
        history: trials from before, to continue from; not together with ``storage``.
        candidates: a finite set of configurations to choose from, instead of the whole space.
        initial: configurations to try first; the defaults that the space declares come next.
        progress: None shows a bar at a terminal and a line in a notebook; True gives lines
            elsewhere too, False shows nothing at all.
        on_failure: ``"stop"`` ends the search when five of its trials have failed in the same
            way and no trial of the study has returned a value; ``"continue"`` never does;
            ``"raise"`` raises `EvaluationError` at the first failure, with the trials in its
            ``history``.
        direction: ``"minimize"``, or ``"maximize"`` as `maximize` does.

    Returns:
        The trials, the best of them and why the search ended, in the objective's own sign.

    Raises:
        ValueError: for arguments that do not fit together; `SpaceError` and `ConfigError` are such.
        StorageError: if the storage cannot be used; the trials so far are in its ``history``.
        EvaluationError: at the first failure, with ``on_failure="raise"``.
    """
    n_trials = None if n_trials is None else positive_integer(n_trials, "n_trials")
    timeout, trial_timeout = _seconds(timeout, "timeout"), _seconds(trial_timeout, "trial_timeout")
    if n_trials is None and timeout is None:
        raise ValueError("give n_trials, timeout or both: the search must end")
    if callbacks is None:
        callbacks = ()
    callbacks = tuple(callbacks) if isinstance(callbacks, Iterable) else (callbacks,)
    for function in (objective, *callbacks):
        if not callable(function):
            raise TypeError(f"objective and callbacks must be functions, not {function!r}")
    if storage is None and study_name is not None:
        raise ValueError(f"study_name={study_name!r} needs a storage")
    if storage is not None and history is not None:
        raise ValueError("give a storage or a history, not both: a stored study has its own")
    optimizer = Optimizer(
        space,
        strategy,
        seed=seed,
        direction=direction,
        history=history,
        candidates=candidates,
        initial=initial,
    )
    space = optimizer.space
    runner = _runner(objective, n_jobs, trial_timeout, executor)
    policy = FailurePolicy(on_failure, space)
    started = time.monotonic()
    stopped, resumed = "interrupted", 0  # also while a study is being opened
    with suppress(KeyboardInterrupt), ExitStack() as stack:
        ledger: Ledger = InMemory(optimizer, n_trials)
        if storage is not None:
            wanted = Wanted(
                space,
                direction,
                seed,
                optimizer.strategy.name,
                fingerprint_of(objective),
                allow_changed,
            )
            store = stack.enter_context(OptunaStore(storage, study_name, wanted))
            ledger = Stored(store, optimizer, n_trials)
            resumed = len(optimizer.history)
            if resumed and progress is not False:
                say(_goes_on(store, optimizer.history, n_trials))
        stack.callback(runner.close)
        watcher = stack.enter_context(progress_bar(progress, n_trials, resumed))
        try:
            stopped = Loop(
                optimizer=optimizer,
                ledger=ledger,
                runner=runner,
                watcher=watcher,
                policy=policy,
                callbacks=callbacks,
                n_trials=n_trials,
                timeout=timeout,
            ).run()
        except Exception as error:  # of a callback, a constraint, a storage: nothing told is lost
            error.history = optimizer.history  # type: ignore[attr-defined]
            error.add_note("the trials so far are in the attribute 'history' of this error")
            raise
    seconds = time.monotonic() - started
    result = Result(optimizer.history, optimizer.seed, stopped, seconds, resumed)
    if result.trials and result.history.best is None and progress is None:
        say(str(result))  # where nobody asked for lines, the run would have been silent
    return result


def _goes_on(store: OptunaStore, history: History, n_trials: int | None) -> str:
    """What is said when a stored study goes on, and what has changed since."""
    before, now = store.stored, store.header
    trials = counted_text(len(history), "trial")
    if n_trials is not None and len(history) >= n_trials:
        wanted = f"{n_trials} are wanted in all, so nothing is left to run"
        return f"{store.where}: has {trials} already; {wanted}"
    text = f"{store.where}: goes on after {trials}"
    if now.strategy != before.strategy:
        text += f", with the strategy {now.strategy!r} (before: {before.strategy!r})"
    changed = before.objective_changes(now)
    if changed and not history.complete:
        changed.append("its failures stay in it; another study name starts afresh")
    return "; ".join([text, *changed])


def maximize(
    objective: Objective, space: Space | Mapping[str, Parameter], **options: Any
) -> Result:
    """Like `minimize`, for the highest value.

    Args:
        objective: as in `minimize`.
        space: as in `minimize`.
        **options: all others of `minimize` except ``direction``: ``n_trials``, ``timeout``,
            ``strategy``, ``seed``, ``storage``, ``study_name``, ``allow_changed``, ``n_jobs``,
            ``trial_timeout``, ``executor``, ``callbacks``, ``history``, ``candidates``,
            ``initial``, ``progress``, ``on_failure``.
    """
    return minimize(objective, space, **options, direction="maximize")


def _runner(
    objective: Objective,
    n_jobs: int | None,
    trial_timeout: float | None,
    executor: Executor | None,
) -> Runner:
    if executor is not None:
        if n_jobs is None:
            raise ValueError("n_jobs: say how many trials the executor shall run at once")
        if trial_timeout is not None:
            raise ValueError("trial_timeout needs processes of our own: leave out executor")
        if not callable(getattr(executor, "submit", None)):
            raise TypeError(f"executor={executor!r} must have the interface of Executor")
        return OnExecutor(objective, executor, positive_integer(n_jobs, "n_jobs"))
    slots = slots_of(n_jobs)
    if slots == 1 and trial_timeout is None and not isinstance(objective, RunsPrograms):
        return InProcess(objective)
    return Workers(objective, slots, trial_timeout)


def slots_of(n_jobs: int | None) -> int:
    if n_jobs == -1:  # as joblib has it
        mine = getattr(os, "sched_getaffinity", None)  # of this process, where a system tells
        return len(mine(0)) if mine else os.cpu_count() or 1
    return 1 if n_jobs is None else positive_integer(n_jobs, "n_jobs")


def _seconds(value: float | None, name: str) -> float | None:
    if value is None:
        return None
    seconds = as_number(value, name)
    if not seconds > 0:
        raise ValueError(f"{name}={seconds!r} must be a positive number of seconds")
    return seconds
