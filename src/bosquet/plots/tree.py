"""The tree of a space as a picture: where the budget went, and whether a branch deserves more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bosquet.data import History, Trial
from bosquet.explain import BranchBest
from bosquet.plots.source import history_of, model_or_reason
from bosquet.plots.theme import (
    BLUE,
    FAINT,
    GREY,
    ORANGE,
    RED,
    SKY,
    figure,
    number,
    percent,
    spread_of,
    text,
)
from bosquet.text import counted_text

_ROW = 44  # pixels of a branch
_MOST = 24  # branches drawn, the best first
_HOPE = 0.05  # chances below it are called unlikely
_LONG_NAME = 26  # characters of a label: what is beside it stays free
_SIZES = 10, 26  # of a node, by its share of the trials


@dataclass
class Branch:
    """One row of the picture."""

    label: str
    trials: list[Trial] = field(default_factory=list)
    best: Trial | None = None
    predicted: BranchBest | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.label.split(", ")) if self.label else ("all",)

    @property
    def failed(self) -> int:
        return sum(trial.state == "failed" for trial in self.trials)


def tree(source: Any) -> Any:
    """Every branch with its trials, failures, best value, and the best that the model sees there.

    The circles at the left grow with the trials of a branch; their colour is the chance that the
    next trial of the branch is a new best of the study (`BranchBest.chance`).

    Args:
        source: a `Result`, a `History`, a `Study`, an `Optimizer`, a `Model`, or the name of a
            storage.
    """
    history = history_of(source)
    model, reason = model_or_reason(source)
    branches = _branches(history, [] if model is None else model.best_predicted())
    rows = {branch.label: -float(i) for i, branch in enumerate(branches)}
    made = figure(title_of(branches), text(reason, 200) or _subtitle(history, branches))
    made.update_layout(
        height=170 + _ROW * len(branches),
        margin={"l": 12},
        xaxis={"domain": [0, 0.46], "visible": False, "range": [_left(branches), _right(branches)]},
        xaxis2={"domain": [0.64, 1], "anchor": "y", "title": "objective"},
        yaxis={"visible": False, "range": [-len(branches) + 0.4, 0.6]},
    )
    _add_nodes(made, history, branches, rows)
    _add_counts(made, branches, rows)
    _add_values(made, history, branches, rows)
    return made


def _left(branches: list[Branch]) -> float:
    """The left end of the tree: the root is at 0; names of its children end beside them."""
    depth = max((len(branch.parts) for branch in branches), default=1)
    names = [branch.parts[0] for branch in branches if len(branch.parts) > 1]
    longest = min(_LONG_NAME, max(map(len, names), default=0))
    return -0.04 - max(0.0, 0.032 * longest - 1.0 / depth)


def _right(branches: list[Branch]) -> float:
    """The right end of the tree: the deepest leaves are at 1, their labels beyond."""
    return 1.08 + 0.03 * min(20, max((len(branch.parts[-1]) for branch in branches), default=0))


def _branches(history: History, predicted: list[BranchBest]) -> list[Branch]:
    """Best first by what was found, then by what is predicted; in the order of the tree."""
    by_label = {one.branch: Branch(one.branch, predicted=one) for one in predicted}
    for path in history.space.tree.paths() if history.space.n_paths <= _MOST else ():
        label = history.space.tree.path_label(path)
        by_label.setdefault(label, Branch(label))
    for trial in history.trials:
        label = history.space.path_label(trial.config)
        by_label.setdefault(label, Branch(label)).trials.append(trial)
    for label, trial in history.best_by_path().items():
        by_label[label].best = trial
    # Of equal values the one found first, which is the best of the study.
    rank = {label: place for place, label in enumerate(history.best_by_path())}
    kept = sorted(by_label.values(), key=lambda one: rank.get(one.label, len(rank)))[:_MOST]
    first: dict[tuple[str, ...], int] = {}  # by every beginning of a path, the best branch below it
    for branch in kept:
        for depth in range(len(branch.parts) + 1):
            first.setdefault(branch.parts[:depth], len(first))
    return sorted(kept, key=lambda one: [first[one.parts[: d + 1]] for d in range(len(one.parts))])


def title_of(branches: list[Branch]) -> str:
    seen = [branch for branch in branches if branch.best]
    if not seen:
        return "No branch has a value yet"
    best = seen[0]
    told = f"{text(best.label)} is best so far"
    if len(branches) == 1:
        value = 0.0 if best.best is None else best.best.value or 0.0
        told = f"The best of {counted_text(len(best.trials), 'trial')} has {number(value)}"
    hopes = [branch for branch in branches if branch.predicted]
    if not hopes:
        return told
    most = max(hopes, key=lambda b: b.predicted.gain if b.predicted else 0.0)
    chance = most.predicted.chance if most.predicted else 0.0
    highest = max(b.predicted.chance for b in hopes if b.predicted)
    if highest < _HOPE:
        return f"{told}; the next trial is unlikely to be a new best anywhere"
    if len(branches) == 1:
        return f"{told}; the chance that the next is better is {percent(chance)}"
    where = "there" if most is best else f"in {text(most.label)}"
    gain = "" if percent(highest) == percent(chance) else "largest gain on average, "
    odds = f"chance of a new best: {percent(chance)}"
    return f"{told}; more trials are worth most {where} ({gain}{odds})"


def _subtitle(history: History, branches: list[Branch]) -> str:
    left = len(
        {history.space.path_label(t.config) for t in history.trials} - {b.label for b in branches}
    )
    more = f"; {left} more branches with trials are not shown" if left else ""
    return (
        "circle: trials; colour: chance that the next trial there is a new best; diamonds: the "
        f"best that the model expects{more}"
    )


# -- the tree --------------------------------------------------------------------------------


def _prefixes(branches: list[Branch]) -> Iterator[tuple[tuple[str, ...], list[Branch]]]:
    """Every beginning of a path, and the branches below it."""
    below: dict[tuple[str, ...], list[Branch]] = {}
    for branch in branches:
        for depth in range(len(branch.parts) + 1):
            below.setdefault(branch.parts[:depth], []).append(branch)
    yield from below.items()


def short_label(part: str) -> str:
    """The label of a node; of a long one the end, where it differs from its siblings."""
    if len(part) > _LONG_NAME:
        part = part.partition("=")[2]
    return text(part if len(part) <= _LONG_NAME else "\u2026" + part[1 - _LONG_NAME :])


def _is_leaf(prefix: tuple[str, ...], below: list[Branch]) -> bool:
    return len(below) == 1 and below[0].parts == prefix


def _add_nodes(made: Any, history: History, branches: list[Branch], rows: dict[str, float]) -> None:
    depth = max(len(branch.parts) for branch in branches)
    at = {
        prefix: (len(prefix) / depth, float(np.mean([rows[b.label] for b in below])))
        for prefix, below in _prefixes(branches)
    }
    x: list[float | None] = []
    y: list[float | None] = []
    for prefix, (right, height) in at.items():
        if prefix:
            left, parent = at[prefix[:-1]]
            bend = left + 0.12 * (right - left)
            x += [left, bend, bend, right, None]
            y += [parent, parent, height, height, None]
    line = {"color": GREY, "width": 1.5, "shape": "linear"}
    made.add_scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip", showlegend=False)
    shown = list(_prefixes(branches))
    trials = [sum(len(b.trials) for b in below) for _, below in shown]
    chances = [
        max((b.predicted.chance for b in below if b.predicted), default=None) for _, below in shown
    ]
    least, most = _SIZES
    made.add_scatter(
        x=[at[prefix][0] for prefix, _ in shown],
        y=[at[prefix][1] for prefix, _ in shown],
        mode="markers+text",
        text=[short_label(prefix[-1]) if prefix else "" for prefix, _ in shown],
        # A leaf has its row for itself; above it, its label would cross the lines to its siblings.
        textposition=["middle right" if _is_leaf(*one) else "top left" for one in shown],
        cliponaxis=False,
        showlegend=False,
        marker={
            # The root has all trials, which says nothing, and a name of its child beside it.
            "size": [
                least + (most - least) * bool(prefix) * n / max(len(history), 1)
                for (prefix, _), n in zip(shown, trials, strict=True)
            ],
            "color": [0.0 if chance is None else chance for chance in chances],
            "cmin": 0.0,
            "cmax": 1.0,
            # Late in a study most chances are below a tenth, and yet are told apart.
            "colorscale": [[0.0, "#9AA0A8"], [0.1, SKY], [1.0, BLUE]],
            "line": {"width": 0},
            "opacity": 1.0,
        },
        hovertext=[
            f"{text(', '.join(prefix) or 'all')}<br>{counted_text(n, 'trial')}, "
            f"{sum(b.failed for b in below)} failed"
            + (
                ""
                if chance is None
                else f"<br>chance that the next trial is a new best: {percent(chance)}"
            )
            for (prefix, below), n, chance in zip(shown, trials, chances, strict=True)
        ],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _add_counts(made: Any, branches: list[Branch], rows: dict[str, float]) -> None:
    """Between the tree and the values: trials, failures, the chance of more."""
    notes = []
    for branch in branches:
        counted = counted_text(len(branch.trials), "trial")
        if branch.failed:
            counted += f", <span style='color:{RED}'>{branch.failed} failed</span>"
        if branch.predicted is not None:
            counted += f"<br>new best: {percent(branch.predicted.chance)}"
        notes.append(
            {
                "x": 0.49,
                "xref": "paper",
                "y": rows[branch.label],
                "yref": "y",
                "text": counted,
                "showarrow": False,
                "xanchor": "left",
                "align": "left",
                "font": {"size": 12},
            }
        )
    made.update_layout(annotations=notes)


def _add_values(
    made: Any, history: History, branches: list[Branch], rows: dict[str, float]
) -> None:
    values = [t.value for t in history.complete if t.value is not None]
    spread = spread_of(values)
    predicted = [branch for branch in branches if branch.predicted]
    if predicted:
        bests = [b.predicted for b in predicted if b.predicted]
        made.add_scatter(
            x=[one.mean for one in bests],
            y=[rows[b.label] - 0.14 for b in predicted],
            xaxis="x2",
            mode="markers",
            name="best by the model (90 % interval)",
            marker={"symbol": "diamond", "size": 9, "color": ORANGE},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [one.high - one.mean for one in bests],
                "arrayminus": [one.mean - one.low for one in bests],
                "color": ORANGE,
                "thickness": 1.5,
                "width": 4,
            },
            text=[" to ".join(number(end, spread) for end in (one.low, one.high)) for one in bests],
            hovertemplate="model: %{x}, 90 % in %{text}<extra></extra>",
        )
    seen = [branch for branch in branches if branch.best]
    made.add_scatter(
        x=[b.best.value for b in seen if b.best],
        y=[rows[b.label] + 0.14 for b in seen],
        xaxis="x2",
        mode="markers+text",
        name="best trial",
        marker={"symbol": "circle", "size": 9, "color": BLUE},
        text=[number(b.best.value or 0.0, spread) for b in seen if b.best],
        textposition="middle right",
        textfont={"size": 11},
        cliponaxis=False,
        hovertemplate="best trial: %{x}<extra></extra>",
    )
    # What a branch is believed to reach at worst may be far off: intervals are cut half as far away
    # as the values are apart.
    ends = [b.best.value or 0.0 for b in seen if b.best]
    ends += [b.predicted.mean for b in predicted if b.predicted]
    if ends:
        half = 0.5 * (max(ends) - min(ends))
        least, most = min(ends) - half, max(ends) + half
        for one in [b.predicted for b in predicted if b.predicted]:
            ends += [max(one.low, least), min(one.high, most)] if half else [one.low, one.high]
        width = max(ends) - min(ends) or 1.0
        made.update_layout(xaxis2={"range": [min(ends) - 0.05 * width, max(ends) + 0.2 * width]})
    made.update_layout(xaxis2={"gridcolor": FAINT, "zeroline": False, "nticks": 5})
