"""Ask and tell on a stored study: for laboratories, schedulers and anything else that waits."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, overload

from bosquet.data import Direction, Evaluation, History, Trial, now
from bosquet.errors import NOTHING_LEFT, StorageError
from bosquet.explain import Model, model_of
from bosquet.optimizer import Optimizer, positive_integer
from bosquet.space import Space, as_space
from bosquet.space.parameter import Parameter
from bosquet.strategies import Strategy, get
from bosquet.study.ledger import Stored
from bosquet.study.optuna_store import OptunaStore, Wanted
from bosquet.study.progress import say
from bosquet.study.reading import DEFAULT_NAME, read_study, stored_header, stored_studies
from bosquet.study.rows import Row
from bosquet.study.storages import name_of
from bosquet.text import listed


class Study:
    """A stored study whose trials are evaluated elsewhere: ask today, tell tomorrow.

    A trial that was asked for is pending until it is told or released, in whatever process; other
    processes, `minimize` among them, may work on the same study meanwhile. Use it in a ``with``
    block, or `close` it.

    Args:
        storage: the name of a SQLite file, a database URL or an Optuna storage.
        study_name: which study; by default the only one, or the one called ``"bosquet"``.
        space: needed for a new study, and every time where constraints are functions, which are not
            stored.
        strategy: that of a new study, or another one to go on with; None keeps the stored one.
        direction: that of a new study, ``"minimize"`` unless said; a stored one must agree.
        seed: that of a new study; a stored one must agree.
        candidates: a finite set of configurations to choose from; not stored, so give it again.
        initial: configurations to propose first; not stored, so give them again.
    """

    def __init__(
        self,
        storage: Any,
        study_name: str | None = None,
        *,
        space: Space | Mapping[str, Parameter] | None = None,
        strategy: str | Strategy | None = None,
        direction: Direction | None = None,
        seed: int | None = None,
        candidates: Iterable[Mapping[str, Any]] | None = None,
        initial: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        if study_name is None and space is not None:  # which may be the space of a new study
            study_name = DEFAULT_NAME
        study_name, stored = stored_header(storage, study_name)
        where = f"{name_of(storage)}, study {study_name!r}"
        if stored is None and space is None:
            known = listed(map(repr, stored_studies(storage)))
            others = f"; stored are {known}" if known else ""
            raise StorageError(
                f"{where}: there is no such study; give its space to make it "
                f"(space=, --space FILE){others}"
            )
        if space is None:
            assert stored is not None
            space = stored.stored_space(where)
        space = as_space(space)
        before = "auto" if stored is None else stored.strategy
        chosen = get(before if strategy is None else strategy)
        direction = direction or ("minimize" if stored is None else stored.direction)
        self._optimizer = Optimizer(
            space,
            chosen,
            seed=seed,
            direction=direction,
            candidates=candidates,
            initial=initial,
        )
        wanted = Wanted(space, direction, seed, chosen.name)
        self._storage = storage
        self._store = OptunaStore(storage, study_name, wanted, by_person=True)
        try:
            self._ledger = Stored(self._store, self._optimizer, None)
        except BaseException:
            self.close()
            raise
        if stored is not None and chosen.name != before:
            say(f"{self._store.where}: with the strategy {chosen.name!r} (before: {before!r})")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the storage; what was asked for stays pending."""
        self._store.__exit__()

    def __repr__(self) -> str:
        return f"<Study {self._store.where}>"

    # -- looking -----------------------------------------------------------------------------

    @property
    def space(self) -> Space:
        """What is searched; where it was read from the storage, without constraint functions."""
        return self._optimizer.space

    @property
    def history(self) -> History:
        """The trials that have ended, as they are stored now."""
        seen = self._store.read()
        self._optimizer.follow(seen.ended, seen.running)
        return self._optimizer.history

    @property
    def pending(self) -> tuple[Trial, ...]:
        """The trials that were asked for and not told; those of processes that run included."""
        return self._store.read().running

    @property
    def best(self) -> Trial | None:
        """The complete trial with the best value; None before there is one."""
        return self.history.best

    def model(self) -> Model:
        """What the trials so far say about the objective; ModelError while they are too few."""
        return model_of(self.history, self._optimizer.strategy)

    def report(self, path: str | os.PathLike[str] = "report.html") -> Path:
        """Writes one HTML file with the answer, pictures and all trials; returns where it is.

        Args:
            path: the file to write; one that is there is replaced.
        """
        from bosquet.report.page import write_report  # loads rich and plotly

        return write_report(read_study(self._storage, self._store.study_name), path)

    # -- asking and telling ------------------------------------------------------------------

    @overload
    def ask(self, n: None = ...) -> Trial: ...
    @overload
    def ask(self, n: int) -> list[Trial]: ...
    def ask(self, n: int | None = None) -> Trial | list[Trial]:
        """The next trial, or a list of them; trials that were released come first.

        Args:
            n: how many to put into a list, which is shorter when fewer configurations are left;
                None returns one trial.

        Raises:
            SpaceExhausted: when every configuration has been proposed.
        """
        trials: list[Trial] = []
        while len(trials) < (1 if n is None else positive_integer(n, "n")):
            try:
                trial = self._ledger.next_trial()
            except NOTHING_LEFT:
                if not trials:
                    raise
                break
            assert trial is not None
            trials.append(trial)
        return trials[0] if n is None else trials

    def tell(
        self,
        trial: int | Trial | Mapping[str, Any],
        value: float | Evaluation,
        *,
        noise_variance: float | None = None,
    ) -> Trial:
        """Stores the result of a trial and returns the ended trial.

        Args:
            trial: what `ask` returned, or its number. A configuration adds a point known from
                elsewhere.
            value: a number or an `Evaluation`. NaN and infinities are stored as failures.
            noise_variance: the variance of this value, if it is known.
        """
        if not isinstance(value, Evaluation):
            value = Evaluation(value, noise_variance)
        elif noise_variance is not None:
            raise ValueError("give noise_variance in the Evaluation or beside it, not both")
        if isinstance(trial, Mapping):
            return self._add(trial, value)
        row = self._asked(trial)
        return self._end(row, row.trial.completed(value))

    def tell_failure(self, trial: int | Trial, reason: str | BaseException) -> Trial:
        """Stores that an evaluation failed.

        Args:
            trial: what `ask` returned, or its number.
            reason: why, for people, as a text or the exception.
        """
        row = self._asked(trial)
        return self._end(row, row.trial.failed(reason))

    def release(self, trial: int | Trial) -> None:
        """Gives a pending trial back: the next ask, by whomever, proposes it again.

        Args:
            trial: what `ask` returned, or its number.
        """
        row = self._asked(trial)
        if not self._store.release_row(row.id):
            raise ValueError(f"{self._store.where}: trial {row.trial.number} has just been told")

    def _end(self, row: Row, ended: Trial) -> Trial:
        ended = replace(ended, ended=now())
        if not self._store.end(ended, row.id):
            raise ValueError(f"{self._store.where}: trial {ended.number} has just been told")
        return ended

    def _add(self, config: Mapping[str, Any], value: Evaluation) -> Trial:
        config = self.space.validate(config)
        with self._store.lease() as term:
            info = {"why": "added by the user"}
            trial = Trial(self._store.read().next_number, config, info=info)
            while not self._store.register(trial, 0, term):
                trial = Trial(self._store.read().next_number, config, info=info)
            row = self._asked(trial)
        return self._end(row, row.trial.completed(value))

    def _asked(self, trial: int | Trial) -> Row:
        """The row of a trial that waits to be told; ValueError says why it does not."""
        number = trial.number if isinstance(trial, Trial) else trial
        if isinstance(number, bool) or not isinstance(number, int):
            raise TypeError(f"trial={trial!r} must be a Trial or the number of one")
        row = self._store.latest_row(number)
        if row is None:
            numbers = ", ".join(str(pending.number) for pending in self.pending) or "none"
            why = f"there is no such trial; pending are {numbers}"
        elif isinstance(trial, Trial) and trial.config != row.trial.config:
            why = f"the one stored has the configuration {row.trial.config}"
        elif row.lost is not None:
            why = "it was released and will be asked for again"
        elif row.trial.state == "complete":
            why = f"it has been told already, with the value {row.trial.value}"
        elif row.trial.state == "failed":
            why = f"it has failed already: {row.trial.reason}"
        elif not row.owner.is_person:
            why = f"process {row.owner.pid} on {row.owner.host.partition('/')[0]} evaluates it"
        else:
            return row
        raise ValueError(f"{self._store.where}: trial {number} is not waiting to be told: {why}")
