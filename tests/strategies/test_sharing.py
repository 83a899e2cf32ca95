from typing import Any

import numpy as np
import pytest

import bosquet as bq
from bosquet.data import History, Trial
from bosquet.strategies import AddTree, BOinG, Task, Turbo
from bosquet.strategies.sharing import best_of_branches, rows_on_path, thinned
from tests.support import present

SPACE = bq.Space(
    {
        "s": bq.Float(0, 1),
        "m": bq.Choice({"a": {"x": bq.Float(0, 1)}, "b": {"y": bq.Float(0, 1)}}),
    }
)


def locked_in(seed: int, n: int = 24) -> Task:
    """Branch a has been searched, b is 0.3 better, and its few trials had s far from 0.2."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]]
    rows = [{"s": float(s), "m": "a", "x": float(x)} for s, x in rng.random((n, 2))]
    near = rng.normal((0.2, 0.5), (0.05, 0.1), (6, 2))
    rows += [{"s": float(s), "m": "a", "x": float(x)} for s, x in near]
    far = ((0.6, 0.2), (0.7, 0.5), (0.8, 0.9), (0.9, 0.4), (0.65, 0.6))
    rows += [{"s": s, "m": "b", "y": y} for s, y in far]
    values = [
        4 * (c["s"] - 0.2) ** 2
        + (0.3 + (c["x"] - 0.5) ** 2 if c["m"] == "a" else (c["y"] - 0.5) ** 2)
        for c in rows
    ]
    trials = [Trial(i, c, "complete", v) for i, (c, v) in enumerate(zip(rows, values, strict=True))]
    return Task(SPACE, History(SPACE, trials), index=len(trials))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_branch_is_chosen_by_a_model_that_shares_and_not_by_the_forest(seed):
    task, strategy = locked_in(seed), BOinG(explore_every=None)
    data, rng = task.history.dataset(), np.random.default_rng(seed)
    forest = strategy.forest(task, data, rng)
    x_g = present(strategy.global_best(task, data, forest, None, set(), rng))
    assert x_g["m"] == "a"
    proposed = present(strategy.next(task, set(), rng))
    assert proposed.about["engine"] == "gp"  # b has fewer than n_min = 10 trials
    assert proposed.config["m"] == "b"
    assert abs(proposed.config["s"] - 0.2) < 0.1
    assert abs(proposed.config["y"] - 0.5) < 0.2


def test_a_branch_with_trials_enough_is_searched_in_a_subregion_of_the_forest():
    task, strategy = locked_in(0), BOinG(explore_every=None, points_per_dimension=2)
    proposed = present(strategy.next(task, set(), np.random.default_rng(0)))
    assert proposed.about["engine"] == "boing"
    assert proposed.config["m"] == "b"
    assert abs(proposed.config["s"] - 0.2) < 0.1
    assert set(proposed.memory["fits"]) == {"add-tree", "local"}  # both go on from their last fit


def test_published_and_flat_ones_do_not_ask_it(monkeypatch):
    monkeypatch.setattr("bosquet.strategies.boing.best_of_branches", None)
    monkeypatch.setattr("bosquet.strategies.turbo.best_of_branches", None)
    rng = np.random.default_rng(0)
    assert BOinG.paper().next(locked_in(0), set(), rng) is not None
    assert Turbo.paper().propose(locked_in(0), 1, rng)
    box = bq.Space({"x": bq.Float(0, 1)})
    trials = [Trial(i, {"x": i / 10}, "complete", (i - 3.0) ** 2) for i in range(10)]
    flat = Task(box, History(box, trials), index=10)
    assert BOinG().next(flat, set(), rng) is not None
    assert Turbo().propose(flat, 1, rng)


def test_a_large_history_is_thinned_path_by_path():
    task = locked_in(0, 300)
    data = task.history.dataset()
    rows = thinned(SPACE, data, 50)
    assert len(rows) == len(set(rows.tolist())) == 50
    few = {"s": 0.5, "m": "b", "y": 0.5}
    for X in (data.X, data.X[rows]):
        assert rows_on_path(SPACE, X, few).sum() == 5
    assert int(np.argmin(data.y)) in rows
    assert data.y[rows].max() > np.quantile(data.y, 0.9)  # its shape, not its minimum alone
    assert thinned(SPACE, data, 400).tolist() == list(range(len(data.y)))


def test_its_time_is_bounded(monkeypatch):
    seen: list[int] = []
    fit = AddTree.fit

    def spy(self, task, data, rng):
        seen.append(len(data.y))
        return fit(self, task, data, rng)

    monkeypatch.setattr(AddTree, "fit", spy)
    task = locked_in(0, 300)
    found = present(best_of_branches(task, task.history.dataset(), set(), np.random.default_rng(0)))
    assert seen == [200]
    assert found.config["m"] == "b"


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_turbo_looks_in_the_branch_that_the_model_chooses(seed, monkeypatch):
    """Its best trial, around which the region lay, is in branch a."""
    task, strategy = locked_in(seed), Turbo(explore_every=None)
    (shared,) = strategy.propose(task, 1, np.random.default_rng(seed))
    assert shared.config["m"] == "b"
    assert abs(shared.config["s"] - 0.2) < 0.1
    assert "trust region" not in shared.why  # b has 5 trials, fewer than 5 d = 10
    monkeypatch.setattr("bosquet.strategies.turbo.PER_BRANCH", 2)
    (near,) = strategy.propose(task, 1, np.random.default_rng(seed))
    assert near.config["m"] == "b"
    assert "trust region" in near.why
    y = [t.config["y"] for t in task.history.trials if t.config["m"] == "b"]
    assert min(abs(near.config["y"] - one) for one in y) <= near.about["length"]
    assert set(near.memory["fits"]) == {"add-tree", "local"}


def test_turbo_explores_where_there_are_branches_and_only_there():
    """A branch that the model is wrong about is then tried again before the region restarts."""
    rng = np.random.default_rng(0)
    task = locked_in(0)  # its trial 35 is the twelfth of the third dozen
    assert task.index == 35
    (explored,) = Turbo().propose(task, 1, rng)
    assert "a path visited least" in explored.why
    assert explored.config["m"] == "b"
    for strategy in (Turbo(explore_every=None), Turbo.paper()):
        assert "a path visited least" not in strategy.propose(task, 1, rng)[0].why
    box = bq.Space({"k": bq.Int(1, 100)})
    trials = [Trial(i, {"k": i + 1}, "complete", (i - 3.0) ** 2) for i in range(11)]
    (near,) = Turbo().propose(Task(box, History(box, trials), index=11), 1, rng)
    assert "trust region" in near.why
