"""What comes out of somebody's file cannot take over a terminal or a spreadsheet."""

import csv
import io
import json
import os
import pty
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

import bosquet as bq
from bosquet.cli import main
from bosquet.data import Trial
from bosquet.report.export import to_csv
from bosquet.study import load_history
from bosquet.study.progress import Bar, say
from tests.support import present

pytest.importorskip("optuna")

TITLE = "\x1b]0;owned\x07"
NAME = f"rate{TITLE}\r"
BRANCH = "method\x1b[2J"
OPTIONS = [f"one{TITLE}", "two\u202e\x7f", "three\x9b31m\nfour", "[red]five[/x]"]
STUDY = "study\x1b[8m"
REASON = f"bad\x1b[0m {TITLE} \u2066 [red]\nsecond line"


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A stored study all of whose texts are hostile."""
    space = bq.Space(
        {
            NAME: bq.Float(0, 1),
            BRANCH: bq.Choice(
                {option: {} for option in OPTIONS} | {OPTIONS[0]: {"x": bq.Int(1, 9)}}
            ),
        },
        constraints=[bq.Forbid({BRANCH: OPTIONS[1], "x": 3})],
    )

    def objective(config):
        if config[NAME] > 0.6:
            raise ValueError(REASON)
        return config[NAME]

    file = tmp_path_factory.mktemp("stored") / "runs\x1b[5m.db"
    result = bq.minimize(
        objective, space, n_trials=12, strategy="random", seed=0, storage=file, study_name=STUDY
    )
    assert result.history.failed
    assert {trial.config[BRANCH] for trial in result.history.complete} == set(OPTIONS)
    return file


@pytest.fixture
def runs(stored, tmp_path, monkeypatch):
    """A copy of it, which a test may change."""
    monkeypatch.chdir(tmp_path)
    return str(shutil.copy(stored, tmp_path))


def hostile(text):
    return [
        char
        for char in text
        if char not in "\n\t" and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    ]


def test_the_test_itself(runs):
    history = load_history(runs, STUDY)
    assert len({*hostile(to_csv(history))}) > 5


@pytest.mark.parametrize(
    "command",
    [["show"], ["best"], ["best", "--json"], ["show", "--study", "no\x1b[1mne"]],
)
def test_commands_show_control_characters(runs, command, capsys):
    code = main([command[0], runs, *command[1:]])
    assert code == (2 if "--study" in command else 0)
    shown = capsys.readouterr()
    assert shown.out or shown.err
    assert not hostile(shown.out + shown.err)
    if command == ["show"]:
        assert r"runs\u001b[5m.db, study 'study\x1b[8m'" in shown.out
        assert r"rate\u001b]0;owned\u0007\r=" in shown.out
        assert "[red]five[/x]" in shown.out
        assert "second line" in shown.out
    if command == ["best"]:
        assert r"  rate\u001b]0;owned\u0007\r  0." in shown.out
    if command == ["best", "--json"]:
        assert json.loads(shown.out)["config"] == present(load_history(runs, STUDY).best).config


@pytest.mark.parametrize("form", [[], ["--as", "json"]])
def test_trials_asked_for_show_control_characters(runs, form, capsys):
    for command in (["ask", "-n", "3"], ["ask", "--list"]):
        assert main([command[0], runs, "--study", STUDY, *command[1:], *form]) == 0
        shown = capsys.readouterr().out
        assert "owned" in shown
        assert not hostile(shown)
        assert "\nfour" not in shown
    assert main(["tell", runs, "12", "--failed", REASON, "--study", STUDY]) == 0
    assert main(["tell", runs, "12", "--failed", REASON, "--study", STUDY]) == 2
    shown = capsys.readouterr()
    assert "second line" in shown.out
    assert "failed already" in shown.err
    assert not hostile(shown.out + shown.err)


def test_spaces_show_control_characters(runs):
    text = str(load_history(runs, STUDY).space)
    assert not hostile(text)
    assert len(text.splitlines()) == 9
    assert r"rate\u001b]0;owned\u0007\r" in text


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", f"none{TITLE}.db"],
        ["export", f"none{TITLE}.db", "-o", "x.csv"],
        ["tune", f"{TITLE}.py:f", "--space", "space.json", "--trials", "1"],
        ["tune", "--command", "x", "--space", f"{TITLE}.json", "--trials", "1"],
        ["tune", f"{TITLE}", "--trials", f"{TITLE}", "--space", "x"],
        ["show", "x.db", f"{TITLE}"],
        [f"{TITLE}"],
        ["bench", "--methods", f"{TITLE}"],
    ],
)
def test_errors_show_control_characters(arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("space.json").write_text(json.dumps(bq.Space({"x": bq.Int(1, 2)}).to_dict()))
    try:
        code: object = main(arguments)
    except SystemExit as ended:
        code = ended.code
    assert code == 2
    said = capsys.readouterr().err
    assert "owned" in said
    assert not hostile(said)


def test_tune_shows_control_characters(runs, capsys):
    space = load_history(runs, STUDY).space
    Path("space.json").write_text(
        json.dumps({"schema": 1, "parameters": space.to_dict()["parameters"]})
    )
    Path("train.py").write_text(f"def f(config):\n    raise ValueError({REASON!r})\n")
    place = ["train.py:f", "--space", "space.json", "--study", STUDY, "--storage", "t\x1b[5m.db"]
    for trials in ("2", "3"):
        assert main(["tune", *place, "--trials", trials, "--strategy", "random"]) == 1
    shown = capsys.readouterr()
    assert "second line" in shown.out
    assert "goes on after 2 trials" in shown.err
    assert not hostile(shown.out + shown.err)
    assert main(["export", "t\x1b[5m.db", "-o", "out\x1b[5m.csv"]) == 0
    assert not hostile(capsys.readouterr().err)


def test_lines_beside_the_results(capsys):
    say(f"one {TITLE}\n  two")
    assert capsys.readouterr().err == "bosquet: one \\u001b]0;owned\\u0007\n  two\n"


def test_results_and_the_log_show_control_characters(caplog):
    def objective(_):
        raise ValueError(REASON)

    result = bq.minimize(objective, bq.Space({"x": bq.Float(0, 1)}), n_trials=9, strategy="random")
    assert "failed in the same way" in result.stopped
    assert "second line" in str(result)
    assert not hostile(str(result))
    with pytest.raises(RuntimeError, match="second line") as caught:
        _ = result.best_trial
    assert not hostile(str(caught.value))
    assert "trial 0 failed: ValueError: bad\\u001b[0m" in caplog.text
    assert not hostile(caplog.text)


def on_terminal(*arguments):
    """What a command writes where stdout is a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "bosquet", *arguments]
    process = subprocess.Popen(command, stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    written = b""
    try:
        while some := os.read(ours, 65536):
            written += some
    except OSError:  # Linux, where the last writer has gone
        pass
    os.close(ours)
    assert process.communicate()[1] == b""
    assert process.returncode == 0
    return written.decode().replace("\r\n", "\n")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_an_export_keeps_data_in_files_and_pipes_and_shows_it_on_a_terminal(runs, capsys):
    shown = on_terminal("export", runs, "-o", "-")
    assert not hostile(shown)
    assert r"rate\u001b]0;owned\u0007\r" in shown
    assert main(["export", runs, "-o", "-"]) == 0
    piped = capsys.readouterr().out
    assert main(["export", runs, "-o", "t.csv"]) == 0
    assert Path("t.csv").read_bytes().decode() == piped
    history = load_history(runs, STUDY)
    rows = list(csv.DictReader(io.StringIO(piped, newline="")))
    assert [row[NAME] for row in rows] == [repr(trial.config[NAME]) for trial in history.trials]
    assert [row[BRANCH] for row in rows] == [trial.config[BRANCH] for trial in history.trials]
    assert {row["reason"] for row in rows} == {trial.reason or "" for trial in history.trials}
    assert main(["export", runs, "-o", "t.json"]) == 0
    names = [row[BRANCH] for row in json.loads(Path("t.json").read_text())]
    assert names == [trial.config[BRANCH] for trial in history.trials]


@pytest.mark.parametrize("label", ["m=[/x]", f"m={TITLE}", "m=[red]\u202e"])
def test_the_progress_bar_shows_a_branch_as_it_is_called(label, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    with Bar(3, 0) as bar:
        bar.started(Trial(0, {"x": 1}, info={"path": label}))
        bar.display.console.print(bar.display.get_renderable())
    shown = capsys.readouterr().err
    assert not hostile(shown)
    assert "m=" in shown
    assert ("[" in shown) == ("[" in label)


FORMULAS = ["=1+1", "+1", "-2", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "'=1", "'", "\uff1d1+1"]


def test_texts_are_no_formulas_in_a_spreadsheet(tmp_path):
    """Numbers stay numbers, and a text is itself again without its first apostrophe."""
    names = ["@HYPERLINK(A1)", "-x", "plain"]
    options = [*FORMULAS, -3, -0.5, None, False, "plain", "a=b", ""]
    space = bq.Space(
        {names[0]: bq.Choice(options), names[1]: bq.Float(-5, -1), names[2]: bq.Int(-9, 9)}
    )
    trials = [
        Trial(number, {names[0]: option, names[1]: -1.5 - number / 100, names[2]: -number % 9})
        for number, option in enumerate(options)
    ]
    ended = [
        trial.failed("=cmd|' /C calc'!A0")
        if trial.number % 2
        else trial.completed(bq.Evaluation(-1.0))
        for trial in trials
    ]
    header, *rows = csv.reader(io.StringIO(to_csv(bq.History(space, ended)), newline=""))
    assert header == [
        "number",
        "state",
        "value",
        "noise_variance",
        "reason",
        "started",
        "ended",
        "duration",
        "'@HYPERLINK(A1)",
        "'-x",
        "plain",
    ]
    for trial, row in zip(ended, rows, strict=True):
        assert row[2] == ("" if trial.value is None else "-1.0")
        assert row[4] == ("" if trial.reason is None else "'=cmd|' /C calc'!A0")
        assert row[9] == repr(trial.config["-x"])
        option = trial.config[names[0]]
        if not isinstance(option, str):
            assert row[8] == json.dumps(option)
        elif option in FORMULAS:
            assert row[8] == f"'{option}"
        else:
            assert row[8] == option
