"""How a study went: what was found when, and why these points were tried."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, get_args

from bosquet.data import History, Trial
from bosquet.errors import ModelError
from bosquet.plots.axes import log_axis
from bosquet.plots.source import history_of
from bosquet.plots.theme import (
    COLOURS,
    GREY,
    RED,
    figure,
    is_wide,
    number,
    spread_of,
    text,
)
from bosquet.text import counted_text, must_be_one_of

Against = Literal["trials", "time"]
_FEW = 8  # trials
_COLOURED = 5  # branches with a colour of their own


def convergence(source: Any, *, against: Against = "trials") -> Any:
    """The best value so far and every trial's, against trials or wall time; failures marked.

    Args:
        source: a `Result`, a `History`, a `Study`, an `Optimizer`, a `Model`, or the name of a
            storage.
        against: ``"trials"`` or ``"time"``: wall time.
    """
    if against not in get_args(Against):
        raise ValueError(must_be_one_of("against", against, get_args(Against)))
    history = history_of(source)
    when, axis = _times(history) if against == "time" else _numbers(history)
    made = figure(*_found(history))
    complete = [trial for trial in history.complete if trial.number in when]
    _add_trials(made, history, complete, when)
    _add_best(made, history, complete, when)
    _add_failures(made, history, when)
    values = [trial.value for trial in complete if trial.value is not None]
    made.update_xaxes(title=axis)
    if against == "trials" and len(history) <= _FEW:
        made.update_xaxes(dtick=1)  # there is no half a trial
    scale = log_axis(values) if is_wide(values) else {"type": "linear"}
    made.update_layout(yaxis={"title": {"text": "objective"}} | scale)  # not that of failures
    return made


def _numbers(history: History) -> tuple[dict[int, float], str]:
    """Where each trial is on an axis of trials, by number; and the title of the axis."""
    return {trial.number: float(trial.number) for trial in history.trials}, "trial"


def _times(history: History) -> tuple[dict[int, float], str]:
    """The same on an axis of time: when trials ended. Those without a time are left out."""
    ends = {trial.number: trial.ended for trial in history.trials if trial.ended is not None}
    if not ends:
        raise ValueError(
            "against='time': these trials have no times, as known points and those of earlier "
            "versions; use against='trials'"
        )
    starts = [trial.started for trial in history.trials if trial.started is not None]
    first = min([*starts, *ends.values()])
    seconds = {number: (end - first).total_seconds() for number, end in ends.items()}
    unit, name = _clock(max(seconds.values()))
    return {n: s / unit for n, s in seconds.items()}, f"{name} since the first trial"


def _clock(longest: float) -> tuple[float, str]:
    """The unit that suits so many seconds: in seconds, and in words."""
    for unit, name in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if longest >= 3 * unit:
            return unit, name
    return 1.0, "seconds"


def _found(history: History) -> tuple[str, str]:
    """Title and subtitle."""
    n, failed = len(history), len(history.failed)
    best = history.best
    counted = counted_text(n, "trial") + (f", {failed} failed" if failed else "")
    if best is None:
        return "No trial has returned a value", counted
    values = [trial.value for trial in history.complete if trial.value is not None]
    value = best.value or 0.0
    shown = max(number(value, spread_of(values)), f"{value:.4g}", key=len)
    after = sum(trial.number > best.number for trial in history.trials)
    title = f"Best {shown}, in trial {best.number}"
    if n == 1:
        return title, counted
    since = "the last one is the best"
    if after:
        since = f"{counted_text(after, 'trial')} since brought nothing better"
    return title, f"{counted}; {since}"


def _branches(history: History) -> tuple[str, ...]:
    """The labels of the branches that have a colour of their own, the best first."""
    labels = tuple(history.best_by_path())
    return labels[:_COLOURED] if len(labels) > 1 else labels


def _add_trials(
    made: Any, history: History, complete: Sequence[Trial], when: dict[int, float]
) -> None:
    coloured = _branches(history)
    by_label: dict[str, list[Trial]] = {label: [] for label in (*coloured, "other branches")}
    for trial in complete:
        label = history.space.path_label(trial.config)
        by_label[label if label in coloured else "other branches"].append(trial)
    for i, (label, trials) in enumerate(by_label.items()):
        if trials:
            made.add_scatter(
                x=[when[trial.number] for trial in trials],
                y=[trial.value for trial in trials],
                mode="markers",
                name=text(label or "trials"),
                marker={
                    "color": COLOURS[i] if label in coloured else GREY,
                    "size": 7,
                    "opacity": 0.8,
                },
                text=[_hover(trial) for trial in trials],
                hovertemplate="%{text}<extra></extra>",
            )


def _add_best(
    made: Any, history: History, complete: Sequence[Trial], when: dict[int, float]
) -> None:
    x, y, lowest = [], [], math.inf
    for trial in sorted(complete, key=lambda trial: when[trial.number]):
        if history.loss(trial) < lowest:
            lowest = history.loss(trial)
            x.append(when[trial.number])
            y.append(trial.value)
    if x:
        x.append(max(when.values()))
        y.append(y[-1])
        line = {"shape": "hv", "color": GREY, "width": 2}
        made.add_scatter(x=x, y=y, mode="lines", name="best so far", line=line, hoverinfo="skip")


def _add_failures(made: Any, history: History, when: dict[int, float]) -> None:
    """As crosses at the lower edge, whatever the values are."""
    failed = [trial for trial in history.failed if trial.number in when]
    if failed:
        made.add_scatter(
            x=[when[trial.number] for trial in failed],
            y=[0.015] * len(failed),
            yaxis="y2",
            mode="markers",
            name="failed",
            marker={"symbol": "x", "color": RED, "size": 8},
            text=[_hover(trial) for trial in failed],
            hovertemplate="%{text}<extra></extra>",
        )
        hidden = {"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True}
        made.update_layout(yaxis2=hidden)


def _hover(trial: Trial) -> str:
    """What is shown of a trial under the pointer."""
    result = f"failed: {trial.reason}" if trial.state == "failed" else f"{trial.value:.6g}"
    lines = [f"trial {trial.number}: {text(result)}"]
    for name, value in list(trial.config.items())[:12]:
        shown = f"{value:.4g}" if isinstance(value, float) else value
        lines.append(text(f"{name} = {shown}"))
    return "<br>".join(lines)


# -- why these points ------------------------------------------------------------------------


def acquisition(source: Any) -> Any:
    """The acquisition value of the branches at each trial, and the branch that was chosen.

    Args:
        source: a `Result`, a `History`, a `Study`, an `Optimizer`, a `Model`, or the name of a
            storage.
    """
    history = history_of(source)
    told = {trial.number: _values(trial) for trial in history.trials}
    told = {number: values for number, values in told.items() if values}
    if not told:
        raise ModelError(
            "no trial of this study tells its acquisition values: there are none before the model "
            "of a strategy chooses, and strategies such as 'random' have none"
        )
    chosen = {trial.number: str(trial.info.get("path", "")) for trial in history.trials}
    often = Counter(chosen[n] for n in told)
    labels = Counter(label for values in told.values() for label in values)
    ranked = sorted(labels, key=lambda label: (-often[label], -labels[label]))
    most, times = often.most_common(1)[0]
    title = f"{text(most or 'The only branch')} was chosen in {times} of {len(told)} trials"
    made = figure(
        title, "acquisition value of each branch when a trial was chosen; rings: the choice"
    )
    for i, label in enumerate(ranked[: len(COLOURS)]):
        _add_branch(made, label, COLOURS[i], told, chosen)
    made.update_xaxes(title="trial")
    logarithms = any(value < 0.0 for values in told.values() for value in values.values())
    made.update_yaxes(title="log expected improvement" if logarithms else "acquisition value")
    return made


def _values(trial: Trial) -> dict[str, float]:
    """Acquisition values by branch; that of the trial alone where no others are told."""
    paths = trial.info.get("paths") or trial.info.get("path_ei") or {}
    values = {str(k): float(v) for k, v in paths.items() if isinstance(v, int | float)}
    own = trial.info.get("acquisition")
    if not values and isinstance(own, int | float):
        values = {str(trial.info.get("path", "")): float(own)}
    return values


def _add_branch(
    made: Any, label: str, colour: str, told: dict[int, dict[str, float]], chosen: dict[int, str]
) -> None:
    at = [n for n, values in told.items() if label in values]
    picked = [n for n in at if chosen[n] == label]
    name = text(label or "all")
    made.add_scatter(
        x=at,
        y=[told[n][label] for n in at],
        mode="lines+markers",
        name=name,
        line={"color": colour, "width": 1},
        marker={"color": colour, "size": 4},
        legendgroup=label,
    )
    made.add_scatter(
        x=picked,
        y=[told[n][label] for n in picked],
        mode="markers",
        marker={"color": colour, "size": 10, "symbol": "circle-open", "line": {"width": 2}},
        legendgroup=label,
        showlegend=False,
        name=f"{name}: chosen",
    )
