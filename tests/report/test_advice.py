from types import SimpleNamespace
from typing import Any

import pytest

import bosquet as bq
from bosquet.data import History, Trial
from bosquet.explain import BranchBest
from bosquet.report.advice import advice, at_bounds


def fitted(*branches) -> Any:
    """A model that expects what it is told to."""
    bests = [
        BranchBest(label, {}, 0.0, 0.1, -0.1, 0.1, chance, gain, {}, room)
        for label, chance, gain, room in branches
    ]
    return SimpleNamespace(best_predicted=lambda: bests)


@pytest.fixture
def history():
    space = bq.Space(
        {
            "m": bq.Choice({"a": {"x": bq.Float(1e-3, 1, log=True)}, "b": {"n": bq.Int(1, 3)}}),
            "k": bq.Int(0, 40),
        }
    )
    trials = [
        Trial(0, {"m": "a", "x": 1.0, "k": 7}).completed(bq.Evaluation(0.25)),
        Trial(1, {"m": "b", "n": 3, "k": 40}).completed(bq.Evaluation(0.5)),
    ]
    return History(space, trials)


def test_the_branch_with_most_to_gain_and_what_sits_at_a_bound(history):
    model = fitted(("m=a", 0.4, 0.01, 0.9), ("m=b", 0.2, 0.034, 0.3))
    assert advice(history, model) == (
        "More trials are worth most in m=b: the model gives the next one there a chance of "
        "20\u00a0% to be a new best, and expects it to improve the best value by 0.034 on average. "
        "A wider range of x may hold something better, as the best configuration is at a bound."
    )


def test_a_likelier_but_smaller_gain_is_told_too(history):
    model = fitted(("m=a", 0.38, 0.001, 0.9), ("m=b", 0.02, 0.03, 0.3))
    assert (
        "by 0.03 on average; less is likelier to be gained in m=a (38\u00a0%). A wider"
        in advice(history, model)
    )


def test_a_gain_beyond_all_that_was_seen_is_not_told(history):
    said = advice(history, fitted(("m=a", 0.5, 0.26, 1.0)))  # the trials are 0.25 apart
    assert "to be a new best, but is too unsure to say by how much it would be better. A" in said


def test_when_to_stop_and_what_to_drop(history):
    said = advice(history, fitted(("m=a", 0.01, 0.01, 0.04), ("m=b", 0.001, 0.0, 0.001)))
    assert said.startswith("More trials of this space are hardly worth it: the model sees a chance")
    assert said.endswith("; and the model sees nothing better in m=b, which can be dropped.")


def test_one_branch_with_room_is_enough_to_go_on(history):
    said = advice(history, fitted(("m=a", 0.01, 0.01, 0.04), ("m=b", 0.001, 0.0, 0.3)))
    assert said.startswith("More trials are worth most in m=a")


def test_the_best_branch_is_never_dropped(history):
    assert "dropped" not in advice(history, fitted(("m=a", 0.0, 0.0, 0.0)))


def test_without_a_model_or_a_value(history):
    assert advice(history, None, "there are 2 trials.").startswith(
        "Run more trials: there are 2 trials. A wider range of x"
    )
    failed = History(history.space, [Trial(0, {"m": "b", "n": 1, "k": 0}).failed("no")])
    assert "Look at the failures below" in advice(failed, None)
    assert advice(History(history.space), None) == "No trial has ended yet. Advice needs some."


def test_bounds_of_few_values_do_not_count(history):
    first, second = history.trials
    assert at_bounds(history, first) == ["x"]
    assert at_bounds(history, second) == ["k"]  # n has three values only
