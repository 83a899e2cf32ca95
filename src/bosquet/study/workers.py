"""Processes of our own, one a slot: a worker that hangs or dies costs its trial and is replaced.

A ``ProcessPoolExecutor`` would not do: one killed worker breaks every future of the pool, and none
can be stopped. Workers are spawned, so that they inherit neither locks nor database connections.
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import pickle
import signal
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from bosquet.data import Trial
from bosquet.study.command import Command
from bosquet.study.evaluate import Failure, Objective, evaluate
from bosquet.study.runners import Outcome

_SPAWN = multiprocessing.get_context("spawn")
_READY = "ready"
_LOOK_EVERY = 1.0  # seconds


class Workers:
    """Evaluations in processes that are ended after ``trial_timeout`` seconds."""

    def __init__(self, objective: Objective, slots: int, trial_timeout: float | None) -> None:
        self.slots = slots
        self._objective = _pickled(objective)
        self._command = objective if isinstance(objective, Command) else None
        self._timeout = trial_timeout
        self._name = f"bosquet-worker-{uuid.uuid4().hex}"
        self._free: list[_Worker] = []
        self._busy: list[_Worker] = []
        try:
            for _ in range(slots):
                self._free.append(_Worker.spawn(self._name, self._objective))
            for worker in self._free:
                worker.await_ready()
        except BaseException:
            self.close()
            raise

    def start(self, trial: Trial) -> None:
        worker = self._free.pop() if self._free else _Worker.spawn(self._name, self._objective)
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
            wait([worker.connection for worker in self._busy], min(soonest, _LOOK_EVERY))
            ended = [outcome for worker in list(self._busy) for outcome in self._collect(worker)]
            if ended:
                return ended

    def _left(self, worker: _Worker) -> float:
        """Seconds until the worker is ended; its start does not count."""
        if self._timeout is None or not worker.ready:
            return math.inf
        return max(0.0, worker.asked + self._timeout - time.monotonic())

    def _collect(self, worker: _Worker) -> list[Outcome]:
        """What a busy worker has brought, if anything."""
        assert worker.trial is not None
        dead = not worker.process.is_alive()  # before the last look into the pipe
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
            said = "" if self._command is None else self._command.last_words(worker.trial.number)
            outcome = Failure(f"timeout of {self._timeout:g} s{said}")
        else:
            return []
        self._busy.remove(worker)
        return [(worker.trial, outcome)]

    def close(self) -> None:
        for worker in (*self._free, *self._busy):
            worker.kill()
        self._free, self._busy = [], []
        # Ctrl-C may come while a worker is between two lists.
        for process in multiprocessing.active_children():
            if process.name == self._name:
                _kill(process)


@dataclass(eq=False)
class _Worker:
    process: BaseProcess
    connection: Connection
    ready: bool = False
    trial: Trial | None = None
    asked: float = 0.0

    @classmethod
    def spawn(cls, name: str, objective: bytes) -> _Worker:
        ours, theirs = _SPAWN.Pipe()
        process = _SPAWN.Process(target=_work, args=(theirs,), name=name)
        with _interrupts_held():
            process.start()
        theirs.close()
        worker = cls(process, ours)
        with contextlib.suppress(OSError):  # if it is gone already, await_ready will say so
            ours.send_bytes(objective)
        return worker

    def await_ready(self) -> None:
        """Waits until the worker has loaded the objective."""
        try:
            answer = self.connection.recv()
        except (EOFError, OSError):
            raise RuntimeError(
                f"a worker process {self.end()} before it could start. A script that uses n_jobs "
                "or trial_timeout must call minimize under: if __name__ == '__main__':"
            ) from None
        if answer != _READY:
            raise RuntimeError(f"a worker process cannot load the objective: {answer}")
        self.ready = True
        self.asked = time.monotonic()

    def end(self) -> str:
        """How a worker that is gone, or closed its pipe, ended; in words."""
        self.process.join(5.0)
        code = self.process.exitcode
        self.kill()
        if code is None:
            return "closed its connection"
        if code < 0:
            return f"was killed by {signal.Signals(-code).name}"
        return f"exited with code {code}"

    def kill(self) -> None:
        _kill(self.process)
        self.connection.close()


def _kill(process: BaseProcess) -> None:
    """Ends a worker and what it has started: it leads a process group of its own."""
    if hasattr(os, "killpg") and process.pid is not None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.join()


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Holds Ctrl-C back from a worker that is too young to know that it is not meant."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # multiprocessing would start it now, and let Ctrl-C through
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _pickled(objective: Objective) -> bytes:
    try:
        return pickle.dumps(objective)
    except Exception as error:
        raise TypeError(
            f"objective={objective!r} cannot be sent to a worker process ({error}); n_jobs and "
            "trial_timeout need a function at the top level of a module, not a lambda"
        ) from error


def _work(connection: Connection) -> None:
    """The life of a worker: load the objective once, then evaluate until the pipe is closed."""
    if hasattr(os, "setsid"):
        os.setsid()  # Ctrl-C is for the parent, which then ends this group
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # forgets one that came before
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    with contextlib.suppress(EOFError, OSError):  # the parent has closed the pipe
        received = connection.recv_bytes()
        try:
            objective: Any = pickle.loads(received)  # of our own parent
        except Exception as error:  # noqa: BLE001 - the parent says what it was
            connection.send(f"{type(error).__name__}: {error}")
            return
        connection.send(_READY)
        while True:
            connection.send(evaluate(objective, connection.recv()))


def _die_with_parent() -> None:
    """A study killed by force must not leave its objectives running."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
