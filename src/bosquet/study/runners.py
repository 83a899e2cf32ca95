"""Where evaluations happen: in this process, or on an executor (own workers: `workers`)."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from typing import Any, Protocol

from bosquet.data import Evaluation, Trial
from bosquet.study.evaluate import Failure, Objective, evaluate

Outcome = tuple[Trial, Evaluation | Failure]


class NoMoreWork(RuntimeError):
    """The runner takes no trial any more, and why."""


class Runner(Protocol):
    """What the loop asks whoever evaluates."""

    @property
    def slots(self) -> int:
        """How many trials may run at once."""

    def open(self) -> None:
        """Gets ready to evaluate, which may take a while."""

    def start(self, trial: Trial) -> None:
        """Begins an evaluation; NoMoreWork when that is not possible any more."""

    def wait(self) -> list[Outcome]:
        """The evaluations that have ended; none where a look brought nothing, to look again."""

    def close(self) -> None:
        """Ends what can be ended of what is still running."""


class InProcess:
    """One evaluation at a time, here."""

    slots = 1

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self._trial: Trial | None = None

    def open(self) -> None:
        pass

    def start(self, trial: Trial) -> None:
        self._trial = trial

    def wait(self) -> list[Outcome]:
        assert self._trial is not None
        return [(self._trial, evaluate(self._objective, self._trial, here=True))]

    def close(self) -> None:
        pass


class OnExecutor:
    """Evaluations on anything with the interface of `concurrent.futures.Executor`."""

    def __init__(self, objective: Objective, executor: Executor, slots: int) -> None:
        self.slots = slots
        self._objective = objective
        self._executor = executor
        self._running: dict[Future[Any], Trial] = {}
        self._has_worked = False

    def open(self) -> None:
        pass

    def start(self, trial: Trial) -> None:
        try:
            # Dask answers two equal calls by one: the number makes those of a study differ.
            future = self._executor.submit(evaluate, self._objective, trial)
        except Exception as error:
            # Broken, shut down, disconnected: executors have errors of their own for it. What has
            # never worked is another matter: an objective that cannot be sent, say.
            if not self._has_worked and not isinstance(error, RuntimeError):
                raise
            raise NoMoreWork(f"the executor takes no more work: {_text(error)}") from error
        self._has_worked = True
        self._running[future] = trial

    def wait(self) -> list[Outcome]:
        done, _ = wait(self._running, return_when=FIRST_COMPLETED)
        ended = sorted(done, key=lambda future: self._running[future].number)
        return [(self._running.pop(future), _result(future)) for future in ended]

    def close(self) -> None:
        for future in self._running:
            future.cancel()


def _result(future: Future[Any]) -> Evaluation | Failure:
    try:
        outcome = future.result()
    except Exception as error:  # noqa: BLE001 - a lost worker, or what cannot be pickled
        return Failure(f"the executor lost the evaluation: {_text(error)}")
    assert isinstance(outcome, (Evaluation, Failure))
    return outcome


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
