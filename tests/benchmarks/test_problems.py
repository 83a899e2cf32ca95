from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize

import bosquet as bq
from bosquet.benchmarks import GROUPS, PROBLEMS
from tests.support import present

GROUPED = ("shifted", "trees", "steep", "flat", "uneven")
ANALYTIC = [name for group in GROUPED for name in GROUPS[group]]


@pytest.mark.parametrize("name", ANALYTIC)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_minimum_is_reached_and_never_beaten(name, seed):
    """Polish the best samples of every path: nothing lies below, something lies at the minimum."""
    problem = PROBLEMS[name](seed)
    space = problem.space
    assert problem.name == name
    configs = space.sample(seed, 3000, by="path")
    problem, minimum = replace(problem, observe=None), present(problem.minimum)  # without noise
    values = np.array([problem(config) for config in configs])
    assert values.min() >= minimum - 1e-9
    if "ackley" in name or "levy" in name:
        return  # many local minima; their optimum is tested below
    best = values.min()
    for i in np.argsort(values)[:20]:
        if best > minimum + 1e-6:
            best = min(best, _polish(problem, configs[i]))
    assert best == pytest.approx(minimum, abs=1e-6)


def _polish(problem, config):
    space = problem.space
    units = space.to_unit(config)
    active = np.flatnonzero(space.activity(units[None])[0])
    if np.isfinite(space.size):  # discrete, and a sum over the parameters: one by one
        for index in active:
            dimension = space.dimensions[index]
            if index not in space.tree.children:
                rivals = [config | {dimension.name: v} for v in dimension.parameter.values()]
                config = min(rivals, key=problem)
        return problem(config)
    free = [i for i in active if isinstance(space.dimensions[i].parameter, bq.Float)]

    def value(x):
        moved = units.copy()
        moved[free] = x
        return problem(space.from_unit(moved))

    bounds = [(0, 1)] * len(free)
    found = scipy_minimize(value, units[free], bounds=bounds, method="L-BFGS-B", tol=1e-14)
    return found.fun


@pytest.mark.parametrize(
    "make", [bq.benchmarks.ackley, bq.benchmarks.levy, bq.benchmarks.rosenbrock]
)
@pytest.mark.parametrize("dimension", [2, 10])
def test_classics_are_zero_at_their_optimum(make, dimension):
    plain = make(dimension)
    at = 0.0 if plain.name.startswith("ackley") else 1.0
    config = {f"x{i + 1}": at for i in range(dimension)}
    assert plain(config) == pytest.approx(0.0, abs=1e-12)
    shifted = make(dimension, shift=3)
    assert shifted(config) > 0.1
    with pytest.raises(ValueError, match="dimension=0"):
        make(0)


def test_the_papers_small_tree():
    """Figure 1: spot values of the functions with and without shared variables."""
    plain = bq.benchmarks.small_balanced()
    assert plain({"x1": 0, "x2": 1, "x5": 0.5}) == pytest.approx(0.25 + 0.2)
    assert plain({"x1": 1, "x3": 1, "x7": -1.0}) == pytest.approx(1.4)
    shared = bq.benchmarks.small_balanced(shared=True)
    assert shared({"x1": 1, "r9": 0.25, "x3": 0, "x6": 0.5}) == pytest.approx(0.25 + 0.25 + 0.3)
    names = [d.name for d in shared.space.dimensions]
    assert " ".join(names) == "x1 r8 x2 x4 x5 r9 x3 x6 x7"


def test_the_papers_large_tree():
    """Section 4.1: 7 categorical and 10 continuous parameters, two of them shared."""
    problem = bq.benchmarks.large_balanced(shared=True)
    kinds = [type(d.parameter) for d in problem.space.dimensions]
    assert (kinds.count(bq.Choice), kinds.count(bq.Float)) == (7, 10)
    assert problem.space.n_paths == 8
    config = {"x1": 1, "r17": 0.5, "x3": 1, "x7": 1, "x15": 0.1}
    assert problem(config) == pytest.approx(0.01 + 0.5 + 0.8)


def test_unbalanced_trees_grow_by_one_leaf_a_level():
    for depth in (1, 3, 6):
        problem = bq.benchmarks.unbalanced(depth)
        assert problem.space.n_paths == depth + 1
        deepest = {f"d{k}": 1 for k in range(1, depth + 1)} | {f"x{depth + 1}": 0.0}
        assert problem(deepest) == pytest.approx(0.1)
    with pytest.raises(ValueError, match="depth=0"):
        bq.benchmarks.unbalanced(0)


def test_shifted_instances_differ_by_seed_and_repeat():
    config = {"x1": 0, "x2": 0, "x4": 0.0}
    values = [bq.benchmarks.small_balanced(shift=s)(config) for s in (0, 1, 2, 0)]
    assert len(set(values)) == 3
    assert values[0] == values[3]


def test_the_best_leaf_of_a_shifted_tree_moves():
    """Constants are permuted: each leaf of the small tree is the best one for some seed."""
    leaves = [{"x1": a, "x2" if a == 0 else "x3": b} for a in (0, 1) for b in (0, 1)]
    best = set()
    for seed in range(40):
        problem = bq.benchmarks.small_balanced(shift=seed)
        grid = np.linspace(-1, 1, 101)
        lowest = [
            min(problem(leaf | {f"x{4 + i}": float(x)}) for x in grid)
            for i, leaf in enumerate(leaves)
        ]
        assert sorted(np.round(lowest, 2)) == pytest.approx([0.1, 0.2, 0.3, 0.4])
        best.add(int(np.argmin(lowest)))
    assert best == {0, 1, 2, 3}


def test_options_of_the_and_or_tree_differ_in_level():
    problem = bq.benchmarks.and_or(2, shift=0)
    base = {"s": 0.5, "part1": "a", "x1a": 0.5}
    grid = np.linspace(0, 1, 201)
    lowest = [min(problem(base | {"part0": o, f"x0{o}": float(x)}) for x in grid) for o in "abc"]
    assert np.ptp(lowest) == pytest.approx(0.2, abs=1e-3)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_best_branch_of_the_steep_problem_looks_worst_at_random(seed):
    problem = bq.benchmarks.steep(shift=seed)
    assert len(problem.space) == 12
    configs = problem.space.sample(seed, 400, by="path")
    mean, lowest = {}, {}
    for branch in "abcd":
        same = [config for config in configs if config["branch"] == branch]
        mean[branch] = np.mean([problem(config) for config in same])
        lowest[branch] = _polish(problem, min(same, key=problem))
    assert sorted(lowest.values()) == pytest.approx([0.1, 0.2, 0.3, 0.4], abs=1e-6)
    assert sorted(mean, key=mean.__getitem__) == sorted(lowest, key=lowest.__getitem__)[::-1]


def test_off_is_a_special_value_of_the_mixed_problem():
    problem = bq.benchmarks.mixed(shift=1)
    config = {"cache": 64, "sync": "off", "engine": "btree", "page": 8, "fill": 0.5}
    values = [problem(config | {"filter_bits": bits}) for bits in (0, 1, 2)]
    assert values[0] - values[1] != pytest.approx(values[1] - values[2], abs=0.02)


def test_every_setting_of_the_real_pipeline_matters():
    problem = bq.benchmarks.sklearn_pipeline("diabetes")
    plain = {"scale": "standard", "reduce": "none"}
    variants: list[tuple[dict[str, Any], str, float, float]] = [
        ({"model": "ridge"}, "strength", 1e-4, 1.0),
        ({"model": "svm", "kernel": "linear"}, "C", 1e-2, 1.0),
        ({"model": "svm", "C": 1.0, "kernel": "rbf"}, "gamma", 1e-4, 0.1),
        ({"model": "neighbors", "weights": "uniform"}, "k", 1, 50),
        ({"model": "forest", "trees": 10, "min_leaf": 20}, "max_features", 0.05, 1.0),
        ({"model": "boosting", "trees": 10, "min_leaf": 1}, "learning_rate", 0.01, 0.5),
    ]
    for base, name, low, high in variants:
        values = [problem(plain | base | {name: value}) for value in (low, high)]
        assert values[0] != values[1], name


def test_noise_on_request_keeps_the_truth():
    problem = bq.benchmarks.branin().with_noise(0.5, seed=1)
    config = {"x1": 0.0, "x2": 0.0}
    seen = [problem(config) for _ in range(400)]
    assert np.std(seen) == pytest.approx(0.5, rel=0.15)
    assert np.mean(seen) == pytest.approx(problem.function(config), abs=0.1)
    assert problem.name == "branin+noise0.5"
    with pytest.raises(ValueError, match="sd=-1"):
        problem.with_noise(-1)


@pytest.mark.parametrize("dataset", ["diabetes", "wine"])
def test_every_branch_of_the_real_pipelines_runs(dataset):
    problem = bq.benchmarks.sklearn_pipeline(dataset)
    n = problem.space.n_paths
    result = bq.minimize(problem, problem.space, n_trials=n, strategy="sobol", seed=0)
    assert not result.history.failed
    assert len(result.history.best_by_path()) == problem.space.n_paths == 18
    assert 0 <= result.best_value < 0.75


def test_unknown_data_set():
    with pytest.raises(ValueError, match="dataset='iris' must be one of"):
        bq.benchmarks.sklearn_pipeline("iris")


def test_the_noise_of_yuan_and_wahba_differs_from_place_to_place():
    problem = bq.benchmarks.yuan_wahba(1)
    for x, sd in ((0.25, np.e), (0.75, 1 / np.e)):
        config = {"x1": x}
        seen = [problem(config) - problem.function(config) for _ in range(400)]
        assert np.std(seen) == pytest.approx(sd, rel=0.15)
    assert bq.benchmarks.yuan_wahba(1)(config) == bq.benchmarks.yuan_wahba(1)(config)
