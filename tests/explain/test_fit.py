"""Which model explains a study."""

from dataclasses import replace

import pytest

import bosquet as bq
from bosquet.explain.fit import MOST, fit_views, fitted_trials, strategies_for
from tests.explain.studies import studied, tree_space, tree_value


def names(history, strategy=None):
    return [one.name for one in strategies_for(history, strategy)]


def remembering(history, fits, info):
    """The history with what a strategy tells and remembers in its last trial."""
    *rest, last = history.trials
    memory: dict[str, object] = {"fits": {name: {} for name in fits}}
    return bq.History(history.space, [*rest, replace(last, info=info, memory=memory)])


def test_the_strategy_of_the_last_fit_explains():
    history = studied(tree_space(), tree_value, 6)
    assert names(history) == ["add-tree", "arc"]
    assert names(remembering(history, ["independent"], {})) == ["independent"]
    assert names(remembering(history, ["tree-ei"], {})) == ["add-tree", "arc"]
    assert names(remembering(history, ["local"], {})) == ["add-tree", "arc"]
    averaged = remembering(history, ["add-tree"], {"weights": {"add-tree": 1.0}})
    assert names(averaged) == ["add-tree", "arc"]


def test_a_given_strategy_explains_if_its_model_is_a_sum():
    history = studied(tree_space(), tree_value, 6)
    assert names(history, bq.strategies.FlatGP()) == ["flat-gp"]
    assert names(history, bq.strategies.Random()) == ["add-tree", "arc"]
    assert names(history, bq.strategies.Auto()) == ["add-tree", "arc"]


def test_several_graphs_and_none_are_averaged():
    problem = bq.benchmarks.star(15)
    history = studied(problem.space, problem.function, 20)
    beliefs, views = fit_views(history)
    assert [one.strategy for one in beliefs] == ["additive"] * 3 + ["add-tree"]
    assert len(views) == 2 * len(beliefs)
    declared = bq.strategies.Additive(graph="disjoint")
    assert [one.strategy for one in fit_views(history, declared)[0]] == ["additive"]


def test_no_graph_of_very_many_variables_is_learned():
    space = bq.Space({f"x{i}": bq.Float(0, 1) for i in range(21)})
    history = studied(space, lambda config: config["x0"], 6)
    assert names(history) == ["add-tree"]
    assert names(remembering(history, ["additive"], {})) == ["additive"]


def test_of_very_many_trials_the_best_and_others_are_kept():
    space = bq.Space({"x": bq.Float(0, 1)})
    history = studied(space, lambda config: config["x"], 1000)
    kept = fitted_trials(history)
    values = sorted(map(history.loss, kept))
    assert len(kept) == MOST
    assert values[: MOST // 2] == sorted(map(history.loss, history.complete))[: MOST // 2]
    assert values[-1] > 0.99


def test_weights_are_those_of_all_views():
    beliefs, views = fit_views(studied(tree_space(), tree_value, 8))
    assert sum(belief.weight for belief in beliefs) == pytest.approx(1.0)
    assert sum(view.weight for view in views) == pytest.approx(1.0)
    assert sum(view.is_best for view in views) == len(beliefs)
