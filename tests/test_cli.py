import os
import subprocess
import sys

import pytest

from bosquet.cli import main


def test_help_and_version(capsys):
    for arguments in (["--help"], ["demo", "--help"], ["bench", "--help"], ["--version"]):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert "demo" in shown
    assert "examples:" in shown


def test_bad_arguments_end_with_2_and_a_message(capsys, tmp_path):
    assert main(["bench", "--methods", "magic", "--out", str(tmp_path / "x.jsonl")]) == 2
    assert "method='magic' must be one of" in capsys.readouterr().err
    assert main(["demo", "--dataset", "iris"]) == 2
    assert "dataset='iris' must be one of" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["demo", "--trials", "0"])
    assert ended.value.code == 2


def test_the_demo_shows_the_best_of_each_branch(capsys):
    assert main(["demo", "--dataset", "wine", "--trials", "6", "--seed", "1"]) == 0
    shown = capsys.readouterr().out
    assert "Best configuration of each branch" in shown
    assert "model=svm" in shown
    assert "Try next" in shown


def test_bench_runs_shows_and_resumes(capsys, tmp_path):
    files = {name: tmp_path / name for name in ("runs.jsonl", "table.md", "plot.png")}
    command = ["bench", "--problems", "small,branin", "--methods", "random,sobol", "--seeds", "2"]
    command += ["--trials", "6", "--out", str(files["runs.jsonl"])]
    command += ["--markdown", str(files["table.md"]), "--plot", str(files["plot.png"])]
    assert main(command) == 0
    shown = capsys.readouterr()
    assert "small: log10 distance" in shown.out
    assert "average rank" in shown.out
    before = files["runs.jsonl"].read_text()
    assert len(before.splitlines()) == 8
    assert main(command) == 0
    assert files["runs.jsonl"].read_text() == before
    assert all(file.exists() for file in files.values())


def test_bench_lists_names(capsys):
    assert main(["bench", "--list"]) == 0
    shown = capsys.readouterr().out
    assert "optuna-tpe" in shown
    assert "small-shared-shifted" in shown


def test_the_module_runs_as_a_program(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "bosquet.cli", "bench", "--methods", "nobody"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"COLUMNS": "80"},
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("bosquet: method='nobody'")
