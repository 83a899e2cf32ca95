"""The loop of a run: trials are asked for, evaluated and told until the run ends."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bosquet.data import Evaluation, Trial
from bosquet.errors import NothingFound, SpaceExhausted, StorageError
from bosquet.optimizer import Optimizer
from bosquet.study.evaluate import Failure
from bosquet.study.failures import FailurePolicy
from bosquet.study.ledger import Ledger
from bosquet.study.progress import Progress, log_end
from bosquet.study.runners import NoMoreWork, Runner

Callback = Callable[[Optimizer, Trial], Any]


@dataclass(kw_only=True)
class Loop:
    """One run of a study; a free slot of the runner gets a new trial at once."""

    optimizer: Optimizer
    ledger: Ledger
    runner: Runner
    watcher: Progress
    policy: FailurePolicy
    callbacks: tuple[Callback, ...]
    n_trials: int | None
    timeout: float | None
    _stopped: str = field(default="", init=False)
    """Why no more trials start; empty while they do."""
    _running: int = field(default=0, init=False)

    def run(self) -> str:
        """Runs the study and returns why it ended."""
        try:
            self.runner.open()
            self._work()
        except KeyboardInterrupt:
            self._stopped = "interrupted"
        except Exception:
            with suppress(StorageError):  # what has gone wrong is told already
                self.ledger.release()
            raise
        self.ledger.release()
        self.ledger.settle()
        elsewhere = len(self.optimizer.pending)
        if self._stopped == f"{self._all} done" and elsewhere:
            return f"{self._all} started, {elsewhere} still open elsewhere"
        return self._stopped

    @property
    def _all(self) -> str:
        return "the only trial" if self.n_trials == 1 else f"all {self.n_trials} trials"

    def _work(self) -> None:
        deadline = math.inf if self.timeout is None else time.monotonic() + self.timeout
        while True:
            hopeless = self.policy.verdict(self.optimizer.history)
            while not (self._stopped or hopeless) and self._running < self.runner.slots:
                self._stopped = self._start(deadline)
            if not self._running:
                self._stopped = self._stopped or hopeless
                return
            ended = self.runner.wait()
            for trial, outcome in ended:
                self._end(trial, outcome)
            if not ended:
                self.watcher.waiting(self.optimizer.history)

    def _start(self, deadline: float) -> str:
        """Starts a trial; where there is none to start, says why."""
        if time.monotonic() >= deadline:
            return f"timeout of {self.timeout:g} s"
        try:
            trial = self.ledger.next_trial()
            if trial is None:
                return f"{self._all} done"
            self.watcher.started(trial)
            self.runner.start(trial)
            self._running += 1
        except SpaceExhausted as exhausted:
            return f"space exhausted: {exhausted}"
        except NothingFound as nothing:
            if not self._running and not len(self.optimizer.history):
                raise
            return str(nothing)
        except NoMoreWork as refused:
            return str(refused)
        return ""

    def _end(self, trial: Trial, outcome: Evaluation | Failure) -> None:
        self._running -= 1
        if isinstance(outcome, Failure):
            trial = self.optimizer.tell_failure(trial, outcome.reason)
        else:
            trial = self.optimizer.tell(trial, outcome)
        self.ledger.end(trial)
        log_end(trial)
        self.watcher.ended(trial, self.optimizer.history)
        self.policy.see(trial, outcome)
        verdicts = [callback(self.optimizer, trial) for callback in self.callbacks]
        if any(isinstance(verdict, (bool, np.bool_)) and verdict for verdict in verdicts):
            self._stopped = "a callback said so"
