import json
import math
from typing import Any

import numpy as np
import pytest

import bosquet as bq
from bosquet.data import History, Trial
from bosquet.search.subregion import subregion
from bosquet.strategies import BOinG
from bosquet.strategies.choosing import feasibility_of
from bosquet.testing import STRATEGY_CHECKS
from tests.support import present


class Early(BOinG):
    """The forest comes in from the first model on, so that short runs are BOinG's."""

    def __init__(self, **options):
        super().__init__(points_per_dimension=1, **options)


@pytest.mark.parametrize("check", STRATEGY_CHECKS, ids=lambda check: check.__name__)
def test_the_forest_stage_conforms(check):
    check(Early)


def run(problem, strategy, n, seed=0):
    return bq.minimize(problem, problem.space, n_trials=n, strategy=strategy, seed=seed)


@pytest.mark.parametrize("model", ["lgpga", "local", "full"])
def test_it_finds_the_minimum_of_branin(model):
    problem = bq.benchmarks.branin()
    result = run(problem, BOinG(model=model), 30, seed=1)
    assert result.best_value - problem.minimum < 0.05
    stages = [trial.info["engine"] for trial in result.trials]
    assert stages == ["gp"] * 10 + ["boing"] * 20
    about = result.trials[-1].info["subregion"]
    assert about["inside"] >= 10
    assert 0 < about["volume"] < 1
    assert about["inducing"] == (4 if model == "lgpga" else 0)


def test_subregion_and_local_model_live_on_the_branch_of_the_candidate():
    problem = bq.benchmarks.small_balanced(shared=True, shift=0)
    result = run(problem, BOinG(points_per_dimension=3), 24)
    last = next(t for t in reversed(result.trials) if t.info["engine"] == "boing")
    json.dumps(last.info, allow_nan=False)
    assert last.info["path"] == problem.space.path_label(last.config)


def test_trials_of_other_branches_inform_through_shared_variables():
    """The local model of a branch that has hardly a trial knows the shared variable."""
    space = bq.Space(
        {
            "s": bq.Float(0, 1),
            "m": bq.Choice({"a": {"x": bq.Float(0, 1)}, "b": {"y": bq.Float(0, 1)}}),
        }
    )
    rng = np.random.default_rng(0)
    rows: list[dict[str, Any]]
    rows = [{"s": float(s), "m": "a", "x": float(x)} for s, x in rng.random((30, 2))]
    rows += [{"s": 0.9, "m": "b", "y": 0.5}, {"s": 0.1, "m": "b", "y": 0.4}]
    trials = [Trial(i, c, "complete", (c["s"] - 0.3) ** 2) for i, c in enumerate(rows)]
    opt = bq.Optimizer(space, BOinG(explore_every=None), seed=0, history=History(space, trials))
    data = opt.history.dataset()
    inside = np.zeros(32, dtype=bool)
    inside[22:] = True
    task = bq.strategies.Task(space, opt.history, index=32)
    fitted, m = BOinG().local_model(task, data, inside)
    assert m == 4
    X = space.to_unit([{"s": s, "m": "b", "y": 0.5} for s in (0.3, 0.6, 0.95)])
    means = fitted.means(X)
    assert means[0] < means[1] < means[2]


def test_far_targets_are_compressed_and_their_zero_is_the_mean_of_all():
    space = bq.Space({"x": bq.Float(0, 1)})
    y = [0.0, 1.0, 2.0, 3.0, 1e9]
    trials = [Trial(i, {"x": i / 10}, "complete", v, 0.01) for i, v in enumerate(y)]
    data = History(space, trials).dataset()
    inside = np.array([True, True, True, True, False])
    z, noise = BOinG().targets(data, inside)
    sd = np.std(y[:4])
    np.testing.assert_allclose(z[:4] - z[0], np.array(y[:4]) / sd)
    assert z.mean() == pytest.approx(0.0)
    assert z[:4].mean() < -3.0  # what is not known is expected to be worse than what is inside
    np.testing.assert_allclose(noise[:4], 0.01 / sd**2)
    assert z[3] < z[4] < 30.0
    assert noise[4] < noise[3]
    plain, _ = BOinG(local_targets=False).targets(data, inside)
    np.testing.assert_allclose(plain, (data.y - np.mean(y)) / np.std(y))
    theirs, noise = BOinG.paper().targets(data, inside)
    np.testing.assert_allclose(theirs, (data.y - np.mean(y[:4])) / sd)
    np.testing.assert_allclose(noise, 0.01 / sd**2)


class Nearer(Early):
    """By another name: the conformance suite remembers runs by class."""


@pytest.fixture
def always_nearer(monkeypatch):
    """Nothing seems left to gain at any ask."""
    monkeypatch.setattr("bosquet.strategies.boing.IDLE", math.inf)


@pytest.mark.parametrize("check", STRATEGY_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.usefixtures("always_nearer")
def test_looking_nearer_conforms(check):
    check(Nearer)


def unlucky(space, tried):
    """The first trial is the best one, and what has been tried since is worse."""
    X = space.to_unit(tried)
    values = np.sum((X - X[0]) ** 2, axis=1).tolist()
    trials = [
        Trial(i, c, "complete", v) for i, (c, v) in enumerate(zip(tried, values, strict=True))
    ]
    return bq.strategies.Task(space, History(space, trials), index=len(trials))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_where_nothing_seems_left_to_gain_it_looks_near_the_best_trial_inside(seed, monkeypatch):
    space = bq.Space({"x": bq.Float(0, 1), "y": bq.Float(0, 1)})
    task = unlucky(space, [{"x": 0.3, "y": 0.6}, *space.sample(0, 30)])
    data = task.history.dataset()
    rows = []

    def spy(*arguments):
        found = subregion(*arguments)
        rows.append(np.flatnonzero(found[1]))
        return found

    def asked(strategy, idle):
        monkeypatch.setattr("bosquet.strategies.boing.IDLE", idle)
        found = present(strategy.next(task, task.taken, np.random.default_rng(seed)))
        best = data.X[rows[-1][np.argmin(data.y[rows[-1]])]]
        return found.why, np.abs(task.space.to_unit(found.config) - best).max()

    monkeypatch.setattr("bosquet.strategies.boing.subregion", spy)
    why, distance = asked(BOinG(), math.inf)
    # 21 results after the first 10 were no better: five times half of 0.8, to both sides.
    assert distance < 0.025
    assert "near its best trial: nothing else seems left to gain" in why
    for other in (asked(BOinG(), -math.inf), asked(BOinG.paper(), math.inf)):
        assert other[1] > 0.025
        assert "nothing else" not in other[0]


@pytest.mark.usefixtures("always_nearer")
def test_where_all_that_is_near_has_been_tried_it_looks_in_the_subregion():
    space = bq.Space({"x": bq.Int(1, 5), "y": bq.Int(1, 5)})
    tried = [{"x": 2, "y": 3}]
    tried += [{"x": x, "y": y} for x in range(1, 6) for y in range(1, 6) if (x, y) != (2, 3)]
    left = tried.pop()
    task = unlucky(space, tried)
    found = present(BOinG().next(task, task.taken, np.random.default_rng(0)))
    assert found.config == left
    assert "nothing else" not in found.why


def test_log_costs_reach_the_forest():
    space = bq.Space({"x": bq.Float(0, 1)})
    trials = [Trial(i, {"x": i / 20}, "complete", math.exp(i)) for i in range(20)]
    data = History(space, trials).dataset()
    raw, logs = (BOinG(log_cost=flag).costs(data) for flag in (False, True))
    assert np.ptp(np.diff(logs)) < np.ptp(np.diff(raw))
    assert BOinG.paper().log_cost


def test_the_forest_stays_away_from_failures():
    """Its leaf of the best values reaches into where trials fail."""
    space = bq.Space({"x": bq.Float(0, 1), "y": bq.Float(0, 1)})
    rng = np.random.default_rng(0)
    trials = []
    for i, (x, y) in enumerate(rng.random((40, 2)).tolist()):
        config = {"x": x, "y": y}
        ended = (
            Trial(i, config, "complete", x) if x > 0.5 else Trial(i, config, "failed", reason="no")
        )
        trials.append(ended)
    task = bq.strategies.Task(space, History(space, trials), index=40)
    data = task.history.dataset()
    strategy = BOinG()
    found = {}
    for feasibility in (None, feasibility_of(task)):
        forest = strategy.forest(task, data, np.random.default_rng(1))
        rngs = [np.random.default_rng(seed) for seed in range(4)]
        found[feasibility is None] = [
            present(strategy.global_best(task, data, forest, feasibility, set(), rng))["x"]
            for rng in rngs
        ]
    assert min(found[False]) > 0.45
    assert min(found[True]) < 0.45


def test_bad_arguments_are_said():
    with pytest.raises(ValueError, match="model='gp' must be one of lgpga, local, full"):
        BOinG(model="gp")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="points_per_dimension=0 must be a positive integer"):
        BOinG(points_per_dimension=0)
    with pytest.raises(ValueError, match="explore_every=1 must be an integer of at least 2"):
        BOinG(explore_every=1)


def test_exploration_keeps_branches_alive():
    problem = bq.benchmarks.small_balanced(shift=1)
    result = run(problem, Early(explore_every=4), 16)
    assert [t.number for t in result.trials if t.info["engine"] == "design"] == [7, 11, 15]
