"""One look: readable on light and dark, safe with any text."""

import sys

import pytest

from bosquet.plots import theme


def test_figures_are_transparent_and_have_no_black_or_white_text():
    layout = theme.figure("title", "below").layout
    assert layout.paper_bgcolor == layout.plot_bgcolor == "rgba(0,0,0,0)"
    assert layout.font.color == theme.GREY
    assert layout.title.text == "title"


def test_numbers_at_axes_have_no_letters_behind_them():
    """50 micro beside 3.04e-06; the letters look like units."""
    axes = theme.figure("title").layout.template.layout
    assert axes.xaxis.exponentformat == axes.yaxis.exponentformat == "e"


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_stands_out_from_white_and_from_black():
    grey = luminance(theme.GREY)
    assert 1.05 / (grey + 0.05) > 4.0
    assert (grey + 0.05) / (luminance("#121417") + 0.05) > 4.0


def test_text_of_users_is_no_markup():
    assert theme.text("<a href='x'>&") == "&lt;a href='x'&gt;&amp;"
    assert "\x1b" not in theme.text("\x1b[31m")
    assert len(theme.text("x" * 1000)) == 60


@pytest.mark.parametrize(
    ("value", "spread", "shown"),
    [
        (0.123456789, 0.0, "0.1235"),
        (100.001234, 0.001, "100.00123"),
        (0.5, 100.0, "0.5"),
        (float("inf"), 1.0, "inf"),
        (0.0, 0.0, "0"),
        (31234.5, 0.0, "31234"),
        (31234.5, 900.0, "31234"),
        (31234.5, 9e4, "31234"),
        (3.12345e8, 0.0, "3.123e+08"),
    ],
)
def test_digits_follow_the_spread(value, spread, shown):
    assert theme.number(value, spread) == shown


def test_shares_and_colours():
    assert [theme.percent(x) for x in (0.0, 0.004, 0.5, 0.996)] == [
        "under 1 %", "under 1 %", "50 %", "over 99 %",
    ]  # fmt: skip
    assert theme.faded("#0072B2", 0.5) == "rgba(0, 114, 178, 0.5)"
    low, high = theme.colour_scale("minimize"), theme.colour_scale("maximize")
    assert low[0] == [0.0, theme.BLUE]
    assert high[-1] == [1.0, theme.BLUE]
    assert theme.shade("minimize", 0.0) == theme.shade("maximize", 1.0) == theme.BLUE
    assert theme.is_wide([1.0, 100.0])
    assert not theme.is_wide([-1.0, 100.0])


def test_without_plotly_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(
        ImportError, match=r"bosquet.plots needs plotly: pip install 'bosquet\[plots\]'"
    ):
        theme.figure("title")
