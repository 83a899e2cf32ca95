"""Optimizer: ask, tell, best. No storage, no threads."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, overload

import numpy as np

from bosquet.data import Direction, Evaluation, History, Trial, key_of, now
from bosquet.data.views import history_html
from bosquet.errors import NOTHING_LEFT, ConfigError
from bosquet.explain import Model, model_of
from bosquet.space import Config, Space, as_space
from bosquet.space.parameter import Parameter
from bosquet.strategies import Strategy, get
from bosquet.strategies.base import Proposal, Task, propose
from bosquet.strategies.candidates import Candidates
from bosquet.text import counted_text
from bosquet.threads import one_thread


class Optimizer:
    """Proposes configurations and learns from their results.

    It evaluates nothing and stores nothing: `ask` for a trial, evaluate its configuration wherever
    you like, `tell` the value. Proposals depend on the seed and on the trials only.

    Args:
        space: what to search: a `Space`, or the dict of parameters that `Space` takes.
        strategy: the name of a strategy, or a `Strategy`.
        seed: the same seed and the same calls give the same proposals; None draws one.
        direction: ``"minimize"`` or ``"maximize"``: which values are better.
        history: trials that have ended before, to continue from.
        candidates: a finite set of configurations to choose from, instead of the whole space.
        initial: configurations to propose first, before the space's defaults if it declares any.
    """

    def __init__(
        self,
        space: Space | Mapping[str, Parameter],
        strategy: str | Strategy = "auto",
        *,
        seed: int | None = None,
        direction: Direction = "minimize",
        history: History | None = None,
        candidates: Iterable[Mapping[str, Any]] | None = None,
        initial: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        space = as_space(space)
        if history is not None and not isinstance(history, History):
            own = "; give its .history" if hasattr(history, "history") else ""  # of a result
            what = type(history).__name__
            raise TypeError(f"history must be a bosquet.History, not {what}{own}")
        if history is not None and history.space != space:
            raise ValueError(
                f"the history belongs to another space: {_difference(history.space, space)}"
            )
        if history is not None and history.direction != direction:
            raise ValueError(
                f"direction={direction!r}: the history is one of direction={history.direction!r}"
            )
        self.space = space
        self.strategy = get(strategy)
        self.strategy.check_space(space)
        self.seed = secrets.randbits(32) if seed is None else checked_seed(seed)
        self.history = History(space, (), direction) if history is None else history
        self._pending: dict[int, Trial] = {}
        self._candidates = None if candidates is None else _distinct(space, candidates)
        self._first = self._checked_initial(initial)

    def _checked_initial(self, initial: Iterable[Mapping[str, Any]]) -> tuple[Config, ...]:
        first = _validated(self.space, initial, "initial")
        for position, config in enumerate(first):
            if self._candidates is not None and config not in self._candidates:
                raise ConfigError(f"initial[{position}]: {config!r} is not among the candidates")
        if self.space.has_defaults:
            defaults = self.space.default_config()
            if self._candidates is None or defaults in self._candidates:
                first.append(defaults)
        return tuple(first)

    # -- asking ------------------------------------------------------------------------------

    @property
    def pending(self) -> tuple[Trial, ...]:
        """The trials asked for and not yet told, by number."""
        return tuple(self._pending[number] for number in sorted(self._pending))

    @property
    def _next_number(self) -> int:
        numbers = [trial.number for trial in self.history.trials[-1:]] + list(self._pending)
        return max(numbers, default=-1) + 1

    @overload
    def ask(self, n: None = ...) -> Trial: ...
    @overload
    def ask(self, n: int) -> list[Trial]: ...
    def ask(self, n: int | None = None) -> Trial | list[Trial]:
        """The next trial, or a list of them to run in parallel.

        Args:
            n: how many to put into a list, which is shorter when fewer configurations are left;
                None returns one trial.

        Raises:
            SpaceExhausted: when every configuration has been proposed.
            SpaceError: when none was found that satisfies the constraints.
        """
        wanted = 1 if n is None else positive_integer(n, "n")
        number = self._next_number
        task = Task(
            self.space, self.history, self.pending, self._candidates, self.seed, index=number
        )
        proposals = self._unseen_first(task)[:wanted]
        if len(proposals) < wanted:
            proposals += self._from_strategy(task, proposals, wanted - len(proposals))
        started = now()
        trials = [
            Trial(
                number + i,
                proposal.config,
                info=proposal.info(self.space),
                memory=proposal.memory,
                started=started,
            )
            for i, proposal in enumerate(proposals)
        ]
        self._pending |= {t.number: replace(t, config=dict(t.config)) for t in trials}
        return trials[0] if n is None else trials

    def _unseen_first(self, task: Task) -> list[Proposal]:
        return [
            Proposal(config, why="initial")
            for config in self._first
            if key_of(config) not in task.seen
        ]

    def _from_strategy(self, task: Task, before: list[Proposal], n: int) -> list[Proposal]:
        first = tuple(Trial(task.index + i, p.config) for i, p in enumerate(before))
        index = task.index + len(first)
        task = replace(task, pending=task.pending + first, index=index)
        try:
            with one_thread():
                return propose(self.strategy, task, n, np.random.default_rng([self.seed, index]))
        except NOTHING_LEFT:
            if before:
                return []
            raise

    def follow(
        self, ended: Iterable[Trial], pending: Iterable[Trial], seed: int | None = None
    ) -> None:
        """Takes over a shared study as it is, other processes' trials included.

        Args:
            ended: all trials that have ended.
            pending: all trials that are being evaluated.
            seed: that of the study; None keeps this optimizer's.
        """
        self.seed = self.seed if seed is None else checked_seed(seed)
        ended = tuple(ended)
        known = {trial.number for trial in self.history.trials}
        new = [trial for trial in ended if trial.number not in known]
        if len(known) + len(new) != len(ended):  # one that was told here does not count there
            self.history = History(self.space, (), self.history.direction)
            new = list(ended)
        for trial in new:
            self.history = self.history.with_trial(trial)
        self._pending = {trial.number: trial for trial in pending}

    # -- telling -----------------------------------------------------------------------------

    def tell(
        self,
        trial: Trial | Mapping[str, Any],
        value: float | Evaluation,
        *,
        noise_variance: float | None = None,
    ) -> Trial:
        """Records a result and returns the ended trial.

        Args:
            trial: what `ask` returned. A configuration ends the pending trial that has it, or else
                adds a point known from elsewhere.
            value: a number or an `Evaluation`. NaN and infinities are recorded as failures.
            noise_variance: the variance of this value, if it is known; 0 if it is exact.
        """
        if not isinstance(value, Evaluation):
            value = Evaluation(value, noise_variance)
        elif noise_variance is not None:
            raise ValueError("give noise_variance in the Evaluation or beside it, not both")
        return self._end(self._find(trial).completed(value))

    def tell_failure(self, trial: Trial | Mapping[str, Any], reason: str | BaseException) -> Trial:
        """Records that an evaluation failed; later proposals keep away from such places.

        Args:
            trial: what `ask` returned, or its configuration.
            reason: why, for people, as a text or the exception: it is shown in reports, where alike
                reasons are counted.
        """
        return self._end(self._find(trial).failed(reason))

    def _find(self, trial: Trial | Mapping[str, Any]) -> Trial:
        if isinstance(trial, Trial):
            pending = self._pending.get(trial.number)
            if pending is not None and pending.config == trial.config:
                return pending
            past = {past.number: past for past in self.history.trials}
            ours = pending or past.get(trial.number)
            if ours is None:
                why = "it was not asked for here"
            elif ours.config != trial.config:
                why = (
                    f"trial {trial.number} of this optimizer has the configuration {ours.config}; "
                    "this one comes from another optimizer, or its configuration was changed"
                )
            else:
                why = "it has been told already"
            raise ValueError(f"trial {trial.number} with {trial.config} is not pending: {why}")
        config = self.space.validate(trial)
        same = (pending for pending in self.pending if pending.config == config)
        return next(same, Trial(self._next_number, config, info={"why": "added by the user"}))

    def _end(self, trial: Trial) -> Trial:
        trial = replace(trial, ended=now())
        self.history = self.history.with_trial(trial)
        self._pending.pop(trial.number, None)
        return trial

    def __repr__(self) -> str:
        history, best = self.history, self.best
        found = "" if best is None else f", best {best.value:g} (trial {best.number})"
        return (
            f"<Optimizer of {len(self.space)} parameters, strategy {self.strategy.name!r}, "
            f"{history.direction}: {len(history.complete)} complete, {len(history.failed)} failed "
            f"and {len(self._pending)} pending trials{found}>"
        )

    def _repr_html_(self) -> str:
        title = f"Optimizer, strategy {self.strategy.name!r}: {self.history.summary}"
        pending = (
            [f"Pending: {counted_text(len(self._pending), 'trial')}."] if self._pending else []
        )
        return history_html(self.history, title, *pending)

    @property
    def best(self) -> Trial | None:
        """The complete trial with the best value; None before there is one."""
        return self.history.best

    def model(self) -> Model:
        """What the trials so far say about the objective; ModelError while they are too few."""
        return model_of(self.history, self.strategy)

    def report(self, path: str | os.PathLike[str] = "report.html") -> Path:
        """Writes one HTML file with the answer, pictures and all trials; returns where it is.

        Args:
            path: the file to write; one that is there is replaced.
        """
        from bosquet.report.page import write_report  # loads rich and plotly

        return write_report(self, path)


def _difference(theirs: Space, ours: Space) -> str:
    """The first thing that tells the space of a history from the one given, in words."""
    for name, parameter in theirs.items():
        if name not in ours.keys():  # noqa: SIM118 - as a space also knows short names
            return f"it has a parameter {name!r}, which this one has not"
        there, here = parameter.describe(), ours[name].describe()
        if there != here:  # choices that differ below their options are named by what is there
            return f"there {name!r} is {there}, here {here}"
    for name in ours:
        if name not in theirs.keys():  # noqa: SIM118
            return f"it has no parameter {name!r}, which this one has"
    if theirs.parameters != ours.parameters:
        return "its parameters come in another order, or belong to other branches"
    return "its constraints are others (of functions, only the same ones are equal)"


def positive_integer(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name}={value!r} must be a positive integer")
    return int(value)


def checked_seed(seed: int) -> int:
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ValueError(f"seed={seed!r} must be a non-negative integer or None")
    return int(seed)


def _validated(space: Space, configs: Iterable[Mapping[str, Any]], what: str) -> list[Config]:
    valid = []
    if isinstance(configs, Mapping) or not isinstance(configs, Iterable):
        raise ConfigError(f"{what} must be a list of configurations, not {configs!r}")
    for position, config in enumerate(configs):
        try:
            valid.append(space.validate(config))
        except ConfigError as error:
            raise ConfigError(f"{what}[{position}]: {error}") from None
    return valid


def _distinct(space: Space, candidates: Iterable[Mapping[str, Any]]) -> Candidates:
    by_key = {key_of(c): c for c in _validated(space, candidates, "candidates")}
    if not by_key:
        raise ConfigError("candidates is empty: give at least one configuration, or None")
    return Candidates(space, by_key.values())
