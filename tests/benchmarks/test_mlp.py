import runpy
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from bosquet.benchmarks import PROBLEMS, mlp, summary
from bosquet.benchmarks.harness import Job, Run, read_runs, run_all
from bosquet.benchmarks.mlp import mlp_problem, mlp_space, read_split

pytest.importorskip("sklearn")
EXPERIMENTS = Path(__file__).parents[2] / "experiments"
SHARED, DUPLICATED = mlp_space(True), mlp_space(False)
CONFIG = {
    "learning_rate": 0.01,
    "tolerance": 1e-3,
    "normalisation": "standard",
    "layers": 1,
    "l2": 1e-4,
    "units_1": 5,
    "activation": "relu",
}


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setattr(mlp, "EPOCHS", 20)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3)).astype(np.float32)
    (tmp_path / "binary").mkdir()
    np.savez(tmp_path / "binary" / "toy.npz", X=X, y=(X[:, 0] > 0).astype(np.int8))
    return tmp_path


@pytest.mark.parametrize("space", [SHARED, DUPLICATED])
def test_every_depth_is_a_path_with_the_parameters_of_its_layers(space):
    assert space.n_paths == 5
    for config in space.sample(0, 40):
        depth = config["layers"]
        units = {f"units_{k}" for k in range(1, depth + 1)}
        always = {"learning_rate", "tolerance", "normalisation", "layers", "l2"}
        assert config.keys() == always | units | ({"activation"} if depth else set())


def test_what_several_depths_have_is_one_parameter_or_one_each():
    def count(space, name):
        return sum(dimension.name == name for dimension in space.dimensions)

    for name in ("learning_rate", "tolerance", "normalisation"):
        assert (count(SHARED, name), count(DUPLICATED, name)) == (1, 5)
    for k in range(1, 5):
        assert (count(SHARED, f"units_{k}"), count(DUPLICATED, f"units_{k}")) == (1, 5 - k)
    assert (count(SHARED, "activation"), count(DUPLICATED, "activation")) == (1, 4)
    assert (count(SHARED, "l2"), count(DUPLICATED, "l2")) == (5, 5)


def test_a_value_is_an_error_and_repeats(data):
    problem = mlp_problem(data, "toy", shared=True)
    assert problem.name == "mlp:shared:toy"
    for config in SHARED.sample(1, 6, by="path"):
        value = problem(config)
        assert 0 <= value <= 1
        assert problem(config) == value
    linear = {k: v for k, v in CONFIG.items() if k not in ("units_1", "activation")}
    assert problem(linear | {"layers": 0, "learning_rate": 0.1}) < 0.2  # the classes are separable


@pytest.mark.parametrize("normalisation", ["none", "rows-l2", "max-abs", "standard"])
def test_both_topologies_mean_the_same_network(data, normalisation):
    config = CONFIG | {"normalisation": normalisation}
    assert len({mlp_problem(data, "toy", shared)(config) for shared in (True, False)}) == 1


def test_slow_and_diverging_networks_have_the_worst_error(data):
    assert mlp_problem(data, "toy", shared=True, cap=0.0)(CONFIG) == 1.0
    problem = mlp_problem(data, "toy", shared=True)  # it takes rates that its space has not
    assert problem(CONFIG | {"learning_rate": 1e200, "activation": "identity"}) == 1.0


def test_other_errors_of_training_are_not_hidden(data):
    with pytest.raises(ValueError, match="activation"):
        mlp_problem(data, "toy", shared=True)(CONFIG | {"activation": "sine"})


def test_a_fifth_is_tested_on_and_training_is_capped(tmp_path, data):
    split = read_split(data, "toy")
    assert (len(split.y_train), len(split.y_test)) == (96, 24)
    X = np.arange(2000.0)[:, None]
    np.savez(tmp_path / "binary" / "large.npz", X=X, y=np.zeros(2000))
    split = read_split(data, "large")
    assert (len(split.y_train), len(split.y_test)) == (1000, 400)
    assert not np.intersect1d(split.X_train, split.X_test).size


def test_missing_data_are_named(tmp_path, data):
    with pytest.raises(ValueError, match="dataset='iris' must be one of toy"):
        mlp_problem(data, "iris", shared=True)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        mlp_problem(tmp_path / "nowhere", "toy", shared=True)


def toy_problem(data, _seed):
    return mlp_problem(data, "toy", shared=True)


def test_the_harness_runs_problems_that_are_not_registered(data, tmp_path):
    problems = {"mlp:shared:toy": partial(toy_problem, data)}  # pickles, unlike a lambda
    job = Job("random", "mlp:shared:toy", 0, 2)
    with pytest.raises(ValueError, match="problem='small' must be one of mlp:shared:toy"):
        Job("random", "small", 0, 3).check(problems)
    path = tmp_path / "mlp.jsonl"
    beside = Job("random", "small", 0, 2)
    assert list(run_all([job, beside], path, problems=PROBLEMS | problems)) == []
    made, other = sorted(read_runs(path), key=lambda run: run.job.problem)
    assert (made.job, other.job) == (job, beside)
    assert len(made.values) == len(made.evaluation_seconds) == 2
    assert job.problem not in PROBLEMS


def make_run(method, values, *, dataset="toy", seed=0):
    job = Job(method, f"mlp:shared:{dataset}", seed, len(values))
    return Run(job, None, values, [0.1] * len(values), 1.0, {"bosquet": "0"}, [0.5] * len(values))


def test_rank_curves_share_ties_average_seeds_and_skip_what_is_incomplete():
    runs = [
        make_run("random", [0.5, 0.2]),
        make_run("tree-ei", [0.5, 0.1]),
        make_run("random", [0.3, 0.3], seed=1),
        make_run("tree-ei", [0.4, 0.2], seed=1),
        make_run("random", [0.3, 0.3], dataset="other"),
        make_run("tree-ei", [0.4, 0.4], dataset="other"),
        make_run("tree-ei", [0.4, 0.4], dataset="half"),
    ]
    curves = summary.rank_curves(runs)
    np.testing.assert_allclose(curves["random"], [[1.25, 2.0], [1.0, 1.0]])
    np.testing.assert_allclose(curves["tree-ei"], [[1.75, 1.0], [2.0, 2.0]])
    assert summary.rank_curves([]) == {}


def test_the_page_of_partial_results(monkeypatch):
    monkeypatch.syspath_prepend(str(EXPERIMENTS))  # scripts import each other
    script = runpy.run_path(str(EXPERIMENTS / "mlp.py"))
    better, worse = [0.5] * 9 + [0.1] * 51, [0.5] * 30 + [0.3] * 30
    runs = [make_run(method, worse, dataset="heart") for method in script["METHODS"]["shared"][1:]]
    runs += [make_run("tree-ei.paper", better, dataset="heart")]
    runs.append(make_run("random", worse, dataset="sonar"))
    text = script["page"](runs)
    assert "on 1 data sets" in text
    assert "2 of 31 data sets, 1 of 5 seeds" in text
    assert "| tree-ei.paper | 1.00 ± 0.00 |" in text
    assert "| auto | 1 | 1, 0 | 1, 0 | 1, 0 | 1, 0 |" in text
    assert "| sonar |  |  |  |  |  |  |  | 0.3000 |" in text
