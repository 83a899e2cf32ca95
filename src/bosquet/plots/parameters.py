"""What parameters do: effects, interactions, importance, the trials of a branch side by side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bosquet.arrays import Array
from bosquet.data import History, Trial
from bosquet.errors import ModelError
from bosquet.explain import Effect, Importance, Model, Surface
from bosquet.plots.axes import axis, is_number, shown
from bosquet.plots.source import model_for
from bosquet.plots.theme import (
    BLUE,
    GREY,
    ORANGE,
    PLAIN_NUMBERS,
    colour_scale,
    faded,
    figure,
    number,
    percent,
    text,
)
from bosquet.space import Choice, Space
from bosquet.space.tree import Dimension
from bosquet.text import counted_text

_COLUMNS = 3
_TICKS = 4  # of a panel
_MOST = 12  # effects in one figure
_BARS = 20  # parameters in one figure of importance
_LONG_NAME = 32  # characters of a name beside a bar
_MORE_THAN_ALL = 1.1  # a sum of shares that nobody takes for 100 %
_WEAK = 0.02  # shares of interactions below it are not worth a sentence


def effects(
    source: Any,
    branch: str | Mapping[str, Any] | None = None,
    parameters: Sequence[str] | None = None,
) -> Any:
    """What each parameter of a branch does, averaged over the others, with 90 % intervals.

    Ticks at the lower edge are the branch's trials.

    Args:
        source: a `Result`, a `History`, a `Study`, an `Optimizer`, a `Model`, or the name of a
            storage.
        branch: the label of a branch (``"model=svm, kernel=rbf"``) or its choices in a dict; None
            is that of the best trial.
        parameters: which ones to show, by short or qualified name; None: those that matter most.
    """
    model = model_for(source)
    left = 0
    if parameters is None:
        parameters, left = _most_important(model, branch)
    found = model.effects(branch, parameters)
    if not found:
        raise ModelError("this branch has no parameters, and so nothing has an effect there")
    left += max(0, len(found) - _MOST)
    more = f"; {left} less important ones are not shown" if left else ""
    space, label = model.space, found[0].branch
    first = found[0]
    where = f"In {text(label)}, " if label else ""
    name = text(_of(space, first.parameter).name)
    moved = f"{first.spread:.3g}"
    title = f"{where}{name} does most: {moved} from its best to its worst value"
    trials = [t for t in model.history.complete if space.path_label(t.config) == label]
    found = found[:_MOST]
    columns = min(_COLUMNS, len(found))
    rows = -(-len(found) // columns)
    made = figure(
        title, f"averaged over the other parameters; bands: 90 %{more}", height=110 + 230 * rows
    )
    made.update_layout(margin={"b": 12})  # panels have room for their own axes
    ends = [end for e in found for end in (e.level + e.low.min(), e.level + e.high.max())]
    margin = 0.05 * (max(ends) - min(ends))
    span = [min(ends) - 2 * margin, max(ends) + margin]
    for i, effect in enumerate(found):
        _add_effect(made, effect, _of(space, effect.parameter), trials, i, columns, rows, span)
    return made


def _most_important(
    model: Model, branch: str | Mapping[str, Any] | None
) -> tuple[list[str] | None, int]:
    """The parameters of a branch that are drawn, None for all, and how many are not.

    What has one value only has no effect. Chosen before their effects are computed, which takes
    its time for each of them.
    """
    every = model.parameters(branch)
    there = [name for name in every if _of(model.space, name).parameter.n_values > 1]
    if len(there) <= _MOST:
        return there or None, 0
    ranked = [one.parameter for one in model.importance() if one.parameter in there]
    return ranked[:_MOST], len(there) - min(_MOST, len(ranked))


def _of(space: Space, qualified: str) -> Dimension:
    return space.tree.by_qualified_name[qualified]


def _add_effect(
    made: Any,
    effect: Effect,
    dimension: Dimension,
    trials: Sequence[Trial],
    i: int,
    columns: int,
    rows: int,
    span: Sequence[float],
) -> None:
    """The i-th panel."""
    column, row = i % columns, i // columns
    width, height = 1.0 / columns, 1.0 / rows
    suffix = "" if i == 0 else str(i + 1)
    left, bottom = column * width, 1.0 - (row + 1) * height
    domain = {
        "x": [left, left + width - 0.06],
        "y": [bottom + 0.3 / rows * 0.8, bottom + height - 0.02],
    }
    made.update_layout(
        {
            f"xaxis{suffix}": axis(dimension, _TICKS)
            | {"domain": domain["x"], "anchor": f"y{suffix}"},
            f"yaxis{suffix}": {
                "domain": domain["y"],
                "anchor": f"x{suffix}",
                "range": list(span),
                "showticklabels": column == 0,
                "title": "objective" if column == 0 else None,
            },
        }
    )
    axes = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}", "showlegend": False}
    x = shown(dimension, effect.values)
    mean, low, high = (effect.level + part for part in (effect.mean, effect.low, effect.high))
    if is_number(dimension):
        band = {"x": [*x, *x[::-1]], "y": [*high, *low[::-1]], "fill": "toself", "mode": "lines"}
        made.add_scatter(**band, line={"width": 0}, fillcolor=faded(BLUE), hoverinfo="skip", **axes)
        made.add_scatter(x=x, y=mean, mode="lines", line={"color": BLUE, "width": 2}, **axes)
    else:
        error = {"type": "data", "symmetric": False, "array": high - mean, "arrayminus": mean - low}
        marker = {"color": BLUE, "size": 9}
        told = [f"{text(v)}: {m:.4g}" for v, m in zip(effect.values, mean, strict=True)]
        points = {"x": x, "y": mean, "mode": "markers", "marker": marker, "error_y": error}
        made.add_scatter(**points, text=told, hovertemplate="%{text}<extra></extra>", **axes)
    tried = [t.config[dimension.name] for t in trials if dimension.name in t.config]
    made.add_scatter(
        x=shown(dimension, tried),
        y=[span[0] + 0.03 * (span[1] - span[0])] * len(tried),
        mode="markers",
        marker={"symbol": "line-ns", "size": 7, "line": {"width": 1, "color": GREY}},
        hoverinfo="skip",
        **axes,
    )


def interaction(
    source: Any,
    first: str | None = None,
    second: str | None = None,
    branch: str | Mapping[str, Any] | None = None,
) -> Any:
    """The model's mean over two parameters of a branch, with its trials.

    Args:
        source: a `Result`, a `History`, a `Study`, an `Optimizer`, a `Model`, or the name of a
            storage.
        first: a parameter of the branch; without names, those two that interact most.
        second: another one.
        branch: the label of a branch (``"model=svm, kernel=rbf"``) or its choices in a dict; None
            is that of the best trial.
    """
    model = model_for(source)
    pairs = model.interactions(branch, None if first is None or second is None else [first, second])
    if not pairs:
        raise ModelError("this branch has fewer than two parameters: nothing interacts there")
    pair = pairs[0]
    surface = model.surface(*pair.parameters, branch)
    space = model.space
    a, b = (_of(space, name) for name in pair.parameters)
    names = f"{text(a.name)} and {text(b.name)}"
    title = f"{names} act almost independently"
    if pair.share >= _WEAK:
        title = f"{names}: {percent(pair.share)} of the variance is theirs only together"
    where = f"{text(pair.branch)}; " if pair.branch else ""
    x, y, mean = _cells(surface, a, b)
    blank = "; blank: options that it was not asked about" if np.isnan(mean).any() else ""
    about = f"{where}mean of the model over all other parameters; dots: trials{blank}"
    made = figure(title, about, height=480)
    kind = made.add_contour if is_number(a) and is_number(b) else made.add_heatmap
    kind(
        x=shown(a, x),
        y=shown(b, y),
        z=mean,
        text=[[f"{_value(v)}, {_value(w)}" for v in x] for w in y],
        colorscale=colour_scale(model.history.direction),
        colorbar={
            "title": {"text": "objective", "font": {"size": 12}},
            "outlinewidth": 0,
            "thickness": 14,
            **PLAIN_NUMBERS,
        },
        opacity=0.9,
        hovertemplate="%{text}: %{z:.4g}<extra></extra>",
    )
    trials = [t for t in model.history.complete if space.path_label(t.config) == pair.branch]
    _add_tried(made, model.history, a, b, trials)
    made.update_layout(xaxis=axis(a), yaxis=axis(b, upright=True))
    return made


def _cells(surface: Surface, a: Dimension, b: Dimension) -> tuple[list[Any], list[Any], Array]:
    """A surface with blanks beside options at which it was not computed.

    A cell without a neighbour would be drawn as wide as the gap.
    """
    x, columns = _with_gaps(a, surface.x)
    y, rows = _with_gaps(b, surface.y)
    mean = np.full((len(y), len(x)), np.nan)
    mean[np.ix_(rows, columns)] = surface.mean
    return x, y, mean


def _with_gaps(dimension: Dimension, values: list[Any]) -> tuple[list[Any], list[int]]:
    """Values and the options beside them, and where among these the values are."""
    parameter = dimension.parameter
    if not isinstance(parameter, Choice):
        return values, list(range(len(values)))
    found = [parameter.index(value) for value in values]
    beside = {place + step for place in found for step in (-1, 0, 1)}
    places = sorted(beside & set(range(parameter.n_values)))
    return [parameter.options[place] for place in places], [places.index(one) for one in found]


def _value(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else text(value)


def _add_tried(
    made: Any, history: History, a: Dimension, b: Dimension, trials: Sequence[Trial]
) -> None:
    best = min(trials, key=history.loss, default=None)
    star = "best of the branch" if history.space.n_paths > 1 else "best trial"
    for some, name, symbol, size in (
        ([t for t in trials if t is not best], "trials", "circle", 7),
        ([] if best is None else [best], star, "star", 14),
    ):
        made.add_scatter(
            x=shown(a, [t.config[a.name] for t in some]),
            y=shown(b, [t.config[b.name] for t in some]),
            mode="markers",
            name=name,
            marker={
                "symbol": symbol,
                "size": size,
                "color": "white",
                "line": {"color": "#444", "width": 1},
            },
            text=[f"trial {t.number}: {t.value:.4g}" for t in some],
            hovertemplate="%{text}<extra></extra>",
        )


def importance(source: Any) -> Any:
    """How much each parameter moves the objective where it is active, and each choice.

    Args:
        source: a `Result`, a `History`, a `Study`, an `Optimizer`, a `Model`, or the name of a
            storage.
    """
    model = model_for(source)
    varied = _varied(model.history)
    found = [one for one in model.importance() if one.parameter in varied]
    if not found:
        raise ModelError("no parameter has had two values in trials that returned a value")
    shown_ones = found[:_BARS][::-1]
    first = found[0]
    where = f" in {text(first.condition)}" if first.condition else ""
    name = text(_of(model.space, first.parameter).name)
    title = f"{name} matters most: {percent(first.share)} of the variance{where}"
    sums: defaultdict[str, float] = defaultdict(float)
    for one in found:
        sums[one.condition] += one.share
    more = ""
    if max(sums.values()) > _MORE_THAN_ALL:
        more = " (more than 100 % in all: what some do together counts for each)"
    if len(found) > _BARS:
        more += f"; {len(found) - _BARS} smaller ones are not shown"
    unknown = len(model.importance()) - len(found)
    if unknown:
        more += f"; not shown: {counted_text(unknown, 'parameter')} without two values that ran"
    made = figure(
        title,
        "bars: standard deviation of the objective; lines: 90 % intervals; numbers: share of the "
        f"variance{more}",
        height=140 + 28 * len(shown_ones),
    )
    for kind, colour, legend in (
        ("parameter", BLUE, "parameter"),
        ("choice", ORANGE, "choice of a branch"),
    ):
        some = {i: one for i, one in enumerate(shown_ones) if one.kind == kind}
        if some:
            _add_bars(made, some, colour, legend)
    # Places, not names: long names that differ at their end only are the same when they are cut.
    names = shortest_names([one.parameter for one in shown_ones], model.space)
    made.update_yaxes(
        tickvals=list(range(len(shown_ones))),
        ticktext=[
            f"{text(name, _LONG_NAME)}  {percent(one.share)}"
            for name, one in zip(names, shown_ones, strict=True)
        ],
        ticks="outside",
        tickcolor="rgba(0,0,0,0)",
    )
    made.update_xaxes(title="standard deviation", rangemode="tozero", tickangle=0, nticks=4)
    made.update_layout(legend={"y": -60 / (28 * len(shown_ones) + 30)})
    return made


def _varied(history: History) -> set[str]:
    """Qualified names of parameters of which trials have told something.

    Of others, as those of a branch in which all trials failed, a model knows only what it was made
    to believe, and that is much.
    """
    space = history.space
    units = np.array([space.to_unit(trial.config) for trial in history.complete])
    active = space.activity(units)
    return {
        d.qualified_name
        for d in space.dimensions
        if len(np.unique(units[active[:, d.index], d.index])) > 1
    }


def shortest_names(qualified: Sequence[str], space: Space) -> list[str]:
    """The short names of parameters; where two have the same one, the qualified ones."""
    short = [_of(space, name).name for name in qualified]
    return [s if short.count(s) == 1 else q for s, q in zip(short, qualified, strict=True)]


def _add_bars(made: Any, at: Mapping[int, Importance], colour: str, legend: str) -> None:
    """Bars at given places, from the bottom up."""
    some = list(at.values())
    made.add_bar(
        x=[one.sd for one in some],
        y=list(at),
        orientation="h",
        name=legend,
        marker={"color": faded(colour, 0.75), "line": {"width": 0}},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [max(one.high - one.sd, 0.0) for one in some],
            "arrayminus": [max(one.sd - one.low, 0.0) for one in some],
            "color": GREY,
            "thickness": 1.5,
            "width": 4,
        },
        hovertext=[
            f"{text(one.parameter)}<br>{number(one.sd)} ({number(one.low)} to {number(one.high)})"
            f"<br>{percent(one.share)} of the variance in "
            f"{text(one.condition or 'the whole space')}, {percent(one.alone)} alone"
            for one in some
        ],
        hovertemplate="%{hovertext}<extra></extra>",
    )
