"""Whether the model is to be trusted: every trial predicted from all others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bosquet.explain import LeftOut, Model
from bosquet.plots.source import model_for
from bosquet.plots.theme import BLUE, FAINT, GREY, RED, faded, figure, percent, spread_of

_LEVEL = 0.9
_BEYOND = 1.0  # of the range of points: how far intervals are drawn beyond it
_GOOD, _FAIR = 0.8, 0.4  # shares of the variance that leave-one-out predictions explain


def predictions(source: Any) -> Any:
    """Predicted against observed values by leave-one-out, with 90 % intervals.

    Args:
        source: a `Result`, a `History`, a `Study`, an `Optimizer`, a `Model`, or the name of a
            storage.
    """
    left_out = model_for(source).leave_one_out(_LEVEL)
    observed = np.array([one.trial.value for one in left_out], dtype=float)
    inside = np.array([one.low <= y <= one.high for one, y in zip(left_out, observed, strict=True)])
    explained = explained_by(left_out)
    word = "well" if explained >= _GOOD else "roughly" if explained >= _FAIR else "poorly"
    told = f"the model explains {percent(explained)} of the variance of trials it has not seen"
    if explained <= 0.0:
        told = "the average of all trials would predict as well"
    made = figure(
        f"The model predicts {word}",
        f"{told}; {int(inside.sum())} of {len(inside)} lie in their 90 % intervals",
        height=480,
    )
    ends = [float(observed.min()), float(observed.max())]
    made.add_scatter(
        x=ends,
        y=ends,
        mode="lines",
        line={"color": GREY, "dash": "dot"},
        name="as observed",
        hoverinfo="skip",
    )
    for some, name, colour in ((inside, "inside its interval", BLUE), (~inside, "outside", RED)):
        at = np.flatnonzero(some)
        if len(at):
            _add_points(made, [left_out[i] for i in at], name, colour)
    made.update_xaxes(title="observed")
    made.update_yaxes(title="predicted from all other trials", range=_height(left_out))
    return made


def _height(left_out: Sequence[LeftOut]) -> list[float] | None:
    """The ends of the axis where some intervals are so wide that they would hide all else."""
    points = [y for one in left_out for y in (one.trial.value, one.mean) if y is not None]
    low, high = min(points), max(points)
    margin = _BEYOND * (high - low)
    lowest, highest = min(one.low for one in left_out), max(one.high for one in left_out)
    if lowest >= low - margin and highest <= high + margin:
        return None
    return [max(lowest, low - margin), min(highest, high + margin)]


def predicts_poorly(model: Model) -> bool:
    """Whether it is said so in `predictions`."""
    return explained_by(model.leave_one_out(_LEVEL)) < _FAIR


def explained_by(left_out: Sequence[LeftOut]) -> float:
    """The share of the variance of trials that a model explains which has not seen them."""
    observed = np.array([one.trial.value for one in left_out], dtype=float)
    mean = np.array([one.mean for one in left_out])
    return 1.0 - float(np.mean(((observed - mean) / spread_of(observed.tolist())) ** 2))


def _add_points(made: Any, some: list[LeftOut], name: str, colour: str) -> None:
    made.add_scatter(
        x=[one.trial.value for one in some],
        y=[one.mean for one in some],
        mode="markers",
        name=name,
        marker={"color": colour, "size": 7},
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [max(one.high - one.mean, 0.0) for one in some],
            "arrayminus": [max(one.mean - one.low, 0.0) for one in some],
            "color": faded(colour, 0.5),
            "thickness": 1,
            "width": 0,
        },
        text=[f"trial {one.trial.number}" for one in some],
        hovertemplate="%{text}: observed %{x:.4g}, predicted %{y:.4g}<extra></extra>",
    )


def calibration(source: Any) -> Any:
    """How many trials lie in intervals of every level, predicted from all others.

    Args:
        source: a `Result`, a `History`, a `Study`, an `Optimizer`, a `Model`, or the name of a
            storage.
    """
    levels = np.array([one.level for one in model_for(source).leave_one_out(_LEVEL)])
    wanted = np.linspace(0.0, 1.0, 51)
    needed = 2.0 * np.abs(levels - 0.5)  # the smallest central interval that has the trial in it
    found = np.array([(needed <= level).mean() for level in wanted])
    # The largest distance of n honest levels from the diagonal (Kolmogorov): below it with 90 %.
    away = 1.22 / np.sqrt(len(levels))
    largest = found[np.argmax(np.abs(found - wanted))] - wanted[np.argmax(np.abs(found - wanted))]
    title = "The intervals of the model are as wide as they should be"
    if largest < -away:
        title = "The intervals of the model are too narrow"
    elif largest > away:
        title = "The intervals of the model are wider than they need to be"
    at90 = float((needed <= _LEVEL).mean())
    told = f"90 % intervals hold {percent(at90)} of {len(levels)} trials, predicted from the others"
    made = figure(title, told, height=480)
    band = {"x": [*wanted, *wanted[::-1]], "mode": "lines", "line": {"width": 0}, "fill": "toself"}
    up, down = np.minimum(wanted + away, 1.0), np.maximum(wanted - away, 0.0)
    made.add_scatter(
        **band,
        y=[*up, *down[::-1]],
        fillcolor=FAINT,
        name="by chance (90 %)",
        hoverinfo="skip",
    )
    line = {"color": GREY, "dash": "dot"}
    made.add_scatter(x=[0, 1], y=[0, 1], mode="lines", line=line, name="perfect", hoverinfo="skip")
    made.add_scatter(
        x=wanted, y=found, mode="lines", line={"color": BLUE, "width": 2}, name="this model"
    )
    made.update_xaxes(title="level of the interval", tickformat=".0%", range=[0, 1])
    made.update_yaxes(title="trials inside", tickformat=".0%", range=[0, 1])
    return made
