import json

import numpy as np
import pytest

from bosquet.benchmarks import summary
from bosquet.benchmarks.harness import Job, Run, read_runs, run, run_all


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
    assert min(run(Job("random", "small", 0, 20, noise=5.0)).values) >= 0.1


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="method='foo' must be one of auto, "):
        Job("foo", "small", 0, 10)
    with pytest.raises(ValueError, match="problem='foo' must be one of"):
        Job("random", "foo", 0, 10)


def test_the_harness_goes_on_where_it_stopped(tmp_path):
    path = tmp_path / "results" / "bench.jsonl"
    jobs = [Job("random", "small", seed, 5) for seed in range(3)]
    assert list(run_all(jobs[:2], path)) == []
    first = path.read_text()
    path.write_text(first + first[:40])  # killed in the middle of writing a line
    made = []
    assert list(run_all(jobs, path, ended=made.append)) == []
    assert [r.job for r in made] == jobs[2:]
    assert {r.job for r in read_runs(path)} == set(jobs)
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_rows_are_quartiles_and_the_worst_seed():
    runs = [make_run("random", [1.0, 0.1 + 10.0**-k, 0.5], seed=k) for k in range(1, 6)]
    first, last = summary.rows(runs, [1, 3])
    assert first.median == pytest.approx(np.log10(0.9))
    assert (last.q25, last.median, last.q75, last.worst) == pytest.approx((-4, -3, -2, -1))
    assert last.n_seeds == 5
    assert last.ask_ms == pytest.approx(1.0)
    assert summary.rows(runs, [4]) == []


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
