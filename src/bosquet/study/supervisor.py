"""Runs one command and leaves nothing of it behind.

    python supervisor.py PARENT FD COMMAND...

A worker may be busy in code that never gives Python a turn, and what it has started may have left
its process group, so it cannot be relied upon to clean up. This small program stands between a
study and a worker, evaluates nothing, and therefore always answers. It ends all processes below
itself when

- the process PARENT, which has started it, is gone, however it ended,
- stdin is closed, or a signal asks for it (SIGTERM, SIGINT, SIGHUP),
- the command has ended by itself; then it ends in the same way.

FD is a file descriptor for the command alone. On Linux this process adopts what is orphaned below
it (``PR_SET_CHILD_SUBREAPER``), so that having no children left means that nothing at all is left.
On other systems a process that has left the group of the command *and* lost its parent escapes.

Only what is quick to import is imported: it must be at work before its parent can die unnoticed.
"""

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Iterator

_LOOK_EVERY = 0.2  # seconds between two looks at who the parent is
_PATIENCE = 5.0  # seconds for processes that cannot be killed: of another user, or stuck in a disk
LINUX = sys.platform == "linux"
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_CANNOT_RUN = 127  # the exit code shells use for it


def main(arguments: list[str]) -> None:
    parent, descriptor = int(arguments[0]), int(arguments[1])
    woken = _wake_on_signals()
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    if os.getppid() != parent:  # it ended before this program was at work
        return
    child = _start(arguments[2:])
    os.close(descriptor)
    status = None
    while status is None and os.getppid() == parent:
        ready, _, _ = select.select([sys.stdin, woken], [], [], _LOOK_EVERY)
        asked = woken in ready and set(os.read(woken, 1000)) - {signal.SIGCHLD}
        if asked or sys.stdin in ready:  # nothing is ever written there: it was closed
            break
        status = _reaped().get(child)
    _end_all(child)
    if status is not None:
        _end_like(status)


def _wake_on_signals() -> int:
    """A file descriptor with one byte for each signal received, its number."""
    woken, waking = os.pipe()
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    return woken


def _start(command: list[str]) -> int:
    """Starts the command, which the kernel of Linux ends should this process be killed itself."""
    own = os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        os.setpgid(0, 0)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == own:
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, sys.stdin.fileno())
            os.execvp(command[0], command)
    finally:
        os._exit(_CANNOT_RUN)


def _reaped() -> dict[int, int]:
    """The children that have ended since the last call, the adopted ones too, with their status."""
    ended = {}
    with contextlib.suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            ended[found[0]] = found[1]
    return ended


def _end_all(child: int) -> None:
    """Kills what is below this process, again and again, as those killed may just have forked."""
    give_up = time.monotonic() + _PATIENCE
    while time.monotonic() < give_up:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        for process in descendants():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:  # none is left
            return
        time.sleep(0.005)


def descendants() -> list[int]:
    children: dict[int, list[int]] = {}
    with contextlib.suppress(OSError):  # no /proc is mounted: then the group is all that is known
        for process, parent in processes():
            children.setdefault(parent, []).append(process)
    found = children.get(os.getpid(), [])
    for process in found:  # grows meanwhile
        found.extend(children.get(process, []))
    return found


def processes() -> Iterator[tuple[int, int]]:
    """All processes, each with its parent."""
    if LINUX:
        for name in os.listdir("/proc"):
            if name.isdigit():
                with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                    yield int(name), int(file.read().rpartition(b")")[2].split()[1])
    else:
        with os.popen("ps -A -o pid= -o ppid=") as lines:
            for line in lines:
                process, parent = line.split()
                yield int(process), int(parent)


def _end_like(status: int) -> None:
    """Ends with the code or by the signal that the command ended with."""
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        os._exit(code)
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the command has left one if it should
    if -code != signal.SIGKILL:
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)


def _prctl(option: int, value: int) -> None:
    """Asks the kernel of Linux for a service; other systems do not have it."""
    if LINUX:
        import ctypes

        ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0)


if __name__ == "__main__":
    main(sys.argv[1:])
