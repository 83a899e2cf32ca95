"""The life of a worker process: load the objective once, then evaluate trials until told to end.

    python worker.py FD

FD is the worker's end of the connection. Until the worker knows where its parent imports from,
it imports nothing but the standard library.
"""

import contextlib
import multiprocessing
import os
import pickle
import sys
from multiprocessing import spawn
from multiprocessing.connection import Connection
from typing import Any

READY = "ready"
NO_SCRIPT = "cannot import the script of the study"
NO_OBJECTIVE = "cannot load the objective"


def main(descriptor: int) -> None:
    os.set_inheritable(descriptor, False)
    connection = Connection(descriptor)
    with contextlib.suppress(EOFError, OSError):  # the parent has closed the connection
        try:
            _follow(connection.recv())
        except BaseException as error:  # noqa: BLE001 - whatever a script does when it is imported
            connection.send(_told(NO_SCRIPT, error))
            return
        work(connection)


def work(connection: Any) -> None:
    """Loads the objective that comes first, then evaluates one trial after another."""
    from bosquet.study.evaluate import evaluate

    # Ctrl-C is not for workers, but somebody may send the signal to one that waits for a trial.
    with contextlib.suppress(EOFError, OSError, KeyboardInterrupt):
        received = connection.recv_bytes()
        try:
            objective = pickle.loads(received)  # of our own parent
        except BaseException as error:  # noqa: BLE001 - whatever its module does when imported
            connection.send(_told(NO_OBJECTIVE, error))
            return
        connection.send(READY)
        while True:
            connection.send(evaluate(objective, connection.recv()))


def _follow(preparation: dict[str, Any]) -> None:
    """Makes this process import as its parent does, the parent's own script included."""
    process: Any = multiprocessing.current_process()
    process._inheriting = True  # by which a script that starts workers anew is recognised
    try:
        spawn.prepare(preparation)
    finally:
        del process._inheriting


def _told(what: str, error: BaseException) -> str:
    return f"{what}: {type(error).__name__}: {error}"


if __name__ == "__main__":
    main(int(sys.argv[1]))
