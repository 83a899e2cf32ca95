"""The lease of a study: the right to propose its next trial, held by one process at a time.

Processes that share a study would otherwise all compute the proposal for the same number, and all
but one in vain. Whoever holds the lease reads the study, proposes, stores the trial as running and
lets go; evaluations need no lease.

The lease is a system attribute of the Optuna study: ``null``, or the holder and a token. It changes
hands by compare-and-swap, which one SQL statement does atomically. Storages without SQL (a journal,
a gRPC proxy) have nothing of the kind: there the swap is a write that is read back, two processes
may very rarely both hold the lease, and of the two trials with one number the lower row counts.

A holder that died is replaced at once if it ran on this machine, where the process table knows; a
holder elsewhere, once it has not renewed the lease for some seconds of *our* clock.
"""

from __future__ import annotations

import json
import logging
import random
import threading
import time
import uuid
from typing import Any, Protocol

from bosquet.study.owner import Owner

_KEY = "bosquet:lease"
_FREE = "null"
_RENEW_EVERY = 2.0  # seconds
_PATIENCE = 10.0  # seconds without a renewal by a process that cannot be looked up
_SHORTEST_WAIT, _LONGEST_WAIT = 0.002, 0.05  # seconds between two looks at a lease that is held
_SETTLE = 0.02  # seconds in which a simultaneous write to a storage without SQL would show


class _Register(Protocol):
    """A text in the storage that can be swapped."""

    def read(self) -> str: ...

    def swap(self, expected: str, new: str) -> bool:
        """Writes the new text if the expected one is there; says whether it was."""


class Lease:
    """The lease of one study, as one run sees it."""

    def __init__(self, storage: Any, study_id: int, owner: Owner) -> None:
        self._register = _register(storage, study_id)
        self._owner = owner

    def acquire(self) -> Term:
        """Waits until no other process holds the lease."""
        seen, since, wait = "", 0.0, _SHORTEST_WAIT
        while True:
            text = self._register.read()
            if text != seen:
                seen, since = text, time.monotonic()
            if text == _FREE or _abandoned(text, time.monotonic() - since):
                mine = _text(self._owner, uuid.uuid4().hex)
                if self._register.swap(text, mine):
                    return Term(self._register, mine)
            time.sleep(wait * random.uniform(0.5, 1.5))
            wait = min(1.5 * wait, _LONGEST_WAIT)


class Term:
    """The time for which one process holds the lease: it is renewed until `end`."""

    def __init__(self, register: _Register, text: str) -> None:
        self._register = register
        self._text = text
        self._over = threading.Event()
        self._renewing = threading.Thread(target=self._renew, daemon=True)
        self._renewing.start()

    def _renew(self) -> None:
        while not self._over.wait(_RENEW_EVERY):
            data = json.loads(self._text)
            renewed = _text(Owner.from_dict(data["owner"]).beating(), data["token"])
            try:
                if not self._register.swap(self._text, renewed):
                    return  # taken from us; the store finds out when it registers the trial
            except Exception as error:  # noqa: BLE001 - the run itself meets it, and says so
                logging.getLogger(__name__).debug("the lease was not renewed: %s", error)
                continue
            self._text = renewed

    def end(self) -> None:
        self._over.set()
        self._renewing.join()
        self._register.swap(self._text, _FREE)


def _text(owner: Owner, token: str) -> str:
    return json.dumps({"owner": owner.to_dict(), "token": token})


def _abandoned(text: str, unchanged: float) -> bool:
    """Whether the holder of a lease that has not changed for some seconds is gone."""
    try:
        owner = Owner.from_dict(json.loads(text)["owner"])
    except (KeyError, TypeError, ValueError):
        return True  # nobody we know how to wait for
    if owner.is_here:
        return not owner.alive
    return unchanged > _PATIENCE


# -- registers -------------------------------------------------------------------------------


def _register(storage: Any, study_id: int) -> _Register:
    engine = getattr(getattr(storage, "_backend", storage), "engine", None)
    if engine is not None:
        return _SqlRegister(engine, study_id)
    return _ReadBackRegister(storage, study_id)


class _SqlRegister:
    """The attribute as a row of Optuna's table, changed by single SQL statements."""

    def __init__(self, engine: Any, study_id: int) -> None:
        import sqlalchemy as sql

        self._engine = engine
        self._table = sql.table(
            "study_system_attributes", *map(sql.column, ("study_id", "key", "value_json"))
        )
        columns = self._table.c
        self._here = (columns.study_id == study_id) & (columns.key == _KEY)
        self._first = {"study_id": study_id, "key": _KEY, "value_json": _FREE}
        self._select = sql.select(columns.value_json).where(self._here)

    def read(self) -> str:
        with self._engine.connect() as connection:
            text = connection.execute(self._select).scalar()
        return self._created() if text is None else str(text)

    def swap(self, expected: str, new: str) -> bool:
        unchanged = self._here & (self._table.c.value_json == expected)
        with self._engine.begin() as connection:
            update = self._table.update().where(unchanged).values(value_json=new)
            return bool(connection.execute(update).rowcount == 1)

    def _created(self) -> str:
        import sqlalchemy.exc

        try:
            with self._engine.begin() as connection:
                connection.execute(self._table.insert().values(self._first))
        except sqlalchemy.exc.IntegrityError:  # another process has made it: the key is unique
            return self.read()
        return _FREE


class _ReadBackRegister:
    """The attribute through Optuna's interface."""

    _one_at_a_time = threading.Lock()  # among the threads of this process

    def __init__(self, storage: Any, study_id: int) -> None:
        self._storage = storage
        self._study_id = study_id
        self._settle = 0.0 if type(storage).__name__ == "InMemoryStorage" else _SETTLE

    def read(self) -> str:
        return json.dumps(self._storage.get_study_system_attrs(self._study_id).get(_KEY))

    def swap(self, expected: str, new: str) -> bool:
        with self._one_at_a_time:
            if self.read() != expected:
                return False
            self._storage.set_study_system_attr(self._study_id, _KEY, json.loads(new))
            time.sleep(self._settle)
            return self.read() == new
