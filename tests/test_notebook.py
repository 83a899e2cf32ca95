"""What notebooks show: the answer first, and nothing of a user's text is markup."""

import re
from html.parser import HTMLParser

import pytest

import bosquet as bq
from bosquet import notebook

NASTY = "<script>alert(1)</script>\"'&\x1b[2J\u202e"


@pytest.fixture
def optimizer():
    """All texts of which are markup."""
    branches = {NASTY: {f"x{NASTY}": bq.Float(0, 1)}, "b": {}}
    opt = bq.Optimizer(bq.Space({f"m{NASTY}": bq.Choice(branches)}), "random", seed=0)
    for number in range(6):
        trial = opt.ask()
        if number == 2:
            opt.tell_failure(trial, NASTY)
        else:
            opt.tell(trial, 1.0 + number)
    opt.ask()
    return opt


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.text = set(), ""

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert {name for name, _ in attrs} <= {"style", "value", "max"}

    def handle_data(self, data):
        self.text += data


def read(html):
    found = Tags()
    found.feed(html)
    assert found.tags <= {"div", "p", "b", "table", "tr", "td", "th", "pre", "progress"}
    return found.text


def shown(thing):
    """The text of the rich view; that of users is in it as text."""
    return read(thing._repr_html_())


def test_results(optimizer):
    result = bq.study.Result(optimizer.history, 7, f"why {NASTY}", 12.5)
    text = shown(result)
    assert "Result of 6 trials, 1 failed; best 1 in trial 0" in text
    assert "Took 12 s, seed 7; ended: why <script>" in text
    assert text.index("Best configuration, of trial 0") < text.index("best value")
    assert repr(result).startswith("<Result of 6 trials, 1 failed; best 1 in trial 0: m<script>")
    assert "\x1b" not in repr(result)
    assert len(repr(result)) < 500


def test_histories_and_optimizers(optimizer):
    assert repr(optimizer.history) == "<History of 6 trials, 1 failed; best 1 in trial 0>"
    assert "History of 6 trials" in shown(optimizer.history)
    text = shown(optimizer)
    assert "Optimizer, strategy 'random': 6 trials, 1 failed" in text
    assert "Pending: 1 trial." in text
    empty = bq.History(optimizer.space)
    assert repr(empty) == "<History of 0 trials, 0 failed>"
    assert "History of 0 trials" in shown(empty)


def test_trials(optimizer):
    failed, pending = optimizer.history.trials[2], optimizer.pending[0]
    assert re.match("Trial 2 failed in .*, <script>alert", shown(failed))
    assert shown(pending).startswith("Trial 6 pending")
    assert repr(pending).startswith("<Trial 6 pending: m<script>")
    complete = optimizer.history.trials[0]
    assert repr(complete).startswith("<Trial 0 complete, 1 in ")
    for trial in optimizer.history.trials:
        assert "\x1b" not in repr(trial)


def test_spaces(optimizer):
    assert "Space with 2 paths" in shown(optimizer.space)


def test_many_branches_are_cut():
    space = bq.Space({"m": bq.Choice({f"o{i}": {f"x{i}": bq.Int(1, 2)} for i in range(30)})})
    opt = bq.Optimizer(space, "sobol", seed=0)
    for number in range(30):
        opt.tell(opt.ask(), float(number))
    assert "... and 18 more branches" in shown(opt)


def test_bars():
    assert 'value="3" max="9"' in notebook.progress(3, 9)
    assert "value" not in notebook.progress(3, None)
