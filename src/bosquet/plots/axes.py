"""Values of parameters on axes: numbers on theirs, logarithmic ones too, options by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bosquet.plots.theme import text
from bosquet.space import Choice
from bosquet.space.tree import Dimension

_CLOSE = 1e-9  # logarithms that differ by rounding


def is_number(dimension: Dimension) -> bool:
    return not isinstance(dimension.parameter, Choice)


def is_log(dimension: Dimension) -> bool:
    parameter = dimension.parameter
    return not isinstance(parameter, Choice) and parameter.log


def axis(dimension: Dimension, most: int = 6) -> dict[str, Any]:
    """The settings of an axis for a parameter, with about so many ticks at most."""
    found: dict[str, Any] = {"title": {"text": text(dimension.name)}, "tickangle": 0}
    if not is_number(dimension):
        return found | {"type": "category"}
    low, high = bounds(dimension)
    margin = 0.03 * (high - low)
    found["range"] = [low - margin, high + margin]
    if not is_log(dimension):
        return found | {"type": "linear", "nticks": most}
    return found | _log(low, high, most)


def log_axis(values: Sequence[float], most: int = 6) -> dict[str, Any]:
    """The settings of a logarithmic axis for positive values, with about so many ticks at most."""
    low, high = float(np.log10(min(values))), float(np.log10(max(values)))
    margin = 0.05 * (high - low)
    return _log(low, high, most) | {"range": [low - margin, high + margin]}


def _log(low: float, high: float, most: int) -> dict[str, Any]:
    places = log_ticks(low, high, most)
    return {"type": "log", "tickvals": places, "ticktext": [f"{p:g}" for p in places]}


def log_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers between two powers of ten: whole powers where these are at least two apart."""
    first, last = int(np.floor(low)), int(np.floor(high + _CLOSE))
    if high - low < 2.0:
        steps = [10.0**power * k for power in range(first, last + 1) for k in (1, 2, 5)]
        return [step for step in steps if low - _CLOSE <= np.log10(step) <= high + _CLOSE]
    stride = -(-(last - first) // (most - 1))
    return [10.0**power for power in range(int(np.ceil(low - _CLOSE)), last + 1, max(1, stride))]


def shown(dimension: Dimension, values: Sequence[object]) -> list[Any]:
    """Values as an axis of the parameter takes them."""
    return list(values) if is_number(dimension) else [text(value) for value in values]


def position(dimension: Dimension, values: Sequence[Any]) -> list[float]:
    """Values as places on a line, for axes that know nothing but numbers."""
    if isinstance(dimension.parameter, Choice):
        return [float(dimension.parameter.index(value)) for value in values]
    numbers = np.array(values, dtype=float)
    return [float(x) for x in (np.log10(numbers) if is_log(dimension) else numbers)]


def ticks(dimension: Dimension) -> list[tuple[float, str]]:
    """Places on such a line, and what stands there."""
    parameter = dimension.parameter
    if isinstance(parameter, Choice):
        return [(float(i), text(option)) for i, option in enumerate(parameter.options)]
    low, high = bounds(dimension)
    if is_log(dimension):
        return [(float(np.log10(tick)), f"{tick:g}") for tick in log_ticks(low, high)]
    return [(float(tick), f"{tick:.4g}") for tick in np.linspace(low, high, 5)]


def bounds(dimension: Dimension) -> list[float]:
    """The ends of such an axis."""
    parameter = dimension.parameter
    if isinstance(parameter, Choice):
        return [0.0, float(max(parameter.n_values - 1, 1))]
    return position(dimension, [parameter.low, parameter.high])
