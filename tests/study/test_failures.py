"""Runs whose evaluations fail: when they stop, what they raise, and who is told."""

import itertools
import logging
import math
import subprocess
import sys
import time
from functools import partial
from typing import Any

import pytest

import bosquet as bq
from bosquet.data import alike
from bosquet.study import load_history, progress
from tests.support import constant, told_before

SPACE = bq.Space({"x": bq.Float(0, 1)})
OPTIONS: dict[str, Any] = {"n_trials": 40, "seed": 0, "strategy": "random"}


def broken(config):
    raise ValueError(f"no such file: 'run-{config['x']}.txt' at {id(config):#x}")


def by_turns(*outcomes):
    """An objective that does one thing after the other: returns a number, or raises a text."""
    turns = itertools.cycle(outcomes)

    def objective(config):
        outcome = next(turns)
        if isinstance(outcome, str):
            raise ValueError(outcome)
        return outcome

    return objective


def first_is_slow(folder, config):
    """The first call brings a value when five others have failed."""
    try:
        (folder / "first").touch(exist_ok=False)
    except FileExistsError:
        (folder / str(config["x"])).touch()
        raise ValueError("bad") from None
    deadline = time.monotonic() + 60
    while len(list(folder.iterdir())) < 6 and time.monotonic() < deadline:
        time.sleep(0.01)
    return 0.0


def test_a_value_that_was_under_way_lets_the_run_go_on(tmp_path):
    objective = partial(first_is_slow, tmp_path)
    result = bq.minimize(objective, SPACE, n_jobs=2, **OPTIONS | {"n_trials": 9})
    assert result.stopped == "all 9 trials done"
    assert (len(result.history.complete), len(result.history.failed)) == (1, 8)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_five_failures_alike_stop_a_run_without_any_value(n_jobs):
    result = bq.minimize(broken, SPACE, n_jobs=n_jobs, progress=False, **OPTIONS)
    assert 5 <= len(result.history.failed) <= 4 + n_jobs  # those that were running are kept too
    assert len(result.trials) == len(result.history.failed)
    assert result.stopped.startswith(
        f"{len(result.trials)} trials failed in the same way and none returned a value: "
        "ValueError: no such file: 'run-0."
    )


def test_every_kind_of_failure_counts():
    for value in (math.nan, None, "0.3"):
        result = bq.maximize(constant(value), SPACE, progress=False, **OPTIONS)
        assert len(result.trials) == 5
        assert "the objective returned" in result.stopped


def test_failures_unlike_each_other_are_counted_apart():
    objective = by_turns("disk full", "no memory", "disk full", "no licence")
    result = bq.minimize(objective, SPACE, progress=False, **OPTIONS)
    assert len(result.trials) == 9
    assert "disk full" in result.stopped


def test_one_value_and_the_run_goes_on():
    result = bq.minimize(by_turns("a", "a", "a", "a", 1.0, *["a"] * 95), SPACE, **OPTIONS)
    assert len(result.history.failed) == 39
    assert result.stopped == "all 40 trials done"


def test_continue_uses_the_budget():
    result = bq.minimize(broken, SPACE, on_failure="continue", progress=False, **OPTIONS)
    assert len(result.history.failed) == 40
    assert result.stopped == "all 40 trials done"


def test_a_stopped_study_gets_another_chance(tmp_path):
    pytest.importorskip("optuna")
    file = tmp_path / "r.db"
    for k in (1, 2):  # failures of the first run do not count in the second
        result = bq.minimize(broken, SPACE, storage=file, progress=False, **OPTIONS)
        assert result.stopped.startswith("5 trials failed in the same way")
        assert len(result.trials) == len(load_history(file).failed) == 5 * k
    stored = {"storage": file, "progress": False, "allow_changed": True}
    mended = bq.minimize(lambda c: c["x"], SPACE, **stored, **OPTIONS)
    assert len(mended.history.complete) == 30
    options = OPTIONS | {"n_trials": 60}
    again = bq.minimize(broken, SPACE, **stored, **options)
    assert len(again.history.failed) == 30  # values of earlier runs count


def test_values_of_a_given_history_count():
    known = bq.minimize(lambda c: c["x"], SPACE, n_trials=1, seed=0).history
    result = bq.minimize(broken, SPACE, history=known, progress=False, **OPTIONS)
    assert len(result.history.failed) == 40


def test_a_callback_sees_the_failures_and_may_stop_first():
    seen = []

    def stop(optimizer, trial):
        seen.append(trial.state)
        return len(seen) == 3

    result = bq.minimize(broken, SPACE, callbacks=stop, progress=False, **OPTIONS)
    assert seen == ["failed"] * 3
    assert result.stopped == "a callback said so"


# -- raise -----------------------------------------------------------------------------------


def third_is_bad(value):
    calls = itertools.count()
    return lambda config: config["x"] if next(calls) < 2 else value()


def test_raise_chains_the_error_and_keeps_the_trials(tmp_path):
    pytest.importorskip("optuna")
    file = tmp_path / "r.db"
    bad = third_is_bad(lambda: 1 / 0)
    with pytest.raises(bq.EvaluationError) as caught:
        bq.minimize(bad, SPACE, storage=file, on_failure="raise", **OPTIONS)
    assert str(caught.value).startswith("trial 2 failed: ZeroDivisionError: division by zero")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert caught.value.__cause__.__traceback__ is not None
    assert [t.state for t in told_before(caught.value).trials] == ["complete", "complete", "failed"]
    assert load_history(file).trials == told_before(caught.value).trials


def test_raise_where_nothing_was_raised():
    with pytest.raises(bq.EvaluationError, match="trial 2 failed: the objective returned nan"):
        bq.minimize(third_is_bad(lambda: math.nan), SPACE, on_failure="raise", **OPTIONS)


def test_raise_in_workers():
    with pytest.raises(bq.EvaluationError, match=r"failed: ValueError: no such file") as caught:
        bq.minimize(broken, SPACE, n_jobs=2, on_failure="raise", **OPTIONS)
    assert caught.value.__cause__ is None
    assert 1 <= len(told_before(caught.value).failed) <= 2  # two may end at once


def test_other_words_are_refused():
    with pytest.raises(ValueError, match="on_failure='ignore' must be 'stop', 'continue' or"):
        bq.minimize(broken, SPACE, on_failure="ignore", **OPTIONS)  # type: ignore[arg-type]


# -- who is told -----------------------------------------------------------------------------


def test_a_result_without_a_value_shows_the_last_reason_once():
    stopped = bq.minimize(lambda _: 1 / 0, SPACE, progress=False, **OPTIONS)
    assert str(stopped).count("division by zero") == 1
    assert "5 trials, 5 failed, in" in str(stopped)
    done = bq.minimize(by_turns("first", "last"), SPACE, n_trials=2, progress=False)
    assert "nothing found; trial 1 failed with: ValueError: last" in str(done)
    good = bq.minimize(by_turns(1.0, "bad"), SPACE, n_trials=2)
    assert "bad" not in str(good)


def test_a_run_that_found_nothing_says_so_unless_it_shall_be_silent(capsys):
    for options, lines in ((OPTIONS, 1), (OPTIONS | {"progress": False}, 0)):
        bq.minimize(lambda _: 1 / 0, SPACE, **options)
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.count("\n") == said.err.count("division by zero") == lines


def test_the_log(caplog):
    with caplog.at_level(logging.INFO, logger="bosquet"):
        bq.minimize(by_turns(0.25, "bad [%s] luck"), SPACE, n_trials=2)
    assert [(r.name, r.levelname) for r in caplog.records] == [
        ("bosquet", "INFO"),
        ("bosquet", "WARNING"),
    ]
    assert caplog.messages[0] == "trial 0 brought 0.25"
    assert caplog.messages[1].startswith("trial 1 failed: ValueError: bad [%s] luck (test_")


@pytest.mark.parametrize("terminal", [False, True])
def test_control_characters_of_a_reason_reach_nobody(capsys, caplog, monkeypatch, terminal):
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    bq.minimize(by_turns(1.0, "a\x1b]0;b\x07\nc [red]"), SPACE, n_trials=2, progress=True)
    shown = capsys.readouterr().err
    assert r"a\u001b]0;b\u0007\nc [red]" in shown
    assert "\x1b]0;" not in shown
    assert r"a\u001b]0;b\u0007\nc [red]" in caplog.text


def test_the_log_is_not_printed_unless_asked_for():
    code = (
        "import bosquet as bq\n"
        "turns = iter([1.0, None, None])\n"
        "bq.minimize(lambda c: next(turns), bq.Space({'x': bq.Float(0, 1)}), n_trials=3)\n"
    )
    wanted = "import logging\nlogging.basicConfig(level=logging.INFO)\n"
    silent, loud = (
        subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
        for text in (code, wanted + code)
    )
    assert silent.stderr == ""
    assert loud.stderr.count("WARNING:bosquet:trial") == 2
    assert "INFO:bosquet:trial 0 brought 1.0" in loud.stderr


def test_lines_where_there_is_no_terminal(capsys):
    """The first trial, the first failure of each kind, the last trial."""
    objective = by_turns(0.5, "slow 1", "slow 2", "full", 0.125, 0.25)
    bq.minimize(objective, SPACE, n_trials=6, seed=0, progress=True)
    first, slow, full, last = capsys.readouterr().err.splitlines()
    assert first == "bosquet: 1 of 6 trials, best 0.5 in trial 0, 0 s"
    assert slow.startswith("bosquet: trial 1 failed: ValueError: slow 1 (")
    assert full.startswith("bosquet: trial 3 failed: ValueError: full (")
    assert last == "bosquet: 6 of 6 trials, 3 failed, best 0.125 in trial 4, 0 s"


def test_lines_now_and_then(capsys, monkeypatch):
    now = itertools.count(0.0, 3.0)
    monkeypatch.setattr(progress, "LINE_EVERY", 10.0)
    history = bq.minimize(lambda c: c["x"], SPACE, n_trials=1, seed=0).history
    monkeypatch.setattr(time, "monotonic", lambda: next(now))
    lines = progress.Lines(None)
    for _ in range(12):
        lines.ended(history.trials[0], history)
    seconds = [float(line.split()[-2]) for line in capsys.readouterr().err.splitlines()]
    assert len(seconds) > 2
    assert min(b - a for a, b in itertools.pairwise(seconds)) >= 10.0


def test_failures_that_name_an_option_are_alike():
    space = bq.Space({"solver": bq.Choice(["newton", "lbfgs", "sgd"]), "x": bq.Float(0, 1)})

    def broken(config):
        raise ValueError(f"no solver {config['solver']} here")

    result = bq.minimize(broken, space, n_trials=40, seed=0, progress=False)
    assert len({trial.reason for trial in result.trials}) > 1
    assert result.stopped.startswith("5 trials failed in the same way")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("loss is 1.5", "loss is -2e-05", True),
        ("KeyError: 'lr'", 'KeyError: "momentum"', True),
        ("<object at 0x7f33ab12>", "<object at 0x55aa0042>", True),
        ("ValueError: bad (a.py:12 in f)", "ValueError: bad (a.py:7 in f)", True),
        ("run 1b4e28ba-2fa1-11d2-883f-b9a761bde3fb", "run 99999999-1111-41d2-a83f-b9a1", True),
        ("commit 4fe21c09 fails", "commit 90ab12cd fails", True),
        ("it can't open a.txt, it won't", "it can't open b.txt, it won't", False),
        ("exit code 3; stderr: bad", "exit code 3; stderr: worse", False),
        ("timeout of 600 s", "MemoryError", False),
    ],
)
def test_what_failures_of_one_kind_may_differ_in(one, other, same):
    assert (alike(one) == alike(other)) is same


def test_a_reason_has_no_line_of_what_calls_the_objective():
    objective: Any = lambda x, y: x + y  # noqa: E731 - of two parameters, as one might expect
    (trial,) = bq.minimize(objective, SPACE, n_trials=1, progress=False).trials
    assert str(trial.reason).endswith("missing 1 required positional argument: 'y'")
