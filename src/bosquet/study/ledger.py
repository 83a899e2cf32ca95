"""Where the trials of a run are kept: with the Optimizer alone, or in a stored study as well."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from bosquet.data import Trial, now
from bosquet.optimizer import Optimizer
from bosquet.study.optuna_store import OptunaStore
from bosquet.study.rows import Snapshot


class Ledger(Protocol):
    """What the loop asks whoever keeps the trials."""

    def next_trial(self) -> Trial | None:
        """The next trial to evaluate; None when there are as many as wanted."""

    def end(self, trial: Trial) -> None:
        """Keeps a trial that the optimizer has been told."""

    def release(self) -> None:
        """Lets go of the trials still running: the run is over."""

    def settle(self) -> None:
        """Gives the optimizer its last view of the study."""


class InMemory:
    """The Optimizer's own history and nothing else."""

    def __init__(self, optimizer: Optimizer, n_trials: int | None) -> None:
        self._optimizer = optimizer
        self._limit = None if n_trials is None else n_trials + len(optimizer.history)

    def next_trial(self) -> Trial | None:
        started = len(self._optimizer.history) + len(self._optimizer.pending)
        return None if self._limit is not None and started >= self._limit else self._optimizer.ask()

    def end(self, trial: Trial) -> None:
        pass

    def release(self) -> None:
        pass

    def settle(self) -> None:
        pass


class Stored:
    """A stored study that other processes may work on too; ``n_trials`` counts all its trials."""

    def __init__(self, store: OptunaStore, optimizer: Optimizer, n_trials: int | None) -> None:
        self._store = store
        self._optimizer = optimizer
        self._limit = n_trials
        optimizer.follow(store.read().ended, (), store.seed)

    def next_trial(self) -> Trial | None:
        """Under the lease of the study, so that a trial is proposed by one process only."""
        while True:
            with self._store.lease() as term:
                seen = self._store.read()
                if self._keep_added(seen):
                    continue
                self._optimizer.follow(seen.ended, seen.running)
                if seen.lost:
                    lost, round_ = seen.lost[0]
                    trial = replace(lost, started=now())
                elif self._limit is not None and seen.next_number >= self._limit:
                    return None
                else:
                    trial, round_ = self._optimizer.ask(), 0
                if self._store.register(trial, round_, term):
                    self._optimizer.follow(seen.ended, (*seen.running, trial))
                    return trial

    def end(self, trial: Trial) -> None:
        self._store.end(trial)

    def release(self) -> None:
        self._store.release()

    def settle(self) -> None:
        with self._store.lease():
            self._keep_added(self._store.read())
        seen = self._store.read()
        self._optimizer.follow(seen.ended, seen.running)

    def _keep_added(self, seen: Snapshot) -> bool:
        """Stores the points that callbacks added to the optimizer; whether there were any."""
        trials = self._optimizer.history.trials
        added = [trial for trial in trials if trial.number not in seen.numbers]
        for trial in added:
            number = trial.number
            while not self._store.register(replace(trial, number=number)):
                number = self._store.read().next_number
            self._store.end(replace(trial, number=number))
        return bool(added)
