"""A study being run: its trials are registered, ended and released in an Optuna storage.

The Optimizer drives, Optuna stores. What is stored, and how it is read: `rows`, `header`.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

from bosquet.data import Direction, Trial, time_text
from bosquet.space import Space
from bosquet.space.optuna import distributions, load_optuna
from bosquet.study.fingerprint import Fingerprint
from bosquet.study.header import ATTRIBUTE, Header
from bosquet.study.lease import Lease, Term
from bosquet.study.owner import BEAT_EVERY, Owner, begin_run, end_run
from bosquet.study.reading import checked_name, foreign
from bosquet.study.rows import PREFIX, Row, Snapshot, by_number, snapshot, to_attributes, to_row
from bosquet.study.storages import name_of, open_storage, quiet, storage_errors

HEADER_PATIENCE = 2.0  # seconds for the process that has just made a study to describe it


@dataclass(frozen=True)
class Wanted:
    """What a run asks of the study that it opens."""

    space: Space
    direction: Direction = "minimize"
    seed: int | None = None
    """None takes the stored one, or draws one for a new study."""
    strategy: str | None = None
    """None takes the stored one, or 'auto' for a new study."""
    objective: Fingerprint | None = None
    allow_changed: bool = False
    """Whether to go on with another objective than the stored one."""

    def header(self, seed: int) -> Header:
        """The header of a new study like this, with the given seed if none is wanted."""
        chosen = seed if self.seed is None else self.seed
        strategy = self.strategy or "auto"
        return Header.of(self.space, self.direction, chosen, strategy, self.objective)


class OptunaStore:
    """A study in an Optuna storage, opened for a run; made if it is not there.

    ``by_person`` is for trials that are told by whoever asked for them, not evaluated here: they
    stay pending after the process has ended.
    """

    def __init__(
        self, storage: Any, study_name: str | None, wanted: Wanted, *, by_person: bool = False
    ) -> None:
        self.study_name = checked_name(study_name)
        self.where = f"{name_of(storage)}, study {self.study_name!r}"
        self.space = wanted.space
        self._optuna = load_optuna()
        self._distributions = distributions(wanted.space)
        self._process = Owner.of_run(uuid.uuid4().hex)
        self._owner = Owner.person() if by_person else self._process
        self._owned: dict[int, int] = {}  # trial number -> row id
        self._ended_rows: dict[int, Row] = {}  # what has ended does not change
        self._stop_beating = threading.Event()
        self._beating: threading.Thread | None = None
        with storage_errors(self.where):
            self._storage, self._close = open_storage(storage)
            try:
                self._study_id, self.stored, self.is_new = self._make_or_find(wanted)
                self.header = self._checked(wanted)
            except BaseException:
                self._close()
                raise
        self._lease = Lease(self._storage, self._study_id, self._process)
        begin_run(self._process.run)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop_beating.set()
        if self._beating is not None:
            self._beating.join()
        end_run(self._process.run)
        self._close()

    @property
    def seed(self) -> int:
        return self.header.seed

    # -- opening -----------------------------------------------------------------------------

    def _make_or_find(self, wanted: Wanted) -> tuple[int, Header, bool]:
        """The study's id, its header, and whether it was made here.

        Two processes that make it at once agree on one header.
        """
        direction = self._optuna.study.StudyDirection[wanted.direction.upper()]
        try:
            with quiet():
                study_id = self._storage.create_new_study([direction], self.study_name)
        except self._optuna.exceptions.DuplicatedStudyError:
            study_id = self._storage.get_study_id_from_name(self.study_name)
            stored = self._described(study_id)
            if stored is not None:
                return study_id, stored, False
            # Whoever made it died before it could describe it.
            if self._storage.get_study_directions(study_id) != [direction]:
                self._storage.delete_study(study_id)
                return self._make_or_find(wanted)
        header = wanted.header(secrets.randbits(32))
        self._storage.set_study_user_attr(study_id, ATTRIBUTE, header.to_json())
        stored = self._described(study_id)
        assert stored is not None
        return study_id, stored, True

    def _described(self, study_id: int) -> Header | None:
        """The header, for which its maker has some seconds; None if the study is empty after."""
        give_up = time.monotonic() + HEADER_PATIENCE
        while True:
            data = self._storage.get_study_user_attrs(study_id).get(ATTRIBUTE)
            if data is not None:
                return Header.from_json(data, self.where)
            if self._storage.get_all_trials(study_id, deepcopy=False):
                raise foreign(self.where)
            if time.monotonic() >= give_up:
                return None
            time.sleep(0.05)

    def _checked(self, wanted: Wanted) -> Header:
        """The header to go on with: refused or renewed where it differs from what is wanted."""
        given = wanted.header(self.stored.seed)
        self.stored.check_same(given, self.where)
        changed = self.stored.objective_changes(given)
        if changed and not wanted.allow_changed and self._has_value():
            raise ValueError(
                f"{self.where}: {'; '.join(changed)}. Trials of two objectives do not compare: "
                "give another study name, or go on all the same with allow_changed=True "
                "(--force on the command line)"
            )
        header = replace(
            self.stored,
            strategy=wanted.strategy or self.stored.strategy,
            objective=self.stored.objective if wanted.objective is None else wanted.objective,
        )
        if header != self.stored:
            self._storage.set_study_user_attr(self._study_id, ATTRIBUTE, header.to_json())
        return header

    def _has_value(self) -> bool:
        """Whether any trial has a value, which another objective's would not compare to."""
        trials = self._storage.get_all_trials(self._study_id, deepcopy=False)
        return any(trial.state.name == "COMPLETE" for trial in trials)

    # -- reading -----------------------------------------------------------------------------

    def read(self) -> Snapshot:
        """All trials; those whose process has died are marked so first."""
        rounds = self._rounds()
        dead = [rows[-1] for rows in rounds.values() if rows[-1].dead]
        for row in dead:
            self._end_row(row.id, "the process that evaluated it died", lost="died")
        return snapshot((self._rounds() if dead else rounds).values())

    def latest_row(self, number: int) -> Row | None:
        """The row that says what became of a trial; None if there is no such trial."""
        rows = self._rounds().get(number)
        return rows[-1] if rows else None

    def _rounds(self) -> dict[int, list[Row]]:
        with storage_errors(self.where):
            found = self._storage.get_all_trials(self._study_id, deepcopy=False)
        rows = []
        for frozen in found:
            row = self._ended_rows.get(frozen._trial_id)
            if row is None:
                row = to_row(self.space, frozen, self.where)
                if row.trial.state != "pending":
                    self._ended_rows[row.id] = row
            rows.append(row)
        rounds, late = by_number(rows)
        for row in late:
            if row.dead:
                self._withdraw(row)
        return rounds

    # -- writing -----------------------------------------------------------------------------

    @contextmanager
    def lease(self) -> Iterator[Term]:
        """While the block runs, no other process proposes, until a trial is registered."""
        with storage_errors(self.where):
            term = self._lease.acquire()
        try:
            yield term
        finally:
            with storage_errors(self.where):
                term.end()

    def register(self, trial: Trial, round_: int = 0, term: Term | None = None) -> bool:
        """Stores a trial as running; False if another process has been faster.

        That happens only where the lease, whose term this ends, did not keep it away.
        """
        params = self.space.qualify(trial.config)
        self._owner = self._owner.beating()
        with storage_errors(self.where):
            template = self._optuna.trial.create_trial(
                state=self._optuna.trial.TrialState.RUNNING,
                params=params,
                distributions={name: self._distributions[name] for name in params},
                user_attrs=to_attributes(trial, round_, self._owner),
            )
            row_id = self._storage.create_new_trial(self._study_id, template)
        if term is not None:
            term.spend()
        winner = self._rounds()[trial.number][round_]
        if winner.id != row_id:
            self._withdraw(replace(winner, id=row_id))
            return False
        if self._owner.is_person:
            return True
        self._owned[trial.number] = row_id
        if self._beating is None:
            self._beating = threading.Thread(target=self._keep_beating, daemon=True)
            self._beating.start()
        return True

    def end(self, trial: Trial, row_id: int | None = None) -> bool:
        """Stores the result of a trial registered here, or of the given row.

        False if the row has ended already: another process took this one for dead.
        """
        row_id = self._owned[trial.number] if row_id is None else row_id
        ended = time_text(trial.ended)
        if trial.state == "failed":
            kept = self._end_row(row_id, str(trial.reason), ended=ended)
        else:
            noise = trial.noise_variance
            kept = self._end_row(row_id, None, trial.value, noise_variance=noise, ended=ended)
        self._owned.pop(trial.number, None)
        return kept

    def release(self) -> None:
        """Gives up the trials still running here, so that a later run takes them up again."""
        for number, row_id in list(self._owned.items()):
            self.release_row(row_id)
            del self._owned[number]

    def release_row(self, row_id: int) -> bool:
        """Gives up one trial; False if it has ended already."""
        return self._end_row(row_id, "interrupted", lost="interrupted")

    def _withdraw(self, row: Row) -> None:
        self._end_row(row.id, f"withdrawn: another process has trial {row.trial.number}")

    def _end_row(
        self, row_id: int, reason: str | None, value: float | None = None, **attributes: Any
    ) -> bool:
        states = self._optuna.trial.TrialState
        with storage_errors(self.where):
            try:
                for key, entry in (attributes | {"reason": reason}).items():
                    if entry is not None:
                        self._storage.set_trial_user_attr(row_id, PREFIX + key, entry)
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
                    self._storage.set_trial_user_attr(row_id, f"{PREFIX}owner", owner)
                except Exception as error:  # noqa: BLE001 - the run itself meets it, and says so
                    logging.getLogger(__name__).debug("no beat for row %d: %s", row_id, error)
