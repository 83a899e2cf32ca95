"""The pictures of a report: which there are, and what to know about each."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from bosquet import plots
from bosquet.data import History
from bosquet.errors import ModelError
from bosquet.explain import Model

_MOST_EFFECTS = 4  # branches whose effects are drawn


@dataclass(frozen=True)
class Section:
    """A group of pictures of which one is seen at a time."""

    id: str
    title: str
    about: str
    """How to read it, in one sentence."""
    views: dict[str, Callable[[], Any]]
    """What makes each picture, by the name of its tab."""
    wide: bool = False
    """Whether it takes a whole row on a wide page."""
    scrolls: bool = False
    """Whether it needs more room than a phone has: there it scrolls sideways."""


def sections(history: History, source: Any) -> list[Section]:
    """The pictures of a study; ``source`` is what the plots are made of: a model or a history."""
    branches = list(history.best_by_path())[:_MOST_EFFECTS]
    by_branch = {label or "all": label for label in branches}
    trials = Counter(history.space.path_label(trial.config) for trial in history.complete)
    of_branch = " of the branch" if history.space.n_paths > 1 else ""
    several = {name: label for name, label in by_branch.items() if trials[label] > 1}
    return [
        Section(
            "convergence",
            "How the search went",
            "Every trial, and the best value so far; crosses mark failures.",
            {
                "by trial": partial(plots.convergence, history),
                "by time": partial(plots.convergence, history, against="time"),
            },
            wide=True,
        ),
        Section(
            "tree",
            "Where the budget went",
            "Each branch with its trials, its best value and the best that the model expects.",
            {"tree": partial(plots.tree, source)},
            wide=True,
            scrolls=True,
        ),
        Section(
            "importance",
            "What matters",
            "How much the objective varies when a parameter alone changes, where it is active; "
            "likewise a choice.",
            {"importance": partial(plots.importance, source)},
        ),
        Section(
            "interaction",
            "What two parameters do together",
            f"The strongest pair{of_branch}; dots are trials.",
            {name: partial(plots.interaction, source, branch=b) for name, b in by_branch.items()},
        ),
        Section(
            "effects",
            "What each parameter does",
            f"The model's average over all other parameters{of_branch}, with its uncertainty.",
            {name: partial(plots.effects, source, label) for name, label in by_branch.items()},
            wide=True,
            scrolls=True,
        ),
        Section(
            "parallel",
            "Trials side by side",
            f"Every line is a trial{of_branch}, from axis to axis; blue ones are the best.",
            {name: partial(plots.parallel, history, label) for name, label in several.items()},
            wide=True,
            scrolls=True,
        ),
        Section(
            "acquisition",
            "Why these points were chosen",
            "What the strategy expected of each branch when it proposed a trial.",
            {"acquisition": partial(plots.acquisition, history)},
        ),
        Section(
            "structure",
            "What structure was found",
            "The dependencies or the parts of the space that the strategy has learned.",
            {"graph": partial(plots.graph, source), "parts": partial(plots.partition, history)},
        ),
        Section(
            "trust",
            "Is the model to be trusted?",
            "Every trial predicted from all the others: on the line, and within the bars, is good. "
            + (f"The model: {source}." if isinstance(source, Model) else ""),
            {
                "predictions": partial(plots.predictions, source),
                "calibration": partial(plots.calibration, source),
            },
        ),
    ]


def drawn(history: History, source: Any) -> Iterator[dict[str, Any]]:
    """The sections with their figures as JSON; those for which there is nothing are left out."""
    for section in sections(history, source) if len(history) else ():
        if section.id == "tree" and history.space.n_paths == 1:  # nothing to be divided
            continue
        views = []
        for name, make in section.views.items():
            figure = _figure(make)
            if figure is not None:
                views.append({"name": name} | _told(figure) | {"figure": figure})
        if views:
            yield {
                "id": section.id,
                "title": section.title,
                "about": section.about,
                "wide": section.wide,
                "scrolls": section.scrolls,
                "views": views,
            }


def _told(figure: dict[str, Any]) -> dict[str, str]:
    """Takes the title and what is below it out of a figure: a page wraps them, plotly does not."""
    title = figure["layout"].pop("title", {})
    return {
        "finding": _plain(title.get("text", "")),
        "note": _plain(title.get("subtitle", {}).get("text", "")),
    }


def _plain(text: str) -> str:
    """A text of plotly's, which has some markup, as what it says."""
    return html.unescape(re.sub(r"<[^>]*>", " ", text))


def _figure(make: Callable[[], Any]) -> Any:
    try:
        made = make()
    except (ModelError, ValueError):  # too few trials for it, or nothing of this kind to be seen
        return None
    return json.loads(made.to_json())
