"""Values of parameters on axes: numbers on theirs, logarithmic ones too, options at places.

An axis of names would take two long options that begin alike for one, and prints names over each
other where they do not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bosquet.plots.theme import text
from bosquet.space import Choice
from bosquet.space.tree import Dimension
from bosquet.text import printable

_CLOSE = 1e-9  # logarithms that differ by rounding
_ROOM = 36  # characters along an axis
_SHORTEST = 8  # of an option's name that is cut so that more names fit
_ROWS = 25  # names of options above each other
_LONGEST = 24  # characters of one
_GAP = "\u2026"


def is_number(dimension: Dimension) -> bool:
    return not isinstance(dimension.parameter, Choice)


def is_log(dimension: Dimension) -> bool:
    parameter = dimension.parameter
    return not isinstance(parameter, Choice) and parameter.log


def axis(dimension: Dimension, most: int = 6, *, upright: bool = False) -> dict[str, Any]:
    """The settings of an axis for a parameter, with about so many ticks at most."""
    found: dict[str, Any] = {"title": {"text": text(dimension.name)}, "tickangle": 0}
    if isinstance(dimension.parameter, Choice):
        return found | _of_options(dimension.parameter.options, upright)
    low, high = bounds(dimension)
    margin = 0.03 * (high - low)
    found["range"] = [low - margin, high + margin]
    if not is_log(dimension):
        return found | {"type": "linear", "nticks": most}
    return found | _log(low, high, most)


def _of_options(options: Sequence[object], upright: bool) -> dict[str, Any]:
    """Names at places, as many as fit: of many options every so many has one."""
    names, most = _cut(options, _LONGEST), _ROWS
    if not upright:
        names = _cut(options, max(_ROOM // len(options) - 1, _SHORTEST))
        most = _ROOM // (max(map(len, names)) + 1)
    named = _every_so_many(names, most)
    margin = max(0.5, 0.03 * len(options))  # of many options a cell is narrower than a marker
    return {
        "type": "linear",
        "tickvals": [place for place, _ in named],
        "ticktext": [name for _, name in named],
        "range": [-margin, len(options) - 1 + margin],
        "zeroline": False,
    }


def _every_so_many(names: Sequence[str], most: int) -> list[tuple[float, str]]:
    stride = -(-len(names) // max(most, 1))
    return [(float(i), text(name)) for i, name in enumerate(names) if i % stride == 0]


def _cut(options: Sequence[object], longest: int) -> list[str]:
    """Names of options; long ones without what all share at either end, as paths of files do."""
    names = [printable(str(option)) for option in options]
    if max(map(len, names)) > longest and len(names) > 1:
        first = _shared(names)
        last = _shared([name[first:][::-1] for name in names])
        names = [
            _GAP * (first > 0) + name[first : len(name) - last] + _GAP * (last > 0)
            for name in names
        ]
    end = longest // 2
    return [
        name if len(name) <= longest else name[: longest - end - 1] + _GAP + name[-end:]
        for name in names
    ]


def _shared(names: Sequence[str]) -> int:
    """How many characters all begin with."""
    first, last = min(names), max(names)  # all others lie between them
    pairs = enumerate(zip(first, last, strict=False))
    return next((i for i, (one, other) in pairs if one != other), len(first))


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
    return list(values) if is_number(dimension) else position(dimension, values)


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
        return _every_so_many(_cut(parameter.options, _LONGEST), _ROWS)
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
