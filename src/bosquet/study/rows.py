"""The one translation between bosquet's trials and the rows (trials) of an Optuna study.

A bosquet trial is one row, or several when the process that evaluated it was lost:

==============================  ==========================================================
Optuna                          bosquet
==============================  ==========================================================
params, distributions           ``config`` under qualified names
value, state                    ``value``, ``state`` (a pending trial is RUNNING)
user attribute bosquet:number   ``number``: the logical index that decides a proposal
... bosquet:round               how often this number has been queued again
... bosquet:info                ``info``
... bosquet:memory              ``memory``
... bosquet:noise_variance      ``noise_variance``
... bosquet:reason              ``reason``, or why the row does not count
... bosquet:owner               who evaluates it (`Owner`)
... bosquet:lost                "died" or "interrupted": this row brought nothing
... bosquet:started             ``started``, in UTC; rows of older versions have Optuna's times
... bosquet:ended               ``ended``
==============================  ==========================================================

Optuna creates a row with all its contents in one transaction and numbers rows in that order. So
of several rows with the same number and round the lowest is the one that counts, and every process
sees it so. Attributes are written before the state: a row that has ended is whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from bosquet.data import Evaluation, Trial, stored_info, time_text
from bosquet.errors import StorageError
from bosquet.space import Space
from bosquet.study.owner import Owner

PREFIX = "bosquet:"
_MOST_DEATHS = 2  # a trial whose process died this often has failed


@dataclass(frozen=True)
class Row:
    """An Optuna trial as bosquet reads it."""

    id: int
    trial: Trial
    round: int
    owner: Owner
    lost: str | None

    @property
    def dead(self) -> bool:
        """Whether it is still running according to the storage, but its process is gone."""
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


def to_attributes(trial: Trial, round_: int, owner: Owner) -> dict[str, Any]:
    """The user attributes of the row of a trial that begins."""
    attributes = {
        "number": trial.number,
        "round": round_,
        "info": trial.info,
        "memory": trial.memory,
        "owner": owner.to_dict(),
        "started": time_text(trial.started),
    }
    return {PREFIX + key: value for key, value in attributes.items()}


def to_row(space: Space, frozen: Any, where: str) -> Row:
    """The row of an Optuna trial; StorageError where it is not one of bosquet's."""
    attributes = {
        key.removeprefix(PREFIX): value
        for key, value in frozen.user_attrs.items()
        if key.startswith(PREFIX)
    }
    try:
        trial = _to_trial(space, frozen, attributes)
        owner = Owner.from_dict(attributes["owner"])
        # A process taken for dead may bring its value after it was marked as lost: it counts.
        lost = attributes.get("lost") if trial.state == "failed" else None
        return Row(frozen._trial_id, trial, int(attributes["round"]), owner, lost)
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
    finished = frozen.state.is_finished()
    for name in ("info", "memory"):
        if not isinstance(attributes.get(name, {}), dict):
            raise TypeError(f"its attribute {name!r} is {attributes[name]!r} instead of a dict")
    info, memory = stored_info(attributes["info"], attributes.get("memory"))
    trial = Trial(
        attributes["number"],
        config,
        info=info,
        memory=memory,
        started=attributes.get("started", frozen.datetime_start),
        ended=attributes.get("ended", frozen.datetime_complete) if finished else None,
    )
    if not finished:
        return trial
    if frozen.state.name == "COMPLETE":
        return trial.completed(Evaluation(frozen.value, attributes.get("noise_variance")))
    return trial.failed(attributes.get("reason") or f"state {frozen.state.name} without a reason")


def by_number(rows: Iterable[Row]) -> tuple[dict[int, list[Row]], list[Row]]:
    """The rows that count, by trial number, one a round; and those that came too late."""
    rounds: dict[int, list[Row]] = {}
    late: list[Row] = []
    for row in rows:
        counted = rounds.setdefault(row.trial.number, [])
        (counted if row.round == len(counted) else late).append(row)
    return {number: rounds[number] for number in sorted(rounds) if rounds[number]}, late


def snapshot(rounds: Iterable[list[Row]]) -> Snapshot:
    """What the rows of each number say about its trial."""
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
            pending = replace(last.trial, state="pending", reason=None, started=None, ended=None)
            lost.append((pending, last.round + 1))
    return Snapshot(tuple(ended), tuple(running), tuple(lost))
