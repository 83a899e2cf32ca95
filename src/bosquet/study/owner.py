"""Who evaluates a stored trial, and whether that process still lives.

Optuna's heartbeats run only inside its own ``optimize``, so trials that were asked for need a sign
of life of ours. On one machine the process table knows, at once and for certain; a process on
another machine is believed as long as it refreshes its ``beat``.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

BEAT_EVERY = 30.0  # seconds between two signs of life
STALE_AFTER = 300.0  # seconds without one: dead; far above what two clocks may differ by

_LINUX = sys.platform == "linux"
_active_runs: set[str] = set()  # of this process: a run that raised is over, though its pid lives


@dataclass(frozen=True)
class Owner:
    """The process that evaluates a trial."""

    host: str
    """The machine, and the process namespace in it: where ``pid`` means something."""
    pid: int
    started: str
    """When the process started, so that a reused pid is not taken for it."""
    run: str
    """The call of `minimize`."""
    beat: float
    """The last sign of life, in seconds since 1970."""

    @classmethod
    def of_run(cls, run: str) -> Owner:
        return cls(_host(), os.getpid(), _start_of(os.getpid()) or "", run, time.time())

    @classmethod
    def person(cls) -> Owner:
        """Whoever asked for a trial and will tell its result, today or in a month: no process."""
        return cls("", 0, "", "", time.time())

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Owner:
        return cls(**data)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def beating(self) -> Owner:
        return replace(self, beat=time.time())

    @property
    def is_person(self) -> bool:
        return not self.pid

    @property
    def is_here(self) -> bool:
        """Whether the process table of this machine can tell if it lives."""
        return self.host == _host() and _LINUX

    @property
    def alive(self) -> bool:
        if self.is_person:
            return True
        fresh = time.time() - self.beat < STALE_AFTER
        if self.host != _host():
            return fresh
        if _start_of(self.pid) != self.started:
            return False
        if self.pid == os.getpid():
            return self.run in _active_runs
        return _LINUX or fresh


def begin_run(run: str) -> None:
    _active_runs.add(run)


def end_run(run: str) -> None:
    _active_runs.discard(run)


def _host() -> str:
    name = socket.gethostname()
    return f"{name}/{os.readlink('/proc/self/ns/pid')}" if _LINUX else name


def _start_of(pid: int) -> str | None:
    """When a process of this machine started; None if there is none, "" if only that is known."""
    if _LINUX:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        if fields[0] in "ZX":  # killed, and not yet waited for
            return None
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{fields[19]}"
    if sys.platform != "win32":  # there, signal 0 would end the process
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return None
        except PermissionError:
            pass
    return ""
