"""Progress in a notebook; terminals and lines are tested with failures and terminals."""

import sys
import types
from datetime import UTC, datetime, timedelta

import pytest

import bosquet as bq
from bosquet.data import History, Trial
from bosquet.study.progress import Bar, Cell, Lines, in_notebook, progress_bar


@pytest.fixture
def cells(monkeypatch):
    """What a notebook would display, one text a change; IPython is a stand-in for the real one."""
    shown = []

    class Handle:
        def update(self, thing):
            shown.append(thing._repr_html_())

    def display(thing, display_id):
        assert display_id
        shown.append(thing._repr_html_())
        return Handle()

    shell = types.SimpleNamespace(kernel=object())
    package = types.ModuleType("IPython")
    vars(package)["get_ipython"] = lambda: shell
    module = types.ModuleType("IPython.display")
    vars(module)["display"] = display
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    return shown


def test_a_notebook_shows_progress_by_default(cells, capsys):
    space = bq.Space({"x": bq.Float(0, 1)})
    bq.minimize(lambda config: config["x"], space, n_trials=4, strategy="random", seed=0)
    assert "0 of 4 trials, no value yet" in cells[0]
    assert "4 of 4 trials, best " in cells[-1]
    assert 'value="4" max="4"' in cells[-1]
    assert capsys.readouterr().err == ""
    before = len(cells)
    bq.minimize(
        lambda config: config["x"], space, n_trials=2, strategy="random", seed=0, progress=False
    )
    assert len(cells) == before


def test_the_line_escapes_branches_and_says_failures(cells, capsys):
    history = History(bq.Space({"x": bq.Int(1, 2)}))
    with Cell(None, 0) as cell:
        trial = Trial(0, {"x": 1}, info={"path": "m=<b>&"})
        cell.started(trial)
        cell.ended(trial.failed("no luck"), history.with_trial(trial.failed("no luck")))
    assert "now m=&lt;b&gt;&amp;" in cells[1]
    assert "1 trial, 1 failed, no value yet" in cells[-1]
    assert "now" not in cells[-1]
    assert capsys.readouterr().err == "bosquet: trial 0 failed: no luck\n"


def test_only_kernels_are_notebooks(cells, monkeypatch):
    assert in_notebook()
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: None)
    assert not in_notebook()
    assert not isinstance(progress_bar(None, 3), Cell)


@pytest.fixture
def clock(monkeypatch):
    """Seconds that a test moves on itself."""
    now = [1000.0]
    monkeypatch.setattr("bosquet.study.progress.time.monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize(
    "watcher", [lambda: Lines(None), lambda: Bar(None, 0), lambda: Cell(None, 0)]
)
def test_a_trial_that_takes_very_long_is_told_of_once(watcher, cells, clock, capsys):
    history = History(bq.Space({"x": bq.Int(1, 9)}))
    with watcher() as watching:
        for number in range(2):
            watching.started(Trial(number, {"x": 1 + number}))
        clock[0] += 500
        watching.waiting(history)  # perhaps the program always takes that long
        assert "has been running" not in capsys.readouterr().err
        begun = datetime(2026, 1, 1, tzinfo=UTC)
        ended = Trial(0, {"x": 1}, started=begun, ended=begun + timedelta(seconds=7))
        history = history.with_trial(ended.completed(bq.Evaluation(1.0)))
        watching.ended(history.trials[0], history)
        capsys.readouterr()
        for _ in range(2):
            watching.waiting(history)
    said = " ".join(capsys.readouterr().err.split())
    assert (
        said.count("trial 1 has been running for 8 min 20 s, the longest before it 7 s; a lim") == 1
    )
    assert "trial 0 has been running" not in said


def test_a_first_trial_that_hangs(clock, capsys):
    history = History(bq.Space({"x": bq.Int(1, 9)}))
    lines = Lines(5)
    lines.started(Trial(0, {"x": 1}))
    clock[0] += 700
    lines.waiting(history)
    assert "trial 0 has been running for 11 min 40 s; a limit (--trial" in capsys.readouterr().err
