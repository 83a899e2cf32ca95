"""Choosing a configuration: of the rows that a search has scored, the best one that can be tried.

A row can be tried when its configuration is *free* (neither evaluated nor pending, unless results
are noisy), violates no constraint, and is not next to a pending trial or where trials keep failing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple

import numpy as np
import scipy

from bosquet.arrays import Array
from bosquet.data import Dataset, History, Key, key_of
from bosquet.models.feasibility import Feasibility
from bosquet.models.good_places import GoodPlaces
from bosquet.search.region import Region
from bosquet.search.tree_path import Scored
from bosquet.space import Config
from bosquet.strategies.base import Task
from bosquet.strategies.candidates import Candidates
from bosquet.strategies.fitting import Fitted, P

_APART = 0.04  # in unit coordinates: the largest distance kept from a trial
_GOOD = 8  # evaluated rows worth perturbing

Found = tuple[Config, float]
"""A configuration and its acquisition value."""


@dataclass(frozen=True)
class Ask(Generic[P]):
    """What the choice of one configuration is based on."""

    task: Task
    fitted: Fitted[P]
    best: float
    """The lowest level known or believed of a trial."""
    good: Array
    """Evaluated rows worth perturbing, the best one first."""
    taken: Collection[Key]
    rng: np.random.Generator

    @classmethod
    def given(
        cls,
        task: Task,
        fitted: Fitted[P],
        data: Dataset,
        taken: Collection[Key],
        rng: np.random.Generator,
        *,
        observed: bool = False,
    ) -> Ask[P]:
        """Given a fit to the data; ``observed`` as `incumbent` has it."""
        best, level = incumbent(fitted, data.X, observed=observed)
        good = data.X[np.argsort(level, kind="stable")[:_GOOD]]
        return Ask(task, fitted, best, good, taken, rng)

    def after(self, config: Config) -> Ask[P]:
        """The next choice, with a configuration pending: what is believed there is not gained."""
        x = self.task.space.to_unit([config])
        best = min(self.best, self.fitted.believed(x))
        return replace(self, best=best, fitted=self.fitted.with_pending(x))

    @property
    def taken_rows(self) -> Array:
        """Unit rows of the trials that have ended or are pending; none once results are noisy."""
        if self.task.history.noisy:
            return self.fitted.pending[:0]
        return np.vstack([self.task.history.units, self.fitted.pending])

    def free(self, scored: Sequence[Scored]) -> Found | None:
        """The best row that can be tried; one that is not kept clear, if there is any."""
        task, allowed = self.task, self.task.candidates
        if allowed is not None:
            return first_free(task, scored, self.taken, allowed.of_row)
        clear = kept_clear(task.history, self.fitted.pending)
        return first_free(task, scored, self.taken, clear=clear) or first_free(
            task, scored, self.taken
        )


class Cubes(NamedTuple):
    """In which nothing else is tried, in unit coordinates."""

    centres: Array
    halves: Array
    """Half of each one's width."""

    def contain(self, x: Array) -> bool:
        return bool(np.any(np.abs(self.centres - x).max(axis=1, initial=0.0) < self.halves))


def first_free(
    task: Task,
    scored: Sequence[Scored],
    taken: Collection[Key],
    decode: Callable[[Array], Config] | None = None,
    clear: Cubes | None = None,
) -> Found | None:
    """The best row whose configuration is free and feasible, and not in what is kept clear."""
    decode = task.space.from_unit if decode is None else decode
    best: Found | None = None
    for one in scored:
        for x, value in zip(one.X, one.values, strict=True):
            if best is not None and value <= best[1]:
                break
            if clear is not None and clear.contain(x):
                continue
            config = decode(x)
            if key_of(config) not in taken and task.space.violation(config) is None:
                best = config, float(value)
                break
    return best


def kept_clear(history: History, pending: Array) -> Cubes:
    """Around pending trials, and around failures that have another one beside them.

    Where two neighbours have failed a third tells nothing new, however much seems to be gained
    there. A cube is smaller where trials have ended nearby, of failures: where one has succeeded.
    So a run that closes in on a minimum can go on though one of its last steps is still pending,
    and so can one that closes in on the edge of what works.
    """
    failed = history.units[[trial.state == "failed" for trial in history.trials]]
    worked = history.units[[trial.state != "failed" for trial in history.trials]]
    between = _distances(failed, failed)
    np.fill_diagonal(between, np.inf)
    repeated = failed[between.min(axis=1, initial=np.inf) < 2 * _APART]
    halves = [_halves(pending, history.units), _halves(repeated, worked)]
    return Cubes(np.vstack([pending, repeated]), np.concatenate(halves))


def _halves(centres: Array, ended: Array) -> Array:
    """Half the distance of the nearest trial that has ended, at most the largest one kept."""
    gaps = _distances(centres, ended).min(axis=1, initial=np.inf)
    return np.asarray(np.minimum(_APART, gaps / 2))


def _distances(rows: Array, others: Array) -> Array:
    """By the coordinate in which they differ most."""
    return np.asarray(scipy.spatial.distance.cdist(rows, others, "chebyshev"))


def best_candidate(
    task: Task,
    allowed: Candidates,
    taken: Collection[Key],
    score: Callable[[Array], Scored],
    region: Region | None = None,
) -> Found | None:
    """The free candidate (in a region) with the highest score."""
    X = allowed.units[allowed.free(taken)]
    if region is not None:
        X = X[region.contains(X)]
    return first_free(task, [score(X)], taken, allowed.of_row) if len(X) else None


def incumbent(fitted: Fitted[P], X: Array, *, observed: bool = False) -> tuple[float, Array]:
    """The lowest level, what is believed of pending trials included; and the level of each row.

    That is the posterior mean. Where the model explains a trial, the mean is its value. Where it
    takes a function for noisy, because it is noisy or rough, a lucky value is not the one to beat:
    nothing would seem left to gain but where nothing is known. With ``observed`` it is the value.
    """
    level = fitted.z if observed else fitted.means(X)
    best = float(level.min())
    if len(fitted.pending):
        best = min(best, fitted.believed(fitted.pending))
    return best, level


def feasibility_of(task: Task) -> Feasibility | None:
    """Where a search is to expect failures; None while there are none."""
    return failures_of(task.history, task.resting)


def failures_of(history: History, resting: frozenset[int] = frozenset()) -> Feasibility | None:
    """The model of where trials fail; None while none has."""
    if not history.failed:
        return None
    failed = np.array([trial.state == "failed" for trial in history.trials])
    return Feasibility(history.space, history.units, failed, resting)


def places_of(task: Task) -> GoodPlaces:
    """Where good trials lie."""
    data = task.history.dataset()
    return GoodPlaces(task.space, data.X, data.y, len(task.history))
