"""One look for all plots: readable on light and dark pages, and by people who see fewer colours.

Backgrounds are transparent, and texts, axes and grids are of a grey that stands out from white as
much as from black. Colours are those of Okabe and Ito (2008), without the black.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from bosquet.data import Direction
from bosquet.text import printable

GREY = "#737982"
FAINT = "rgba(115, 121, 130, 0.25)"
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
SKY, PURPLE, YELLOW = "#56B4E9", "#CC79A7", "#F0E442"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, RED, YELLOW)
_SCALE = ((0.0, BLUE), (0.25, SKY), (0.5, "#B4B8BE"), (0.75, ORANGE), (1.0, RED))
PLAIN_NUMBERS = {"exponentformat": "e", "minexponent": 5}  # not 50 with the letter of micro
_LARGE = 1e7  # below it numbers are written out
_LONGEST = 60  # characters of a name in a plot


def graph_objects() -> Any:
    """plotly.graph_objects, or an error that says how to get it."""
    try:
        import plotly.graph_objects
    except ImportError as error:
        raise ImportError("bosquet.plots needs plotly: pip install 'bosquet[plots]'") from error
    return plotly.graph_objects


def figure(title: str, subtitle: str = "", *, height: int = 420) -> Any:
    """An empty figure; the title says what there is to be seen."""
    axis = {"gridcolor": FAINT, "linecolor": FAINT, "zerolinecolor": FAINT, "automargin": True}
    axis |= {"title": {"font": {"size": 13}, "standoff": 8}, **PLAIN_NUMBERS}
    made = graph_objects().Figure()
    made.update_layout(
        template={"layout": {"xaxis": axis, "yaxis": axis}},
        title=headline(title, subtitle),
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": GREY, "family": "system-ui, sans-serif", "size": 13},
        colorway=list(COLOURS),
        height=height,
        margin={"l": 60, "r": 24, "t": 84 if subtitle else 64, "b": 56},
        legend={"orientation": "h", "y": -0.2, "x": 0, "bgcolor": "rgba(0,0,0,0)"},
        modebar={
            "bgcolor": "rgba(0,0,0,0)",
            "color": FAINT,
            "activecolor": GREY,
            "orientation": "v",
        },
        hoverlabel={"font": {"family": "system-ui, sans-serif"}},
    )
    return made


def headline(title: str, subtitle: str = "") -> dict[str, Any]:
    """A title at the left; what is below it is smaller."""
    head: dict[str, Any] = {"text": title, "x": 0, "xref": "paper", "xanchor": "left"}
    head |= {"y": 0.97, "yanchor": "top", "yref": "container", "font": {"size": 16}}
    if subtitle:
        head["subtitle"] = {"text": subtitle, "font": {"size": 12, "color": GREY}}
    return head


def text(value: object, longest: int = _LONGEST) -> str:
    """A text of the user's for a plot, where it is neither markup nor too long."""
    shown = printable(str(value))
    shown = shown if len(shown) <= longest else shown[: longest - 1] + "\u2026"
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def number(value: float, spread: float = 0.0) -> str:
    """A number with as many digits as the spread of those beside it makes useful."""
    if not math.isfinite(value):
        return str(value)
    size = max(abs(value), spread)
    digits = 4
    if spread > 0.0 and math.isfinite(spread) and size > 0.0:
        digits = min(max(2, 3 + math.floor(math.log10(size)) - math.floor(math.log10(spread))), 10)
    shown = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e+" in shown and size < _LARGE else shown  # 31234, not 3.123e+04


def percent(share: float) -> str:
    if share < 0.01:
        return "under 1 %"
    return "over 99 %" if share > 0.99 else f"{100 * share:.0f} %"


def faded(colour: str, opacity: float = 0.2) -> str:
    """A colour of the palette, let through."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity})"


def colour_scale(direction: Direction) -> list[list[Any]]:
    """From good values, which are blue, to bad ones."""
    if direction == "minimize":
        return [[place, colour] for place, colour in _SCALE]
    return [[1.0 - place, colour] for place, colour in reversed(_SCALE)]


def shade(direction: Direction, place: float) -> str:
    """The colour of a place between the lowest (0) and the highest (1) value."""
    good = place if direction == "minimize" else 1.0 - place
    return min(_SCALE, key=lambda step: abs(step[0] - good))[1]


def spread_of(values: Sequence[float]) -> float:
    """Their standard deviation, also where squares would overflow."""
    if not len(values):
        return 0.0
    size = max(map(abs, values)) or 1.0
    return size * float(np.std(np.asarray(values, dtype=float) / size))


def is_wide(values: Sequence[float]) -> bool:
    """Whether positive values are best seen on a logarithmic axis."""
    return bool(values) and min(values) > 0.0 and max(values) / min(values) > 20.0
