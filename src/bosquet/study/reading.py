"""Looking at a stored study: nothing in it is changed, and nothing in it is executed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bosquet.data import History, Trial
from bosquet.errors import StorageError
from bosquet.space import Space
from bosquet.study.fingerprint import Fingerprint
from bosquet.study.header import ATTRIBUTE, Header, differences, refuse
from bosquet.study.rows import by_number, snapshot, to_row
from bosquet.study.storages import name_of, open_storage, storage_errors, storage_exists

DEFAULT_NAME = "bosquet"


@dataclass(frozen=True)
class StoredStudy:
    """A stored study at one moment."""

    where: str
    """The storage and the study's name, for messages."""
    history: History
    """The trials that have ended. Its space lacks constraints that are functions."""
    running: tuple[Trial, ...]
    """Trials that a process evaluates."""
    asked: tuple[Trial, ...]
    """Trials that somebody asked for (`Study.ask`) and will tell."""
    left: tuple[Trial, ...]
    """Trials whose process died or was interrupted: the next run takes them up again."""
    seed: int
    strategy: str
    objective: Fingerprint | None
    """What is evaluated: the command, or the name and hash of the function; None if not known."""


def read_study(storage: Any, study_name: str | None = None) -> StoredStudy:
    """A stored study, by default the only one."""
    where, header, found = _stored(storage, study_name)
    space = header.stored_space(where, without_functions=True)
    counted, _ = by_number(to_row(space, frozen, where) for frozen in found)
    seen = snapshot(counted.values())
    last = {number: rows[-1] for number, rows in counted.items()}
    dead = [trial for trial in seen.running if last[trial.number].dead]
    asked = [trial for trial in seen.running if last[trial.number].owner.is_person]
    left = [*dead, *(trial for trial, _ in seen.lost)]
    return StoredStudy(
        where,
        History(space, seen.ended, header.direction),
        tuple(trial for trial in seen.running if trial not in dead and trial not in asked),
        tuple(asked),
        tuple(sorted(left, key=lambda trial: trial.number)),
        header.seed,
        header.strategy,
        header.objective,
    )


def load_history(
    storage: Any, study_name: str | None = None, space: Space | None = None
) -> History:
    """The ended trials of a stored study, by default of the one called 'bosquet'.

    ``space`` is needed where constraints are functions, which are not stored.
    """
    where, header, found = _stored(storage, checked_name(study_name))
    if space is None:
        space = header.stored_space(where)
    else:
        given = Header.of(space, header.direction, header.seed, header.strategy, None)
        refuse(where, list(differences(header.space, given.space, "space")))
    counted, _ = by_number(to_row(space, frozen, where) for frozen in found)
    return History(space, snapshot(counted.values()).ended, header.direction)


def stored_header(storage: Any, study_name: str | None) -> tuple[Header | None, str]:
    """The header of a study, None where it is not there yet; and how messages call the study."""
    name = checked_name(study_name)
    where = name_of(storage)
    with storage_errors(where):
        if not storage_exists(storage):
            return None, f"{where}, study {name!r}"
        opened, close = open_storage(storage, must_exist=True)
        try:
            studies = {study.study_name: study for study in opened.get_all_studies()}
        finally:
            close()
    where = f"{where}, study {name!r}"
    data = studies[name].user_attrs.get(ATTRIBUTE) if name in studies else None
    return None if data is None else Header.from_json(data, where), where


def checked_name(study_name: str | None) -> str:
    if study_name is None:
        return DEFAULT_NAME
    if not isinstance(study_name, str) or not study_name:
        raise ValueError(f"study_name={study_name!r} must be a name that is not empty")
    return study_name


def foreign(where: str) -> StorageError:
    return StorageError(f"{where}: not made by bosquet; give another study name")


def _stored(storage: Any, study_name: str | None) -> tuple[str, Header, list[Any]]:
    """How messages call a study, its header and its Optuna trials; None is the only study."""
    where = name_of(storage)
    with storage_errors(where):
        opened, close = open_storage(storage, must_exist=True)
        try:
            names = [study.study_name for study in opened.get_all_studies()]
            name = names[0] if study_name is None and len(names) == 1 else study_name
            if name not in names:
                listed = ", ".join(map(repr, names)) or "none"
                problem = ": which study?" if name is None else f", study {name!r}: not there;"
                raise StorageError(f"{where}{problem} stored are {listed}")
            study_id = opened.get_study_id_from_name(name)
            data = opened.get_study_user_attrs(study_id).get(ATTRIBUTE)
            found = opened.get_all_trials(study_id, deepcopy=False)
        finally:
            close()
    where = f"{where}, study {name!r}"
    if data is None and not found:
        raise StorageError(
            f"{where}: it is empty; its process ended while it made the study. "
            "Run the study again to finish it"
        )
    if data is None:
        raise foreign(where)
    return where, Header.from_json(data, where), found
