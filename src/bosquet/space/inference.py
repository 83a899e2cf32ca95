"""The conditional structure of a define-by-run objective, from the trials it has run.

A trial tells which parameters it asked for, in which order, and with which values. A name that
every trial has belongs to the root. For any other name, the choice that tells most about whether
it is there becomes its parent, and the same is done among the trials of each option; where a choice
that is itself there sometimes tells more, the name goes below what that one is below. Only trials
that ran to their end say that a name is *not* there.

An integer of few values may decide too (``n_layers`` and ``units_2``): it becomes an ordered
choice. A name whose presence nothing explains counts as always there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bosquet.errors import SpaceError
from bosquet.space.parameter import Choice, Float, Int, Option, Parameter, shared_branches
from bosquet.space.space import Space

_MOST_OPTIONS = 16  # of an integer that may decide what else exists


@dataclass(frozen=True)
class Asked:
    """What one trial asked for."""

    values: Mapping[str, Any]
    """By name, in the order of asking."""
    parameters: Mapping[str, Parameter]
    """What each value was chosen from; choices without branches."""
    whole: bool
    """Whether the trial ran to its end, so that it would have asked for nothing else."""


def infer_space(trials: Sequence[Asked]) -> Space | None:
    """The smallest space that explains what the trials asked for; None if they asked nothing."""
    names = dict.fromkeys(name for trial in trials for name in trial.values)
    return Space(_subspace(trials, names)) if names else None


def _subspace(trials: Sequence[Asked], names: Iterable[str]) -> dict[str, Parameter]:
    """The parameters, with all below them, of trials that agree on every choice above."""
    asked = [name for name in names if any(name in trial.values for trial in trials)]
    sometimes = [name for name in asked if any(_without(name, trial) for trial in trials)]
    found = {name: _hull(name, trials) for name in asked if name not in sometimes}
    deciders = {name: as_choice for name, p in found.items() if (as_choice := _as_choice(p))}
    below: dict[str, list[str]] = {}
    parents: dict[str, str] = {}  # of choices that are themselves there sometimes
    for name in sometimes:
        hull = _hull(name, trials)
        parent = _parent(name, trials, deciders, parents)
        if parent is None:
            found[name] = hull
            continue
        below.setdefault(parent, []).append(name)
        if _as_choice(hull):
            parents[name] = parent
    for parent, children in below.items():
        found[parent] = _branching(deciders[parent], parent, children, trials)
    return found


def _without(name: str, trial: Asked) -> bool:
    return trial.whole and name not in trial.values


def _as_choice(parameter: Parameter) -> Choice | None:
    """The parameter as one that can decide what else exists, if it can."""
    if isinstance(parameter, Choice):
        return parameter
    if isinstance(parameter, Int) and parameter.n_values <= _MOST_OPTIONS:
        return Choice(list(parameter.values()), ordered=True)
    return None


def _parent(
    name: str, trials: Sequence[Asked], deciders: Iterable[str], parents: Mapping[str, str]
) -> str | None:
    """The choice whose value tells most about whether a name is there, of several the last.

    Where a choice further down tells more than all of these, the name goes where that choice is.
    """
    best, least = _telling_most(name, trials, deciders)
    having = [trial.values for trial in trials if name in trial.values]
    within = [decider for decider in parents if all(decider in values for values in having)]
    further, doubt = _telling_most(name, trials, within)
    return best if further is None or doubt >= least else parents[further]


def _telling_most(
    name: str, trials: Sequence[Asked], deciders: Iterable[str]
) -> tuple[str | None, tuple[float, float]]:
    best, least = None, (math.inf, math.inf)
    for decider in deciders:
        doubt = _doubt(name, decider, trials)
        if doubt is not None and doubt <= least:
            best, least = decider, doubt
    return best, least


def _doubt(name: str, decider: str, trials: Sequence[Asked]) -> tuple[float, float] | None:
    """Bits missing to know where a name is, given a choice asked before it.

    Beside them those of all trials, which count between choices that explain whole trials alike: a
    trial that was cut short proves nothing, but if it lacks the name it may have had no use for it.
    None when the choice cannot decide: it comes later, or the name occurs under every option.
    """
    there: dict[Option, int] = {}
    absent: dict[Option, int] = {}
    lacking: dict[Option, int] = {}
    for trial in trials:
        if decider not in trial.values:
            continue
        option = trial.values[decider]
        if name in trial.values:
            order = list(trial.values)
            if order.index(decider) > order.index(name):
                return None
            there[option] = there.get(option, 0) + 1
        else:
            lacking[option] = lacking.get(option, 0) + 1
            absent[option] = absent.get(option, 0) + trial.whole
    if not there or not any(n for option, n in absent.items() if option not in there):
        return None
    return _bits(there, absent), _bits(there, lacking)


def _bits(there: Mapping[Option, int], absent: Mapping[Option, int]) -> float:
    return sum(_entropy(n, absent.get(option, 0)) for option, n in there.items())


def _entropy(n: int, m: int) -> float:
    return sum(k * math.log2((n + m) / k) for k in (n, m) if k)


def _branching(
    choice: Choice, name: str, children: Sequence[str], trials: Sequence[Asked]
) -> Choice:
    """The choice with what exists under its options; equal parameters of a name are shared."""
    subspaces = {
        option: _subspace([t for t in trials if t.values.get(name, _NOTHING) == option], children)
        for option in choice.options
    }
    return Choice(shared_branches(subspaces), ordered=choice.ordered)


_NOTHING = object()  # equal to no option


def _hull(name: str, trials: Sequence[Asked]) -> Parameter:
    """The smallest parameter that has all values a name was chosen from."""
    seen = list(dict.fromkeys(t.parameters[name] for t in trials if name in t.values))
    hull = seen[0]
    for other in seen[1:]:
        hull = _join(name, hull, other)
    return hull


def _join(name: str, one: Parameter, other: Parameter) -> Parameter:
    if isinstance(one, Choice) and isinstance(other, Choice):
        return Choice(list(dict.fromkeys([*one.options, *other.options])))
    if isinstance(one, Choice) or isinstance(other, Choice) or type(one) is not type(other):
        raise SpaceError(f"{name!r} was asked for as {one.describe()} and as {other.describe()}")
    kind = type(one)
    low, high = min(one.low, other.low), max(one.high, other.high)
    log = one.log and other.log
    if one.step == other.step:
        try:
            return kind(low, high, log=log, step=one.step)  # type: ignore[arg-type]
        except SpaceError:  # grids that do not fit into one
            pass
    return Float(low, high, log=log) if kind is Float else Int(int(low), int(high), log=log)
