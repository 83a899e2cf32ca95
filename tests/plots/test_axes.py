"""Values of parameters on axes."""

import pytest

from bosquet import Choice, Float, Int, Space
from bosquet.plots.axes import axis, bounds, log_ticks, position, shown, ticks

LOG, NUMBER, WHOLE, OPTION = Space(
    {
        "lr": Float(1e-4, 1e-1, log=True),
        "x": Float(-1, 1),
        "n": Int(0, 100),
        "c": Choice(["<a>", None, 3]),
    }
).dimensions


def test_axes_suit_their_parameters():
    assert axis(LOG)["type"] == "log"
    assert axis(LOG)["ticktext"] == ["0.0001", "0.001", "0.01", "0.1"]
    assert axis(NUMBER)["type"] == "linear"
    assert axis(WHOLE)["type"] == "linear"
    assert axis(OPTION)["ticktext"] == ["&lt;a&gt;", "None", "3"]
    assert shown(OPTION, [None, "<a>"]) == axis(OPTION)["tickvals"][1::-1] == [1.0, 0.0]
    assert shown(LOG, [0.01]) == [0.01]


def test_names_of_options_fit_beside_each_other():
    long = [f"data/a file with a long name, the {i}th" for i in range(30)]
    (many,) = Space({"c": Choice(long)}).dimensions
    across, upright = axis(many), axis(many, upright=True)
    places = [0, 5, 10, 15, 20, 25]
    assert across["ticktext"] == [f"\u2026{place}\u2026" for place in places]
    assert upright["ticktext"][:2] == ["\u20260\u2026", "\u20262\u2026"]
    assert len(upright["ticktext"]) == 15
    assert [place for place, _ in ticks(many)] == upright["tickvals"]
    assert shown(many, [long[29]]) == [29.0] < across["range"][1:]
    (few,) = Space({"c": Choice(["none", "standard", "robust"])}).dimensions
    assert axis(few)["ticktext"] == ["none", "standard", "robust"]
    (one,) = Space(
        {"c": Choice(["a single option with a name that is too long for any axis"])}
    ).dimensions
    assert axis(one)["ticktext"] == ["a single option w\u2026long for any axis"]


def test_places_on_a_line():
    assert position(LOG, [1e-4, 1e-1]) == pytest.approx([-4, -1])
    assert position(OPTION, [3, "<a>"]) == [2.0, 0.0]
    assert bounds(LOG) == pytest.approx([-4, -1])
    assert bounds(OPTION) == [0.0, 2.0]
    assert [name for _, name in ticks(OPTION)] == ["&lt;a&gt;", "None", "3"]
    assert [name for _, name in ticks(NUMBER)] == ["-1", "-0.5", "0", "0.5", "1"]
    assert [place for place, _ in ticks(LOG)] == pytest.approx([-4, -3, -2, -1])


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 1, [1, 2, 5, 10]), (-8, 3, [1e-8, 1e-5, 1e-2, 10]), (-3, 3, [1e-3, 0.1, 10, 1000])],
)
def test_ticks_of_a_logarithmic_axis_are_few_and_round(low, high, expected):
    assert log_ticks(low, high, 5) == pytest.approx(expected)
