"""Optuna storages: how they are opened, and their errors in bosquet's words."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from bosquet.errors import StorageError
from bosquet.space.optuna import load_optuna
from bosquet.study.addresses import Address, name_of, parse_address, without_passwords
from bosquet.study.databases import LOCK_PATIENCE, is_made, is_made_on_server, make_database
from bosquet.text import printable

__all__ = ["name_of", "open_storage", "quiet", "storage_errors", "storage_exists"]

_RACES = 10  # with other processes that make the tables of a new database


def open_storage(storage: Any, *, must_exist: bool = False) -> tuple[Any, Callable[[], None]]:
    """An Optuna storage, and how to close it if it was opened here.

    What is neither new nor an Optuna database is refused and not changed in any way.
    """
    optuna = load_optuna()
    if isinstance(storage, optuna.storages.BaseStorage):
        return optuna.storages.get_storage(storage), lambda: None
    if isinstance(storage, (str, os.PathLike)):
        address = parse_address(storage)
        with storage_errors(printable(address.shown), address.scrub):
            opened = _open(address, must_exist)
        return optuna.storages.get_storage(opened), opened.engine.dispose
    shown = without_passwords(repr(storage))
    raise TypeError(f"storage={shown} must be a file name, a database URL or an Optuna storage")


def storage_exists(storage: Any) -> bool:
    """Whether there is an Optuna database; storages that are open already count as one."""
    if not isinstance(storage, (str, os.PathLike)):
        return True
    address = parse_address(storage)
    with storage_errors(printable(address.shown), address.scrub):
        return _is_made(address)


def _is_made(address: Address) -> bool:
    where = printable(address.shown)
    if address.file is None:
        return is_made_on_server(address.url, where)
    return is_made(address.file, where)


def _open(address: Address, must_exist: bool) -> Any:
    where, file = printable(address.shown), address.file
    if must_exist and file is not None and not file.exists():
        raise StorageError(f"{where}: there is no such file")
    made = _is_made(address)
    if must_exist and not made:
        what = "" if file is None else "the file is empty, "
        raise StorageError(f"{where}: {what}there is no study in it")
    if file is None:
        return _rdb_storage(address.given, {}, made=made)
    query = {} if address.url is None else address.url.query
    if not made and query.get("mode", "rwc") == "rwc":
        make_database(file)
    if query:
        patience = {} if "timeout" in query else {"timeout": LOCK_PATIENCE}
        return _rdb_storage(address.given, {"connect_args": patience}, made=True)
    return _rdb_storage("sqlite://", _connecting(file), made=True)


def _connecting(file: Path) -> dict[str, Any]:
    """Engine options that open a file by its name: not every name can be written into a URL."""
    import sqlalchemy.pool

    connect = partial(
        sqlite3.connect, file.absolute(), timeout=LOCK_PATIENCE, check_same_thread=False
    )
    return {"creator": connect, "poolclass": sqlalchemy.pool.QueuePool}


def _rdb_storage(url: str, options: dict[str, Any], *, made: bool) -> Any:
    """Optuna's storage; it makes its tables if they are not made yet."""
    import sqlalchemy.exc

    url = url.replace("{", "{{").replace("}", "}}")  # Optuna takes it for a template
    for left in range(_RACES, -1, -1):
        try:
            return load_optuna().storages.RDBStorage(
                url, engine_kwargs=options, skip_table_creation=made
            )
        except sqlalchemy.exc.DBAPIError as error:
            # Another process may be making the tables at this moment.
            raced = isinstance(error, sqlalchemy.exc.IntegrityError)
            if not left or not (raced or "already exists" in str(error)):
                raise
            time.sleep(0.2)
    raise AssertionError("not reached")


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
def storage_errors(where: str, scrub: Callable[[str], str] = without_passwords) -> Iterator[None]:
    """What a storage raises, as a `StorageError` that names it.

    ``scrub`` takes secrets out of what a database says, which is then not shown as the cause.
    """
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
        text = _cause(error)
        scrubbed = scrub(text)
        raise StorageError(f"{where}: {scrubbed}") from (error if scrubbed == text else None)


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
