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
from bosquet.text import did_you_mean, listed

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
    seed: int | None
    strategy: str | None
    """None in a study of another library, as the seed."""
    objective: Fingerprint | None
    """What is evaluated: the command, or the name and hash of the function; None if not known."""
    notes: tuple[str, ...] = ()
    """What to know about how the study was read, a sentence each."""


def read_study(
    storage: Any, study_name: str | None = None, space: Space | None = None
) -> StoredStudy:
    """A stored study, by default the only one.

    It may also be one that an Optuna sampler ran, `BosquetSampler` or another.

    Args:
        storage: the name of a SQLite file, a database URL or an Optuna storage.
        study_name: which study; needed only where there are several.
        space: needed to evaluate constraints that are functions, which are not stored. For a study
            of an Optuna sampler, None means the space that `BosquetSampler` was given, or one
            inferred from the trials.
    """
    found = _stored(storage, study_name)
    if found.header is None:
        from bosquet.study.sampled import read_sampled  # loads Optuna

        return read_sampled(found.where, found.study, found.trials, space)
    where, header = found.where, found.header
    if space is not None:
        raise ValueError(f"{where}: its space is stored with it; leave out the space given")
    space = header.stored_space(where, without_functions=True)
    counted, _ = by_number(to_row(space, frozen, where) for frozen in found.trials)
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


@dataclass(frozen=True)
class Listed:
    """A study in the list of a storage."""

    id: int
    """Optuna's, which stays."""
    name: str
    trials: int


def list_studies(storage: Any) -> list[Listed]:
    """The studies of a storage, by name, with the number of their rows."""
    with storage_errors(name_of(storage)):
        opened, close = open_storage(storage, must_exist=True)
        try:
            found = [
                Listed(one._study_id, one.study_name, opened.get_n_trials(one._study_id))
                for one in opened.get_all_studies()
            ]
        finally:
            close()
    return sorted(found, key=lambda one: one.name)


def load_history(
    storage: Any, study_name: str | None = None, space: Space | None = None
) -> History:
    """The ended trials of a stored study.

    Args:
        storage: the name of a SQLite file, a database URL or an Optuna storage.
        study_name: which study; by default the only one, or the one called ``"bosquet"``.
        space: needed where constraints are functions, which are not stored.
    """
    name = stored_header(storage, None)[0] if study_name is None else study_name
    found = _stored(storage, checked_name(name))
    where, header = found.where, found.header
    if header is None:
        raise foreign(where)
    if space is None:
        space = header.stored_space(where)
    else:
        given = Header.of(space, header.direction, header.seed, header.strategy, None)
        refuse(where, list(differences(header.space, given.space, "space")))
    counted, _ = by_number(to_row(space, frozen, where) for frozen in found.trials)
    return History(space, snapshot(counted.values()).ended, header.direction)


def stored_header(storage: Any, study_name: str | None) -> tuple[str, Header | None]:
    """The name and the header of a study; None is the only study, or else the default name.

    The header is None where the study is not there yet.
    """
    name, where = checked_name(study_name), name_of(storage)
    studies = stored_studies(storage)
    if study_name is None and len(studies) == 1:
        name = next(iter(studies))
    data = studies[name].user_attrs.get(ATTRIBUTE) if name in studies else None
    return name, None if data is None else Header.from_json(data, f"{where}, study {name!r}")


def stored_studies(storage: Any) -> dict[str, Any]:
    """Optuna's FrozenStudies of a storage by name; none where there is no storage yet."""
    with storage_errors(name_of(storage)):
        if not storage_exists(storage):
            return {}
        opened, close = open_storage(storage, must_exist=True)
        try:
            return {study.study_name: study for study in opened.get_all_studies()}
        finally:
            close()


def checked_name(study_name: str | None) -> str:
    if study_name is None:
        return DEFAULT_NAME
    if not isinstance(study_name, str) or not study_name:
        raise ValueError(f"study_name={study_name!r} must be a name that is not empty")
    return study_name


def foreign(where: str) -> StorageError:
    return StorageError(
        f"{where}: not made by bosquet; give another study name. "
        "bosquet.study.read_study reads its trials"
    )


@dataclass(frozen=True)
class _Found:
    """What a storage has of a study."""

    where: str
    """How messages call it."""
    header: Header | None
    """None if bosquet did not make the study."""
    study: Any
    """Optuna's FrozenStudy."""
    trials: list[Any]
    """Optuna's FrozenTrials."""


def _stored(storage: Any, study_name: str | None) -> _Found:
    """A study by its name; None is the only one."""
    where = name_of(storage)
    with storage_errors(where):
        opened, close = open_storage(storage, must_exist=True)
        try:
            studies = {study.study_name: study for study in opened.get_all_studies()}
            name = next(iter(studies)) if study_name is None and len(studies) == 1 else study_name
            if name is None or name not in studies:
                stored = listed(map(repr, studies)) or "none"
                problem = ": which study?" if name is None else f", study {name!r}: not there;"
                hint = "; give its name (study_name=, --study)" if name is None else ""
                raise StorageError(
                    f"{where}{problem} stored are {stored}{did_you_mean(name, studies)}{hint}"
                )
            study = studies[name]
            trials = opened.get_all_trials(study._study_id, deepcopy=False)
        finally:
            close()
    where = f"{where}, study {name!r}"
    data = study.user_attrs.get(ATTRIBUTE)
    if data is None and not trials:
        raise StorageError(
            f"{where}: it is empty; its process ended while it made the study. "
            "Run the study again to finish it"
        )
    header = None if data is None else Header.from_json(data, where)
    return _Found(where, header, study, trials)
