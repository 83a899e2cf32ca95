from __future__ import annotations

import math
import re
from enum import StrEnum
from typing import Any

import numpy as np
import pytest

import bosquet
from bosquet import SpaceError
from bosquet.space.parameter import shared_branches

Choice: Any = bosquet.Choice  # Any, because many calls here are wrong on purpose
Float: Any = bosquet.Float
Int: Any = bosquet.Int


def message(text: str) -> Any:
    return pytest.raises(SpaceError, match=re.escape(text))


# -- declarations that are wrong -------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Float(1, 1), "low and high must differ, not both be 1.0; for one value leave"),
        (lambda: Float(2, 1), "low=2.0 must be less than high=1.0"),
        (lambda: Float(math.nan, 1), "low=nan must be a finite number"),
        (lambda: Float(0, math.inf), "high=inf must be a finite number"),
        (lambda: Float(-math.inf, 0), "low=-inf must be a finite number"),
        (lambda: Float(0, 10**400), "must be a finite number"),
        (lambda: Float("0", 1), "low='0' must be a finite number"),
        (lambda: Float(None, 1), "low=None must be a finite number"),
        (lambda: Float(0, True), "high=True must be a finite number"),
        (lambda: Float(0, np.True_), f"high={np.True_!r} must be a finite number"),
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
        (
            lambda: Float(0, 1, step=0.3),
            "step=0.3 does not divide the range from low to high; high=0.9 or high=1.2 would fit",
        ),
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
        (lambda: Int(3, 3), "or write Choice([3])"),
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
        (lambda: Choice({"a": {}, ("a", "b"): {}}), "further parameters, add 'b': {}"),
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


def test_default_zero_is_kept() -> None:
    assert Float(-1, 1, default=0).default == 0.0
    assert Int(-1, 1, default=0).default == 0
    assert Choice([1, 0], default=0).default == 0
    assert Choice([True, False], default=False).default is False


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


# -- what a parameter is like ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "category", "continuous", "branching"),
    [
        (Float(0, 1), False, True, False),
        (Float(1, 2, log=True), False, True, False),
        (Float(0, 1, step=0.5), False, False, False),
        (Int(0, 3), False, False, False),
        (Int(1, 9, log=True), False, False, False),
        (Choice(["a", "b"]), True, False, False),
        (Choice([1, 2], ordered=True), False, False, False),
        (Choice({"a": {"x": Float(0, 1)}, "b": {}}), True, False, True),
        (Choice({1: {}, 2: {"x": Float(0, 1)}}, ordered=True), False, False, True),
        (Choice({"a": {}, "b": {}, "c": {}, ("a", "b"): {"x": Float(0, 1)}}), True, False, True),
        (Choice({"a": {}, "b": {}, ("a", "b"): {"x": Float(0, 1)}}), True, False, False),
        (Choice({"a": {"x": Float(0, 1)}}), True, False, False),
    ],
)
def test_what_a_parameter_is_like(
    parameter: Any, category: bool, continuous: bool, branching: bool
) -> None:
    assert parameter.is_category is category
    assert parameter.is_continuous is continuous
    assert parameter.is_branching is branching


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_the_unit_coordinates_of_options(n: int) -> None:
    choice = Choice(list(range(n)))
    units = choice.unit_of(np.arange(n))
    np.testing.assert_array_equal(units, choice.to_unit(choice.options))
    assert [choice.unit_of(i) for i in range(n)] == units.tolist()
    assert type(choice.unit_of(0)) is float
    np.testing.assert_array_equal(choice.option_index(units), np.arange(n))


def test_shared_branches() -> None:
    trees, depth = Int(1, 9), Int(1, 3)
    subspaces: Any = {"a": {"trees": trees, "depth": depth}, "b": {"trees": trees}, "c": {}}
    expected = {"a": {"depth": depth}, "b": {}, "c": {}, ("a", "b"): {"trees": trees}}
    assert shared_branches(subspaces) == expected
