import json
import sys
import unicodedata

import pytest

import bosquet as bq
from bosquet.benchmarks.harness import Job
from bosquet.text import did_you_mean, json_text, listed, printable


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
