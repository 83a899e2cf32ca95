import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import approx_fprime

import bosquet as bq
from bosquet.models.good_places import GoodPlaces
from bosquet.strategies import Task
from bosquet.strategies.choosing import places_of

SPACE = bq.Space(
    {
        "s": bq.Float(0, 1),
        "few": bq.Int(1, 5),
        "many": bq.Int(1, 100),
        "m": bq.Choice({"a": {"x": bq.Float(0, 1)}, "b": {"y": bq.Float(0, 1)}}),
    }
)
PATH = SPACE.path({"s": 0.5, "few": 1, "many": 1, "m": "a", "x": 0.5})
INDEX = {d.name: d.index for d in SPACE.dimensions}


def places(n=10, best_x=0.2, seed=0):
    """Of n trials in branch a, of which those near x = best_x are the best."""
    rng = np.random.default_rng(seed)
    configs = [
        {"s": float(rng.random()), "few": 1, "many": 50, "m": "a", "x": float(x)}
        for x in np.linspace(0, 1, n)
    ]
    y = np.array([(config["x"] - best_x) ** 2 for config in configs])
    return GoodPlaces(SPACE, SPACE.to_unit(configs), y)


def along(model, name, units):
    rows = np.full((len(units), len(SPACE)), 0.5)
    rows[:, INDEX[name]] = units
    return model.log_probability(rows, PATH)


def test_near_good_trials_and_away_from_the_ends():
    at_good, at_bad = along(places(), "x", np.array([0.2, 0.8]))
    assert at_good > at_bad + 0.5
    middle, low, high = along(places(best_x=0.5), "x", np.array([0.5, 0.0, 1.0]))
    assert middle > max(low, high) + 1.0


def test_no_place_is_given_up():
    """Of one variable: a density on the unit interval, a fifth of which is spread evenly."""
    space = bq.Space({"x": bq.Float(0, 1)})
    model = GoodPlaces(space, np.linspace(0, 0.2, 10)[:, None], np.arange(10.0))

    def density(x):
        return float(np.exp(model.log_probability(np.array([[x]]), (0,))[0]))

    assert quad(density, 0, 1)[0] == pytest.approx(1.0, abs=1e-6)
    assert 0.2 <= density(1.0) < 0.21


@pytest.mark.parametrize("name", ["few", "m", "y"])
def test_few_values_categories_and_inactive_variables_do_not_count(name):
    values = along(places(), name, np.array([0.1, 0.5, 0.9]))
    np.testing.assert_array_equal(values, values[0])


def test_many_values_count():
    assert np.ptp(along(places(), "many", np.array([0.005, 0.495]))) > 0.5


def test_it_says_less_and_less():
    gaps = [np.ptp(along(places(n), "x", np.array([0.2, 1.0]))) for n in (10, 100, 1000)]
    assert gaps[0] > 5 * gaps[1] > 25 * gaps[2] > 0


def test_gradient_by_the_coordinates():
    model = places()
    for x in np.random.default_rng(1).random((4, len(SPACE))):
        value, gradient = model.log_probability_with_gradient(x[None], PATH)
        assert value[0] == pytest.approx(model.log_probability(x[None], PATH)[0])
        expected = approx_fprime(x, lambda x: model.log_probability(x[None], PATH)[0], 1e-7)
        np.testing.assert_allclose(gradient[0], expected, atol=1e-5)


@pytest.mark.parametrize(("direction", "good"), [("minimize", 0.1), ("maximize", 0.9)])
def test_good_is_what_the_user_wants(direction, good):
    space = bq.Space({"x": bq.Float(0, 1)})
    opt = bq.Optimizer(space, direction=direction, seed=0)
    for x in np.linspace(0, 1, 10):
        opt.tell({"x": float(x)}, float(x))
    for _ in range(5):  # failures have no place, but they count as trials
        opt.tell_failure(opt.ask(), "out of memory")
    rows = np.array([[good], [1.0 - good]])
    here, there = places_of(Task(space, opt.history)).log_probability(rows, (0,))
    assert here > there + 0.5
    X, y = rows[[0] * 10], np.arange(10.0)
    alone = GoodPlaces(space, X, y, 15).log_probability(rows, (0,))
    np.testing.assert_allclose(alone, GoodPlaces(space, X, y).log_probability(rows, (0,)) / 1.5)


def test_a_search_with_few_trials_does_not_ask_at_the_bounds():
    """Ten variables that do not matter: without it most coordinates would be at a bound."""
    space = bq.Space({f"x{i}": bq.Float(0, 1) for i in range(10)})
    rng = np.random.default_rng(0)

    def shares_at_the_ends(near_good):
        opt = bq.Optimizer(space, bq.strategies.AddTree(near_good=near_good), seed=0)
        for config in space.sample(rng, 12):
            opt.tell(config, float(rng.random()))
        rows = space.to_unit([trial.config for trial in opt.ask(3)])
        return float(np.mean((rows < 0.02) | (rows > 0.98)))

    assert shares_at_the_ends(near_good=True) < 0.15 < shares_at_the_ends(near_good=False)


def test_a_bound_is_not_a_probability():
    """What is added to the logarithm of an improvement has no place in a confidence bound."""
    task = Task(SPACE, bq.Optimizer(SPACE).history)
    assert bq.strategies.AddTree().places(task) is not None
    assert bq.strategies.AddTree(acquisition="ucb").places(task) is None
    assert bq.strategies.Additive(acquisition="ucb").places(task) is None
