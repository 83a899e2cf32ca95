from __future__ import annotations

import math
import re
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import bosquet
from bosquet import SpaceError

Choice: Any = bosquet.Choice  # Any, because many calls here are wrong on purpose
Float: Any = bosquet.Float
Int: Any = bosquet.Int


def message(text: str) -> Any:
    return pytest.raises(SpaceError, match=re.escape(text))


# -- declarations that are wrong -------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Float(1, 1), "low=1.0 must be less than high=1.0"),
        (lambda: Float(2, 1), "low=2.0 must be less than high=1.0"),
        (lambda: Float(math.nan, 1), "low=nan must be a finite number"),
        (lambda: Float(0, math.inf), "high=inf must be a finite number"),
        (lambda: Float(-math.inf, 0), "low=-inf must be a finite number"),
        (lambda: Float(0, 10**400), "must be a finite number"),
        (lambda: Float("0", 1), "low='0' must be a finite number"),
        (lambda: Float(None, 1), "low=None must be a finite number"),
        (lambda: Float(0, True), "high=True must be a finite number"),
        (lambda: Float(0, np.True_), "high=np.True_ must be a finite number"),
        (lambda: Float(0, 1j), "high=1j must be a finite number"),
        (lambda: Float(0, np.complex128(1)), "must be a finite number"),
        (lambda: Float(0, np.array([1.0])), "must be a finite number"),
        (lambda: Float(0, bytearray(b"1")), "must be a finite number"),
        (lambda: Float(-1e308, 1e308), "the range from low to high overflows a float"),
        (lambda: Float(0, 1, log=True), "low=0.0 must be positive on a log scale"),
        (lambda: Float(-1, 1, log=True), "low=-1.0 must be positive on a log scale"),
        (lambda: Float(1, 2, log="yes"), "log='yes' must be True or False"),
        (lambda: Float(1, 2, log=1), "log=1 must be True or False"),
        (lambda: Float(1e300, np.nextafter(1e300, 2e300), log=True), "too close together"),
        (lambda: Float(0, 1, step=0), "step=0.0 must lie between 0 and high - low"),
        (lambda: Float(0, 1, step=-0.1), "step=-0.1 must lie between 0 and high - low"),
        (lambda: Float(0, 1, step=2), "step=2.0 must lie between 0 and high - low"),
        (lambda: Float(0, 1, step=1e20), "step=1e+20 must lie between 0 and high - low"),
        (lambda: Float(0, 1, step=math.nan), "step=nan must be a finite number"),
        (lambda: Float(0, 1, step=0.3), "step=0.3 does not divide the range"),
        (lambda: Float(0, 1, step=0.7), "step=0.7 does not divide the range"),
        (lambda: Float(0, 1, step=1e-16), "step=1e-16 is too small for its range"),
        (lambda: Float(0, 1, step=5e-324), "step=5e-324 is too small for its range"),
        (lambda: Float(1e15, 1e15 + 10, step=0.1), "step=0.1 is too small for its range"),
        (lambda: Float(1, 2, step=0.5, log=True), "step=0.5 does not go with log=True"),
        (lambda: Float(0, 1, default=1.5), "default=1.5 is not a float from 0 to 1"),
        (lambda: Float(0, 1, default="x"), "default='x' must be"),
        (lambda: Float(0, 1, default=math.nan), "default=nan must be a finite number"),
        (lambda: Float(0, 1, default=False), "default=False must be a finite number"),
        (lambda: Float(0, 1, step=0.1, default=0.25), "default=0.25 is not a float from 0 to 1 (s"),
        (lambda: Int(3, 3), "low=3 must be less than high=3"),
        (lambda: Int(4, 3), "low=4 must be less than high=3"),
        (lambda: Int(0.5, 3), "low=0.5 must be an integer"),
        (lambda: Int(0, "3"), "high='3' must be an integer"),
        (lambda: Int(0, math.inf), "high=inf must be an integer"),
        (lambda: Int(0, math.nan), "high=nan must be an integer"),
        (lambda: Int(False, 3), "low=False must be an integer"),
        (lambda: Int(0, 2**60), "high=1152921504606846976 must lie within +-2**50"),
        (lambda: Int(0, 2**50 + 1), "high=1125899906842625 must lie within +-2**50"),
        (lambda: Int(-(10**400), 0), "must lie within +-2**50"),
        (lambda: Int(1, 2**46, log=True), "high=70368744177664 must be at most 2**45 on a log"),
        (lambda: Int(0, 3, log=True), "low=0 must be positive on a log scale"),
        (lambda: Int(0, 10, step=0), "step=0 must lie between 0 and high - low"),
        (lambda: Int(0, 10, step=-1), "step=-1 must lie between 0 and high - low"),
        (lambda: Int(0, 10, step=11), "step=11 must lie between 0 and high - low"),
        (lambda: Int(0, 10, step=2.5), "step=2.5 must be an integer"),
        (
            lambda: Int(0, 10, step=3),
            "step=3 does not divide the range from low to high; high=9 or",
        ),
        (lambda: Int(0, 10, default=11), "default=11 is not an integer from 0 to 10"),
        (lambda: Int(0, 10, default=1.5), "default=1.5 must be an integer"),
        (
            lambda: Int(0, 10, step=2, default=3),
            "default=3 is not an integer from 0 to 10 (step 2)",
        ),
        (lambda: Choice([]), "there must be at least one option"),
        (lambda: Choice({}), "there must be at least one option"),
        (lambda: Choice({("a", "b"): {}}), "every option needs a key of its own, and these have"),
        (lambda: Choice("abc"), "Choice('abc'): options must be a list"),
        (lambda: Choice(b"abc"), "Choice(b'abc'): options must be a list"),
        (lambda: Choice(5), "Choice(5): options must be a list"),
        (lambda: Choice(None), "Choice(None): options must be a list"),
        (lambda: Choice(np.array(5)), "Choice(array(5)): options must be a list"),
        (lambda: Choice({"b", "a"}), "options must be a list of options"),
        (lambda: Choice([1, True]), "options 1 and True are equal"),
        (lambda: Choice([0, "x", 0.0]), "options 0 and 0.0 are equal"),
        (lambda: Choice(["a", "b", "a"]), "options 'a' and 'a' are equal"),
        (lambda: Choice([None, None]), "options None and None are equal"),
        (lambda: Choice(["a", ("b", "c")]), "option ('b', 'c') is a tuple"),
        (lambda: Choice([("b", "c")]), "option ('b', 'c') is a tuple"),
        (lambda: Choice([["a"]]), "option ['a'] is a list"),
        (lambda: Choice([{"a": 1}]), "option {'a': 1} is a dict"),
        (lambda: Choice([object]), "option <class 'object'> is a type"),
        (lambda: Choice([1j]), "option 1j is a complex"),
        (lambda: Choice([math.nan]), "option nan must be finite"),
        (lambda: Choice(["a", np.float64("inf")]), "option inf must be finite"),
        (lambda: Choice({math.nan: {}}), "option nan must be finite"),
        (lambda: Choice(np.eye(2)), "is a ndarray"),
        (lambda: Choice(["a"], default="b"), "default='b' is not one of 'a'"),
        (lambda: Choice(["a"], default=["a"]), "default=['a'] is not one of 'a'"),
        (lambda: Choice(["a"], ordered="yes"), "ordered='yes' must be True or False"),
        (lambda: Choice(["a"], ordered=np.ones(2)), "must be True or False"),
        (lambda: Choice({"a": None}), "the sub-space of option 'a' must be a dict"),
        (lambda: Choice({"a": [Float(0, 1)]}), "the sub-space of option 'a' must be a dict"),
        (lambda: Choice({"a": {"x": 3}}), "option 'a': 'x' must be a Float, an Int or a Choice"),
        (lambda: Choice({"a": {"x": Float}}), "'x' must be a Float"),
        (lambda: Choice({"a": {3: Float(0, 1)}}), "option 'a': the name 3 must be"),
        (lambda: Choice({"a": {"": Float(0, 1)}}), "option 'a': the name '' must be"),
        (lambda: Choice({"a": {}, ("a", "b"): {}}), "('a', 'b') names the unknown option 'b'"),
        (lambda: Choice({"a": {}, (): {}}), "an empty tuple names no options"),
        (lambda: Choice({"a": {}, (("a",),): {}}), "names the unknown option ('a',)"),
    ],
)
def test_bad_declarations(make: Any, text: str) -> None:
    with message(text):
        make()


def test_a_bad_field_is_shown_with_its_parameter() -> None:
    with message("Float(low=3.0, high=2.0, log=False, step=None, default=None): low=3.0"):
        Float(3, 2)


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


def test_default_zero_is_kept() -> None:
    assert Float(-1, 1, default=0).default == 0.0
    assert Int(-1, 1, default=0).default == 0
    assert Choice([1, 0], default=0).default == 0
    assert Choice([True, False], default=False).default is False


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


# -- Choice ----------------------------------------------------------------------------------


def test_options_keep_their_types() -> None:
    options = [None, True, 0, 2.0, "1", 1.5, "True"]
    choice = Choice(options)
    assert list(choice.options) == options
    assert [type(o) for o in choice.options] == [type(o) for o in options]
    assert [type(o) for o in choice.from_unit(choice.to_unit(options))] == [
        type(o) for o in options
    ]


def test_numpy_options_become_native() -> None:
    choice = Choice(np.array(["a", "b"]))
    assert [type(o) for o in choice.options] == [str, str]
    choice = Choice([np.int64(3), np.float32(0.5), np.bool_(True)], default=np.int64(3))
    assert [type(o) for o in choice.options] == [int, float, bool]
    assert type(choice.default) is int
    assert Choice(np.arange(3)).options == (0, 1, 2)


def test_other_containers_of_options() -> None:
    assert Choice(("a", "b")) == Choice(["a", "b"]) == Choice(x for x in "ab")
    assert Choice({"a": {}, "b": {}}) == Choice({"a": 1, "b": 2}.keys())
    assert Choice(range(3)).options == (0, 1, 2)


def test_options_of_a_text_enum() -> None:
    class Kind(StrEnum):
        A = "a"

    assert Choice([Kind.A]).check("a") == "a"


def test_values_are_found_by_equality() -> None:
    choice = Choice([1, "1", None, 0.5])
    assert type(choice.check(1.0)) is int
    assert choice.check(True) == 1
    assert choice.check(np.float64(0.5)) == 0.5
    assert choice.check(np.str_("1")) == "1"
    assert choice.check(None) is None
    for value in ("None", 2, math.nan, [1], np.array([1])):
        with pytest.raises((TypeError, ValueError)):
            choice.check(value)
        with pytest.raises((TypeError, ValueError)):
            choice.to_unit([1, value])


def test_default_none_is_no_default_even_where_none_is_an_option() -> None:
    assert Choice(["a", None], default=None) == Choice(["a", None])
    assert Choice([None, "a"]).default is None


def test_a_single_option() -> None:
    choice = Choice(["only"])
    assert choice.n_values == 1
    assert choice.to_unit(["only"]).tolist() == [0.5]
    assert choice.from_unit(np.array([0.0, 0.4, 1.0])) == ["only"] * 3
    assert choice.snap(np.array([0.0, 1.0])).tolist() == [0.5, 0.5]


def test_branches_with_the_same_options_are_one() -> None:
    x, y = Float(0, 1), Int(1, 3)
    written = Choice({"a": {"x": x}, "b": {}, ("a",): {"y": y}})
    assert written == Choice({"a": {"x": x, "y": y}, "b": {}})
    shared = {"a": {}, "b": {}, "c": {}, ("b", "a"): {"x": x}}
    assert Choice(shared).branches == (((0, 1), (("x", x),)),)
    assert Choice({**shared, ("a", "b"): {"y": y}}).branches == (((0, 1), (("x", x), ("y", y))),)
    assert Choice({"a": {}, "b": {}, ("a", "a", "b"): {"x": x}}).branches[0][0] == (0, 1)


def test_empty_branches_are_a_list_of_options() -> None:
    assert Choice({"a": {}, "b": {}}) == Choice(["a", "b"])
    assert hash(Choice({"a": {}, "b": {}})) == hash(Choice(["a", "b"]))


# -- descriptions ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "text"),
    [
        (Float(0, 1), "a float from 0 to 1"),
        (
            Float(1e-4, 0.1, log=True, default=0.01),
            "a float from 0.0001 to 0.1 (log, default 0.01)",
        ),
        (Float(1e7, 1e7 + 1, step=0.25), "a float from 10000000 to 10000001 (step 0.25)"),
        (Int(1, 9, step=2, default=3), "an integer from 1 to 9 (step 2, default 3)"),
        (Int(-5, 5, default=0), "an integer from -5 to 5 (default 0)"),
        (Choice([None, "a", 1], ordered=True), "one of None, 'a', 1 (ordered)"),
        (Choice([True, False], default=False), "one of True, False (default False)"),
    ],
)
def test_describe(parameter: Any, text: str) -> None:
    assert parameter.describe() == text


def test_equal_options_of_other_types_make_another_choice() -> None:
    assert Choice([1, 2]) != Choice([True, 2])
    assert Choice([1, 2]) != Choice([1.0, 2])
    assert Choice([1, 2]) == Choice([1, 2])
