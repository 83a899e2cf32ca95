"""Numbers as parameters: `Float` and `Int`."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from decimal import Decimal
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from bosquet.arrays import Array
from bosquet.errors import SpaceError
from bosquet.space.bins import bin_centre, bin_index
from bosquet.text import in_brackets

_LARGEST_INT = 2**50  # beyond these, neighbouring integers share a unit coordinate
_LARGEST_LOG_INT = 2**45
_GRID_TOLERANCE = 1e-9  # of one step: how far a stepped value may lie from its grid
_ROUNDING = 8 * sys.float_info.epsilon  # what a few operations on floats may add to that
_EXACT_POWER = 22  # of ten: the largest that a float holds exactly
_EXACT_INTEGER = 2.0**53  # up to it a float holds every integer
_BEYOND = 1e-12  # of a range, on a log scale of its end: how far beyond it rounding takes a value


def _real(value: object) -> float:
    """A finite float from a real number; booleans and text are not numbers here."""
    if isinstance(value, bool) or not isinstance(value, (Real, Decimal)):
        raise TypeError
    number = float(value)
    if not math.isfinite(number):
        raise ValueError
    return number


def _integer(value: object) -> int:
    if isinstance(value, (bool, np.bool_)):
        raise TypeError
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return int(value)
    return operator.index(value)  # type: ignore[arg-type]


def _column(values: Sequence[Any], plain: set[type], convert: Callable[[Any], float]) -> Array:
    """Values as floats; only those that are not of a plain type are looked at one by one."""
    if not plain.issuperset(map(type, values)):
        values = [convert(value) for value in values]
    return np.asarray(values, dtype=float)


@dataclass(frozen=True)
class Float:
    """A real number between two inclusive bounds, optionally on a log scale or on a grid.

    Args:
        low: the lower bound, which is possible itself.
        high: the upper bound, which is possible itself.
        log: search on a logarithmic scale; ``low`` must then be positive.
        step: only ``low``, ``low + step``, ... up to ``high``, which must be one of them; not
            together with ``log``.
        default: where a search begins. If any parameter of a space has one, the first trial is the
            default configuration.
    """

    low: float
    high: float
    _: KW_ONLY
    log: bool = False
    step: float | None = None
    default: float | None = None
    is_category: ClassVar[bool] = False
    is_branching: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _convert_numbers(self, _real, "a finite number")
        _check_range(self)
        if not math.isfinite(self.high - self.low):
            raise SpaceError(f"{self!r}: the range from low to high overflows a float")
        if self.log and not self._log_range > 0:
            raise SpaceError(f"{self!r}: low and high are too close together for a log scale")
        if self.step is not None:
            if self._tolerance > 0.25:
                raise SpaceError(f"{self!r}: step={self.step} is too small for its range")
            try:
                self._grid_index(self.high)
            except ValueError:
                steps = int((self.high - self.low) // self.step)  # at least one, see _check_range
                raise SpaceError(
                    f"{self!r}: step={self.step} does not divide the range from low to high; "
                    f"high={self._in_decimals(steps)} or high={self._in_decimals(steps + 1)} "
                    "would fit"
                ) from None
        _check_default(self)

    @property
    def is_continuous(self) -> bool:
        return self.step is None

    @property
    def n_values(self) -> float:
        return math.inf if self.step is None else self._n_steps

    @property
    def _n_steps(self) -> int:
        return round((self.high - self.low) / self.step) + 1 if self.step else 0

    @property
    def _tolerance(self) -> float:
        """In steps. Where numbers are large against the step, their rounding counts."""
        assert self.step is not None
        return max(_GRID_TOLERANCE, _ROUNDING * max(abs(self.low), abs(self.high)) / self.step)

    def _grid_index(self, numbers: Any) -> Any:
        """The positions of numbers on the grid; raises ValueError when one lies off it."""
        with np.errstate(over="ignore"):
            position = (numbers - self.low) / self.step
        index = np.clip(np.rint(position), 0, self._n_steps - 1)
        if not np.all(np.abs(position - index) <= self._tolerance):
            raise ValueError
        return index

    def _grid_value(self, index: int) -> float:
        return self.high if index == self._n_steps - 1 else self._in_decimals(index)

    def _in_decimals(self, index: int) -> float:
        """So that 0.1 + 2 * 0.1 is 0.3 and values print as they were declared."""
        return float(Decimal(repr(self.low)) + index * Decimal(repr(self.step)))

    def check(self, value: object) -> float:
        """The value as a plain float; raises ValueError when it is not one of this parameter's."""
        number = _real(value)
        if self.step is not None:
            return self._grid_value(int(self._grid_index(number)))
        return number if self.low <= number <= self.high else self._nearest_end(number)

    def _nearest_end(self, number: float) -> float:
        """Of a number just outside the range: exp(log(low)) is often a little less than low."""
        end = self.low if number < self.low else self.high
        slack = _BEYOND * (end if self.log else self.high - self.low)
        if not self.log:
            slack = max(slack, _ROUNDING * max(abs(self.low), abs(self.high)))
        if not abs(number - end) <= slack:
            raise ValueError
        return end

    def to_unit(self, values: Sequence[Any]) -> Array:
        numbers = _column(values, {float, int}, _real)
        if self.step is not None:
            return np.asarray(bin_centre(self._grid_index(numbers), self._n_steps), dtype=float)
        if not np.all((numbers >= self.low) & (numbers <= self.high)):
            numbers = _column(values, set(), self.check)
        if self.log:
            return np.clip((np.log(numbers) - math.log(self.low)) / self._log_range, 0.0, 1.0)
        return (numbers - self.low) / (self.high - self.low)

    def from_unit(self, units: Array) -> list[float]:
        if self.step is not None:
            return [self._grid_value(i) for i in bin_index(units, self._n_steps).tolist()]
        if self.log:
            values = np.exp(math.log(self.low) + units * self._log_range)
            digits = 14 + max(0, math.ceil(-math.log10(self._log_range)))
            values = np.array([float(f"{value:.{digits}g}") for value in values.tolist()])
        else:
            values = self.low + units * (self.high - self.low)
            decimals = 14 - math.floor(math.log10(self.high - self.low))
            largest = max(abs(self.low), abs(self.high))
            if 0 <= decimals <= _EXACT_POWER and largest * 10.0**decimals < _EXACT_INTEGER:
                values = np.round(values, decimals)
        # So values are as people would write them: the middle from 1e-3 to 1e3 is 1, and not
        # 1.0000000000000009; and an upper end of 1000 is not 999.9999999999998.
        values = np.where(units <= 0.0, self.low, np.where(units >= 1.0, self.high, values))
        return np.clip(values, self.low, self.high).tolist()  # type: ignore[no-any-return]

    def snap(self, units: Array) -> Array:
        if self.step is None:
            return np.clip(units, 0.0, 1.0)
        return np.asarray(bin_centre(bin_index(units, self._n_steps), self._n_steps))

    @property
    def _log_range(self) -> float:
        return math.log(self.high) - math.log(self.low)

    def values(self) -> Iterable[float]:
        return (self._grid_value(i) for i in range(self._n_steps))

    @property
    def details(self) -> str:
        """What distinguishes it beyond its range."""
        return _details(self)

    def describe(self) -> str:
        return f"a float from {self.low:.12g} to {self.high:.12g}{self.details}"


@dataclass(frozen=True)
class Int:
    """An integer between two inclusive bounds, optionally on a log scale or on a grid.

    Args:
        low: the lower bound, which is possible itself.
        high: the upper bound, which is possible itself.
        log: search on a logarithmic scale; ``low`` must then be positive.
        step: only ``low``, ``low + step``, ... up to ``high``, which must be one of them; not
            together with ``log``.
        default: where a search begins. If any parameter of a space has one, the first trial is the
            default configuration.
    """

    low: int
    high: int
    _: KW_ONLY
    log: bool = False
    step: int | None = None
    default: int | None = None
    is_category: ClassVar[bool] = False
    is_continuous: ClassVar[bool] = False
    is_branching: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _convert_numbers(self, _integer, "an integer")
        for field in ("low", "high", "step", "default"):
            if abs(getattr(self, field) or 0) > _LARGEST_INT:
                raise SpaceError(
                    f"{self!r}: {field}={getattr(self, field)} must lie within +-2**50"
                )
        _check_range(self)
        if self.log and self.high > _LARGEST_LOG_INT:
            raise SpaceError(f"{self!r}: high={self.high} must be at most 2**45 on a log scale")
        if self.step is not None and (self.high - self.low) % self.step:
            last = self.high - (self.high - self.low) % self.step
            raise SpaceError(
                f"{self!r}: step={self.step} does not divide the range from low to high; "
                f"high={last} or high={last + self.step} would fit"
            )
        _check_default(self)

    @property
    def n_values(self) -> int:
        return (self.high - self.low) // (self.step or 1) + 1

    def check(self, value: object) -> int:
        """The value as a plain int; raises ValueError when it is not one of this parameter's."""
        number = _integer(value)
        if not self.low <= number <= self.high or (number - self.low) % (self.step or 1):
            raise ValueError
        return number

    def to_unit(self, values: Sequence[Any]) -> Array:
        numbers = _column(values, {int}, _integer)
        index = (numbers - self.low) / (self.step or 1)
        if not np.all((index == np.rint(index)) & (numbers >= self.low) & (numbers <= self.high)):
            raise ValueError
        if self.log:
            return self._log_unit(numbers)
        return np.asarray(bin_centre(index, self.n_values), dtype=float)

    def from_unit(self, units: Array) -> list[int]:
        if self.log:
            return self._log_values(units).astype(np.int64).tolist()  # type: ignore[no-any-return]
        index = bin_index(units, self.n_values)
        return (self.low + index * (self.step or 1)).tolist()  # type: ignore[no-any-return]

    def snap(self, units: Array) -> Array:
        if self.log:
            return self._log_unit(self._log_values(units))
        return np.asarray(bin_centre(bin_index(units, self.n_values), self.n_values))

    def _log_values(self, units: Array) -> Array:
        values = np.rint(np.exp(self._log_low + units * self._log_range))
        return np.asarray(np.clip(values, self.low, self.high))

    def _log_unit(self, numbers: Array) -> Array:
        return np.asarray((np.log(numbers) - self._log_low) / self._log_range)

    @property
    def _log_low(self) -> float:
        return math.log(self.low - 0.5)

    @property
    def _log_range(self) -> float:
        return math.log(self.high + 0.5) - self._log_low

    def values(self) -> Iterable[int]:
        return range(self.low, self.high + 1, self.step or 1)

    @property
    def details(self) -> str:
        """What distinguishes it beyond its range."""
        return _details(self)

    def describe(self) -> str:
        return f"an integer from {self.low} to {self.high}{self.details}"


def _convert_numbers(parameter: Float | Int, convert: Callable[[Any], Any], what: str) -> None:
    """Bounds, step and default as plain Python numbers."""
    for field in ("low", "high", "step", "default"):
        value = getattr(parameter, field)
        if value is None and field in ("step", "default"):
            continue
        try:
            object.__setattr__(parameter, field, convert(value))
        except (TypeError, ValueError, OverflowError):
            raise SpaceError(f"{parameter!r}: {field}={value!r} must be {what}") from None


def _check_range(parameter: Float | Int) -> None:
    low, high, step = parameter.low, parameter.high, parameter.step
    if low == high:
        raise SpaceError(
            f"{parameter!r}: low and high must differ, not both be {low}; for one value leave the "
            f"parameter out, or write Choice([{low}])"
        )
    if not low < high:
        raise SpaceError(f"{parameter!r}: low={low} must be less than high={high}")
    if not isinstance(parameter.log, (bool, np.bool_)):
        raise SpaceError(f"{parameter!r}: log={parameter.log!r} must be True or False")
    object.__setattr__(parameter, "log", bool(parameter.log))
    if parameter.log and low <= 0:
        raise SpaceError(f"{parameter!r}: low={low} must be positive on a log scale")
    if step is not None and parameter.log:
        raise SpaceError(f"{parameter!r}: step={step} does not go with log=True")
    rounding = _ROUNDING * max(abs(low), abs(high))
    if step is not None and not 0 < step <= high - low + rounding:
        raise SpaceError(f"{parameter!r}: step={step} must lie between 0 and high - low")


def _check_default(parameter: Float | Int) -> None:
    if parameter.default is None:
        return
    try:
        object.__setattr__(parameter, "default", parameter.check(parameter.default))
    except ValueError:
        allowed = replace(parameter, default=None).describe()
        raise SpaceError(f"{parameter!r}: default={parameter.default} is not {allowed}") from None


def _details(parameter: Float | Int) -> str:
    notes = ["log"] * parameter.log
    notes += [] if parameter.step is None else [f"step {parameter.step:.12g}"]
    notes += [] if parameter.default is None else [f"default {parameter.default!r}"]
    return in_brackets(notes)
