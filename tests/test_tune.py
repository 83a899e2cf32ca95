"""The commands on studies: tune, show, best, export."""

import csv
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import bosquet as bq
from bosquet.cli import main
from bosquet.data import as_time
from bosquet.data.rows import FIXED
from bosquet.study import load_history, read_study
from tests.support import present
from tests.test_docs import BLOCK, ROOT

pytest.importorskip("optuna")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the programs are POSIX ones")

SPACE = {
    "schema": 1,
    "parameters": {
        "a": {"type": "int", "low": 1, "high": 99},
        "m": {
            "type": "choice",
            "options": ["plain", "deep"],
            "branches": [
                {"options": ["deep"], "parameters": {"n": {"type": "int", "low": 1, "high": 9}}}
            ],
        },
    },
}
TRAIN = """
import neighbour
import bosquet as bq

space = bq.Space(
    {"x": bq.Float(0, 1), "m": bq.Choice({"a": {"value": bq.Int(1, 3)}, "b": {}})},
    constraints=[lambda c: c["x"] < 0.99],
)
number = 3

def objective(config):
    import later
    if config.get("value") == 2:
        raise ValueError(f"[red] {config['x']}")
    return config["x"] + neighbour.SHIFT + later.SHIFT
"""
COMMAND = "sh -c 'echo $1' sh {a} {?n:-n {n}}"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("space.json").write_text(json.dumps(SPACE))
    Path("lib").mkdir()
    Path("lib/train.py").write_text(TRAIN)
    Path("lib/neighbour.py").write_text("SHIFT = 1")
    Path("lib/later.py").write_text("SHIFT = 1")
    yield tmp_path
    for name in ("train", "neighbour", "later"):
        sys.modules.pop(name, None)


def tuned(*arguments, trials=6):
    command = ["tune", "--trials", str(trials), "--strategy", "random", "--seed", "0"]
    return main([*command, *arguments])


def tuned_function(*arguments, **options):
    place = ["lib/train.py:objective", "--space", "lib/train.py:space"]
    return tuned(*place, *arguments, **options)


def tuned_command(*arguments, **options):
    return tuned("--space", "space.json", "--command", COMMAND, *arguments, **options)


def test_the_page_about_the_command_line(capsys):
    page = (ROOT / "docs" / "guides" / "command-line.md").read_text(encoding="utf-8")
    ran = []
    for kind, code in BLOCK.findall(page):
        if " " in kind:
            Path(kind.split()[1]).write_text(code)
        elif kind == "sh":
            for line in code.replace("\\\n", " ").splitlines():
                program, *arguments = shlex.split(line, comments=True)
                assert program == "bosquet"
                assert main(arguments) == 0, line
                ran.append(arguments[0])
    looked = ["show", "best", "best", "export", "export", "report"]
    told = ["ask", "ask", "tell", "tell", "ask", "release"]
    assert ran == ["tune", "tune", "tune", *looked, *told]
    assert "goes on after 12 trials" in capsys.readouterr().err
    assert len(load_history("runs.db", "solver").complete) == 12
    assert len(json.loads(Path("trials.json").read_text())) == 12
    assert "</html>" in Path("report.html").read_text()


def test_a_function_in_a_file_here_and_in_workers(capsys):
    assert tuned_function(trials=8) == 0
    shown = capsys.readouterr()
    assert "8 trials, " in shown.out
    assert "ValueError: [red] 0." in shown.out
    assert "8 of 8 trials" in shown.err.splitlines()[-1]  # lines instead of a bar in a pipe
    assert "\x1b" not in shown.err
    assert tuned_function("--jobs", "2", trials=12) == 0
    assert "12 trials, 8 of them from before" in capsys.readouterr().out
    history = read_study("runs.db").history
    assert [trial.number for trial in history.trials] == list(range(12))
    for trial in history.complete:
        assert trial.value == trial.config["x"] + 2


def test_a_function_again_after_all_is_done(capsys):
    assert tuned_function("--direction", "maximize") == 0
    before = read_study("runs.db")
    assert before.history.direction == "maximize"
    assert tuned_function("--direction", "maximize") == 0
    assert read_study("runs.db") == before
    assert tuned_function() == 2
    assert "direction: stored 'maximize', 'minimize' now" in capsys.readouterr().err


def test_a_file_called_like_a_module():
    Path("json.py").write_text("import bosquet as bq\nspace = bq.Space({'x': bq.Float(0, 1)})\n"
                               "def objective(c): return c['x']\n")  # fmt: skip
    assert tuned("json.py:objective", "--space", "json.py:space", "--jobs", "2") == 0
    assert sys.modules["json"] is json


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lib/train.py"], "objective='lib/train.py' must be FILE.py:NAME"),
        (["lib/none.py:f"], "there is no file lib/none.py"),
        (["lib/train.py:f"], "the file has no 'f', only space, number, objective"),
        (["lib/train.py:number"], "lib/train.py:number must be a function, not 3"),
        (["bad.py:f"], "bad.py cannot be loaded: ZeroDivisionError: division by zero (bad.py:1"),
        (["wrong.py:f"], "wrong.py cannot be loaded: '(' was never closed (wrong.py, line 1)"),
        (["lib/train.py:objective", "--space", "x.txt"], "must be FILE.py:NAME or FILE.json"),
        (
            ["lib/train.py:objective", "--space", "lib/train.py:number"],
            "lib/train.py:number: space must be a bosquet.Space or a dict of parameters, not int 3",
        ),
        (["lib/train.py:objective", "--space", "nope.json"], "nope.json: there is no such file"),
        (["lib/train.py:objective", "--space", "bad.json"], "bad.json is not JSON"),
        (["lib/train.py:objective", "--space", "odd.json"], "odd.json: a stored space is a dict"),
        (["lib/train.py:objective", "--space", "twice.json"], "twice.json: the key 'lr' appears"),
        (
            ["lib/train.py:objektive"],
            "'objektive', only space, number, objective; did",
        ),
        (["lib/train.py:objective", "--strategy", "magic"], "strategy='magic' must be one of"),
        (["lib/train.py:objective", "--storage", "no/dir/x.db"], "there is no directory"),
        (["--command", "echo {b}"], "{b} is not a parameter; the space has a, m, n"),
        (["--command", "echo {a} {n}"], "Write it as {?n:...{n}...}"),
        (["--command", "no-such-program {a} {?n:{n}}"], "no program 'no-such-program'"),
        (["--command", COMMAND, "--read", "stderr"], "read='stderr' must be 'stdout'"),
        (["--command", COMMAND, "--read", "json:x", "--jobs", "2"], "would write the same file"),
    ],
)
def test_bad_input(capsys, arguments, message):
    Path("bad.py").write_text("1 / 0")
    Path("wrong.py").write_text("f = (")
    Path("bad.json").write_text("{")
    Path("odd.json").write_text("[]")
    lr = '"lr": {"type": "int", "low": 0, "high": 3}'
    Path("twice.json").write_text(f'{{"schema": 1, "parameters": {{{lr}, {lr}}}}}')
    assert tuned("--space", "space.json", *arguments) == 2
    assert message in capsys.readouterr().err
    assert not Path("runs.db").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--space", "space.json", "--trials", "3"], "give FILE.py:NAME or --command"),
        (["f.py:f", "--space", "space.json", "--command", "x"], "give FILE.py:NAME or --command"),
        (["f.py:f", "--trials", "3"], "the following arguments are required: --space"),
        (["f.py:f", "--space", "space.json"], "give --trials, --timeout or both"),
        (["f.py:f", "--space", "s", "--trials", "3", "--read", "stdout"], "--read needs --command"),
        (["f.py:f", "--space", "s", "--timeout", "2x"], "'2x' must be a time such as 90 (seconds)"),
        (["f.py:f", "--space", "s", "--timeout", "0s"], "'0s' must be a time"),
    ],
)
def test_bad_options(capsys, arguments, message):
    with pytest.raises(SystemExit) as ended:
        main(["tune", *arguments])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("30m", 1800), ("2h", 7200), ("1d", 86400), ("0.5h", 1800)],
)
def test_durations(monkeypatch, text, seconds):
    given = {}
    monkeypatch.setattr("bosquet.study.tune.minimize", lambda *_, **options: given.update(options))
    with pytest.raises(AttributeError):  # there is no result
        tuned_command("--timeout", text, "--trial-timeout", text)
    assert (given["timeout"], given["trial_timeout"]) == (seconds, seconds)


def test_a_command_and_what_is_shown_of_it(capsys):
    assert tuned_command("--study", "first") == 0
    shown = capsys.readouterr()
    assert "6 trials, 0 failed" in shown.out
    assert "show runs.db --study first" in shown.out
    assert main(["show", "runs.db"]) == 0
    shown = capsys.readouterr().out
    assert "runs.db, study 'first' (minimize, strategy random, seed 0)" in shown
    assert "6 trials: 6 complete, 0 failed" in shown
    assert "m=plain" in shown
    best = present(read_study("runs.db").history.best)
    assert main(["best", "runs.db"]) == 0
    assert capsys.readouterr().out.startswith(f"{best.value} in trial {best.number}\n  a  ")
    assert main(["best", "runs.db", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "number": best.number,
        "value": best.value,
        "noise_variance": None,
        "config": best.config,
    }


def test_no_value_at_all(capsys):
    failing = "sh -c 'echo no luck with {a} >&2; exit 3' {?n:{n}}"
    command = ["--space", "space.json", "--command", failing]
    assert tuned(*command, "--on-failure", "raise", trials=7) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert re.search(r"^bosquet: trial 0 failed: exit code 3; stderr: no luck", shown.err, re.M)
    assert tuned(*command, trials=20) == 1
    shown = capsys.readouterr()
    assert "6 trials, 1 of them from before, 6 failed; this run took " in shown.out
    stopped = r"s \(5 trials failed in the same way and none returned a value: exit code 3; stderr"
    assert re.search(stopped, shown.out)
    assert tuned(*command, "--on-failure", "continue", trials=7) == 1
    capsys.readouterr()
    assert main(["show", "runs.db"]) == 0
    shown = capsys.readouterr().out
    assert re.search(
        r"│ +7 │ exit code 3; stderr: no luck with \d+ │ 0, 1, 2, 3, 4, and 2 more ", shown
    )
    assert main(["best", "runs.db"]) == 1
    assert "study 'bosquet': no trial has returned a value" in capsys.readouterr().err


def test_several_studies_in_a_file(capsys):
    space = bq.Space({"x": bq.Float(0, 1)})
    for name in ("one", "two"):
        bq.minimize(lambda c: c["x"], space, n_trials=2, storage="runs.db", study_name=name, seed=0)
    for command in (["show"], ["best"], ["export", "-o", "x.csv"]):
        assert main([command[0], "runs.db", *command[1:]]) == 2
        assert "runs.db: which study? stored are 'one', 'two'" in capsys.readouterr().err
        assert main([command[0], "runs.db", *command[1:], "--study", "two"]) == 0
        assert main([command[0], "runs.db", *command[1:], "--study", "three"]) == 2
        assert "'three': not there; stored are 'one', 'two'" in capsys.readouterr().err


def test_looking_makes_no_file(capsys, tmp_path):
    Path("empty.db").touch()
    before = sorted(tmp_path.iterdir())
    for command in (["show"], ["best"], ["export", "-o", "x.csv"]):
        for file, message in (("none.db", "there is no such file"), ("empty.db", "no study in it")):
            assert main([command[0], file, *command[1:]]) == 2
            assert message in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before
    assert not Path("empty.db").stat().st_size


def test_running_and_left_trials_are_told_apart(capsys):
    def look(optimizer, trial):
        assert main(["show", "runs.db"]) == 0
        if trial.number == 1:
            raise KeyboardInterrupt

    def objective(config):
        main(["show", "runs.db"])
        return config["x"]

    space = bq.Space({"x": bq.Float(0, 1)})
    bq.minimize(objective, space, n_trials=3, storage="runs.db", callbacks=look, seed=0)
    shown = capsys.readouterr().out
    running = (
        r"1 trial: 0 complete, 0 failed, 1 running\n\nRunning:\n  trial 0 \(for [\d.]+ m?s\): x="
    )
    assert re.search(running, shown)

    def interrupted(config):
        raise KeyboardInterrupt

    bq.minimize(interrupted, space, n_trials=3, storage="runs.db", seed=0, allow_changed=True)
    assert main(["show", "runs.db"]) == 0
    shown = capsys.readouterr().out
    assert "3 trials: 2 complete, 0 failed, 1 to be taken up again" in shown
    assert "the next run takes them up:\n  trial 2: x=" in shown
    assert "Running" not in shown


OPTIONS = [True, None, 3, 0.1, "a,b", 'say "x"', "new\nline"]


def test_export_round_trip(capsys):
    space = bq.Space(
        {
            "value": bq.Float(0, 1),
            "option": bq.Choice(OPTIONS),
            "m": bq.Choice({"a": {"n": bq.Int(1, 50)}, "b": {"n": bq.Float(1e-9, 1, log=True)}}),
        }
    )

    def objective(config):
        if config["m"] == "a" and config["n"] % 2:
            raise ValueError("odd, \n and bad")
        return bq.Evaluation(config["value"] / 3, 0.1)

    options: dict[str, Any] = {
        "n_trials": 30,
        "seed": 0,
        "strategy": "random",
        "storage": "runs.db",
    }
    history = bq.minimize(objective, space, **options).history
    assert {trial.config["option"] for trial in history.trials} == set(OPTIONS)
    for out in ("t.csv", "t.json"):
        assert main(["export", "runs.db", "-o", out]) == 0
        assert f"30 trials written to {out}" in capsys.readouterr().err
    assert main(["export", "runs.db", "-o", "-"]) == 0
    assert capsys.readouterr().out == Path("t.csv").read_text()

    rows = json.loads(Path("t.json").read_text())
    for row, trial in zip(rows, history.trials, strict=True):
        given = {name: row.pop(name) for name in list(row)[:8]}
        given |= {name: as_time(given[name], name) for name in ("started", "ended")}
        assert given == {name: getattr(trial, name) for name in given}
        row["value"] = row.pop("config.value")
        assert space.unqualify(row) == trial.config

    with open("t.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    parameters = ["config.value", "option", "m", "m=a/n", "m=b/n"]
    assert list(lines[0]) == [*FIXED, *parameters]
    for line, trial in zip(lines, history.trials, strict=True):
        assert int(line["number"]) == trial.number
        assert line["state"] == trial.state
        assert line["reason"] == (trial.reason or "")
        assert line["value"] == ("" if trial.value is None else repr(trial.value))
        assert line["m=b/n" if trial.config["m"] == "a" else "m=a/n"] == ""
        assert float(line[f"m={trial.config['m']}/n"]) == trial.config["n"]
        option = trial.config["option"]
        assert line["option"] == (option if isinstance(option, str) else json.dumps(option))


def test_a_reader_that_has_seen_enough():
    bq.minimize(lambda c: c["x"], bq.Space({"x": bq.Float(0, 1)}), n_trials=1, storage="runs.db")
    command = f"{shlex.quote(sys.executable)} -m bosquet export runs.db -o - | true"
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    for environment in (buffered, buffered | {"PYTHONUNBUFFERED": "1"}):
        done = subprocess.run(["sh", "-c", command], capture_output=True, env=environment)
        assert done.stderr == b""


def test_export_to_something_else(capsys):
    with pytest.raises(SystemExit):
        main(["export", "runs.db", "-o", "x.xlsx"])
    assert "'x.xlsx' must end in .csv or .json, or be -" in capsys.readouterr().err


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_study_leaves_no_process_and_goes_on(tmp_path, stop):
    """A program with a child of its own hangs in two workers."""
    hanging = "sh -c 'sleep 54321 & sleep 54321' sh {trial} {a} {?n:{n}}"
    command = [sys.executable, "-m", "bosquet", "tune", "--space", "space.json"]
    command += ["--command", hanging, "--trials", "3", "--jobs", "2", "--strategy", "random"]
    study = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 60
    while len(_sleepers(tmp_path)) < 4 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(_sleepers(tmp_path)) == 4
    os.kill(study.pid, stop)
    said = study.communicate(timeout=30)[1]
    give_up = time.monotonic() + 10
    while _sleepers(tmp_path) and time.monotonic() < give_up:
        time.sleep(0.05)
    assert not _sleepers(tmp_path)
    if stop != signal.SIGKILL:
        assert study.returncode == 128 + stop
        shown = said.splitlines()[-1].strip()
        assert shown == shlex.join(["python", "-m", "bosquet", *command[3:]])
    left = read_study("runs.db")
    assert len(left.left) == 2
    assert not left.running
    command[command.index(hanging)] = COMMAND  # which ends
    assert main(command[3:]) == 0
    trials = read_study("runs.db").history.complete
    assert [trial.number for trial in trials] == [0, 1, 2]
    assert [trial.config for trial in trials[:2]] == [trial.config for trial in left.left]


def _sleepers(folder):
    """The programs of a test that live, known by where they run."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            if words[:2] == [b"sleep", b"54321"] and (process / "cwd").readlink() == folder:
                found.append(process.name)
        except OSError:  # it has just ended
            continue
    return found


def test_ctrl_c_while_workers_start(tmp_path):
    """They have not left the terminal's process group yet, and must not complain."""
    command = [sys.executable, "-m", "bosquet", "tune", "--space", "space.json", "--jobs", "2"]
    command += ["--command", COMMAND, "--trials", "3"]
    study = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    children = Path(f"/proc/{study.pid}/task/{study.pid}/children")
    while not any("supervisor.py" in _command_line(pid) for pid in children.read_text().split()):
        time.sleep(0.005)
    time.sleep(0.1)
    os.killpg(study.pid, signal.SIGINT)
    said = study.communicate(timeout=30)[1]
    assert study.returncode == 130
    assert "Traceback" not in said
    assert "To go on:\n" in said


def _command_line(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:  # it has just ended
        return ""


def test_ctrl_c_before_the_first_trial(monkeypatch, capsys):
    monkeypatch.setattr("bosquet.study.tune.minimize", _interrupt)
    assert tuned_command() == 130
    assert "To go on:\n" in capsys.readouterr().err


def _interrupt(*_, **__):
    raise KeyboardInterrupt


def test_a_progress_bar_on_a_terminal(tmp_path):
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "bosquet", "tune", "lib/train.py:objective", "--space"]
    command += ["lib/train.py:space", "--trials", "3", "--strategy", "random"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, timeout=60)
    os.close(theirs)
    assert b"3/3" in os.read(ours, 65536)
    os.close(ours)
    assert b"3/3" not in done.stdout
