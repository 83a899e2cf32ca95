import numpy as np
import pytest

import bosquet as bq
from bosquet.search.tree_path import Scored
from bosquet.strategies import AddTree
from bosquet.strategies.base import Task
from bosquet.strategies.choosing import Ask

SPACE = bq.Space(
    {
        "smoother": bq.Choice(["a", "b", "c", "d"]),
        "before": bq.Choice([0, 1, 2, 3], ordered=True),
        "after": bq.Choice([0, 1, 2, 3], ordered=True),
        "cores": bq.Choice({"one": {}, "many": {"nodes": bq.Int(2, 4)}}),
    }
)


def seconds(config):
    """Best where little is done, by whoever does it: good settings are next to each other."""
    work = abs(config["before"] - 1) + config["after"] + 0.1 * "abcd".index(config["smoother"])
    return work + 0.3 * config.get("nodes", 1)


@pytest.mark.parametrize("strategy", ["auto", "add-tree", "arc", "tree-ei", "htbo", "additive"])
def test_models_choose_to_the_end_on_finite_spaces(strategy):
    """The best rows are those of trials: what is next to them must be found among the others."""
    if strategy == "additive":  # has no conditions
        space = bq.Space({name: SPACE[name] for name in ("smoother", "before", "after")})
    else:
        space = SPACE
    optimizer = bq.Optimizer(space, strategy=strategy, seed=0)
    for _ in range(40):
        trial = optimizer.ask()
        optimizer.tell(trial, seconds(trial.config))
    chosen = [trial.info["why"] for trial in optimizer.history.trials[12:]]
    assert not [why for why in chosen if why == "space-filling design" or "random" in why]
    assert len([why for why in chosen if why.startswith("highest")]) >= 14


def test_models_choose_where_constraints_leave_little_of_a_finite_space():
    """The best rows all violate one: those behind them are looked at."""
    space = bq.Space(
        {"a": bq.Int(0, 40), "b": bq.Int(0, 40)},
        constraints=[bq.Constraint(lambda c: c["a"] + c["b"] >= 70, on=["a", "b"])],
    )
    optimizer = bq.Optimizer(space, strategy="add-tree", seed=0)
    for _ in range(16):
        trial = optimizer.ask()
        optimizer.tell(trial, trial.config["a"] + trial.config["b"])
    chosen = [trial.info["why"] for trial in optimizer.history.trials[4:]]
    assert "space-filling design" not in chosen
    assert len([why for why in chosen if why.startswith("highest")]) >= 6
    assert optimizer.best is not None
    assert optimizer.best.value == 70


@pytest.mark.parametrize("noise", [None, 0.1])
def test_trials_that_have_ended_or_are_pending_are_taken_unless_results_are_noisy(noise):
    optimizer = bq.Optimizer(SPACE, strategy="sobol", seed=0)
    for trial in optimizer.ask(8):
        optimizer.tell(trial, seconds(trial.config), noise_variance=noise)
    pending = optimizer.ask(2)
    task = Task(SPACE, optimizer.history, tuple(pending))
    data, rng = optimizer.history.dataset(), np.random.default_rng(0)
    ask = Ask.given(task, AddTree().fit(task, data, rng), data, task.taken, rng)
    asked_next = SPACE.sample(9, 1)[0]
    taken = ask.after(asked_next).taken_rows
    tried = [*(trial.config for trial in optimizer.history.trials), *(t.config for t in pending)]
    expected = SPACE.to_unit([*tried, asked_next]) if noise is None else np.empty((0, 5))
    np.testing.assert_array_equal(taken, expected)


def test_no_third_trial_where_two_neighbours_have_failed_unless_there_is_no_other():
    space = bq.Space({"x": bq.Float(0, 1)})
    optimizer = bq.Optimizer(space, strategy="sobol", seed=0)
    for x in (0.1, 0.35, 0.6):
        optimizer.tell({"x": x}, (x - 0.8) ** 2)
    for x in (0.8, 0.84):
        optimizer.tell_failure({"x": x}, "diverged")
    task = Task(space, optimizer.history)
    data, rng = optimizer.history.dataset(), np.random.default_rng(0)
    ask = Ask.given(task, AddTree().fit(task, data, rng), data, task.taken, rng)

    def chosen(*rows):
        found = ask.free([Scored((0,), np.array(rows)[:, None], -np.arange(len(rows)) / 1.0)])
        return None if found is None else found[0]["x"]

    assert chosen(0.81, 0.87, 0.7) == 0.7
    assert chosen(0.81, 0.87) == 0.81
