"""`bosquet best`: the best configuration for people, programs, Python and a shell."""

import ast
import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bosquet as bq
from bosquet.cli import main

pytest.importorskip("optuna")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the programs are POSIX ones")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    space = {"schema": 1, "parameters": {"a": {"type": "int", "low": 1, "high": 99}}}
    Path("space.json").write_text(json.dumps(space))
    yield
    sys.modules.pop("train", None)


def tuned(*arguments, trials=3):
    command = ["tune", "--trials", str(trials), "--strategy", "random", "--seed", "0"]
    return main([*command, *arguments])


ODD = ["it's", 'a "b" $HOME', "tab\tnew\nline", "\x1b[31mred\x9bé", "back\\slash", "-x", "*"]
NOTE = """
import json, sys
open(f"argv-{sys.argv[1]}", "w").write(json.dumps(sys.argv[1:]))
print(sys.argv[1])
"""


@pytest.mark.skipif(not shutil.which("bash"), reason="$'...' is not in every shell")
def test_best_as_a_command_runs_what_the_trial_ran(capsys):
    """Each trial has all the odd texts and flags; of two branches, one has a parameter more."""
    Path("note.py").write_text(NOTE)
    values = dict(enumerate([*ODD, True, False, None]))
    branch = {"options": [ODD[2]], "parameters": {"n": {"type": "float", "low": 0, "high": 1}}}
    space = {
        "schema": 1,
        "parameters": {
            "text": {"type": "choice", "options": ODD[1:3], "branches": [branch]},
            **{f"v{i}": {"type": "choice", "options": [value]} for i, value in values.items()},
        },
    }
    Path("space.json").write_text(json.dumps(space))
    words = " ".join([*(f"--set={{v{i}}}" for i in range(len(ODD))), "{v7} {v8} {v9}"])
    command = f"{shlex.quote(sys.executable)} note.py {{trial}} {words} {{text}} {{?n:-n {{n}}}}"
    given = ["--space", "space.json", "--command", command, "--direction", "maximize"]
    seen = set()
    for trials in range(1, 6):
        assert tuned(*given, trials=trials) == 0
        capsys.readouterr()
        number = trials - 1  # the value is the number, so the last one is the best
        file = Path(f"argv-{number}")
        argv = json.loads(file.read_text())
        file.unlink()
        assert main(["best", "runs.db", "--as", "command"]) == 0
        printed = capsys.readouterr().out
        assert all(c.isprintable() or c in "\t\n" for c in printed)
        subprocess.run(["bash", "-c", printed], check=True, capture_output=True)
        assert json.loads(file.read_text()) == argv
        assert argv[1:11] == [*(f"--set={text}" for text in ODD), "true", "false", "null"]
        assert main(["best", "runs.db"]) == 0
        shown = capsys.readouterr().out.split()
        assert [shown[shown.index(f"v{i}") + 1] for i in (7, 8, 9)] == argv[8:11]
        seen.add((argv[11], len(argv)))
        if len(seen) == 2:
            break
    assert seen == {(ODD[1], 12), (ODD[2], 14)}


def test_best_as_a_command_of_what_is_none(capsys):
    Path("train.py").write_text("def objective(config): return config['a']")
    assert tuned("train.py:objective", "--space", "space.json") == 0
    capsys.readouterr()
    assert main(["best", "runs.db", "--as", "command"]) == 2
    assert (
        "study 'bosquet': its objective is the Python function objective, so there is no command; "
        "use --as json or --as python" in capsys.readouterr().err
    )


@pytest.mark.parametrize("objective", [None, {}, {"kind": "command", "template": "echo {b}"}])
def test_best_as_a_command_of_old_and_damaged_studies(capsys, objective):
    import optuna

    assert tuned("--space", "space.json", "--command", "sh -c 'echo $1' sh {a}") == 0
    study = optuna.load_study(study_name="bosquet", storage="sqlite:///runs.db")
    study.set_user_attr("bosquet", study.user_attrs["bosquet"] | {"objective": objective})
    capsys.readouterr()
    assert main(["best", "runs.db"]) == 0
    assert main(["best", "runs.db", "--as", "command"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("bosquet: runs.db, study 'bosquet': ")
    expected = "the stored command cannot be used" if objective else "its objective is not stored"
    assert expected in said


def test_best_as_python_and_json(capsys):
    options = [True, None, 0.1, "it's \x1b[31m", "long " * 40]
    for option in options:
        space = bq.Space(
            {
                "option": bq.Choice([option, "other"], default=option),
                "x": bq.Float(0, 1e-300, default=3e-301),
                "n": bq.Int(0, 9, default=3),
            }
        )
        name = repr(option)
        best = bq.minimize(lambda c: c["x"], space, n_trials=1, storage="runs.db", study_name=name)
        capsys.readouterr()
        assert main(["best", "runs.db", "--study", name, "--as", "python"]) == 0
        printed = capsys.readouterr().out
        assert ast.literal_eval(printed) == best.best_config
        assert [type(v) for v in ast.literal_eval(printed).values()] == [
            type(v) for v in best.best_config.values()
        ]
        assert all(c.isprintable() or c == "\n" for c in printed)
        shown = []
        for form in (["--as", "json"], ["--json"]):
            assert main(["best", "runs.db", "--study", name, *form]) == 0
            shown.append(json.loads(capsys.readouterr().out))
        assert shown[0] == shown[1]
        assert shown[0]["config"] == best.best_config
