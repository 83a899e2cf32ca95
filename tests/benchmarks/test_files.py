"""Methods and problems of a user's files, in `bosquet bench`."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from bosquet.benchmarks.harness import Job, read_runs, run_all
from bosquet.cli import main
from tests.test_docs import BLOCK, ROOT

MINE = """
import bosquet as bq
from bosquet.benchmarks import Problem
from bosquet.strategies import Random

class Local(Random):
    name = "local"

class Demanding(Random):
    def __init__(self, pool): ...

instance = Local()
number = 3

def factory():
    return Local()

def wrong():
    return 3

def broken():
    raise RuntimeError("no luck")

space = bq.Space({"x": bq.Float(0, 1)})

def problem(seed):
    return Problem("mine", space, lambda c: c["x"] + seed, 0.0)

def of_depth(depth=7, seed=0):
    return Problem("mine", space, lambda c: c["x"] + depth + seed, 0.0)

def plain(depth=7):
    return Problem("mine", space, lambda c: c["x"] + depth, 0.0)

def two(one, other):
    return problem(0)

made = problem(5)
failing = Problem("failing", space, lambda c: 1 / 0, None)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("mine.py").write_text(MINE)
    yield tmp_path
    forget()


def forget():
    """As if in another process."""
    from bosquet.study.files import module_of

    module_of.cache_clear()
    for name in ("mine", "nearest"):
        sys.modules.pop(name, None)


def bench(methods, problems, *options, seeds=2):
    command = ["bench", "--methods", methods, "--problems", problems, "--seeds", str(seeds)]
    return main([*command, "--trials", "3", "--out", "runs.jsonl", *options])


def values():
    runs = read_runs(Path("runs.jsonl"))
    return {(run.job.method, run.job.problem, run.job.seed): run.values for run in runs}


@pytest.mark.parametrize("page", ["benchmarks.md", "adding-a-strategy.md"])
def test_the_examples_of_the_pages(page, capsys):
    blocks = BLOCK.findall((ROOT / "docs" / "guides" / page).read_text(encoding="utf-8"))
    Path("nearest.py").write_text(next(code for kind, code in blocks if kind.startswith("python")))
    Path("mine.py").write_text(Path("nearest.py").read_text())
    commands = [code for kind, code in blocks if kind == "sh" and ".py:" in code]
    assert len(commands) == 1
    program, *arguments = shlex.split(commands[0].replace("\\\n", " "))
    assert program == "bosquet"
    arguments[arguments.index("--trials") + 1] = "6"  # values are not compared
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert "branin: log10 distance" in shown
    assert "mine.py:greedy" in shown or "nearest.py:Nearest" in shown


def test_methods_and_problems_of_every_kind_in_workers():
    methods = "mine.py:Local,mine.py:instance,mine.py:factory,random"
    problems = "mine.py:problem,mine.py:of_depth,mine.py:plain,mine.py:made"
    assert bench(methods, problems, "--jobs", "2") == 0
    found = values()
    assert len(found) == 4 * 4 * 2
    for (method, problem, seed), seen in found.items():
        same = found["random", problem, seed]
        assert seen == same, method  # the strategies of the file are random search under a name
        shift = {"problem": seed, "of_depth": 7 + seed, "plain": 7, "made": 5}
        assert all(0 <= value - shift[problem.partition(":")[2]] <= 1 for value in seen)


def test_names_do_not_depend_on_where_it_was_started(folder, monkeypatch, capsys):
    assert bench("./mine.py:Local", "mine.py:problem") == 0
    before = Path("runs.jsonl").read_text()
    assert str(folder) not in before
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    forget()
    options = ["--out", "../runs.jsonl"]
    assert bench(f"../mine.py:Local,{folder}/mine.py:Local", "../mine.py:problem", *options) == 0
    assert (folder / "runs.jsonl").read_text() == before


def test_an_edited_file_is_another_version(capsys):
    assert bench("mine.py:Local", "branin") == 0
    forget()
    Path("mine.py").write_text("# a comment\n" + MINE)
    assert bench("mine.py:Local", "branin") == 0
    assert len(read_runs(Path("runs.jsonl"))) == 2
    forget()
    Path("mine.py").write_text(
        MINE.replace("class Local(Random)", "class Local(bq.strategies.Sobol)")
    )
    capsys.readouterr()
    assert bench("mine.py:Local,sobol", "branin") == 0
    shown = capsys.readouterr()
    assert "2 runs in runs.jsonl are of another version of mine.py:Local: made again" in shown.err
    runs = read_runs(Path("runs.jsonl"))
    assert [run.job.method for run in runs].count("mine.py:Local") == 4
    latest = {(run.job.method, run.job.seed): run.values for run in runs}
    assert latest["mine.py:Local", 0] == latest["sobol", 0] != runs[0].values
    rows = [line.split("│") for line in shown.out.splitlines() if "mine.py:Local" in line]
    assert rows[0][2].strip() == "2"  # seeds: the runs of the earlier version are left out
    forget()
    Path("mine.py").write_text(MINE)
    assert bench("mine.py:Local", "branin") == 0
    assert len(read_runs(Path("runs.jsonl"))) == len(runs)


def test_two_files_of_one_name(capsys):
    Path("other").mkdir()
    Path("other/mine.py").write_text(MINE + "\nmore = 1")
    assert bench("mine.py:Local,other/mine.py:Local", "branin") == 2
    assert (
        "mine.py:Local and other/mine.py:Local would both be called mine.py:Local"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("methods", "problems", "message"),
    [
        ("mine.py", "branin", "method='mine.py' must be FILE.py:NAME"),
        ("none.py:Local", "branin", "none.py:Local: there is no file none.py"),
        ("mine.py:Lokal", "branin", "mine.py:Lokal: the file has no 'Lokal', only Local"),
        ("mine.py:number", "branin", "mine.py:number must be a bosquet.strategies.Strategy"),
        ("mine.py:wrong", "branin", "a function that returns one, not int 3"),
        ("mine.py:broken", "branin", "mine.py:broken() fails: RuntimeError: no luck (mine.py:"),
        ("mine.py:Demanding", "branin", "mine.py:Demanding() fails: TypeError: "),
        ("magic", "branin", "method='magic' must be one of"),
        ("random", "mine.py", "problem='mine.py' must be FILE.py:NAME"),
        ("random", "mine.py:number", "mine.py:number must be a bosquet.benchmarks.Problem or a f"),
        ("random", "mine.py:wrong", "a function that returns one, not int 3"),
        ("random", "mine.py:broken", "mine.py:broken() fails: RuntimeError: no luck"),
        ("random", "mine.py:two", "mine.py:two() fails: TypeError: two() missing 2 required"),
        ("random", "bad.py:p", "bad.py cannot be loaded: '(' was never closed"),
        ("random", "mine.py:problem,magic", "problem='magic' must be one of shifted, trees,"),
    ],
)
def test_bad_input_before_anything_runs(methods, problems, message, capsys):
    Path("bad.py").write_text("p = (")
    assert bench(methods, problems) == 2
    assert message in capsys.readouterr().err
    assert not Path("runs.jsonl").exists()


def test_a_problem_that_fails_is_named(capsys):
    assert bench("mine.py:Local", "mine.py:failing", seeds=1) == 1
    assert (
        "failed mine.py:Local on mine.py:failing, seed 0: RuntimeError: ZeroDivisionError"
        in capsys.readouterr().out
    )


def test_strategies_of_an_experiment_on_a_simulated_clock(tmp_path):
    from bosquet.strategies import Random

    jobs = [Job(method, "branin", 0, 4, workers=2) for method in ("named", "random")]
    assert list(run_all(jobs, tmp_path / "runs.jsonl", strategies={"named": Random()})) == []
    one, other = read_runs(tmp_path / "runs.jsonl")
    assert one.values == other.values


def test_tune_takes_a_strategy_of_a_file(capsys):
    pytest.importorskip("optuna")
    Path("space.json").write_text(
        json.dumps({"schema": 1, "parameters": {"x": {"type": "float", "low": 0, "high": 1}}})
    )
    Path("f.py").write_text("def f(c): return c['x']")
    command = ["tune", "f.py:f", "--space", "space.json", "--trials", "2", "--strategy"]
    assert main([*command, "mine.py:Lokal"]) == 2
    assert "the file has no 'Lokal'" in capsys.readouterr().err
    assert main([*command, "mine.py:Local"]) == 0
    assert main(["show", "runs.db"]) == 0
    assert "strategy local" in capsys.readouterr().out
