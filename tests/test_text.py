import json
import sys
import unicodedata

import pytest

import bosquet as bq
from bosquet.benchmarks.harness import Job
from bosquet.text import (
    counted_text,
    did_you_mean,
    duration_text,
    json_text,
    listed,
    printable,
    value_format,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("Größe ∞ 木 é 😀", "Größe ∞ 木 é 😀"),
        ("\x1b[31mred", r"\u001b[31mred"),
        ("title\x1b]0;x\x07", r"title\u001b]0;x\u0007"),
        ("a\rb\x08\x7f\x00", r"a\rb\b\u007f\u0000"),
        ("\x9b31m", r"\u009b31m"),
        ("fdp\u202eexe.", r"fdp\u202eexe."),
        ("\u2066\u200b\ufeff\u200f", r"\u2066\u200b\ufeff\u200f"),
        ("\u2028\u2029", r"\u2028\u2029"),
        ("\U000e0041", r"\udb40\udc41"),
        ("\udc80", r"\udc80"),
    ],
)
def test_control_characters_are_shown(text, shown):
    assert printable(text) == shown
    assert json.loads(f'"{shown}"') == text


def test_line_ends_are_kept_where_a_text_has_several_lines():
    assert printable("a\n\tb\r\n") == r"a\n\tb\r\n"
    assert printable("a\n\tb\r\n", lines=True) == "a\n\tb\\r\n"


def test_of_all_characters_only_harmless_ones_are_left():
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    left = {unicodedata.category(char) for char in printable(everything)}
    assert not left & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    printable(everything).encode()


def test_close_names_are_suggested():
    assert did_you_mean("addtree", ["additive", "add-tree"]) == "; did you mean 'add-tree'?"
    assert did_you_mean("LR", ["lr", "rl"]) == "; did you mean 'lr'?"
    assert did_you_mean("something", ["lr", "depth"]) == ""
    assert did_you_mean(None, ["lr"]) == ""


@pytest.mark.parametrize(
    ("look_up", "arguments", "meant"),
    [
        (bq.strategies.get, {"strategy": "addtree"}, "add-tree"),
        (bq.strategies.get, {"strategy": "HTBO"}, "htbo"),
        (bq.strategies.AddTree, {"acquisition": "logie"}, "logei"),
        (bq.strategies.AddTree, {"kernel": "matern"}, "matern52"),
        (bq.strategies.Additive, {"graph": "learnt"}, "learned"),
        (bq.strategies.TreeEI, {"search": "twostep"}, "two-step"),
        (bq.History, {"space": bq.Space({"x": bq.Int(0, 1)}), "direction": "minimise"}, "minimize"),
        (bq.benchmarks.sklearn_pipeline, {"dataset": "breast-cancer"}, "breast_cancer"),
        (Job("boing", "brannin", 0, 5).check, {}, "branin"),
        (Job("optuna-tep", "branin", 0, 5).check, {}, "optuna-tpe"),
    ],
)
def test_every_name_that_is_looked_up_has_suggestions(look_up, arguments, meant):
    with pytest.raises(ValueError, match=f"must be one of .*; did you mean '{meant}'"):
        look_up(**arguments)


def test_long_lists_and_long_texts_are_cut():
    assert listed(["a", "b"]) == "a, b"
    assert listed([]) == ""
    many = listed(str(i) for i in range(500))
    assert many.startswith("0, 1, 2, ")
    shown = many.removesuffix(" more)").rpartition(", ... (")
    assert int(shown[2]) == 500 - len(shown[0].split(", "))
    assert len(many) < 220
    assert listed(["x" * 1000]) == "x" * 60 + "..." + "x" * 10


def test_json_is_readable_and_harmless():
    value = {"größe": ["日本 語", "\x1b[31m", "\u2028", "\ud800", 'a"b\n']}
    text = json_text(value)
    assert json.loads(text) == value
    assert "größe" in text
    assert "日本 語" in text
    assert r"\u001b[31m" in text
    assert text.isprintable()
    assert json.loads(json_text(value, indent=2)) == value


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.00042, "0.42 ms"),
        (0.042, "42 ms"),
        (1.234, "1.2 s"),
        (9.96, "10 s"),
        (59.7, "1 min 0 s"),
        (200, "3 min 20 s"),
        (3600 * 2 + 300, "2 h 5 min"),
        (86400 * 3 + 3600 * 4 + 59, "3 d 4 h"),
    ],
)
def test_durations_have_units(seconds, text):
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([0.031, 0.034, 0.039, 1e6], ["0.03100", "0.03400", "0.03900", "1000000.00000"]),
        ([1000.0001, 1000.0003], ["1000.000100", "1000.000300"]),
        ([12345.0, 200.0, 99999.0], ["12345", "200", "99999"]),
        ([3e-9, 5e-9], ["3.00e-09", "5.00e-09"]),
        ([0.0, 0.0], ["0", "0"]),
        ([7.0], ["7.00"]),
        ([4.01e-5, 0.031, 0.052, 0.25], ["4.01e-05", "0.0310", "0.0520", "0.2500"]),
        ([-1e300, 1e300], ["-1.00e+300", "1.00e+300"]),
        ([float("inf"), 1.0], ["inf", "1.00"]),
        ([], []),
    ],
)
def test_values_have_the_digits_in_which_they_differ(values, texts):
    assert list(map(value_format(values), values)) == texts


def test_one_of_something_is_not_several():
    assert [counted_text(n, "trial") for n in (0, 1, 2)] == ["0 trials", "1 trial", "2 trials"]
