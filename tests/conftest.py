"""What must hold before any test: small matrices gain nothing from threads, Ctrl-C interrupts."""

import importlib.util
import os
import signal
import sqlite3

import pytest

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # before NumPy loads
    os.environ.setdefault(name, "1")

# A shell that starts the tests in the background has it ignored, by them and all they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _known_database_version():
    """Optuna reads the scripts of all versions of its tables to open a database: here once."""
    if importlib.util.find_spec("alembic") is None:
        yield
        return
    from alembic.script import ScriptDirectory

    find, found = ScriptDirectory.get_current_head, {}

    def get_current_head(self):
        if self.dir not in found:
            found[self.dir] = find(self)
        return found[self.dir]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ScriptDirectory, "get_current_head", get_current_head)
        yield


@pytest.fixture(scope="session", autouse=True)
def _unsynced_databases():
    """SQLite waits for no disk: here processes are killed, never the machine."""
    if importlib.util.find_spec("sqlalchemy") is None:
        yield
        return
    from sqlalchemy import event
    from sqlalchemy.engine import Engine

    def hurry(connection, _):
        if isinstance(connection, sqlite3.Connection):
            connection.execute("PRAGMA synchronous = OFF")

    event.listen(Engine, "connect", hurry)
    yield
    event.remove(Engine, "connect", hurry)
