"""What to do next with a study, in two sentences from its model."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from bosquet.data import History, Trial
from bosquet.errors import ModelError
from bosquet.explain import BranchBest, Model
from bosquet.explain.fit import LEAST
from bosquet.plots.theme import spread_of
from bosquet.plots.trust import predicts_poorly
from bosquet.space import Choice
from bosquet.space.parameter import Parameter
from bosquet.text import listed

_HOPE = 0.05  # the chance of a new best from which on a branch is worth more trials
_ROOM = 0.25  # from which on something better is said to be left, though hard to find
_SAFE = 0.9  # the probability of success below which failures are spoken of
_HOPELESS = 0.01  # less than one sample function in which there is something better
_EDGE = 0.01  # of the range of a parameter, as its unit coordinate counts it
_INWARD = 0.1  # of the range: how far from a bound a parameter is moved to see whether it matters
_NOTICED = 0.01  # of the spread of values: what that must cost at least
_SEVERAL = 3  # failures of a branch without any success that are worth a word
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
    at_bound = at_bounds(history, best)
    n = len(history.complete)
    if n >= LEAST and all(trial.value == best.value for trial in history.complete):
        return (
            f"All {n} values are the same. See whether the objective depends on its parameters, "
            "and whether it returns what it should, before more trials are worth their time."
        )
    if model is None:
        return _more_text(reason, _bounds_text(at_bound))
    try:
        branches = model.best_predicted()
    except ModelError as error:
        return _more_text(str(error), _bounds_text(at_bound))
    bounds = _bounds_text(that_matter(history, model, best, at_bound)) or _idle_text(at_bound)
    parts = (bounds, _dropped_text(history, branches), failing_text(history))
    second = "; and ".join(part for part in parts if part) or _NO_BOUNDS
    hope = _hope_text(branches, _range_of(history), model)
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


def _hope_text(branches: list[BranchBest], most_seen: float, model: Model) -> str:
    """Which branch is worth more trials, and what they may gain.

    An average gain beyond all differences seen so far says only that the model is unsure there. Who
    is told to stop is told, too, if the model that says so predicts poorly.
    """
    several = len(branches) > 1
    most = max(branches, key=lambda branch: branch.gain, default=None)
    likeliest = max(branches, key=lambda branch: branch.chance, default=None)
    if most is None or likeliest is None:
        return "More trials of this space are hardly worth it: the model sees nothing to try."
    if likeliest.chance < _HOPE:
        where = ", wherever it is" if several else ""
        left = max(branches, key=lambda branch: branch.room)
        rest = ""
        if left.room >= _ROOM:
            rest = f", though it does not rule out something better{_in(left)}"
        doubt = " (which predicts poorly, see below)" if predicts_poorly(model) else ""
        return (
            f"More trials are hardly worth it: the model{doubt} gives the next one a chance below "
            f"{100 * _HOPE:.0f}\u00a0% to be a new best{where}{rest}."
        )
    # The tree below has a larger chance, so it has to be said why this branch is not the one.
    smaller = ""
    if _percent(likeliest.chance) != _percent(most.chance):
        smaller = (
            f"; a new best is likelier{_in(likeliest)} ({_percent(likeliest.chance)}), but would "
            "gain less"
        )
    worth = f"worth most{_in(most)}" if several else "worth it"
    there = " there" if several else ""
    fails = ""
    if most.success < _SAFE:
        fails = f" (trials like it succeed in {_percent(most.success)} of cases)"
    gain = f", and expects it to improve the best value by {most.gain:.2g} on average"
    if most.gain > most_seen:
        gain = ", but is too unsure to say by how much it would be better"
    return (
        f"More trials are {worth}: the model gives the next one{there} a chance of "
        f"{_percent(most.chance)} to be a new best{fails}{gain}{smaller}."
    )


def _in(branch: BranchBest) -> str:
    return f" in {branch.branch}" if branch.branch else ""


def _dropped_text(history: History, branches: list[BranchBest]) -> str:
    """Which branches can be left out of further runs."""
    best = history.best
    own = "" if best is None else history.space.path_label(best.config)
    hopeless = [b.branch for b in branches if b.room < _HOPELESS and b.branch not in ("", own)]
    if not hopeless:
        return ""
    if len(branches) == history.space.n_paths:
        hopeless = shortened(hopeless, [b.branch for b in branches if b.branch not in hopeless])
    where = listed(hopeless, separator="; ", width=160)
    return f"the model sees nothing better in {where}, which can be dropped"


def failing_text(history: History) -> str:
    """Where nothing but failures came of several trials: options, or else whole branches."""
    label_of = history.space.path_label
    seen = history.best_by_path().keys()
    ended = Counter(label_of(trial.config) for trial in history.failed)
    ended.update(label_of(trial.config) for trial in history.complete)
    branches: dict[str, set[str]] = {}  # by option, or by its own label
    for label in ended:
        for place in {label, *label.split(", ")} - {""}:
            branches.setdefault(place, set()).add(label)
    counts = {place: sum(ended[label] for label in those) for place, those in branches.items()}
    failing = [p for p, those in branches.items() if not those & seen]
    named: list[str] = []
    told: set[str] = set()
    for place in sorted(failing, key=lambda place: (-counts[place], len(place), place)):
        if counts[place] >= _SEVERAL and not branches[place] <= told:
            named.append(place)
            told |= branches[place]
    if not named:
        return ""
    where = listed(named, separator="; ", width=160)
    return f"every trial of {where} failed, for the reasons below"


def shortened(hopeless: list[str], others: list[str]) -> list[str]:
    """Labels of branches, with one option instead of all branches that have it."""
    kept = {part for label in others for part in label.split(", ")}
    counts = Counter(part for label in hopeless for part in label.split(", "))
    found: list[str] = []
    left = list(hopeless)
    for part, _ in counts.most_common():
        with_it = [label for label in left if part in label.split(", ")]
        if part not in kept and len(with_it) > 1:
            found.append(part)
            left = [label for label in left if label not in with_it]
    return sorted(found) + left


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


def that_matter(history: History, model: Model, best: Trial, names: list[str]) -> list[str]:
    """Those at a bound from which it costs something to go away, as the model sees it."""
    if not names:
        return []
    space, sign = history.space, 1.0 if history.direction == "minimize" else -1.0
    units = np.asarray(space.to_unit(best.config))
    active = space.activity(units[None, :])[0]
    moved = {}
    for d in space.dimensions:
        if active[d.index] and d.name in names:
            row = units.copy()
            row[d.index] = abs(row[d.index] - max(_INWARD, 1.5 / d.parameter.n_values))
            moved[d.name] = space.from_unit(space.snap(row[None, :]))[0]
    told = [name for name in names if space.violation(moved[name]) is None]
    means = sign * model.predict([best.config, *(moved[name] for name in told)])[0]
    values = [trial.value for trial in history.complete if trial.value is not None]
    cheap = means[1:] - means[0] <= _NOTICED * spread_of(values)
    idle = {name for name, little in zip(told, cheap, strict=True) if little}
    return [name for name in names if name not in idle]


def _at_bound(parameter: Parameter, value: Any, unit: float) -> bool:
    if isinstance(parameter, Choice) or parameter.n_values < _FEW_VALUES:
        return False
    if parameter.is_continuous:
        return bool(min(unit, 1.0 - unit) < _EDGE)
    first, last = parameter.from_unit(np.array([0.0, 1.0]))
    return value in (first, last)


def _idle_text(names: list[str]) -> str:
    """Of parameters at a bound that hardly matter."""
    if not names:
        return ""
    where = "is at a bound of its range" if len(names) == 1 else "are at bounds of their ranges"
    return f"that {listed(names, width=120)} {where} hardly matters"


def _bounds_text(names: list[str]) -> str:
    if not names:
        return ""
    what = "A wider range" if len(names) == 1 else "Wider ranges"
    return (
        f"{what} of {listed(names, width=120)} may hold something better, as the best "
        "configuration is at a bound"
    )
