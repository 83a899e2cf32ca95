import json
import time
from typing import Any

import numpy as np
import pytest

import bosquet as bq
from bosquet import minimize
from bosquet.benchmarks import PROBLEMS, Problem, summary
from bosquet.benchmarks.harness import Job, Run, read_runs, run, run_all
from bosquet.benchmarks.simulated import durations, simulate
from bosquet.strategies import Random, Sobol


def make_run(method, values, *, problem="small", seed=0, minimum=0.1):
    job = Job(method, problem, seed, len(values))
    return Run(job, minimum, values, [0.001] * len(values), 1.0, {"bosquet": "0"})


def test_a_run_records_values_and_time():
    one = run(Job("sobol", "small-shared", 3, 12))
    again = run(Job("sobol", "small-shared", 3, 12))
    assert one.values == again.values
    assert len(one.values) == len(one.ask_seconds) == 12
    assert one.minimum == 0.1
    assert {"bosquet", "numpy", "python"} <= one.versions.keys()
    assert Run.from_json(one.to_json()) == one


def test_with_noise_the_true_values_are_kept():
    noisy = run(Job("sobol", "small", 0, 20, noise=5.0))
    assert min(noisy.values) >= 0.1
    seen = []
    monkey = PROBLEMS["small"](0).with_noise(5.0, 0)

    def objective(config):
        seen.append(monkey(config))
        return seen[-1]

    minimize(objective, monkey.space, n_trials=20, strategy="sobol", seed=0)
    assert min(seen) < 0  # what the strategy was shown


def test_the_objective_is_not_counted_as_asking(monkeypatch):
    def slow(config):
        until = time.process_time() + 0.03
        while time.process_time() < until:
            pass
        return 1.0

    space = bq.Space({"x": bq.Float(0, 1)})
    monkeypatch.setitem(PROBLEMS, "slow", lambda _: Problem("slow", space, slow, None))
    asked = run(Job("random", "slow", 0, 10)).ask_seconds
    assert np.median(asked) < 0.01


def test_a_run_that_did_not_come_to_its_end_is_no_run(monkeypatch):
    space = bq.Space({"x": bq.Float(0, 1)})

    def interrupted(config):
        raise KeyboardInterrupt

    for function, error in ((lambda _: 1 / 0, RuntimeError), (interrupted, KeyboardInterrupt)):
        problem = Problem("broken", space, function, None)
        monkeypatch.setitem(PROBLEMS, "broken", lambda _, problem=problem: problem)
        with pytest.raises(error):
            run(Job("random", "broken", 0, 5))


@pytest.mark.parametrize("method", ["sobol", "optuna-tpe"])
def test_a_problem_may_fail_if_it_says_so(method):
    if method == "optuna-tpe":
        pytest.importorskip("optuna")

    def half(config):
        if config["x"] > 0.5:
            raise ArithmeticError("diverged")
        return config["x"]

    space = bq.Space({"x": bq.Float(0, 1)})
    one = run(Job(method, "half", 0, 16), lambda _: Problem("half", space, half, 0.0, fails=True))
    assert len(one.values) == 16
    assert 0 < np.isinf(one.values).sum() < 16
    with pytest.raises(Exception, match="diverged"):
        run(Job(method, "half", 0, 16), lambda _: Problem("half", space, half, 0.0))


def test_an_exhausted_space_keeps_its_best(monkeypatch):
    space = bq.Space({"n": bq.Int(1, 3)})
    monkeypatch.setitem(PROBLEMS, "tiny", lambda _: Problem("tiny", space, lambda c: c["n"], 0))
    curve = summary.best_so_far(run(Job("random", "tiny", 0, 10)))
    assert len(curve) == 10
    assert curve[-1] == 0.0  # log10 of 1


def test_a_recorded_table_is_searched_where_it_has_values():
    space = bq.Space({"x": bq.Float(0, 1)})
    values = {0.1: 3.0, 0.4: 1.0, 0.9: 2.0}
    table = Problem(
        "table", space, lambda c: values[c["x"]], 1.0, candidates=[{"x": x} for x in values]
    )
    made = run(Job("random", "table", 0, 3), lambda _: table)
    assert sorted(made.values) == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="table has candidates: for our methods"):
        run(Job("random", "table", 0, 3, initial=1), lambda _: table)


def test_a_run_knows_which_engine_proposed():
    made = run(Job("boing", "branin", 0, 11))
    assert [told["engine"] for told in made.told] == ["gp"] * 10 + ["boing"]
    assert made.told[-1]["subregion"]["inside"] == 10
    assert Run.from_json(made.to_json()) == made
    assert run(Job("random", "branin", 0, 3)).told == []


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"method='foo' must be one of add-tree, additive, "):
        Job("foo", "small", 0, 10).check()
    with pytest.raises(ValueError, match="problem='foo' must be one of shifted, trees, "):
        Job("random", "foo", 0, 10).check()
    with pytest.raises(ValueError, match="noise=-1"):
        Job("random", "small", 0, 10, noise=-1).check()


def test_the_harness_goes_on_where_it_stopped(tmp_path):
    path = tmp_path / "results" / "bench.jsonl"
    jobs = [Job("random", "small", seed, 5) for seed in range(3)]
    assert list(run_all(jobs[:2], path)) == []
    first = path.read_text()
    path.write_text(first + first[:40])  # killed in the middle of writing a line
    made: list[Any] = []
    assert list(run_all(jobs, path, ended=made.append)) == []
    assert [r.job for r in made] == jobs[2:]
    assert {r.job for r in read_runs(path)} == set(jobs)
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_a_file_that_is_not_ours_is_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    for text in ("my notes", "my notes\nmore", '{"a": 1}\n'):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"notes\.txt"):
            list(run_all([Job("random", "small", 0, 5)], path))
        assert path.read_text() == text


def test_runs_of_methods_unknown_today_can_be_read(tmp_path):
    path = tmp_path / "bench.jsonl"
    path.write_text(make_run("of-tomorrow", [1.0]).to_json() + "\n")
    assert read_runs(path)[0].job.method == "of-tomorrow"


def test_rows_are_quartiles_and_the_worst_seed():
    runs = [make_run("random", [1.0, 0.1 + 10.0**-k, 0.5], seed=k) for k in range(1, 6)]
    first, last = summary.rows(runs, [1, 3])
    assert first.median == pytest.approx(np.log10(0.9))
    assert (last.q25, last.median, last.q75, last.worst) == pytest.approx((-4, -3, -2, -1))
    assert last.n_seeds == 5
    assert last.ask_ms == pytest.approx(1.0)
    assert summary.rows(runs, [4]) == []


def test_the_time_of_asking_is_that_of_the_last_asks():
    values = [1.0] * 20
    job = Job("random", "small", 0, 20)
    slow_start = Run(job, 0.1, values, [1.0] * 10 + [0.002] * 10, 1.0)
    assert summary.rows([slow_start], [20])[0].ask_ms == pytest.approx(2.0)


def test_scores_without_a_known_minimum_are_values():
    runs = [make_run("random", [3.0, 2.0, 4.0], problem="pipeline-digits", minimum=None)]
    (row,) = summary.rows(runs, [3])
    assert (row.score, row.median) == ("best value", 2.0)


def test_average_ranks_share_ties_and_skip_incomplete_problems():
    runs = [
        make_run("random", [0.5]),
        make_run("sobol", [0.3]),
        make_run("random", [0.4], problem="large"),
        make_run("sobol", [0.4], problem="large"),
        make_run("sobol", [0.9], problem="branin"),
    ]
    assert summary.average_ranks(runs, 1) == {"random": 1.75, "sobol": 1.25}
    assert summary.average_ranks(runs, 2) == {}


def test_markdown_and_plot(tmp_path):
    runs = [make_run(m, [0.5, 0.2], seed=s) for m in ("random", "sobol") for s in (0, 1)]
    text = summary.markdown(runs, [1, 2])
    assert "| random | 2 | -0.40 (-0.40, -0.40) -0.40 | -1.00 (-1.00, -1.00) -1.00 | 1.0 |" in text
    assert "4 runs; seeds 0 to 1" in text
    summary.plot(runs, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 5_000


@pytest.mark.parametrize("problem", ["small-shared-shifted", "mixed"])
def test_one_simulated_worker_is_a_sequential_run(problem):
    values = []
    made = PROBLEMS[problem](2)

    def objective(config):
        values.append(made.function(config))
        return values[-1]

    simulate(objective, made.space, "add-tree", 2, 12, workers=1)
    assert values == run(Job("add-tree", problem, 2, 12)).values


def recording(ended):
    """An objective that keeps the `n` of its configurations."""

    def objective(config):
        ended.append(config["n"])
        return 0.0

    return objective


def test_simulated_workers_end_by_their_durations():
    """A free worker gets a new trial at once; the optimizer sees those still running."""
    ended: list[int] = []
    free, now = [0.0] * 3, 0.0
    space = bq.Space({"n": bq.Int(0, 10_000)})
    proposed = [bq.Optimizer(space, "sobol", seed=1).ask(20)[i].config["n"] for i in range(20)]
    simulate(recording(ended), space, "sobol", 1, 20, workers=3)
    times = []
    for lasts in durations(1, 20):  # a trial starts when the first worker is free
        now = free.pop(free.index(min(free)))
        free.append(now + lasts)
        times.append(now + lasts)
    assert ended == [proposed[i] for i in np.argsort(times)]


def test_simulated_workers_in_a_space_that_is_exhausted():
    ended: list[int] = []
    space = bq.Space({"n": bq.Int(1, 5)})
    simulate(recording(ended), space, "random", 0, 20, workers=3)
    assert sorted(ended) == [1, 2, 3, 4, 5]


def test_workers_are_kept_with_a_run(tmp_path):
    jobs = [Job("sobol", "small", 0, 9, workers=k) for k in (1, 4)]
    assert not list(run_all(jobs, tmp_path / "runs.jsonl"))
    one, four = sorted(read_runs(tmp_path / "runs.jsonl"), key=lambda run: run.job.workers)
    assert [one.job, four.job] == jobs
    assert sorted(one.values) == sorted(four.values)
    assert one.values != four.values
    assert list(summary.by_problem([one, four])) == ["small", "small+4workers"]
    with pytest.raises(ValueError, match="workers=0 must be positive, and 1 for a peer"):
        Job("sobol", "small", 0, 9, workers=0).check()
    with pytest.raises(ValueError, match="workers=2 must be positive, and 1 for a peer"):
        Job("optuna-tpe", "small", 0, 9, workers=2).check()


def test_a_named_strategy_and_first_points_that_all_methods_share(tmp_path):
    named = {"mine": Random(), "other": Sobol()}
    jobs = [Job(name, "branin", 3, 4, initial=2) for name in named]
    assert not list(run_all(jobs, tmp_path / "runs.jsonl", strategies=named))
    mine, other = sorted(read_runs(tmp_path / "runs.jsonl"), key=lambda run: run.job.method)
    assert mine.values[:2] == other.values[:2]
    assert mine.values[2:] != other.values[2:]
    with pytest.raises(ValueError, match="method='nobody' must be one of mine, other, "):
        Job("nobody", "branin", 0, 4).check(strategies=named)
    with pytest.raises(ValueError, match="initial=2 must not be negative, and 0 for a peer"):
        Job("optuna-tpe", "branin", 0, 4, initial=2).check()
