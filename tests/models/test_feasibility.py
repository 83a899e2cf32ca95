import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import log_expit

import bosquet as bq
from bosquet.models import feasibility
from bosquet.models.feasibility import Feasibility

SPACE = bq.Space(
    {
        "s": bq.Float(0, 1),
        "m": bq.Choice({"a": {"x": bq.Float(0, 1)}, "b": {"y": bq.Float(0, 1)}}),
    }
)


def probability(configs, failed, query):
    model = Feasibility(SPACE, SPACE.to_unit(configs), np.array(failed))
    row = SPACE.to_unit(query)[None]
    return float(np.exp(model.log_probability(row, SPACE.path(query))[0]))


def a(s, x):
    return {"s": s, "m": "a", "x": x}


def test_a_failure_is_felt_nearby_and_nowhere_else():
    failed = [a(0.5, 0.5)]
    at, near, far = (probability(failed, [True], a(0.5, x)) for x in (0.5, 0.6, 1.0))
    assert at < 0.3 < far
    assert at < near < far
    assert far == pytest.approx(0.88, abs=0.06)
    other_branch = {"s": 0.5, "m": "b", "y": 0.5}
    assert probability(failed, [True], other_branch) > 0.75


def test_failures_add_up_and_successes_push_back():
    spot = a(0.5, 0.5)
    one = probability([spot], [True], spot)
    three = probability([spot] * 3, [True] * 3, spot)
    mixed = probability([spot] * 4, [True, False, False, False], spot)
    assert three < 0.01 < one < mixed


def test_gradient_by_the_coordinates():
    configs = SPACE.sample(1, 12)
    model = Feasibility(SPACE, SPACE.to_unit(configs), np.arange(12) % 3 == 0)
    for config in SPACE.sample(2, 4):
        x, path = SPACE.to_unit(config), SPACE.path(config)
        value, gradient = model.log_probability_with_gradient(x[None], path)
        assert value[0] == pytest.approx(model.log_probability(x[None], path)[0])
        expected = approx_fprime(x, lambda x, p=path: model.log_probability(x[None], p)[0], 1e-7)
        ordered = [d.index for d in SPACE.dimensions if d.name != "m"]
        np.testing.assert_allclose(gradient[0, ordered], expected[ordered], atol=1e-5)


def test_the_search_leaves_a_region_that_fails():
    """The lowest values would be where evaluations crash: x < 0.4."""
    space = bq.Space({"x": bq.Float(0, 1), "y": bq.Float(0, 1)})

    def objective(config):
        if config["x"] < 0.4:
            raise MemoryError
        return config["x"] + (config["y"] - 0.3) ** 2

    result = bq.minimize(objective, space, n_trials=25, strategy="add-tree", seed=4)
    assert result.best_value < 0.42  # close to the edge of what works
    deep = [trial for trial in result.history.failed[4:] if trial.config["x"] < 0.3]
    assert len(deep) <= 7  # without the model, half of all trials go there


def test_the_reach_of_a_vote_is_learned():
    """Half of the square fails: a wide reach predicts that best."""
    space = bq.Space({"x": bq.Float(0, 1), "y": bq.Float(0, 1)})
    configs = space.sample(0, 60)
    half = np.array([c["x"] < 0.5 for c in configs])
    model = Feasibility(space, space.to_unit(configs), half)
    queries = space.to_unit([{"x": x, "y": 0.5} for x in (0.1, 0.9)])
    low, high = np.exp(model.log_probability(queries, (0,)))
    assert low < 0.05
    assert high > 0.95


def test_votes_against_a_loop_over_trials_and_parameters():
    space = bq.Space(
        {
            "s": bq.Float(0, 1),
            "k": bq.Int(0, 9),
            "c": bq.Choice(["u", "v", "w"]),
            "m": bq.Choice({"a": {"x": bq.Float(0, 1), "d": bq.Choice([1, 2])}, "b": {}}),
        }
    )
    configs = space.sample(3, 15)
    failed = np.arange(15) % 4 == 0
    model = Feasibility(space, space.to_unit(configs), failed)

    def unit(config, name):
        dimension = space.tree.by_name[name][0].index
        return space.to_unit(config)[dimension]

    for query in space.sample(4, 6):
        odds = 2.0
        for config, fails in zip(configs, failed, strict=True):
            both = query.keys() & config.keys()
            gap = sum((unit(query, n) - unit(config, n)) ** 2 for n in both & {"s", "k", "x"})
            gap /= len(query) - 1  # all variables, the branching choice aside
            other = sum(query[n] != config[n] for n in both & {"c", "d"})
            other += 2 * (query["m"] != config["m"])  # a node of its own on either side
            weight = np.exp(-0.5 * (gap / model.length**2 + 2.0 * other))
            odds += (-6.0 if fails else 6.0) * weight
        expected = -np.log1p(np.exp(-odds))
        row = space.to_unit(query)[None]
        assert model.log_probability(row, space.path(query))[0] == pytest.approx(expected)


def test_a_trial_does_not_predict_itself():
    """Here a vote of its own would make 0.6 the best reach."""
    space = bq.Space({"x": bq.Float(0, 1), "y": bq.Float(0, 1)})
    X = np.random.default_rng(1).random((20, 2))
    failed = X[:, 0] < 0.5
    model = Feasibility(space, X, failed)
    distances = ((X[:, None] - X) ** 2).mean(axis=2)
    votes = np.where(failed, -6.0, 6.0)

    def likelihood(length):
        weights = np.exp(-0.5 * distances / length**2)
        np.fill_diagonal(weights, 0.0)
        return log_expit((2.0 + weights @ votes) * np.sign(votes)).sum()

    assert model.length == max(feasibility.LENGTHS, key=likelihood) == 0.3


def test_of_very_many_trials_some_choose_the_reach(monkeypatch):
    space = bq.Space({"x": bq.Float(0, 1), "y": bq.Float(0, 1)})
    X = np.random.default_rng(0).random((1500, 2))
    model = Feasibility(space, X, X[:, 0] < 0.4)
    monkeypatch.setattr(feasibility, "LOOKED_AT", 10_000)
    assert model.length == Feasibility(space, X, X[:, 0] < 0.4).length
    low, high = np.exp(model.log_probability(np.array([[0.2, 0.5], [0.7, 0.5]]), (0,)))
    assert low < 0.05
    assert high > 0.95


def test_a_branch_that_failed_at_first_is_tried_again():
    space = bq.Space(
        {"m": bq.Choice({"good": {"x": bq.Float(0, 1)}, "moody": {"y": bq.Float(0, 1)}})}
    )

    def objective(config):
        if config["m"] == "good":
            return 1 + config["x"]
        if config["y"] < 0.7:
            raise RuntimeError("crashed")
        return config["y"] - 0.7

    def recovered(_, trial):
        return trial.config["m"] == "moody" and trial.state == "complete"

    by_model = bq.strategies.AddTree(explore_every=None)
    result = bq.minimize(
        objective, space, n_trials=40, strategy=by_model, seed=0, callbacks=recovered
    )
    assert len(result.history.failed) >= 3
    assert result.best_config["m"] == "moody"
    assert result.trials[-1].info["why"].startswith("highest")
