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
    """Once there are more than very few trials, from which no graph can be learned."""
    space = bq.Space({f"x{i}": bq.Float(0, 1) for i in range(8)})
    opt = bq.Optimizer(space, seed=0)
    for config in space.sample(0, 20):
        opt.tell(config, sum(config.values()))
    trial = opt.ask()
    assert trial.info["strategy"] == "add-tree"
    opt.tell(trial, sum(trial.config.values()))
    info = opt.ask().info
    assert set(info["evidence"]) == {"additive", "add-tree"}
    assert info["weights"]["additive"] > 0.5  # a sum it is
    assert info["graph"]["groups"]


def test_a_function_that_is_no_sum_is_left_to_one_process():
    """Groups explain little of a wave along a direction in which four variables change."""
    space = bq.Space({f"x{i}": bq.Float(0, 1) for i in range(8)})
    opt = bq.Optimizer(space, seed=0)
    for config in space.sample(0, 60):
        x = np.array(list(config.values()))
        opt.tell(config, np.sin(3.0 * (x[0] + x[1] - x[2] + x[3])))
    assert opt.ask().info["weights"]["add-tree"] > 0.9


def test_of_very_many_variables_groups_alone_are_looked_for():
    space = bq.Space({f"x{i}": bq.Float(0, 1) for i in range(41)})
    assert [rival.name for rival in auto.rivals_on(space)] == ["additive"]


def test_with_very_few_trials_one_process_over_everything_proposes():
    trial = told(bq.benchmarks.mixed(), 20).ask()
    assert trial.info["strategy"] == "arc"
    assert trial.info["weights"] == {"arc": 1.0}
    assert list(trial.memory["fits"]) == ["arc"]


@pytest.mark.parametrize("problem", [bq.benchmarks.mixed(), bq.benchmarks.and_or(3)])
def test_beliefs_are_averaged_and_weighted_by_their_evidence(problem):
    trial = told(problem, 21).ask()
    evidence, weights = trial.info["evidence"], trial.info["weights"]
    assert set(evidence) == {"add-tree", "arc"}
    assert sum(weights.values()) == pytest.approx(1.0)
    assert max(weights, key=weights.get) == max(evidence, key=evidence.get)
    assert trial.info["strategy"] in weights
    assert trial.info["strategy"] in trial.info["why"]


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


def test_a_belief_that_does_not_count_is_not_fitted():
    """Sums of waves along arms: one GP over everything has no chance."""
    space = bq.Space(
        {f"part{i}": bq.Choice({o: {f"{o}{i}": bq.Float(0, 1)} for o in "abc"}) for i in range(3)}
    )
    opt = bq.Optimizer(space, seed=0)
    for config in space.sample(0, 130):
        numbers = [v for n, v in config.items() if not n.startswith("part")]
        opt.tell(config, sum(np.sin(12 * v) for v in numbers))
    first = opt.ask()  # nothing has been compared yet
    opt.tell(first, 0.0)
    assert set(first.memory["fits"]) == {"add-tree", "arc"}
    assert list(first.info["weights"]) == ["add-tree"]
    assert list(opt.ask().memory["fits"]) == ["add-tree"]


def test_a_batch_is_of_different_places():
    problem = bq.benchmarks.small_balanced(shared=True)
    trials = told(problem, 20).ask(3)
    units = problem.space.to_unit([trial.config for trial in trials])
    apart = np.abs(units[:, None] - units[None]).max(axis=2)[np.triu_indices(3, 1)]
    assert apart.min() > 1e-3


def test_with_very_many_trials_boing_proposes():
    problem = bq.benchmarks.small_balanced(shared=True)
    n = BOinG().least(problem.space)
    info = told(problem, n, Auto(boing_from=n + 1)).ask().info
    assert info["strategy"] in ("add-tree", "arc")
    trial = told(problem, n, Auto(boing_from=n)).ask()
    assert trial.info["strategy"] == "boing"
    assert trial.info["engine"] in ("gp", "boing")
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
