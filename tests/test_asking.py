"""`bosquet ask`, `tell` and `release`."""

import json
import re

import pytest

import bosquet as bq
from bosquet.cli import main
from bosquet.study import load_history, read_study

pytest.importorskip("optuna")

SPACE = bq.Space({"m": bq.Choice({"a": {"x": bq.Float(0, 1)}, "b": {"n": bq.Int(1, 50)}})})


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "space.json").write_text(json.dumps(SPACE.to_dict()))


@pytest.fixture
def said(capsys):
    """Runs a command; its exit code, stdout and stderr."""

    def run(*arguments):
        capsys.readouterr()
        try:
            code: object = main([str(argument) for argument in arguments])
        except SystemExit as exit_:
            code = exit_.code
        return code, *capsys.readouterr()

    return run


def asked(said, *options):
    code, out, _ = said("ask", "runs.db", "--as", "json", *options)
    assert code == 0
    return [json.loads(line) for line in out.splitlines()]


def test_a_study_by_hand(said):
    first = asked(said, "--space", "space.json", "--seed", 0, "--direction", "maximize")
    more = asked(said, "-n", 2)
    assert [trial["number"] for trial in first + more] == [0, 1, 2]
    assert asked(said, "--list") == first + more
    assert said("tell", "runs.db", 0, 0.31)[:2] == (0, "trial 0: 0.31\n")
    assert said("tell", "runs.db", 1, "--failed", "the sample broke")[:2] == (
        0,
        "trial 1: failed, the sample broke\n",
    )
    code, out, _ = said("show", "runs.db")
    assert code == 0
    assert "3 trials: 1 complete, 1 failed, 1 waiting to be told" in out
    assert re.search(r"Asked for, and waiting to be told:\n  trial 2 \(for .* m?s\): ", out)
    history = load_history("runs.db")
    assert history.direction == "maximize"
    assert [trial.config for trial in history.trials] == [
        trial["config"] for trial in (*first, more[0])
    ]
    assert said("release", "runs.db", 2)[:2] == (0, "trial 2: released\n")
    assert "\nGiven back, or left by a process that ended; the next" in said("show", "runs.db")[1]
    assert asked(said, "-n", 1) == [more[1]]


def test_text_for_people(said):
    code, out, _ = said("ask", "runs.db", "--space", "space.json", "--strategy", "sobol")
    assert code == 0
    trial = read_study("runs.db").asked[0]
    assert out.startswith("trial 0\n  m  ")
    assert all(str(value) in out for value in trial.config.values())
    assert read_study("runs.db").strategy == "sobol"


def test_known_points_and_noise(said):
    said("ask", "runs.db", "--space", "space.json")
    code, out, _ = said("tell", "runs.db", '{"m": "b", "n": 7}', "-0.5", "--noise-variance", "0.01")
    assert (code, out) == (0, "trial 1: -0.5\n")
    trial = load_history("runs.db").trials[0]
    assert (trial.config, trial.noise_variance) == ({"m": "b", "n": 7}, 0.01)


@pytest.mark.parametrize("value", ["-1e-5", "-.5", "-3E+2", "-0.25"])
def test_values_below_zero_are_no_options(said, value):
    asked(said, "--space", "space.json")
    assert said("tell", "runs.db", 0, value)[:2] == (0, f"trial 0: {float(value)}\n")
    assert "told already" in said("tell", "runs.db", 0, "-inf")[2]


def test_the_only_study_is_found_by_itself(said):
    said("ask", "runs.db", "--study", "first", "--space", "space.json")
    assert said("tell", "runs.db", 0, 1.0)[0] == 0
    said("ask", "runs.db", "--study", "second", "--space", "space.json")
    assert said("tell", "runs.db", 0, 1.0)[0] == 2  # which of the two?
    assert said("tell", "runs.db", "--study", "second", 0, 1.0)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tell", "runs.db", 9, 1.0], "trial 9 is not waiting to be told: there is no such trial"),
        (["tell", "runs.db", 0], "give VALUE or --failed REASON, one of them"),
        (["tell", "runs.db", 0, 1.0, "--failed", "x"], "give VALUE or --failed REASON"),
        (["tell", "runs.db", "zero", 1.0], "'zero' must be the number of a trial"),
        (["tell", "runs.db", "{x", 1.0], "is not a configuration in JSON"),
        (["tell", "runs.db", '{"m": "c"}', 1.0], "'m': 'c' is not allowed"),
        (["tell", "runs.db", '{"m": "c"}', "--failed", "x"], "--failed needs the number"),
        (["tell", "runs.db", 0, "fast"], "'fast' must be a number"),
        (["release", "runs.db", 5], "trial 5 is not waiting to be told"),
        (["release", "runs.db", "x"], "'x' must be the number of a trial"),
        (["ask", "new.db"], "there is no such study; give its space to make it"),
        (["ask", "runs.db", "-n", 0], "'0' must be a positive integer"),
        (["ask", "runs.db", "--direction", "maximize"], "direction: stored 'minimize'"),
    ],
)
def test_what_cannot_be_done_says_why(said, arguments, message):
    said("ask", "runs.db", "--space", "space.json")
    code, _, err = said(*arguments)
    assert code == 2
    assert message in err
    assert "Traceback" not in err


def test_an_exhausted_space(said, tmp_path):
    small = bq.Space({"n": bq.Int(1, 2)})
    (tmp_path / "small.json").write_text(json.dumps(small.to_dict()))
    assert said("ask", "small.db", "--space", "small.json", "-n", 9)[1].count("trial") == 2
    code, _, err = said("ask", "small.db")
    assert code == 1
    assert "every configuration" in err
