"""Values of parameters on axes: numbers on theirs, logarithmic ones too, options by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bosquet.plots.theme import text
from bosquet.space import Choice
from bosquet.space.tree import Dimension


def is_number(dimension: Dimension) -> bool:
    return not isinstance(dimension.parameter, Choice)


def is_log(dimension: Dimension) -> bool:
    parameter = dimension.parameter
    if isinstance(parameter, Choice) or not parameter.log:
        return False
    return parameter.low > 0  # an integer axis may be logarithmic from zero on


def axis(dimension: Dimension) -> dict[str, Any]:
    """The settings of an axis for a parameter."""
    found: dict[str, Any] = {"title": {"text": text(dimension.name), "standoff": 8}}
    if is_log(dimension):
        return found | {"type": "log", "exponentformat": "power", "nticks": 6}
    return found | {"type": "linear" if is_number(dimension) else "category"}


def shown(dimension: Dimension, values: Sequence[object]) -> list[Any]:
    """Values as an axis of the parameter takes them."""
    return list(values) if is_number(dimension) else [text(value) for value in values]


def position(dimension: Dimension, values: Sequence[Any]) -> list[float]:
    """Values as places on a line, for axes that know nothing but numbers."""
    if isinstance(dimension.parameter, Choice):
        return [float(dimension.parameter.index(value)) for value in values]
    numbers = np.array(values, dtype=float)
    return [float(x) for x in (np.log10(numbers) if is_log(dimension) else numbers)]


def ticks(dimension: Dimension) -> dict[str, Any]:
    """What such an axis shows at which places; nothing where numbers are as they are."""
    parameter = dimension.parameter
    if isinstance(parameter, Choice):
        places = list(range(parameter.n_values))
        return {"tickvals": places, "ticktext": [text(option) for option in parameter.options]}
    if is_log(dimension):
        low, high = np.log10([float(parameter.low), float(parameter.high)])
        places = np.linspace(low, high, 5).tolist()
        return {"tickvals": places, "ticktext": [f"{10**place:.2g}" for place in places]}
    return {}


def bounds(dimension: Dimension) -> list[float]:
    """The ends of such an axis."""
    parameter = dimension.parameter
    if isinstance(parameter, Choice):
        return [0.0, float(max(parameter.n_values - 1, 1))]
    return position(dimension, [parameter.low, parameter.high])
