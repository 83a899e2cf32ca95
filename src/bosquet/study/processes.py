"""Starting worker processes, and ending them with everything they have started."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import subprocess
import sys
import threading
from multiprocessing import spawn
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Protocol

from bosquet.study.worker import work

_FOLDER = Path(__file__).parent
_PATIENCE = 10.0  # seconds for a supervisor to end what hardly can be ended


class Process(Protocol):
    """A worker process, as seen by the process that has started it."""

    @property
    def alive(self) -> bool: ...

    def exit_code(self, seconds: float) -> int | None:
        """Its exit code, or minus the number of a signal; None if it takes longer to end."""

    def kill(self) -> None:
        """Ends it together with the processes below it."""


class Lifeline:
    """Starts the workers of a run; they end when this object is cut or this process is gone.

    Workers are started afresh, not forked, so that they inherit neither locks nor database
    connections.
    """

    def __init__(self) -> None:
        self._read, self._kept = os.pipe()  # which all supervisors read

    def start(self) -> tuple[Process, Connection]:
        """A new worker, and the connection to it."""
        ours, theirs = multiprocessing.Pipe()
        try:
            if sys.platform == "win32":
                return _Spawned(theirs), ours
            process = _Supervised(theirs.fileno(), self._read)
        finally:
            theirs.close()
        with contextlib.suppress(OSError):  # if it is gone already, it will not answer
            ours.send(preparation())
        return process, ours

    def cut(self) -> None:
        """Ends all workers, even one that a Ctrl-C has made us forget; does not wait for it."""
        os.close(self._kept)
        os.close(self._read)


def preparation() -> dict[str, Any]:
    """What a worker needs to import what this process can import, its script included."""
    data = spawn.get_preparation_data("bosquet-worker")
    data["authkey"] = bytes(data["authkey"])  # its own class refuses to be sent
    if not Path(data.get("init_main_from_path", "")).is_file():  # such as <stdin>
        data.pop("init_main_from_path", None)
    return data


class _Supervised:
    """A worker under a supervisor, which ends everything below itself (see `supervisor`)."""

    def __init__(self, descriptor: int, lifeline: int) -> None:
        python = os.fsdecode(spawn.get_executable())
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        # -P: neither this folder nor the current one is a place to import from; -S: quicker.
        worker = [python, *flags, "-P", str(_FOLDER / "worker.py"), str(descriptor)]
        supervisor = [python, "-S", "-P", str(_FOLDER / "supervisor.py")]
        self._process = subprocess.Popen(
            [*supervisor, str(os.getpid()), str(descriptor), *worker],
            stdin=lifeline,
            pass_fds=[descriptor],
            start_new_session=True,  # Ctrl-C at a terminal is for the study alone
        )

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def exit_code(self, seconds: float) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(seconds)
        return None

    def kill(self) -> None:
        self._process.terminate()
        if self.exit_code(_PATIENCE) is None:
            self._process.kill()
            self._process.wait()


class _Spawned:
    """A worker where processes have neither groups nor signals; its children outlive it."""

    def __init__(self, connection: Connection) -> None:
        context = multiprocessing.get_context("spawn")
        self._process = context.Process(target=_work_while_parent_lives, args=(connection,))
        self._process.start()

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    def exit_code(self, seconds: float) -> int | None:
        self._process.join(seconds)
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()
        self._process.join()


def _work_while_parent_lives(connection: Connection) -> None:
    threading.Thread(target=_die_with_parent, daemon=True).start()
    work(connection)


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
