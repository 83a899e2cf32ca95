"""Databases are looked at before they are opened, and made all at once.

Optuna writes into whatever it opens: tables that are missing, a row with its version. So a database
is first looked at without writing, and refused if it is not an Optuna database of the version in
use. In SQLite even looking can write: a reader rolls back the journal that a killed process has
left, and the last one to close a file moves its write-ahead log (``-wal``) into it. See `_reading`.
"""

from __future__ import annotations

import os
import sqlite3
import urllib.parse
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bosquet.errors import StorageError

LOCK_PATIENCE = 20.0  # seconds SQLite waits for another process's lock


@dataclass(frozen=True)
class Blank:
    """A new Optuna database, made in memory."""

    columns: Mapping[str, frozenset[str]]
    """The columns of its tables."""
    statements: tuple[str, ...]
    """The SQL that makes it in SQLite."""
    revision: str
    """The version of its tables."""
    older: frozenset[str]
    """Revisions that Optuna can upgrade."""
    optuna: str
    """The version of Optuna."""


@cache
def blank_database() -> Blank:
    import optuna

    storage = optuna.storages.RDBStorage("sqlite://")
    with closing(storage.engine.raw_connection()) as pooled:
        connection = pooled.driver_connection
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        columns = {name: _columns(connection, name) for (name,) in tables.fetchall()}
        _, *statements, _ = connection.iterdump()  # without BEGIN and COMMIT
    revision = storage.get_head_version()
    older = frozenset(storage.get_all_versions()) - {revision}
    storage.engine.dispose()
    return Blank(columns, tuple(statements), revision, older, optuna.__version__)


def _columns(connection: sqlite3.Connection, table: str) -> frozenset[str]:
    return frozenset(row[1] for row in connection.execute(f'PRAGMA table_info("{table}")'))


# -- what a database is ----------------------------------------------------------------------


@dataclass(frozen=True)
class _Found:
    """What a look at a database has shown."""

    names: frozenset[str]
    """Of its tables and views."""
    columns: Mapping[str, frozenset[str]]
    """The columns of those that are called like Optuna's."""
    revision: str | None
    """The version of its tables, which Optuna writes last."""
    optuna: str | None
    """The version of Optuna that made it."""

    @property
    def is_whole(self) -> bool:
        """Whether it is an Optuna database of the version in use."""
        blank = blank_database()
        there = all(blank.columns[name] <= self.columns.get(name, set()) for name in blank.columns)
        return there and self.revision == blank.revision and self.optuna is not None

    @property
    def is_being_made(self) -> bool:
        """Whether all that it has of Optuna's is right, and what comes last is missing."""
        blank = blank_database()
        right = all(blank.columns[name] == columns for name, columns in self.columns.items())
        unfinished = None in (self.revision, self.optuna)
        return right and unfinished and self.revision in (None, blank.revision)

    def refuse(self, where: str) -> StorageError:
        blank = blank_database()
        if self.optuna is None:
            problem = "is a database, but not of an Optuna study"
        elif self.revision == blank.revision:
            problem = f"was made by Optuna {self.optuna}, and has lost tables or columns since"
        else:
            known = self.revision is None or self.revision in blank.older
            cure = "optuna storage upgrade" if known else "pip install -U optuna"
            problem = (
                f"was made by Optuna {self.optuna} with tables of version {self.revision}; "
                f"Optuna {blank.optuna} needs {blank.revision} ({cure})"
            )
        return StorageError(f"{where} {problem}: left alone")


def _look(
    names: Iterable[str],
    columns: Callable[[str], Iterable[str]],
    first: Callable[[str], Any],
) -> _Found:
    """What is found in a database with these names; ``first`` is the first row of a query."""
    names = frozenset(names)
    found = {name: frozenset(columns(name)) for name in blank_database().columns.keys() & names}
    versions: dict[str, str | None] = {}
    for column, table in (("version_num", "alembic_version"), ("library_version", "version_info")):
        there = column in found.get(table, ())
        row = first(f"SELECT {column} FROM {table}") if there else None
        versions[column] = None if row is None else str(row[0])
    return _Found(names, found, versions["version_num"], versions["library_version"])


# -- SQLite ----------------------------------------------------------------------------------


def is_made(file: Path, where: str) -> bool:
    """Whether a file is an Optuna database; False if it is new or empty.

    Anything else is refused, and no byte of it or of the files beside it is changed.
    """
    if not file.absolute().parent.is_dir():
        raise StorageError(f"{where}: there is no directory {file.absolute().parent}")
    if file.is_dir():
        raise StorageError(f"{where} is a directory; give the name of a file in it")
    if not file.exists() or not file.stat().st_size:
        return False
    found = _look_at_file(file)
    if found.names and not found.is_whole:
        raise found.refuse(where)
    return bool(found.names)


def make_database(file: Path) -> None:
    """Makes a new or empty file an Optuna database, unless another process has done so meanwhile.

    Optuna makes table after table: killed on the way, it would leave tables without their unique
    indices, which nobody makes later. One transaction leaves all or nothing.
    """
    connection = sqlite3.connect(file.absolute(), timeout=LOCK_PATIENCE, isolation_level=None)
    with closing(connection):
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
            for statement in blank_database().statements:
                connection.execute(statement)
        connection.execute("COMMIT")


def _look_at_file(file: Path) -> _Found:
    try:
        return _look_through(file, _reading(file))
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_READONLY_ROLLBACK:
            raise
    # A process that was killed has left its journal, which only a writer may roll back.
    with _beside(file, "journal").open("rb") as journal:
        pages_before = int.from_bytes(journal.read(20)[16:])
    if not pages_before:  # it was making the database
        return _look((), lambda _: (), lambda _: None)
    return _look_through(file, "immutable=1")


def _reading(file: Path) -> str:
    """How to open a file of SQLite's so that reading changes nothing.

    Never by ``open``: closing it again would drop the locks that SQLite holds in this process.
    """
    if _beside(file, "wal").exists() and _beside(file, "shm").exists():
        return "mode=ro&readonly_shm=1"  # the log counts, and its index is left as it is
    if _beside(file, "journal").exists():
        return "mode=ro"  # another process is writing, or was killed
    # Nobody writes. A reader with locks would make the files of a write-ahead log and leave them.
    return "immutable=1"


def _beside(file: Path, suffix: str) -> Path:
    return file.with_name(f"{file.name}-{suffix}")


def _look_through(file: Path, reading: str) -> _Found:
    address = f"file:{urllib.parse.quote(os.fsencode(file.absolute()))}?{reading}"
    with closing(sqlite3.connect(address, timeout=LOCK_PATIENCE, uri=True)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master")]
        return _look(
            names,
            lambda name: _columns(connection, name),
            lambda query: connection.execute(query).fetchone(),
        )


# -- servers ---------------------------------------------------------------------------------


def is_made_on_server(url: Any, where: str) -> bool:
    """Whether a database has Optuna's tables; False if it has none, or another process makes them.

    It is refused, unchanged, if Optuna's tables are of another version, or if another program has
    tables of these names. Other tables do not matter.
    """
    import sqlalchemy

    try:
        engine = sqlalchemy.create_engine(url)
    except ImportError as error:
        raise ImportError(f"{where}: its driver is not installed: {error}") from error
    try:
        inspector = sqlalchemy.inspect(engine)
        names = [*inspector.get_table_names(), *inspector.get_view_names()]
        with engine.connect() as connection:
            found = _look(
                names,
                lambda name: connection.exec_driver_sql(f"SELECT * FROM {name} WHERE 1 = 0").keys(),
                lambda query: connection.exec_driver_sql(query).fetchone(),
            )
    finally:
        engine.dispose()
    if not found.is_whole and not found.is_being_made:
        raise found.refuse(where)
    return found.is_whole
