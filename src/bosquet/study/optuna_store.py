"""The one translation between bosquet's trials and an Optuna study.

The Optimizer drives, Optuna stores. A study holds one user attribute, ``bosquet``: the space, the
direction, the seed and the strategy. A trial is one Optuna trial (a *row*), or several when the
process that evaluated it was lost:

==============================  ==========================================================
Optuna                          bosquet
==============================  ==========================================================
params, distributions           ``config`` under qualified names
value, state                    ``value``, ``state`` (a pending trial is RUNNING)
user attribute bosquet:number   ``number``: the logical index that decides a proposal
... bosquet:round               how often this number has been queued again
... bosquet:info                ``info``
... bosquet:noise_variance      ``noise_variance``
... bosquet:reason              ``reason``, or why the row does not count
... bosquet:owner               who evaluates it (`Owner`)
... bosquet:lost                "died" or "interrupted": this row brought nothing
==============================  ==========================================================

Optuna creates a row with all its contents in one transaction and numbers rows in that order. So
of several rows with the same number and round the lowest is the one that counts, and every process
sees it so. Attributes are written before the state: a row that has ended is whole.
"""

from __future__ import annotations

import json
import logging
import secrets
import threading
import time
import uuid
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from bosquet.data import Direction, Evaluation, History, Trial
from bosquet.errors import SpaceError, StorageError
from bosquet.space import Choice, Float, Space
from bosquet.study.owner import BEAT_EVERY, Owner, begin_run, end_run
from bosquet.study.storages import load_optuna, name_of, open_storage, quiet, storage_errors

DEFAULT_NAME = "bosquet"
_SCHEMA = 1
_HEADER = "bosquet"
_PREFIX = "bosquet:"
_HEADER_PATIENCE = 2.0  # seconds for the process that has just made a study to describe it
_MOST_DEATHS = 2  # a trial whose process died this often has failed


def distributions(space: Space) -> dict[str, Any]:
    """Optuna's distribution of every parameter, by qualified name."""
    kinds = load_optuna().distributions
    found: dict[str, Any] = {}
    for dimension in space.dimensions:
        parameter = dimension.parameter
        if isinstance(parameter, Choice):
            found[dimension.qualified_name] = kinds.CategoricalDistribution(parameter.options)
            continue
        low, high, log, step = parameter.low, parameter.high, parameter.log, parameter.step
        if isinstance(parameter, Float):
            with warnings.catch_warnings():  # a grid that Optuna would shorten is left out
                warnings.simplefilter("error")
                try:
                    distribution = kinds.FloatDistribution(low, high, log=log, step=step)
                except UserWarning:
                    distribution = kinds.FloatDistribution(low, high, log=log)
        else:
            distribution = kinds.IntDistribution(low, high, log=log, step=step or 1)
        found[dimension.qualified_name] = distribution
    return found


# -- rows and what they mean -----------------------------------------------------------------


@dataclass(frozen=True)
class _Row:
    """An Optuna trial as bosquet reads it."""

    id: int
    trial: Trial
    round: int
    owner: Owner
    lost: str | None

    @property
    def dead(self) -> bool:
        return self.trial.state == "pending" and not self.owner.alive


@dataclass(frozen=True)
class Snapshot:
    """The trials of a study at one moment."""

    ended: tuple[Trial, ...]
    running: tuple[Trial, ...]
    lost: tuple[tuple[Trial, int], ...]
    """Trials to be queued again, each with its next round."""

    @cached_property
    def numbers(self) -> frozenset[int]:
        trials = (*self.ended, *self.running, *(trial for trial, _ in self.lost))
        return frozenset(trial.number for trial in trials)

    @property
    def next_number(self) -> int:
        return max(self.numbers, default=-1) + 1


def _rounds(rows: Iterable[_Row]) -> tuple[dict[int, list[_Row]], list[_Row]]:
    """The rows that count, by trial number, one a round; and those that came too late."""
    rounds: dict[int, list[_Row]] = {}
    late: list[_Row] = []
    for row in rows:
        counted = rounds.setdefault(row.trial.number, [])
        (counted if row.round == len(counted) else late).append(row)
    return dict(sorted(rounds.items())), late


def _snapshot(rounds: Iterable[list[_Row]]) -> Snapshot:
    ended: list[Trial] = []
    running: list[Trial] = []
    lost: list[tuple[Trial, int]] = []
    for rows in rounds:
        last = rows[-1]
        if last.trial.state == "pending":
            running.append(last.trial)
        elif last.lost is None:
            ended.append(last.trial)
        elif sum(row.lost == "died" for row in rows) >= _MOST_DEATHS:
            ended.append(replace(last.trial, reason=f"{last.trial.reason}, twice"))
        else:
            pending = Trial(last.trial.number, last.trial.config, info=last.trial.info)
            lost.append((pending, last.round + 1))
    return Snapshot(tuple(ended), tuple(running), tuple(lost))


def _to_row(space: Space, frozen: Any, where: str) -> _Row:
    attributes = {
        key.removeprefix(_PREFIX): value
        for key, value in frozen.user_attrs.items()
        if key.startswith(_PREFIX)
    }
    try:
        trial = _to_trial(space, frozen, attributes)
        owner = Owner.from_dict(attributes["owner"])
        # A process taken for dead may bring its value after it was marked as lost: it counts.
        lost = attributes.get("lost") if trial.state == "failed" else None
        return _Row(frozen._trial_id, trial, attributes["round"], owner, lost)
    except KeyError as error:
        raise StorageError(
            f"{where}: trial {frozen.number} was not written by bosquet: no attribute {error}"
        ) from None
    except (TypeError, ValueError) as error:
        raise StorageError(
            f"{where}: trial {frozen.number} does not belong to its space: {error}"
        ) from None


def _to_trial(space: Space, frozen: Any, attributes: Mapping[str, Any]) -> Trial:
    config = space.unqualify(frozen.params)
    trial = Trial(attributes["number"], config, info=attributes["info"])
    if not frozen.state.is_finished():
        return trial
    if frozen.state.name == "COMPLETE":
        return trial.completed(Evaluation(frozen.value, attributes.get("noise_variance")))
    return trial.failed(attributes.get("reason") or f"state {frozen.state.name} without a reason")


@dataclass(frozen=True)
class StoredStudy:
    """A stored study at one moment."""

    where: str
    """The storage and the study's name, for messages."""
    history: History
    """The trials that have ended. Its space lacks constraints that are functions."""
    running: tuple[Trial, ...]
    left: tuple[Trial, ...]
    """Trials whose process died or was interrupted: the next run takes them up again."""
    seed: int
    strategy: str


def read_study(storage: Any, study_name: str | None = None) -> StoredStudy:
    """A stored study, by default the only one; it is left as it is, nothing in it is executed."""
    where, header, found = _stored(storage, study_name)
    data = header["space"]
    kept = [entry for entry in data["constraints"] if entry["type"] != "function"]
    space = _stored_space(data | {"constraints": kept}, where)
    counted, _ = _rounds(_to_row(space, frozen, where) for frozen in found)
    seen = _snapshot(counted.values())
    dead = {number for number, rows in counted.items() if rows[-1].dead}
    left = [trial for trial in seen.running if trial.number in dead]
    return StoredStudy(
        where,
        History(space, seen.ended, header["direction"]),
        tuple(trial for trial in seen.running if trial.number not in dead),
        tuple(sorted([*left, *(trial for trial, _ in seen.lost)], key=lambda t: t.number)),
        header["seed"],
        header["strategy"],
    )


def load_history(
    storage: Any, study_name: str | None = None, space: Space | None = None
) -> History:
    """The ended trials of a stored study, which is left as it is; nothing in it is executed.

    ``space`` is needed where constraints are functions, which are not stored.
    """
    where, header, found = _stored(storage, _checked_name(study_name))
    if space is None:
        space = _stored_space(header["space"], where)
    else:
        _refuse(where, list(_differences(header["space"], _as_json(space.to_dict()), "space")))
    counted, _ = _rounds(_to_row(space, frozen, where) for frozen in found)
    return History(space, _snapshot(counted.values()).ended, header["direction"])


def _stored(storage: Any, study_name: str | None) -> tuple[str, dict[str, Any], list[Any]]:
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
            header = opened.get_study_user_attrs(study_id).get(_HEADER)
            found = opened.get_all_trials(study_id, deepcopy=False)
        finally:
            close()
    where = f"{where}, study {name!r}"
    if header is None:
        raise _foreign(where)
    return where, header, found


def _stored_space(data: Mapping[str, Any], where: str) -> Space:
    try:
        return Space.from_dict(data)
    except SpaceError as error:
        raise ValueError(f"{where}: the stored space cannot be made ({error})") from None


# -- a study being run -----------------------------------------------------------------------


class OptunaStore:
    """A study in an Optuna storage, opened for a run; made if it is not there."""

    def __init__(
        self,
        storage: Any,
        study_name: str | None,
        space: Space,
        direction: Direction,
        seed: int | None,
        strategy: str,
    ) -> None:
        self.study_name = _checked_name(study_name)
        self.where = f"{name_of(storage)}, study {self.study_name!r}"
        self.space = space
        self._direction = direction
        self._optuna = load_optuna()
        self._distributions = distributions(space)
        self._owner = Owner.of_run(uuid.uuid4().hex)
        self._owned: dict[int, int] = {}  # trial number -> row id
        self._ended_rows: dict[int, _Row] = {}  # what has ended does not change
        self._stop_beating = threading.Event()
        self._beating: threading.Thread | None = None
        header = {
            "schema": _SCHEMA,
            "space": _as_json(space.to_dict()),
            "direction": direction,
            "seed": secrets.randbits(32) if seed is None else int(seed),
            "strategy": strategy,
        }
        with storage_errors(self.where):
            self._storage, self._close = open_storage(storage)
            try:
                self._study_id, stored = self._make_or_find(header)
                self._check(stored, header, seed)
            except BaseException:
                self._close()
                raise
        self.seed = int(stored["seed"])
        self.strategy = str(stored["strategy"])
        begin_run(self._owner.run)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop_beating.set()
        if self._beating is not None:
            self._beating.join()
        end_run(self._owner.run)
        self._close()

    def _make_or_find(self, header: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """The study's id and its header; two processes that make it at once agree on one."""
        direction = self._optuna.study.StudyDirection[self._direction.upper()]
        try:
            with quiet():
                study_id = self._storage.create_new_study([direction], self.study_name)
        except self._optuna.exceptions.DuplicatedStudyError:
            study_id = self._storage.get_study_id_from_name(self.study_name)
            give_up = time.monotonic() + _HEADER_PATIENCE
            while time.monotonic() < give_up:
                stored = self._storage.get_study_user_attrs(study_id).get(_HEADER)
                if stored is not None:
                    return study_id, stored
                if self._storage.get_all_trials(study_id, deepcopy=False):
                    raise _foreign(self.where) from None
                time.sleep(0.05)
            # Whoever made it died before it could describe it.
        self._storage.set_study_user_attr(study_id, _HEADER, header)
        return study_id, self._storage.get_study_user_attrs(study_id)[_HEADER]

    def _check(self, stored: dict[str, Any], given: dict[str, Any], seed: int | None) -> None:
        if stored["schema"] != _SCHEMA:
            raise StorageError(
                f"{self.where}: schema {stored['schema']}; this bosquet reads schema {_SCHEMA}"
            )
        names = ["space", "direction", *(["seed"] if seed is not None else [])]
        found = [line for n in names for line in _differences(stored[n], given[n], n)]
        _refuse(self.where, found)

    # -- reading -----------------------------------------------------------------------------

    def read(self) -> Snapshot:
        """All trials; those whose process has died are marked so first."""
        rounds = self._rounds()
        dead = [rows[-1] for rows in rounds.values() if rows[-1].dead]
        for row in dead:
            self._end_row(row.id, "the process that evaluated it died", lost="died")
        return _snapshot((self._rounds() if dead else rounds).values())

    def _rounds(self) -> dict[int, list[_Row]]:
        with storage_errors(self.where):
            found = self._storage.get_all_trials(self._study_id, deepcopy=False)
        rows = []
        for frozen in found:
            row = self._ended_rows.get(frozen._trial_id)
            if row is None:
                row = _to_row(self.space, frozen, self.where)
                if row.trial.state != "pending":
                    self._ended_rows[row.id] = row
            rows.append(row)
        rounds, late = _rounds(rows)
        for row in late:
            if row.dead:
                self._withdraw(row)
        return rounds

    # -- writing -----------------------------------------------------------------------------

    def register(self, trial: Trial, round_: int = 0) -> bool:
        """Stores a trial as running; False if another process has been faster."""
        params = self.space.qualify(trial.config)
        self._owner = self._owner.beating()
        attributes = {
            "number": trial.number,
            "round": round_,
            "info": trial.info,
            "owner": self._owner.to_dict(),
        }
        with storage_errors(self.where):
            template = self._optuna.trial.create_trial(
                state=self._optuna.trial.TrialState.RUNNING,
                params=params,
                distributions={name: self._distributions[name] for name in params},
                user_attrs={_PREFIX + key: value for key, value in attributes.items()},
            )
            row_id = self._storage.create_new_trial(self._study_id, template)
        winner = self._rounds()[trial.number][round_]
        if winner.id != row_id:
            self._withdraw(replace(winner, id=row_id))
            return False
        self._owned[trial.number] = row_id
        if self._beating is None:
            self._beating = threading.Thread(target=self._keep_beating, daemon=True)
            self._beating.start()
        return True

    def end(self, trial: Trial) -> bool:
        """Stores the result of a trial registered here.

        False if another process took this one for dead, and the trial from it.
        """
        row_id = self._owned[trial.number]
        if trial.state == "failed":
            kept = self._end_row(row_id, str(trial.reason))
        else:
            kept = self._end_row(row_id, None, trial.value, noise_variance=trial.noise_variance)
        del self._owned[trial.number]
        return kept

    def release(self) -> None:
        """Gives up the trials still running here, so that a later run takes them up again."""
        for number, row_id in list(self._owned.items()):
            self._end_row(row_id, "interrupted", lost="interrupted")
            del self._owned[number]

    def _withdraw(self, row: _Row) -> None:
        self._end_row(row.id, f"withdrawn: another process has trial {row.trial.number}")

    def _end_row(
        self, row_id: int, reason: str | None, value: float | None = None, **attributes: Any
    ) -> bool:
        states = self._optuna.trial.TrialState
        with storage_errors(self.where):
            try:
                for key, entry in (attributes | {"reason": reason}).items():
                    if entry is not None:
                        self._storage.set_trial_user_attr(row_id, _PREFIX + key, entry)
                if reason is None:
                    self._storage.set_trial_state_values(row_id, states.COMPLETE, [value])
                else:
                    self._storage.set_trial_state_values(row_id, states.FAIL)
            except self._optuna.exceptions.UpdateFinishedTrialError:
                return False
        return True

    def _keep_beating(self) -> None:
        while not self._stop_beating.wait(BEAT_EVERY):
            owner = self._owner.beating().to_dict()
            for row_id in list(self._owned.values()):
                try:
                    self._storage.set_trial_user_attr(row_id, f"{_PREFIX}owner", owner)
                except Exception as error:  # noqa: BLE001 - the run itself meets it, and says so
                    logging.getLogger(__name__).debug("no beat for row %d: %s", row_id, error)


# -- opening a study -------------------------------------------------------------------------


def _foreign(where: str) -> StorageError:
    return StorageError(f"{where}: not made by bosquet; give another study name")


def _refuse(where: str, differences: list[str]) -> None:
    if differences:
        more = f"; and {len(differences) - 5} more" if len(differences) > 5 else ""
        raise ValueError(
            f"{where} is stored with something else. {'; '.join(differences[:5])}{more}. "
            "Give what is stored, or another study name"
        )


def _checked_name(study_name: str | None) -> str:
    if study_name is None:
        return DEFAULT_NAME
    if not isinstance(study_name, str) or not study_name:
        raise ValueError(f"study_name={study_name!r} must be a name that is not empty")
    return study_name


def _as_json(data: Any) -> Any:
    return json.loads(json.dumps(data))


def _differences(stored: Any, given: Any, where: str) -> Iterator[str]:
    """What differs between two descriptions, in words; the order of names counts."""
    if isinstance(stored, dict) and isinstance(given, dict):
        for name in [*stored, *(name for name in given if name not in stored)]:
            if name not in given:
                yield f"{where}.{name}: stored, but not given now"
            elif name not in stored:
                yield f"{where}.{name}: given now, but not stored"
            else:
                yield from _differences(stored[name], given[name], f"{where}.{name}")
        if list(stored) != list(given) and set(stored) == set(given):
            yield f"{where}: stored in the order {list(stored)}, {list(given)} now"
    elif isinstance(stored, list) and isinstance(given, list) and len(stored) == len(given):
        for position, (one, other) in enumerate(zip(stored, given, strict=True)):
            yield from _differences(one, other, f"{where}[{position}]")
    elif stored != given or type(stored) is not type(given):
        yield f"{where}: stored {stored!r}, {given!r} now"
