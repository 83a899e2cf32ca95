import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import log_expit

import bosquet as bq
from bosquet.models import feasibility
from bosquet.models.feasibility import Feasibility
from bosquet.models.outcomes import mode

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


def test_a_failure_is_felt_nearby_and_less_elsewhere():
    configs = [a(0.5, 0.5), a(0.45, 0.55), a(0.9, 0.1), a(0.1, 0.9), a(0.9, 0.9), a(0.1, 0.1)]
    failed = [True, True, False, False, False, False]
    at, near, far = (probability(configs, failed, a(0.5, x)) for x in (0.5, 0.7, 0.9))
    assert at < near < far
    assert at < 0.3 < 0.85 < probability(configs, failed, a(0.9, 0.2))
    assert probability(configs, failed, {"s": 0.5, "m": "b", "y": 0.5}) > 0.5


def test_failures_add_up_and_successes_push_back():
    spot = a(0.5, 0.5)
    one = probability([spot], [True], spot)
    three = probability([spot] * 3, [True] * 3, spot)
    mixed = probability([spot] * 4, [True, False, False, False], spot)
    assert three < 0.05 < one < mixed


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


SQUARE = bq.Space({"x": bq.Float(0, 1), "y": bq.Float(0, 1)})


def test_a_variable_that_does_not_decide_is_left_out():
    """Half of the square fails."""
    X = np.random.default_rng(0).random((60, 2))
    model = Feasibility(SQUARE, X, X[:, 0] < 0.5)
    assert model.weights[0] > 10 * model.weights[1]
    queries = np.array([[x, y] for x in (0.1, 0.9) for y in (0.02, 0.5, 0.98)])
    chances = np.exp(model.log_probability(queries, (0,)))
    assert np.all(chances[:3] < 0.05)
    assert np.all(chances[3:] > 0.95)


def test_successes_nearby_do_not_outvote_an_edge():
    """A sharp edge, asked from both sides: what lies beyond is not tried for its neighbours."""
    x = np.array([0.1, 0.3, 0.5, 0.7, 0.9, 0.56, 0.63, 0.58, 0.61, 0.59, 0.6])
    failed = x > 0.595
    model = Feasibility(bq.Space({"x": bq.Float(0, 1)}), x[:, None], failed)
    low, high = np.exp(model.log_probability(np.array([[0.57], [0.63]]), (0,)))
    assert low > 0.85
    assert high < 0.1


def test_what_fails_at_random_is_not_avoided():
    rng = np.random.default_rng(3)
    X, failed = rng.random((80, 2)), rng.random(80) < 1 / 7
    model = Feasibility(SQUARE, X, failed)
    chances = np.exp(model.log_probability(rng.random((500, 2)), (0,)))
    assert np.quantile(chances, 0.05) > 0.5
    assert np.median(chances) == pytest.approx(1 - failed.mean(), abs=0.06)


def test_votes_against_loops_over_trials_and_parameters():
    """The most probable log-odds, found by a general optimiser."""
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
    weight = {d.name: model.weights[d.index] for d in space.dimensions}
    index = {d.name: d.index for d in space.dimensions}

    def covariance(one, other):
        x, y = space.to_unit(one), space.to_unit(other)  # 0.5 where inactive
        gap = sum(weight[n] * (x[index[n]] - y[index[n]]) ** 2 for n in ("s", "k", "x"))
        gap += sum(weight[n] * (x[index[n]] != y[index[n]]) for n in ("c", "m", "d"))
        return model.variance * (feasibility.LEVEL + np.exp(-0.5 * gap))

    K = np.array([[covariance(one, other) for other in configs] for one in configs])

    def loss(a):
        f = feasibility.PRIOR + K @ a
        return 0.5 * a @ K @ a - log_expit(np.where(failed, -f, f)).sum()

    votes = minimize(loss, np.zeros(15), tol=1e-12).x
    for query in space.sample(4, 6):
        odds = feasibility.PRIOR + votes @ [covariance(query, other) for other in configs]
        row = space.to_unit(query)[None]
        found = model.log_probability(row, space.path(query))[0]
        assert found == pytest.approx(log_expit(odds), abs=1e-4)


def test_weights_are_the_most_probable_ones():
    """No step of any of them is better by evidence and prior."""
    X = np.random.default_rng(1).random((20, 2))
    failed = X[:, 0] < 0.5
    model = Feasibility(SQUARE, X, failed)

    def score(log_scale, log_weights):
        squared = ((X[:, None] - X) ** 2 * np.exp(log_weights)).sum(axis=2)
        K = np.exp(2 * log_scale) * (feasibility.LEVEL + np.exp(-0.5 * squared))
        length = -0.5 * log_weights - 0.5 * np.log(2)
        prior = ((length - feasibility.LENGTH) / feasibility.LENGTH_SD) ** 2
        scale = ((log_scale - feasibility.SCALE) / feasibility.SCALE_SD) ** 2
        value, _ = mode(K, failed, feasibility.PRIOR).evidence()
        return value - 0.5 * (prior.sum() + scale)

    scale, weights = 0.5 * np.log(model.variance), np.log(model.weights)
    best = score(scale, weights)
    for step in (-0.05, 0.05):
        assert score(scale + step, weights) < best + 1e-4
        for unit in np.eye(2):
            assert score(scale, weights + step * unit) < best + 1e-4


def test_of_very_many_trials_some_choose_weights_and_some_vote(monkeypatch):
    X = np.random.default_rng(0).random((1500, 2))
    failed = X[:, 0] < 0.4
    monkeypatch.setattr(feasibility, "VOTING", 300)
    model = Feasibility(SQUARE, X, failed)
    low, high = np.exp(model.log_probability(np.array([[0.2, 0.5], [0.7, 0.5]]), (0,)))
    assert low < 0.05
    assert high > 0.95
    again = np.vstack([X, [[0.8, 0.8]]])  # the last trial always has its vote
    surprised = Feasibility(SQUARE, again, np.append(failed, True))
    before, after = (m.log_probability(again[-1:], (0,))[0] for m in (model, surprised))
    assert after < before


def test_a_search_is_told_that_resting_branches_hardly_work():
    space = bq.Space({"m": bq.Choice({"a": {"x": bq.Float(0, 1)}, "b": {}})})
    X = space.to_unit([{"m": "a", "x": 0.2}, {"m": "b"}, {"m": "b"}])
    failed = np.array([False, True, True])
    node = space.path({"m": "b"})[-1]
    plain, patient = (Feasibility(space, X, failed, frozenset(r)) for r in ((), (node,)))
    for config, less in (({"m": "a", "x": 0.4}, 0.0), ({"m": "b"}, feasibility.RESTS)):
        row, path = space.to_unit([config]), space.path(config)
        change = patient.log_probability(row, path) - plain.log_probability(row, path)
        np.testing.assert_allclose(change, less)
        with_gradient = patient.log_probability_with_gradient(row, path)[0]
        np.testing.assert_allclose(with_gradient, patient.log_probability(row, path))


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
        objective, space, n_trials=40, strategy=by_model, seed=2, callbacks=recovered
    )
    assert len(result.history.failed) >= 3
    assert result.best_config["m"] == "moody"
    assert result.trials[-1].info["why"].startswith("highest")
