"""The lease of a study: the right to propose its next trial, held by one process at a time.

Processes that share a study would otherwise all compute the proposal for the same number, and all
but one in vain. Whoever holds the lease reads the study, proposes, and stores the trial as running.
That new row ends the lease, which says how many rows there were when it was taken: nothing has to
be written to let go. Evaluations need no lease.

The lease is a system attribute of the Optuna study: ``null``, or the holder, a token and the number
of rows. It changes hands by compare-and-swap, which one SQL statement does atomically. Storages
without SQL (a journal, a gRPC proxy) have nothing of the kind: there the swap is a write that is
read back, two processes may very rarely both hold the lease, and of two trials with one number the
lower row counts.

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
from contextlib import suppress
from typing import Any, Protocol

from bosquet.study.owner import Owner

_KEY = "bosquet:lease"
_FREE = "null"
RENEW_EVERY = 2.0  # seconds
PATIENCE = 10.0  # seconds without a renewal by a process that cannot be looked up
_SHORTEST_WAIT, _LONGEST_WAIT = 0.002, 0.05  # seconds between two looks at a lease that is held
_SETTLE = 0.02  # seconds in which a simultaneous write to a storage without SQL would show


class _Register(Protocol):
    """A text in the storage that can be swapped."""

    def read(self) -> tuple[str, int]:
        """The text, and how many rows the study has."""

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
            text, rows = self._register.read()
            if text != seen:
                seen, since = text, time.monotonic()
            if _is_over(text, rows, time.monotonic() - since):
                mine = _text(self._owner, uuid.uuid4().hex, rows)
                if self._register.swap(text, mine):
                    return Term(self._register, mine)
            time.sleep(wait * random.uniform(0.5, 1.5))
            wait = min(1.5 * wait, _LONGEST_WAIT)


class Term:
    """The time for which one process holds the lease: renewed until it is spent or ended."""

    def __init__(self, register: _Register, text: str) -> None:
        self._register = register
        self._text = text
        self._over = threading.Event()
        self._renewing = threading.Thread(target=self._renew, daemon=True)
        self._renewing.start()

    def _renew(self) -> None:
        while not self._over.wait(RENEW_EVERY):
            data = json.loads(self._text)
            owner = Owner.from_dict(data["owner"]).beating()
            renewed = _text(owner, data["token"], data["rows"])
            try:
                if not self._register.swap(self._text, renewed):
                    return  # taken from us; the store finds out when it registers the trial
            except Exception as error:  # noqa: BLE001 - the run itself meets it, and says so
                logging.getLogger(__name__).debug("the lease was not renewed: %s", error)
                continue
            self._text = renewed

    def spend(self) -> None:
        """The row that the lease was taken for is stored: others see that it is over."""
        self._over.set()

    def end(self) -> None:
        """Releases the lease, unless it is spent."""
        if not self._over.is_set():
            self._over.set()
            self._renewing.join()
            self._register.swap(self._text, _FREE)


def _text(owner: Owner, token: str, rows: int) -> str:
    return json.dumps({"owner": owner.to_dict(), "token": token, "rows": rows})


def _is_over(text: str, rows: int, unchanged: float) -> bool:
    """Whether a lease that has not changed for some seconds is free, spent or abandoned."""
    if text == _FREE:
        return True
    try:
        data = json.loads(text)
        owner = Owner.from_dict(data["owner"])
        spent = data["rows"] < rows
    except (KeyError, TypeError, ValueError):
        return True  # nobody we know how to wait for
    if spent:
        return True
    return not owner.alive if owner.is_here else unchanged > PATIENCE


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
        trials = sql.table("trials", sql.column("study_id"))
        rows = sql.select(sql.func.count()).where(trials.c.study_id == study_id)
        self._select = sql.select(columns.value_json, rows.scalar_subquery()).where(self._here)

    def read(self) -> tuple[str, int]:
        with self._engine.connect() as connection:
            found = connection.execute(self._select).first()
        if found is None:
            self._create()
            return self.read()
        return str(found[0]), int(found[1])

    def swap(self, expected: str, new: str) -> bool:
        unchanged = self._here & (self._table.c.value_json == expected)
        with self._engine.begin() as connection:
            update = self._table.update().where(unchanged).values(value_json=new)
            return bool(connection.execute(update).rowcount == 1)

    def _create(self) -> None:
        import sqlalchemy.exc

        another_has = sqlalchemy.exc.IntegrityError  # the key is unique
        with suppress(another_has), self._engine.begin() as connection:
            connection.execute(self._table.insert().values(self._first))


class _ReadBackRegister:
    """The attribute through Optuna's interface."""

    _one_at_a_time = threading.Lock()  # among the threads of this process

    def __init__(self, storage: Any, study_id: int) -> None:
        self._storage = storage
        self._study_id = study_id
        self._settle = 0.0 if type(storage).__name__ == "InMemoryStorage" else _SETTLE

    def read(self) -> tuple[str, int]:
        return self._text(), len(self._storage.get_all_trials(self._study_id, deepcopy=False))

    def swap(self, expected: str, new: str) -> bool:
        with self._one_at_a_time:
            if self._text() != expected:
                return False
            self._storage.set_study_system_attr(self._study_id, _KEY, json.loads(new))
            time.sleep(self._settle)
            return self._text() == new

    def _text(self) -> str:
        return json.dumps(self._storage.get_study_system_attrs(self._study_id).get(_KEY))
