"""What to do next with a study, in two sentences from its model."""

from __future__ import annotations

from typing import Any

import numpy as np

from bosquet.data import History, Trial
from bosquet.errors import ModelError
from bosquet.explain import BranchBest, Model
from bosquet.space import Choice
from bosquet.space.parameter import Parameter
from bosquet.text import listed

_HOPE = 0.05  # the room for a better configuration from which on a branch is worth more trials
_HOPELESS = 0.01  # less than one sample function in which there is something better
_EDGE = 0.01  # of the range of a parameter, as its unit coordinate counts it
_FEW_VALUES = 5  # of an integer: one with fewer is at a bound by chance


def advice(history: History, model: Model | None, reason: str = "") -> str:
    """Two sentences; ``reason`` says why there is no model."""
    best = history.best
    if best is None:
        return (
            "No trial has returned a value yet. Look at the failures below: they say what to fix "
            "before more trials are worth their time."
            if history.failed
            else "No trial has ended yet. Advice needs some."
        )
    bounds = _bounds_text(at_bounds(history, best))
    if model is None:
        return _more_text(reason, bounds)
    try:
        branches = model.best_predicted()
    except ModelError as error:
        return _more_text(str(error), bounds)
    dropped = _dropped_text(history, branches)
    second = "; and ".join(part for part in (bounds, dropped) if part) or _NO_BOUNDS
    hope = _hope_text(branches, _range_of(history))
    return f"{hope} {second[0].upper()}{second[1:]}."  # no name of a user's first


_NO_BOUNDS = "No parameter of the best configuration is at a bound of its range"


def _more_text(reason: str, bounds: str) -> str:
    """Where no model can tell."""
    more = f"Run more trials: {reason.rstrip('.')}."
    return f"{more} {bounds}." if bounds else more


def _range_of(history: History) -> float:
    """How far the best and the worst trial are apart."""
    values = [trial.value for trial in history.complete if trial.value is not None]
    return max(values) - min(values)


def _hope_text(branches: list[BranchBest], most_seen: float) -> str:
    """Which branch is worth more trials, and what they may gain.

    An average gain beyond all differences seen so far says only that the model is unsure there.
    """
    most = max(branches, key=lambda branch: branch.gain, default=None)
    where = f" in {most.branch}" if most is not None and most.branch else ""
    if most is None or all(branch.room < _HOPE for branch in branches):
        everywhere = " on any branch" if len(branches) > 1 else ""
        return (
            "More trials of this space are hardly worth it: the model sees a chance below "
            f"{100 * _HOPE:.0f}\u00a0% of a better configuration{everywhere}."
        )
    likeliest = max(branches, key=lambda branch: branch.chance)
    smaller = ""
    if likeliest.chance > 2.0 * most.chance:
        smaller = f"; less is likelier to be gained in {likeliest.branch} "
        smaller += f"({_percent(likeliest.chance)})"
    gain = f", and expects it to improve the best value by {most.gain:.2g} on average"
    if most.gain > most_seen:
        gain = ", but is too unsure to say by how much it would be better"
    return (
        f"More trials are worth most{where}: the model gives the next one there a chance of "
        f"{_percent(most.chance)} to be a new best{gain}{smaller}."
    )


def _dropped_text(history: History, branches: list[BranchBest]) -> str:
    """Which branches can be left out of further runs."""
    best = history.best
    own = "" if best is None else history.space.path_label(best.config)
    hopeless = [b.branch for b in branches if b.room < _HOPELESS and b.branch not in ("", own)]
    if not hopeless:
        return ""
    where = listed(hopeless, separator="; ", width=160)
    return f"the model sees nothing better in {where}, which can be dropped"


def _percent(chance: float) -> str:
    if chance < 0.01:
        return "less than 1\u00a0%"
    return f"{100 * chance:.0f}\u00a0%" if chance < 0.99 else "over 99\u00a0%"


def at_bounds(history: History, trial: Trial) -> list[str]:
    """Parameters of a trial, by short name, whose value is at an end of a range."""
    space = history.space
    units = np.asarray(space.to_unit(trial.config))
    active = space.activity(units[None, :])[0]
    return [
        d.name
        for d in space.dimensions
        if active[d.index] and _at_bound(d.parameter, trial.config[d.name], units[d.index])
    ]


def _at_bound(parameter: Parameter, value: Any, unit: float) -> bool:
    if isinstance(parameter, Choice) or parameter.n_values < _FEW_VALUES:
        return False
    if parameter.is_continuous:
        return bool(min(unit, 1.0 - unit) < _EDGE)
    first, last = parameter.from_unit(np.array([0.0, 1.0]))
    return value in (first, last)


def _bounds_text(names: list[str]) -> str:
    if not names:
        return ""
    what = "A wider range" if len(names) == 1 else "Wider ranges"
    return (
        f"{what} of {listed(names, width=120)} may hold something better, as the best "
        "configuration is at a bound"
    )
