import os
import re
import signal
import subprocess
import sys
import time

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


def test_help_fits_into_80_columns(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main([]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("usage: bosquet ")
    commands = re.findall(r"^    (\w+) ", shown, re.MULTILINE)
    assert {"tune", "show", "best", "export", "demo", "bench"} <= set(commands)
    for command in commands:
        with pytest.raises(SystemExit):
            main([command, "--help"])
        shown = capsys.readouterr().out
        assert [line for line in shown.splitlines() if len(line) > 80] == [], command


def test_bad_arguments_end_with_2_and_a_message(capsys, tmp_path):
    assert main(["bench", "--methods", "magic", "--out", str(tmp_path / "x.jsonl")]) == 2
    assert "method='magic' must be one of" in capsys.readouterr().err
    assert main(["bench", "--problems", "magic", "--out", str(tmp_path / "x.jsonl")]) == 2
    assert "problem='magic' must be one of shifted, trees," in capsys.readouterr().err
    for bad, message in (
        (["--trials", "0"], "'0' must be a positive integer"),
        (["--seed", "x"], "'x' must be a non-negative integer"),
        (["--dataset", "iris"], "invalid choice: 'iris'"),
        (["--strategy", "magic"], "invalid choice: 'magic'"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["demo", *bad])
        assert ended.value.code == 2
        assert message in capsys.readouterr().err


def test_exit_codes(monkeypatch, tmp_path, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("sklearn.model_selection.cross_val_predict", interrupted)
    assert main(["demo", "--dataset", "wine", "--trials", "2"]) == 130

    def failing(jobs, path, workers, ended, problems, strategies):
        yield jobs[0], RuntimeError("no luck")

    monkeypatch.setattr("bosquet.benchmarks.bench.run_all", failing)
    assert main(["bench", "--problems", "small", "--out", str(tmp_path / "x.jsonl")]) == 1
    assert "RuntimeError: no luck" in capsys.readouterr().out


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_bench_ends_with_its_workers_and_goes_on(tmp_path, stop):
    out = tmp_path / "runs.jsonl"
    command = [sys.executable, "-m", "bosquet", "bench", "--problems", "large-shared"]
    command += ["--methods", "random", "--seeds", "900", "--trials", "150", "--out", str(out)]
    bench = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while not (out.exists() and out.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.05)
    bench.send_signal(stop)
    bench.wait(20)
    deadline = time.monotonic() + 20
    while _alive_in_group(bench.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _alive_in_group(bench.pid)
    before = len(out.read_text().splitlines())
    assert 1 <= before < 900
    command[command.index("900")] = str(before + 1)
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    assert len(out.read_text().splitlines()) == before + 1


def _alive_in_group(group):
    """Processes of a group that run; those only waiting to be reaped do not count."""
    listed = subprocess.run(["ps", "-A", "-o", "pgid=,stat="], capture_output=True, text=True)
    rows = [line.split() for line in listed.stdout.splitlines()]
    return [stat for pgid, stat in rows if int(pgid) == group and not stat.startswith("Z")]


def test_the_demo_shows_the_best_of_each_branch(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--dataset", "wine", "--trials", "6", "--seed", "1"]) == 0
    shown = capsys.readouterr().out
    assert "Best configuration of each branch" in shown
    assert "model=svm" in shown
    assert "Try next" in shown
    assert re.search(r"Random search found [\d.]+ in 6 trials", shown)
    assert f"Report: {tmp_path.resolve() / 'bosquet-demo.html'}" in shown
    assert 1_000_000 < (tmp_path / "bosquet-demo.html").stat().st_size < 3_000_000


def test_bench_runs_shows_and_resumes(capsys, tmp_path):
    files = {name: tmp_path / name for name in ("runs.jsonl", "table.md", "plot.png")}
    command = ["bench", "--problems", "small,branin", "--methods", "random,sobol", "--seeds", "2"]
    command += [
        "--trials",
        "6",
        "--out",
        str(files["runs.jsonl"]),
        "--methods",
        "random,sobol,sobol",
    ]
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
        [sys.executable, "-m", "bosquet", "bench", "--methods", "nobody"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"COLUMNS": "80"},
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("bosquet: method='nobody'")
