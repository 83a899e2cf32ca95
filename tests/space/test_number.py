from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import bosquet

Float: Any = bosquet.Float  # Any, because many calls here are wrong on purpose
Int: Any = bosquet.Int


# -- Float -----------------------------------------------------------------------------------


def test_bounds_become_floats_and_equal_parameters_are_equal() -> None:
    assert Float(0, 1) == Float(0.0, np.float64(1))
    assert type(Float(0, 1).low) is float
    assert hash(Float(0, 1)) == hash(Float(0.0, 1.0))
    assert Float(0, 1) != Float(0, 1, default=0.5)
    assert Float(1, 2, log=np.True_) == Float(1, 2, log=True)
    assert type(Float(1, 2, log=np.True_).log) is bool


@pytest.mark.parametrize(
    "value", [1, 1.0, np.float32(1), np.int8(1), np.float16(1), Decimal(1), Fraction(1)]
)
def test_float_takes_real_numbers(value: Any) -> None:
    checked = Float(0, 2).check(value)
    assert checked == 1.0
    assert type(checked) is float
    assert Float(0, 2).to_unit([value, 0.5]) == pytest.approx([0.5, 0.25])


@pytest.mark.parametrize(
    "value",
    [
        *(True, np.True_, "1", b"1", None, {}, [1.0], np.array([1.0]), object()),
        *(math.nan, math.inf, Decimal("NaN"), 3, -1, 10**400, 1 + 0j, np.complex128(1)),
    ],
)
@pytest.mark.parametrize("step", [None, 0.5])
def test_float_takes_nothing_else(value: Any, step: float | None) -> None:
    parameter = Float(0, 2, step=step)
    with pytest.raises((TypeError, ValueError, OverflowError)):
        parameter.check(value)
    with pytest.raises((TypeError, ValueError, OverflowError)):
        parameter.to_unit([0.5, value])


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        (Float(0, 0.5, step=0.1), [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]),
        (Float(0.1, 0.3, step=0.1), [0.1, 0.2, 0.3]),
        (Float(0.1, 0.3, step=0.2), [0.1, 0.3]),
        (Float(-0.3, 0.3, step=0.3), [-0.3, 0.0, 0.3]),
        (Float(0, 1, step=1 / 3), [0.0, 1 / 3, 2 / 3, 1.0]),
        (Float(0, 0.1 * 3, step=0.1), [0.0, 0.1, 0.2, 0.1 * 3]),
        (Float(0, 0.7999999999999999, step=0.4), [0.0, 0.4, 0.7999999999999999]),
        (Float(1e7, 1e7 + 0.3, step=0.1), [1e7, 10000000.1, 10000000.2, 10000000.3]),
        (Float(1e7, 1e7 + 0.1, step=0.1), [1e7, 10000000.1]),
        (Float(1e-7, 3e-7, step=1e-7), [1e-7, 2e-7, 3e-7]),
    ],
)
def test_stepped_values_are_those_declared(parameter: Any, values: list[float]) -> None:
    assert list(parameter.values()) == values
    assert parameter.n_values == len(values)
    assert parameter.from_unit(parameter.to_unit(values)) == values
    assert [parameter.check(value) for value in values] == values


def test_stepped_values_forgive_rounding_and_nothing_more() -> None:
    parameter = Float(0, 0.3, step=0.1)
    assert parameter.check(0.1 * 3) == 0.3  # above high, by rounding
    assert parameter.check(0.1 + 0.1 + 0.1) == 0.3
    assert parameter.check(-1e-17) == 0.0
    assert [parameter.check(v) for v in np.arange(0, 0.35, 0.1)] == [0.0, 0.1, 0.2, 0.3]
    for value in (0.15, 0.1001, 0.3001, 0.4, -0.1, 1e300, -1e300):
        with pytest.raises(ValueError, match=r"^$"):
            parameter.check(value)
        with pytest.raises(ValueError, match=r"^$"):
            parameter.to_unit([value])


@pytest.mark.parametrize(
    ("parameter", "value", "end"),
    [
        (Float(1e-3, 1, log=True), math.exp(math.log(1e-3)) * (1 - 1e-15), 1e-3),
        (Float(1e-10, 1e5, log=True), 10.0**5.000000000000002, 1e5),
        (Float(0, 1), 1.0000000000000002, 1.0),
        (Float(0, 1), 0.3 - 3 * 0.1, 0.0),
        (Float(1e7, 1e7 + 0.3), 1e7 - 4e-9, 1e7),
    ],
)
def test_ends_forgive_rounding(parameter: Float, value: float, end: float) -> None:
    assert not parameter.low <= value <= parameter.high
    assert parameter.check(value) == end
    assert parameter.to_unit([value, 0.5 * (parameter.low + parameter.high)])[0] in (0.0, 1.0)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        (Float(1e-10, 1e5, log=True), 0.99999e-10),
        (Float(0, 1), -1e-9),
        (Float(1e7, 1e7 + 0.3), 1e7 - 1e-6),
        (Float(0, 5e-324), -5e-324),
    ],
)
def test_ends_forgive_nothing_more(parameter: Float, value: float) -> None:
    with pytest.raises(ValueError, match=r"^$"):
        parameter.check(value)
    with pytest.raises(ValueError, match=r"^$"):
        parameter.to_unit([value])


def test_a_default_is_put_on_the_grid() -> None:
    assert Float(0, 1, step=0.1, default=0.1 * 3).default == 0.3


def test_a_huge_grid() -> None:
    parameter = Float(0, 1, step=1e-12)
    assert parameter.n_values == 10**12 + 1
    values = [0.0, 1e-12, 0.123456789012, 0.999999999999, 1.0]
    assert parameter.from_unit(parameter.to_unit(values)) == values
    assert parameter.from_unit(np.array([0.0, 1.0])) == [0.0, 1.0]


def test_log_coordinates_stay_in_the_unit_interval() -> None:
    rng = np.random.default_rng(0)
    for low in 10 ** rng.uniform(-300, 290, 300):
        high = low * 10 ** rng.uniform(0.01, 10)
        parameter = Float(low, high, log=True)
        units = parameter.to_unit([low, high, math.sqrt(low) * math.sqrt(high)])
        assert units == pytest.approx([0, 1, 0.5], abs=1e-10)
        assert np.all((units >= 0) & (units <= 1))
        assert all(low <= value <= high for value in parameter.from_unit(np.linspace(0, 1, 7)))


@pytest.mark.parametrize("ends", [[1e-3, 1000.0], [1e-4, 1.0], [1e-12, 0.3]])
def test_the_ends_of_a_log_range_are_exact(ends: list[float]) -> None:
    """They stand in best configurations, where 999.9999999999998 would be taken for a find."""
    assert Float(*ends, log=True).from_unit(np.array([0.0, 1.0])) == ends


@pytest.mark.parametrize(
    ("parameter", "middle"),
    [
        (Float(1e-3, 1e3, log=True), 1.0),
        (Float(1e-10, 1e-4, log=True), 1e-7),
        (Float(1e-5, 1e-1, log=True), 1e-3),
        (Float(0.1, 0.7), 0.4),
        (Float(0.01, 1.0), 0.505),
        (Float(-1e-7, 2e-7), 5e-8),
    ],
)
def test_the_middle_of_a_range_is_as_people_write_it(parameter: Float, middle: float) -> None:
    """The first trials are there: 1.0000000000000009 would be the first thing to be read."""
    assert parameter.from_unit(np.array([0.5])) == [middle]


@pytest.mark.parametrize(
    "parameter",
    [Float(1e9, 1e9 + 1), Float(0, 1e-300), Float(-1e300, 1e300), Float(1, 1 + 1e-6, log=True)],
)
def test_rounding_loses_nothing_where_floats_are_few(parameter: Float) -> None:
    units = np.linspace(0, 1, 9)
    spacing = 2.0**-52 * max(abs(parameter.low), abs(parameter.high))
    slack = max(1e-13, 4 * spacing / (parameter.high - parameter.low))
    np.testing.assert_allclose(
        parameter.to_unit(parameter.from_unit(units)), units, rtol=0, atol=slack
    )


def test_log_is_uniform_in_the_logarithm() -> None:
    parameter = Float(1e-3, 1e3, log=True)
    assert parameter.from_unit(np.linspace(0, 1, 7)) == pytest.approx(
        [1e-3, 1e-2, 1e-1, 1, 10, 100, 1000]
    )


def test_units_outside_are_clipped() -> None:
    for parameter in (Float(1, 2), Float(1, 2, log=True), Float(1, 2, step=0.5), Int(1, 2)):
        assert parameter.from_unit(np.array([-0.5, 1.5])) == [1, 2]
        np.testing.assert_array_equal(
            parameter.snap(np.array([-0.5, 1.5])), parameter.to_unit([1, 2])
        )


# -- Int -------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [3, 3.0, np.int64(3), np.uint8(3), np.float32(3)])
def test_int_takes_whole_numbers(value: Any) -> None:
    checked = Int(0, 9).check(value)
    assert checked == 3
    assert type(checked) is int
    assert Int(0, 9).to_unit([value, 0]) == pytest.approx([0.35, 0.05])


@pytest.mark.parametrize(
    "value", [2.5, "3", True, np.True_, None, -1, 10, math.nan, math.inf, 10**400, [3], 3j]
)
def test_int_takes_nothing_else(value: Any) -> None:
    for parameter in (Int(0, 9), Int(0, 9, step=3), Int(1, 9, log=True)):
        with pytest.raises((TypeError, ValueError)):
            parameter.check(value)
        with pytest.raises((TypeError, ValueError, OverflowError)):
            parameter.to_unit([3, value])


def test_int_bins_are_equal() -> None:
    units = (np.arange(1000) + 0.5) / 1000
    assert np.bincount(Int(0, 9).from_unit(units)).tolist() == [100] * 10
    assert Int(0, 6, step=3).from_unit(np.array([0, 0.3, 0.35, 0.7, 1.0])) == [0, 0, 3, 6, 6]


@pytest.mark.parametrize("low", [1, 2, 3, 17])
def test_log_ints(low: int) -> None:
    parameter = Int(low, low + 60, log=True)
    values = list(parameter.values())
    units = parameter.to_unit(values)
    assert parameter.from_unit(units) == values
    assert np.all(np.diff(units) > 0)
    assert 0 < units[0] < units[-1] < 1
    reached = parameter.from_unit(np.linspace(0, 1, 20_001))
    assert sorted(set(reached)) == values  # every integer has a bin of its own
    widths = np.log((np.array(values) + 0.5) / (np.array(values) - 0.5))
    shares = np.bincount(reached)[low:] / len(reached)
    np.testing.assert_allclose(shares, widths / widths.sum(), atol=2e-4)


@pytest.mark.parametrize(
    "parameter",
    [
        Int(0, 2**50),
        Int(-(2**50), 2**50),
        Int(-(2**50), 0, step=4),
        Int(1, 2**45, log=True),
        Int(2**44, 2**45, log=True),
    ],
)
def test_large_ints_survive_encoding(parameter: Any) -> None:
    rng = np.random.default_rng(1)
    step = parameter.step or 1
    index = np.concatenate([rng.integers(0, parameter.n_values, 3000), np.arange(1000)])
    index = np.concatenate([index, parameter.n_values - 1 - index])
    values = (parameter.low + index * step).tolist()
    units = parameter.to_unit(values)
    assert parameter.from_unit(units) == values
    np.testing.assert_array_equal(parameter.snap(units), units)
