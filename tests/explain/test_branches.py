"""What a branch is worth: its best by the model, and what is left to gain there."""

from dataclasses import replace

import numpy as np
import pytest

from bosquet import Choice, Float, Forbid, History, Space
from bosquet.explain import Model
from tests.explain.studies import studied, tree_value


def test_the_best_of_every_branch_is_near_the_truth(tree_model):
    bests = {one.branch: one for one in tree_model.best_predicted()}
    assert list(bests) == ["model=svm", "model=forest"]
    svm, forest = bests["model=svm"], bests["model=forest"]
    assert tree_value(svm.config) == pytest.approx(1.0, abs=0.05)
    assert svm.mean == pytest.approx(1.0, abs=0.1)
    assert svm.low <= svm.mean <= svm.high
    assert forest.mean == pytest.approx(2.0, abs=0.1)
    assert forest.chance <= forest.room < 0.1
    assert forest.gain <= svm.gain
    assert tree_model.best_predicted(per_branch=False) == [svm]


def test_who_changes_an_answer_does_not_change_the_next(tree_model):
    first = tree_model.best_predicted()[0]
    config = dict(first.config)
    first.config.clear()
    first.next_config.clear()
    again = tree_model.best_predicted()[0]
    assert again.config == config
    assert again.next_config
    wider = tree_model.best_predicted(level=0.99)[0]
    assert wider.low < again.low <= again.high < wider.high


def test_a_branch_with_much_left_to_gain_says_so():
    space = Space({"m": Choice({"a": {"x": Float(0, 1)}, "b": {"y": Float(0, 1)}})})

    def value(config):
        return 5.0 + config["x"] if "x" in config else 10.0 * config["y"]

    trials = studied(space, value, 60).complete
    kept = [t for t in trials if "x" in t.config or t.config["y"] > 0.4][:16]
    model = Model(type(studied(space, value, 0))(space, kept))
    bests = {one.branch: one for one in model.best_predicted()}
    assert bests["m=b"].room >= bests["m=b"].chance > 0.9
    assert bests["m=b"].gain > 1.0
    assert bests["m=b"].config["y"] < 0.1


def test_the_chance_is_that_of_one_more_trial():
    """Many places may hold something better; one trial looks at one of them."""
    space = Space({"m": Choice({"a": {"x": Float(0, 1), "y": Float(0, 1)}, "b": {}})})
    rough = studied(space, lambda c: abs(np.sin(40 * c["x"] * c["y"])) if "x" in c else 2.0, 40)
    one = next(one for one in Model(rough).best_predicted() if one.branch == "m=a")
    assert one.chance < 0.9 < one.room
    assert 0.0 <= one.gain < 0.3


def test_a_branch_that_always_fails_is_worth_little():
    space = Space({"m": Choice({"a": {"x": Float(0, 1)}, "b": {"y": Float(0, 1)}})})
    history = studied(space, lambda c: c["x"] + 1.0 if "x" in c else 0.5 + c["y"], 40)
    failing = [
        replace(t, state="failed", value=None, reason="no licence") if "y" in t.config else t
        for t in history.trials
    ]
    runs, fails = (
        {one.branch: one for one in Model(History(space, some)).best_predicted()}
        for some in ([t for t in history.trials if "x" in t.config], failing)
    )
    assert runs["m=b"].success == 1.0
    assert fails["m=b"].success < 0.1
    assert fails["m=b"].chance <= fails["m=b"].success
    assert fails["m=b"].room <= 0.2 < runs["m=b"].room
    assert fails["m=b"].gain < 0.2 * runs["m=b"].gain


def test_predicted_configurations_satisfy_the_constraints():
    space = Space(
        {
            "x": Float(0, 1),
            "c": Choice(["good", "bad"]),
            "m": Choice({"a": {}, "b": {"z": Float(0, 1)}}),
        },
        constraints=[Forbid({"c": "good", "m": "a"})],
    )
    history = studied(space, lambda c: c["x"] + (c["c"] == "bad"), 20)
    for one in Model(history).best_predicted():
        assert space.violation(one.config) is None


def test_branches_without_trials_are_predicted_too():
    space = Space({"m": Choice({o: {f"x{o}": Float(0, 1)} for o in "abc"})})
    trials = [
        t
        for t in studied(
            space, lambda c: sum(v for v in c.values() if v not in list("abc")), 30
        ).complete
        if t.config["m"] != "c"
    ]
    model = Model(type(studied(space, tree_value, 0))(space, trials))
    assert {one.branch for one in model.best_predicted()} == {"m=a", "m=b", "m=c"}
