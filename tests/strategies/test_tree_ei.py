import json
from dataclasses import replace

import numpy as np
import pytest

import bosquet as bq
from bosquet.models.tree_linear import TreeGP
from bosquet.search.two_step import TwoStep
from bosquet.space.tree import Tree
from bosquet.strategies import TreeEI


def run(problem, strategy, n, enough=-np.inf):
    """At most n trials; the run ends early where one is nearer to the minimum than enough."""
    opt = bq.Optimizer(problem.space, strategy, seed=0)
    for _ in range(n):
        trial = opt.ask()
        told = opt.tell(trial, problem(trial.config))
        if told.value - problem.minimum < enough:
            break
    return opt


def distance(problem, strategy, n, enough=-np.inf):
    return run(problem, strategy, n, enough).best.value - problem.minimum


def test_it_finds_the_right_branch_and_its_optimum():
    problem = bq.benchmarks.small_balanced(shared=True, shift=1)
    assert distance(problem, "tree-ei", 26, 1e-3) < 1e-3


def test_it_learns_on_a_space_with_one_path():
    assert distance(bq.benchmarks.branin(), "tree-ei", 30, 0.1) < 0.1


def test_the_papers_algorithm_optimises_its_own_example():
    paper = TreeEI.paper()
    assert (paper.features, paper.leaf, paper.k) == ("raw", "own", 1)
    assert paper.offsets == "scalar"
    assert (paper.refine_shared, paper.model, paper.explore_every) == (False, "paper", None)
    opt = run(bq.benchmarks.small_balanced(shared=True), "tree-ei.paper", 20)
    assert opt.best.value < 0.1 + 0.11
    late = [trial.config for trial in opt.history.trials[4:]]
    assert {c.get("r8", c.get("r9")) for c in late} <= {0.0, 1.0}  # corners, and kept
    first = {trial.info["path"] for trial in opt.history.trials[:4]}
    assert len(first) == 4  # one candidate per path


@pytest.mark.parametrize(("n_choices", "n"), [(1, 3), (3, 27), (4, 64)])
def test_the_paper_begins_with_a_trial_on_every_path(n_choices, n):
    """64 at most, where paths are more."""
    space, paper = bq.benchmarks.and_or(n_choices).space, TreeEI.paper()
    assert paper.initial_trials(space) == n
    first = bq.Optimizer(space, paper, seed=0).ask(n)
    assert len({space.path(trial.config) for trial in first}) == n


def test_eq_6_in_anchor_points():
    opt = run(bq.benchmarks.small_balanced(shared=True), replace(TreeEI.paper(), anchors=50), 12)
    shared = [t.config.get("r8", t.config.get("r9")) for t in opt.history.trials[4:]]
    assert len({*shared}) == 8
    assert not {0.0, 1.0} & {*shared}


def test_quadratic_shared_variables_need_fourier_features():
    """Section 4.3: a linear model of them looks at the ends only."""
    problem = bq.benchmarks.shared_quadratic()
    linear = TreeEI(features="linear", refine_shared=False)
    fourier = TreeEI(features="fourier")
    assert distance(problem, fourier, 22, 0.01) < 0.01 < distance(problem, linear, 22)


@pytest.mark.parametrize("options", [{"search": "full"}, {"k": 1}, {"leaf": "path"}])
def test_variants(options):
    problem = bq.benchmarks.small_balanced(shift=2)
    assert distance(problem, TreeEI(**options), 20, 0.15) < 0.15


def test_how_many_paths_are_searched(monkeypatch):
    searched = []
    maximise = TwoStep.maximise

    def record(self, promises, good, rng):
        searched.append([promise.path for promise in promises])
        return maximise(self, promises, good, rng)

    monkeypatch.setattr(TwoStep, "maximise", record)
    problem = bq.benchmarks.large_balanced()
    for options, n in (({"k": 1}, 1), ({"k": 3}, 3), ({"search": "full", "k": 1}, 8)):
        opt = run(problem, TreeEI(explore_every=None, **options), 8)
        opt.ask()
        assert len(set(searched[-1])) == n
        said = "of all paths" if n == 8 else f"on the {n} best of 8 by path EI"
        assert said in opt.pending[0].info["why"]


def test_fewer_initial_points_than_paths():
    problem = bq.benchmarks.and_or(3)  # 27 paths, 6 initial trials
    opt = run(problem, TreeEI(explore_every=None), 8)
    assert TreeEI().initial_trials(problem.space) == 6
    assert "path EI" in opt.history.trials[-1].info["why"]
    visited = {problem.space.path(t.config) for t in opt.history.trials[:6]}
    assert len(visited) == 6


def test_leaves_without_any_data_can_be_chosen():
    """All known points lie in one bad leaf: the next one does not."""
    problem = bq.benchmarks.large_balanced(shared=True)
    opt = bq.Optimizer(problem.space, TreeEI(explore_every=None), seed=0)
    for x in np.linspace(-1, 1, 8):
        opt.tell({"x1": 0, "r16": 0.5, "x2": 0, "x4": 0, "x8": float(x)}, 1.0 + 0.01 * float(x))
    trial = opt.ask()
    assert trial.info["path"] != "x1=0, x2=0, x4=0"
    assert len(trial.info["path_ei"]) == 5


def test_very_many_paths_are_not_enumerated(monkeypatch):
    space = bq.Space({f"c{i}": bq.Choice({0: {f"x{i}": bq.Float(0, 1)}, 1: {}}) for i in range(12)})
    assert space.n_paths == 4096
    opt = bq.Optimizer(space, TreeEI(features="linear"), seed=0)
    for config in space.sample(0, 14):
        opt.tell(config, float(sum(config[f"c{i}"] for i in range(12))))

    def forbidden(self):
        raise AssertionError("paths are enumerated")

    monkeypatch.setattr(Tree, "paths", forbidden)
    config = opt.ask().config
    assert sum(config[f"c{i}"] for i in range(12)) <= 4  # the good options have been noticed


def test_batches_do_not_cluster():
    """But next to trials that have ended, where the search closes in."""
    opt = run(bq.benchmarks.branin(), "tree-ei", 12)
    X = opt.space.to_unit([trial.config for trial in opt.ask(4)])
    for i, before in enumerate(X):
        apart = min(0.04, np.abs(opt.history.units - before).max(axis=1).min() / 2)
        assert all(np.abs(after - before).max() >= apart for after in X[i + 1 :])


def test_pending_trials_are_conditioned_on():
    """A trial in flight makes its place less attractive."""
    problem = bq.benchmarks.branin()
    alone, busy = run(problem, "tree-ei", 12), run(problem, "tree-ei", 12)
    here = alone.ask().config
    busy.ask()
    X = problem.space.to_unit([here, busy.ask().config])
    assert np.linalg.norm(X[0] - X[1]) > 0.03


def test_info_says_why():
    trial = run(bq.benchmarks.small_balanced(shared=True), "tree-ei", 9).ask()
    info = trial.info
    assert info["why"].startswith("highest log EI")
    assert {"path", "acquisition", "path_ei"} <= info.keys()
    assert list(info["path_ei"].values()) == sorted(info["path_ei"].values(), reverse=True)
    fit = trial.memory["fits"]["tree-ei"]
    assert fit["fitted_at"] == 9
    assert {"variance", "length", "constant", "slope", "offset", "noise"} <= fit["theta"].keys()
    json.dumps(info, allow_nan=False)


def test_fits_start_where_the_last_one_ended(monkeypatch):
    opt = run(bq.benchmarks.small_balanced(), "tree-ei", 7)  # not a multiple of five: one start
    last = opt.history.trials[-1].memory["fits"]["tree-ei"]["theta"]
    seen = []
    fit = TreeGP.fit

    def record(self, starts, *options):
        seen.append([self.hyper.remember(start) for start in starts])
        return fit(self, starts, *options)

    monkeypatch.setattr(TreeGP, "fit", record)
    opt.ask()
    assert len(seen[0]) == 1
    assert {name: seen[0][0][name] for name in last} == last


def test_known_noise_is_respected():
    """A value with a huge variance must not make its neighbourhood attractive."""
    opt = bq.Optimizer(bq.Space({"x": bq.Float(0, 1)}), "tree-ei", seed=0)
    for x in np.linspace(0, 1, 9):
        opt.tell({"x": float(x)}, (x - 0.8) ** 2, noise_variance=1e-6)
    opt.tell({"x": 0.2}, -50.0, noise_variance=1e6)
    assert abs(opt.ask().config["x"] - 0.8) < 0.15


def test_skewed_targets_are_transformed_but_not_in_the_paper():
    space = bq.Space({"x": bq.Float(0, 1), "y": bq.Float(0, 1)})
    lambdas = {}
    for name in ("tree-ei", "tree-ei.paper"):
        opt = bq.Optimizer(space, name, seed=0)
        for config in space.sample(0, 25):
            opt.tell(config, float(np.exp(9 * config["x"]) + config["y"]))
        lambdas[name] = opt.ask().memory["fits"]["tree-ei"]["setting"]["lam"]
    assert lambdas["tree-ei"] < 1.0 == lambdas["tree-ei.paper"]


def test_where_the_best_corner_is_taken_the_next_one_is():
    """A leaf without variables of its own has nothing but corners when shared values are kept."""
    space = bq.Space(
        {"s": bq.Choice(["u", "v"]), "m": bq.Choice({"a": {}, "b": {}, "c": {"x": bq.Int(1, 2)}})}
    )
    opt = bq.Optimizer(space, "tree-ei.paper", seed=0)
    for _ in range(8):
        trial = opt.ask()
        assert "replaced" not in trial.info
        opt.tell(trial, float(trial.config["s"] == "u"))
    assert len({trial.key for trial in opt.history.trials}) == 8 == space.size


def test_exploration():
    opt = run(bq.benchmarks.small_balanced(), "tree-ei", 12)
    explored = [t.number for t in opt.history.trials if "exploration" in t.info["why"]]
    assert explored == [5, 11]


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="features='cubic' must be one of raw, linear, fourier"):
        TreeEI(features="cubic")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="leaf='all' must be one of own, path"):
        TreeEI(leaf="all")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="offsets='none' must be one of scalar, normal"):
        TreeEI(offsets="none")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="search='three-step' must be one of two-step, full"):
        TreeEI(search="three-step")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="k=0 must be a positive integer"):
        TreeEI(k=0)
    with pytest.raises(ValueError, match="anchors=0 must be a positive integer, or None"):
        TreeEI(anchors=0)
    with pytest.raises(ValueError, match="explore_every=1 must be an integer of at least 2"):
        TreeEI(explore_every=1)
