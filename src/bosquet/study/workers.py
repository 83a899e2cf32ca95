"""Processes of our own, one a slot: a worker that hangs or dies costs its trial and is replaced.

A ``ProcessPoolExecutor`` would not do: one killed worker breaks every future of the pool, and none
can be stopped.
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait

from bosquet.data import Trial
from bosquet.study.command import signal_name
from bosquet.study.evaluate import Failure, Objective, RunsPrograms
from bosquet.study.processes import Lifeline, Process
from bosquet.study.runners import Outcome
from bosquet.study.sending import CURE, packed
from bosquet.study.worker import NO_OBJECTIVE, READY

LOOK_EVERY = 1.0  # seconds
_GUARD = (
    "A script that uses n_jobs or trial_timeout is imported by its worker processes, so it must "
    "call minimize under: if __name__ == '__main__':"
)


class Workers:
    """Evaluations in processes that are ended after ``trial_timeout`` seconds."""

    def __init__(self, objective: Objective, slots: int, trial_timeout: float | None) -> None:
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            raise RuntimeError(_GUARD)  # this is a worker that imports such a script
        self.slots = slots
        self._objective = packed(objective)
        self._program = objective if isinstance(objective, RunsPrograms) else None
        self._timeout = trial_timeout
        self._lifeline: Lifeline | None = None
        self._free: list[_Worker] = []
        self._busy: list[_Worker] = []

    def open(self) -> None:
        self._lifeline = Lifeline()
        self._free = [_Worker(*self._lifeline.start()) for _ in range(self.slots)]
        for worker in self._free:
            worker.load(self._objective)
        for worker in self._free:
            worker.await_ready()

    def _new_worker(self) -> _Worker:
        assert self._lifeline is not None
        worker = _Worker(*self._lifeline.start())
        worker.load(self._objective)
        return worker

    def start(self, trial: Trial) -> None:
        worker = self._free.pop() if self._free else self._new_worker()
        try:
            worker.connection.send(trial)
        except OSError:  # it died while idle
            worker.kill()
            return self.start(trial)
        worker.trial = trial
        worker.asked = time.monotonic()
        self._busy.append(worker)

    def wait(self) -> list[Outcome]:
        while True:
            soonest = min(self._left(worker) for worker in self._busy)
            # A pipe may stay open in a child of a dead worker: so look after them now and then.
            wait([worker.connection for worker in self._busy], min(soonest, LOOK_EVERY))
            ended = [outcome for worker in list(self._busy) for outcome in self._collect(worker)]
            if ended or self._timeout is None:  # nothing here would end a trial that hangs
                return ended

    def _left(self, worker: _Worker) -> float:
        """Seconds until the worker is ended; its start does not count."""
        if self._timeout is None or not worker.ready:
            return math.inf
        return max(0.0, worker.asked + self._timeout - time.monotonic())

    def _collect(self, worker: _Worker) -> list[Outcome]:
        """What a busy worker has brought, if anything."""
        assert worker.trial is not None
        dead = not worker.process.alive  # before the last look into the pipe
        if worker.connection.poll():
            if not worker.ready:
                worker.await_ready()
                return []
            try:
                outcome = worker.connection.recv()
            except (EOFError, OSError):
                outcome = Failure(f"its worker process {worker.end()}")
            else:
                self._free.append(worker)
        elif dead:
            outcome = Failure(f"its worker process {worker.end()}")
        elif self._left(worker) == 0.0:
            worker.kill()
            said = "" if self._program is None else self._program.last_words(worker.trial.number)
            outcome = Failure(f"timeout of {self._timeout:g} s{said}")
        else:
            return []
        self._busy.remove(worker)
        return [(worker.trial, outcome)]

    def close(self) -> None:
        if self._lifeline is None:
            return
        self._lifeline.cut()  # which also ends a worker that a Ctrl-C found between two lists
        self._lifeline = None
        for worker in (*self._free, *self._busy):
            worker.kill()


@dataclass(eq=False)
class _Worker:
    process: Process
    connection: Connection
    ready: bool = False
    trial: Trial | None = None
    asked: float = 0.0

    def load(self, objective: bytes) -> None:
        with contextlib.suppress(OSError):  # if it is gone already, await_ready will say so
            self.connection.send_bytes(objective)

    def await_ready(self) -> None:
        """Waits until the worker has loaded the objective."""
        try:
            answer = self.connection.recv()
        except (EOFError, OSError):
            raise RuntimeError(
                f"a worker process {self.end()} before it had loaded the objective. {_GUARD}"
            ) from None
        if answer != READY:
            cure = f". {CURE}" if answer.startswith(NO_OBJECTIVE) else ""
            raise RuntimeError(f"a worker process {answer}{cure}")
        self.ready = True
        self.asked = time.monotonic()

    def end(self) -> str:
        """How a worker that is gone, or closed its pipe, ended; in words."""
        code = self.process.exit_code(5.0)
        self.kill()
        if code is None:
            return "closed its connection"
        if code < 0:
            return f"was killed by {signal_name(-code)}"
        return f"exited with code {code}"

    def kill(self) -> None:
        self.process.kill()
        self.connection.close()
