"""The structure that a strategy has learned: groups of variables, or parts of the space."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from bosquet.data import History
from bosquet.errors import ModelError
from bosquet.plots.axes import bounds, position
from bosquet.plots.source import history_of, model_or_reason
from bosquet.plots.theme import BLUE, COLOURS, FAINT, faded, figure, text
from bosquet.space import Choice

_PROBABLE = 0.2  # pairs that the last graph does not have are shown from this probability on
_LEAVES = 6  # parts of the space that are shown, the last ones first


def graph(source: Any) -> Any:
    """Which variables `additive` models together: a line for each pair in a common group.

    The line is as strong as its probability, where the strategy has learned it by sampling; dotted
    ones are probable pairs that the last graph does not have.

    Args:
        source: a `Result`, a `History`, a `Study`, an `Optimizer`, a `Model`, or the name of a
            storage.
    """
    learned = _learned_graph(source)
    if learned is None:
        raise ModelError(
            "no trial of this study tells of a graph: the strategy 'additive' learns one, and "
            "'auto' with it on spaces of eight variables or more without conditions"
        )
    groups = [[str(name) for name in group] for group in learned.get("groups", [])]
    told = {str(pair): float(p) for pair, p in learned.get("marginals", {}).items()}
    names = list(dict.fromkeys(name for group in groups for name in group))
    pairs = {pair for group in groups for pair in combinations(group, 2)}
    largest = max(map(len, groups), default=1)
    title = f"{len(pairs)} of {len(names) * (len(names) - 1) // 2} pairs of variables act together"
    if not pairs:
        title = "Every variable acts on its own"
    made = figure(title, f"{len(groups)} groups, the largest of {largest}", height=520)
    angle = dict(zip(names, np.linspace(0, 2 * np.pi, len(names), endpoint=False), strict=True))
    probable = {tuple(pair.split(" - ")): p for pair, p in told.items()}
    others = {pair for pair, p in probable.items() if p >= _PROBABLE and set(pair) <= set(names)}
    for pair in sorted(pairs | others):
        a, b = pair[0], pair[-1]
        p = probable.get((a, b), probable.get((b, a), 0.0 if told else 1.0))
        line = {"color": faded(BLUE, 0.3 + 0.6 * p), "width": 1 + 4 * p}
        made.add_scatter(
            x=[np.sin(angle[a]), np.sin(angle[b])],
            y=[np.cos(angle[a]), np.cos(angle[b])],
            mode="lines",
            line=line | {"dash": "solid" if pair in pairs else "dot"},
            text=f"{text(a)} and {text(b)}" + (f": {p:.2f}" if told else ""),
            hovertemplate="%{text}<extra></extra>",
            showlegend=False,
        )
    made.add_scatter(
        x=[np.sin(angle[name]) for name in names],
        y=[np.cos(angle[name]) for name in names],
        mode="markers",
        marker={"size": 14, "color": BLUE},
        hovertext=[text(name) for name in names],
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
    )
    for name in names:
        made.add_annotation(
            x=1.14 * np.sin(angle[name]),
            y=1.14 * np.cos(angle[name]),
            text=text(name),
            showarrow=False,
        )
    hidden = {"visible": False, "range": [-1.35, 1.35]}
    made.update_layout(xaxis=hidden, yaxis=hidden | {"scaleanchor": "x"})
    return made


def _learned_graph(source: Any) -> dict[str, Any] | None:
    """That of the last trial which tells of one, or else of the fitted model.

    Probabilities are told by the trials at which the graph was learned: the last of these.
    """
    trials = reversed(history_of(source).trials)
    told = [dict(t.info["graph"]) for t in trials if isinstance(t.info.get("graph"), dict)]
    if not told:
        model, _ = model_or_reason(source)
        beliefs = () if model is None else model.beliefs
        told = [dict(b.about["graph"]) for b in beliefs if "graph" in b.about]
    if not told:
        return None
    marginals: dict[str, Any] = next((g["marginals"] for g in told if g.get("marginals")), {})
    return told[0] | {"marginals": marginals}


def partition(source: Any) -> Any:
    """The parts of the space that `htbo` or `boing` has looked at last.

    Args:
        source: a `Result`, a `History`, a `Study`, an `Optimizer`, a `Model`, or the name of a
            storage.
    """
    history = history_of(source)
    leaves = [t.info["leaf"] for t in history.trials if isinstance(t.info.get("leaf"), dict)]
    if leaves:
        return _leaves(history, leaves)
    regions = {
        t.number: t.info["subregion"]
        for t in history.trials
        if isinstance(t.info.get("subregion"), dict)
    }
    if regions:
        return _volumes(regions)
    raise ModelError(
        "no trial of this study tells of parts of the space: the strategies 'htbo' and 'boing' "
        "divide it"
    )


def _leaves(history: History, leaves: list[dict[str, Any]]) -> Any:
    """A bar for the range of every parameter in each leaf."""
    last: dict[str, dict[str, Any]] = {}
    for leaf in reversed(leaves):
        last.setdefault(repr(sorted(leaf.get("where", {}).items())), leaf)
    shown = list(last.values())[:_LEAVES]
    names = list(dict.fromkeys(name for leaf in shown for name in leaf.get("where", {})))
    n = leaves[-1].get("leaves", len(last))
    title = f"The space is divided into {n} parts" if n > 1 else "The space is one part so far"
    made = figure(
        title,
        "bars: the range of a parameter in the parts chosen last",
        height=180 + 60 * len(names),
    )
    for i, leaf in enumerate(shown):
        for name, allowed in leaf.get("where", {}).items():
            low, high, told = _range(history, name, allowed)
            made.add_bar(
                x=[high - low],
                base=[low],
                y=[text(name)],
                orientation="h",
                marker={"color": faded(COLOURS[i % len(COLOURS)], 0.8), "line": {"width": 0}},
                name=f"part with {leaf.get('trials', '?')} trials",
                legendgroup=str(i),
                showlegend=name == next(iter(leaf["where"])),
                hovertemplate=f"{text(name)}: {text(told)}<extra></extra>",
            )
    made.update_layout(barmode="group")
    made.update_yaxes(dtick=1)
    made.update_layout(legend={"y": -70 / (60 * max(len(names), 1) + 40)})  # 70 pixels below
    made.update_xaxes(title="share of the parameter's range", range=[0, 1], tickformat=".0%")
    return made


def _range(history: History, name: str, allowed: list[Any]) -> tuple[float, float, str]:
    """The part of a parameter's range, from 0 to 1, and in its own values."""
    dimension = history.space.tree.by_name[name][0]
    if isinstance(dimension.parameter, Choice):
        units = dimension.parameter.to_unit(allowed)
        half = 0.5 / dimension.parameter.n_values
        return float(min(units)) - half, float(max(units)) + half, ", ".join(map(str, allowed))
    low, high = bounds(dimension)
    first, last = ((x - low) / (high - low) for x in position(dimension, allowed))
    return first, last, f"{allowed[0]:.4g} to {allowed[1]:.4g}"


def _volumes(regions: dict[int, dict[str, Any]]) -> Any:
    """How much of the space the subregion had, trial by trial."""
    numbers = list(regions)
    volumes = [float(regions[n].get("volume") or 0.0) for n in numbers]
    made = figure(
        f"The last subregion had {100 * volumes[-1]:.2g} % of the space",
        "boing searches a subregion around the best point of its forest",
    )
    made.add_scatter(
        x=numbers,
        y=volumes,
        mode="lines+markers",
        line={"color": FAINT},
        marker={"color": BLUE, "size": 7},
        text=[f"{regions[n].get('inside', '?')} trials inside" for n in numbers],
        hovertemplate="trial %{x}: %{y:.2%}, %{text}<extra></extra>",
        showlegend=False,
    )
    made.update_xaxes(title="trial")
    made.update_yaxes(title="share of the space", type="log", tickformat=".0%")
    return made
