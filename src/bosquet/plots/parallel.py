"""The trials of one branch side by side: an axis for every parameter, a line for every trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bosquet.arrays import Array
from bosquet.data import History, Trial
from bosquet.errors import ModelError
from bosquet.plots.axes import bounds, position, ticks
from bosquet.plots.source import history_of
from bosquet.plots.theme import FAINT, GREY, figure, number, shade, spread_of, text
from bosquet.space.tree import Dimension
from bosquet.text import counted_text, did_you_mean

_CLASSES = 5  # of values, with a colour each
_LETTERS = 110  # of all names, beyond which they lean
_LONG_NAME = 20  # characters of a leaning one
_MOST = 14  # axes; parameters beyond them are left out


def parallel(source: Any, branch: str | None = None) -> Any:
    """The trials of one branch (by default that of the best trial), blue where they are good.

    Args:
        source: a `Result`, a `History`, a `Study`, an `Optimizer`, a `Model`, or the name of a
            storage.
        branch: the label of a branch; None is that of the best trial.
    """
    history = history_of(source)
    label = _label(history, branch)
    space = history.space
    trials = [t for t in history.complete if space.path_label(t.config) == label]
    active = space.tree.variables_of(space.path(trials[0].config))
    there = [d for d in active if d.parameter.n_values > 1]
    values = np.array([t.value for t in trials], dtype=float)
    best = number(float(_best(history, trials).value or 0.0), spread_of(values.tolist()))
    more = f"; {len(there) - _MOST} more parameters are not shown" if len(there) > _MOST else ""
    found = counted_text(len(trials), "trial")
    title = f"{text(label or 'All trials')}: {found}, the best {best}"
    made = figure(title, f"a line is a trial; blue ones are the best{more}", height=400)
    made.update_layout(margin={"b": 16})
    axes = there[:_MOST]
    _add_lines(made, history, axes, trials, values)
    ends = [float(values.min()), float(values.max())]
    spread = spread_of(values.tolist())
    places = [(float(v), number(float(v), spread)) for v in np.linspace(ends[0], ends[1], 5)]
    scales = [(d.name, bounds(d), ticks(d)) for d in axes] + [("objective", ends, places)]
    # Names beside each other have about so many characters' room.
    leaning = max(len(name) for name, _, _ in scales) * len(scales) > _LETTERS
    if leaning:
        made.update_layout(height=500)
        scales = [(name, ends, [places[0], places[-1]]) for name, ends, places in scales]
    hidden = {"visible": False, "fixedrange": True}
    # All annotations at once: plotly copies those that are there when one is added.
    made.update_layout(
        xaxis=hidden | {"range": [-0.6, len(axes) + 0.3]},
        yaxis=hidden | {"range": [-0.06, 1.32 if leaning else 1.12]},
        shapes=[_line(i) for i in range(len(scales))],
        annotations=[note for i, scale in enumerate(scales) for note in _notes(i, *scale, leaning)],
    )
    return made


def _label(history: History, branch: str | None) -> str:
    bests = history.best_by_path()
    if not bests:
        raise ModelError("no trial has returned a value: there is nothing to show side by side")
    label = next(iter(bests)) if branch is None else branch
    if label not in bests:
        known = ", ".join(map(repr, bests))
        raise ModelError(
            f"branch={label!r} has no complete trial{did_you_mean(label, bests)}; "
            f"there are trials of {known}"
        )
    return label


def _best(history: History, trials: Sequence[Trial]) -> Trial:
    return min(trials, key=history.loss)


def _unit(values: Sequence[float], ends: Sequence[float]) -> Array:
    """Values as shares of an axis."""
    low, high = ends
    width = high - low if high > low else 1.0
    return (np.asarray(values, dtype=float) - low) / width


def _add_lines(
    made: Any,
    history: History,
    axes: Sequence[Dimension],
    trials: Sequence[Trial],
    values: Array,
) -> None:
    """Trials in classes by rank, the best ones drawn last."""
    heights = [_unit(position(d, [t.config[d.name] for t in trials]), bounds(d)) for d in axes]
    heights.append(_unit(values.tolist(), [float(values.min()), float(values.max())]))
    rank = np.argsort(np.argsort([history.loss(trial) for trial in trials]))
    classes = np.minimum(rank * _CLASSES // max(len(trials), 1), _CLASSES - 1)
    for one in range(_CLASSES - 1, -1, -1):
        x: list[float | None] = []
        y: list[float | None] = []
        told: list[str] = []
        for i in np.flatnonzero(classes == one).tolist():
            x += [*range(len(heights)), None]
            y += [*(float(height[i]) for height in heights), None]
            told += [f"trial {trials[i].number}: {trials[i].value:.4g}"] * (len(heights) + 1)
        made.add_scatter(
            x=x,
            y=y,
            mode="lines",
            line={"color": shade("minimize", one / (_CLASSES - 1)), "width": 1.5},
            opacity=0.4 if one else 0.95,
            text=told,
            hovertemplate="%{text}<extra></extra>",
            showlegend=False,
        )


def _line(i: int) -> dict[str, Any]:
    """The i-th axis."""
    return {
        "type": "line",
        "x0": i,
        "x1": i,
        "y0": 0,
        "y1": 1,
        "line": {"color": FAINT, "width": 1.5},
    }


def _notes(
    i: int, name: str, ends: Sequence[float], places: Sequence[tuple[float, str]], leaning: bool
) -> list[dict[str, Any]]:
    """The name of the i-th axis, and what stands at its places; of many axes only the ends do."""
    title: dict[str, Any] = {"x": i, "y": 1.09, "text": f"<b>{text(name)}</b>", "showarrow": False}
    if leaning:
        place = {"y": 1.03, "textangle": -25, "xanchor": "left", "yanchor": "bottom"}
        title |= place | {"text": f"<b>{text(name, _LONG_NAME)}</b>"}
    heights = _unit([place for place, _ in places], ends)
    return [title] + [
        {
            "x": i,
            "y": float(height),
            "text": shown,
            "showarrow": False,
            "xanchor": "right",
            "xshift": -4,
            "font": {"size": 11, "color": GREY},
        }
        for height, (_, shown) in zip(heights, places, strict=True)
    ]
