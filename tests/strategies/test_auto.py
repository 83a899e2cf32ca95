import numpy as np
import pytest

import bosquet as bq
from bosquet.strategies import Auto, BOinG, auto


def run(problem, n, strategy="auto"):
    opt = bq.Optimizer(problem.space, strategy, seed=0)
    for _ in range(n):
        trial = opt.ask()
        opt.tell(trial, problem(trial.config))
    return opt


def told(problem, n, strategy="auto"):
    """An optimizer that knows points it has not asked for, so that fits start from the prior."""
    opt = bq.Optimizer(problem.space, strategy, seed=0)
    for config in problem.space.sample(0, n):
        opt.tell(config, problem(config))
    return opt


def test_a_design_comes_first():
    assert bq.Optimizer(bq.benchmarks.mixed().space, seed=0).ask().info["strategy"] == "design"


def test_without_conditions_there_is_nothing_to_choose():
    trial = told(bq.benchmarks.branin(), 10).ask()
    assert trial.info["strategy"] == "add-tree"
    assert list(trial.memory["fits"]) == ["add-tree"]


def test_groups_are_looked_for_among_many_variables():
    space = bq.Space({f"x{i}": bq.Float(0, 1) for i in range(8)})
    opt = bq.Optimizer(space, seed=0)
    for config in space.sample(0, 12):
        opt.tell(config, sum(config.values()))
    info = opt.ask().info
    assert info["strategy"] == "additive"
    assert list(info["evidence"]) == ["additive"]
    assert info["graph"]["groups"]


@pytest.mark.parametrize("n", [13, 15])
@pytest.mark.parametrize("problem", [bq.benchmarks.mixed(), bq.benchmarks.and_or(3)])
def test_the_better_explanation_proposes_and_every_third_trial_the_other(problem, n):
    trial = told(problem, n).ask()
    evidence = trial.info["evidence"]
    assert set(evidence) == {"add-tree", "arc"}
    chosen = (min if trial.number % 3 == 0 else max)(evidence, key=evidence.get)
    assert trial.info["strategy"] == chosen
    assert trial.config == told(problem, n, chosen).ask().config


def test_an_additive_function_is_explained_by_the_sum_over_nodes():
    """Arms that are sums, each with its own weight: one GP over everything has to learn it all."""
    sides = {
        f"part{i}": bq.Choice({o: {f"{o}{i}": bq.Float(0, 1)} for o in "abc"}) for i in range(3)
    }
    space = bq.Space(sides)

    def additive(config):
        return sum(
            np.sin(9 * value) * (1 + ord(name[0]) - ord("a"))
            for name, value in config.items()
            if not name.startswith("part")
        )

    opt = bq.Optimizer(space, seed=0)
    for config in space.sample(0, 60):
        opt.tell(config, additive(config))
    fits = opt.ask().memory["fits"]
    assert fits["add-tree"]["evidence"] > fits["arc"]["evidence"] + 3


def test_the_order_is_kept_between_comparisons():
    problem = bq.benchmarks.small_balanced(shared=True)
    trials = run(problem, 42).history.trials
    compared = [trial.number for trial in trials if len(trial.memory.get("fits", ())) == 2]
    assert compared == [*range(4, 31), 40]
    fits = trials[30].memory["fits"]
    order = sorted(fits, key=lambda name: fits[name]["evidence"])
    for trial in trials[31:40]:
        assert trial.info["strategy"] == order[0 if trial.number % 3 == 0 else 1]
        assert list(trial.memory["fits"]) == [trial.info["strategy"]]


def test_beyond_a_hundred_trials_nothing_is_compared():
    problem = bq.benchmarks.small_balanced(shared=True)
    opt = told(problem, 100)
    for _ in range(2):
        trial = opt.ask()
        opt.tell(trial, problem(trial.config))
    first, second = (trial.memory for trial in opt.history.trials[-2:])
    assert len(first["fits"]) == 2
    assert len(second["fits"]) == 1


def test_with_very_many_trials_boing_proposes():
    problem = bq.benchmarks.small_balanced(shared=True)
    n = BOinG().least(problem.space)
    info = told(problem, n, Auto(boing_from=n + 1)).ask().info
    assert info["strategy"] in ("add-tree", "arc")
    trial = told(problem, n, Auto(boing_from=n)).ask()
    assert trial.info["strategy"] == "boing"
    assert trial.info["engine"] == "boing"
    assert trial.config == told(problem, n, "boing").ask().config


def test_boing_waits_until_its_forest_has_enough_trials():
    problem = bq.benchmarks.small_balanced(shared=True)
    n = BOinG().least(problem.space) - 1
    assert told(problem, n, Auto(boing_from=1)).ask().info["strategy"] in ("add-tree", "arc")


def test_a_run_that_has_passed_to_boing_is_resumed_as_it_went_on():
    problem = bq.benchmarks.small_balanced(shared=True)
    n = BOinG().least(problem.space)
    opt = told(problem, n - 1, Auto(boing_from=n))
    for _ in range(3):
        trial = opt.ask()
        opt.tell(trial, problem(trial.config))
    by = [trial.info["strategy"] for trial in opt.history.trials[-3:]]
    assert by[0] in ("add-tree", "arc")
    assert by[1:] == ["boing", "boing"]
    again = bq.Optimizer(problem.space, Auto(boing_from=n), seed=0, history=opt.history)
    assert again.ask().config == opt.ask().config


@pytest.mark.parametrize(("dimension", "strategy"), [(8, "boing+"), (7, "add-tree")])
def test_without_conditions_boing_is_for_many_variables(dimension, strategy):
    problem = bq.benchmarks.levy(dimension)
    handing_over = Auto(boing_from=1, boing_per_variable=5)
    assert told(problem, 5 * dimension, handing_over).ask().info["strategy"] == strategy


@pytest.mark.parametrize("n", [6, None])
def test_without_conditions_boing_waits_for_as_many_trials_per_variable(n):
    opt = told(bq.benchmarks.levy(8), 40, Auto(boing_per_variable=n))
    assert opt.ask().info["strategy"] == "additive"


def test_without_scikit_learn_the_gaussian_processes_go_on(monkeypatch):
    problem = bq.benchmarks.small_balanced(shared=True)
    monkeypatch.setattr(auto, "find_spec", lambda _: None)
    n = BOinG().least(problem.space)
    info = told(problem, n, Auto(boing_from=n)).ask().info
    assert info["strategy"] in ("add-tree", "arc")


@pytest.mark.parametrize("name", ["boing_from", "boing_per_variable"])
@pytest.mark.parametrize("bad", [0, -3, 1.5, True])
def test_a_bad_number_of_trials_is_named(name, bad):
    with pytest.raises(ValueError, match=f"{name}={bad}"):
        Auto(**{name: bad})
