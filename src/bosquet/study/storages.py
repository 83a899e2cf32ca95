"""Optuna storages: how they are opened, and their errors in bosquet's words."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
import urllib.parse
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bosquet.errors import StorageError
from bosquet.space.optuna import load_optuna

_RACES = 10  # with other processes that make the tables of a new database
_LOCK_PATIENCE = 20.0  # seconds SQLite waits for another process's lock


def open_storage(storage: Any, *, must_exist: bool = False) -> tuple[Any, Callable[[], None]]:
    """An Optuna storage, and how to close it if it was opened here."""
    optuna = load_optuna()
    if isinstance(storage, optuna.storages.BaseStorage):
        return optuna.storages.get_storage(storage), lambda: None
    if isinstance(storage, (str, os.PathLike)):
        where = name_of(storage)
        url, file = _located(os.fspath(storage))
        if file is not None:
            if must_exist and not file.is_file():
                raise StorageError(f"{where}: there is no such file")
            if must_exist and not file.stat().st_size:
                raise StorageError(f"{where}: the file is empty, there is no study in it")
            _check_file(file)
            if not file.exists():
                _make_file(file)
        options = {} if file is None else {"connect_args": {"timeout": _LOCK_PATIENCE}}
        opened = _rdb_storage(url, options, where)
        return optuna.storages.get_storage(opened), opened.engine.dispose
    raise TypeError(f"storage={storage!r} must be a file name, a database URL or an Optuna storage")


def storage_exists(storage: Any) -> bool:
    """Whether a storage is there; what is not a plain file is believed to be."""
    if not isinstance(storage, (str, os.PathLike)):
        return True
    _, file = _located(os.fspath(storage))
    return file is None or (file.is_file() and file.stat().st_size > 0)


def _located(name: str) -> tuple[str, Path | None]:
    """The URL of a storage, and its file if it is a plain SQLite file."""
    if "://" not in name:
        if "?" in name:
            raise StorageError(f"{name}: the name of a database file must not contain '?'")
        return f"sqlite:///{Path(name).absolute()}", Path(name)
    import sqlalchemy.engine

    url = sqlalchemy.engine.make_url(name)
    plain = url.get_backend_name() == "sqlite" and not url.query
    if plain and url.database and url.database != ":memory:":
        return name, Path(url.database)
    return name, None


def _make_file(file: Path) -> None:
    """A new database, all at once.

    Optuna makes table after table: killed on the way, it would leave tables without their unique
    indices, which nobody makes later.
    """
    partial = file.with_name(f".{file.name}.{uuid.uuid4().hex}")
    try:
        _rdb_storage(f"sqlite:///{partial.absolute()}", {}, str(file)).engine.dispose()
        with suppress(FileExistsError):  # another process has made it meanwhile
            try:
                os.link(partial, file)
            except PermissionError:  # a file system without hard links
                os.rename(partial, file)
    finally:
        partial.unlink(missing_ok=True)


def _rdb_storage(url: str, options: dict[str, Any], where: str) -> Any:
    import sqlalchemy.exc

    for left in range(_RACES, -1, -1):
        try:
            return load_optuna().storages.RDBStorage(url, engine_kwargs=options)
        except RuntimeError as error:  # tables of another version of Optuna
            raise StorageError(f"{where}: {error}") from error
        except sqlalchemy.exc.DBAPIError as error:
            # Another process is making the tables at this moment.
            made = isinstance(error, sqlalchemy.exc.IntegrityError) or "already exists" in str(
                error
            )
            if not left or not made:
                raise
            time.sleep(0.2)
    raise AssertionError("not reached")


def _check_file(file: Path) -> None:
    """Refuses what is neither new nor a database of Optuna's, and leaves it alone."""
    if not file.absolute().parent.is_dir():
        raise StorageError(f"{file}: there is no directory {file.absolute().parent}")
    if file.is_dir():
        raise StorageError(f"{file} is a directory; give the name of a file in it")
    if not file.exists() or not file.stat().st_size:
        return
    # Writable: a journal left by a killed process is rolled back now.
    address = f"file:{urllib.parse.quote(str(file.absolute()))}?mode=rw"
    connection = sqlite3.connect(address, uri=True, timeout=_LOCK_PATIENCE)
    try:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    finally:
        connection.close()
    if tables and "studies" not in tables:
        raise StorageError(f"{file} is a database, but not of an Optuna study: left alone")


@contextmanager
def quiet() -> Iterator[None]:
    """Keeps Optuna's remark about a new study off the terminal."""
    logger = logging.getLogger("optuna.storages._rdb.storage")
    here = threading.get_ident()

    def of_others(record: logging.LogRecord) -> bool:
        return record.thread != here or record.levelno > logging.INFO

    logger.addFilter(of_others)
    try:
        yield
    finally:
        logger.removeFilter(of_others)


@contextmanager
def storage_errors(where: str) -> Iterator[None]:
    """What a storage raises, as a `StorageError` that names it."""
    optuna = load_optuna()
    import sqlalchemy.exc

    try:
        yield
    except StorageError:
        raise
    except (
        optuna.exceptions.StorageInternalError,
        sqlalchemy.exc.SQLAlchemyError,
        sqlite3.Error,
        OSError,
    ) as error:
        raise StorageError(f"{where}: {_cause(error)}") from error


_HINTS = {
    "locked": "another process holds it; wait for it or stop it",
    "full": "make room and run again; what was told before is safe",
    "not a database": "give another file; this one was left alone",
    "malformed": "the file is damaged and was left alone; restore a copy",
    "readonly": "make it writable, or give another file",
}


def _cause(error: BaseException) -> str:
    """The database's own words, and what to do about them."""
    cause: BaseException = error
    while (below := getattr(cause, "orig", None) or cause.__cause__) is not None:
        cause = below
    text = str(cause).strip() or type(cause).__name__
    hint = next((hint for word, hint in _HINTS.items() if word in text), "")
    return f"{text} ({hint})" if hint else text


def name_of(storage: Any) -> str:
    """How messages call a storage: without a password."""
    if not isinstance(storage, (str, os.PathLike)):
        return type(storage).__name__
    scheme, separator, rest = os.fspath(storage).partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}" if separator else scheme
