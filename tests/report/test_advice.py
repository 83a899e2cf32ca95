from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import bosquet as bq
from bosquet.data import History, Trial
from bosquet.explain import BranchBest, LeftOut
from bosquet.report.advice import advice, at_bounds, failing_text, shortened
from tests.support import present


def fitted(*branches, slope=1.0, off=0.0) -> Any:
    """A model that expects what it is told to, and that x and k matter by ``slope``.

    Its predictions of trials that it has not seen are ``off`` by so much.
    """
    bests = [
        BranchBest(label, {}, 0.0, 0.1, -0.1, 0.1, chance, gain, {}, room, *success)
        for label, chance, gain, room, *success in branches
    ]

    def predict(configs):
        means = [-slope * (config.get("x", 0.0) + config["k"]) for config in configs]
        return np.array(means), np.ones(len(means))

    def leave_one_out(level):
        values = (0.25, 0.5, 0.75)
        trials = [Trial(i, {}, "complete", value) for i, value in enumerate(values)]
        return [LeftOut(t, present(t.value) + off, 1.0, 0.0, 1.0, 0.5) for t in trials]

    return SimpleNamespace(
        best_predicted=lambda: bests, predict=predict, leave_one_out=leave_one_out
    )


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
        "20\u00a0% to be a new best, and expects it to improve the best value by 0.034 on average; "
        "a new best is likelier in m=a (40\u00a0%), but would gain less. "
        "A wider range of x may hold something better, as the best configuration is at a bound."
    )


@pytest.mark.parametrize("likelier", [0.0349, 0.06])
def test_why_it_is_not_the_likeliest_branch_is_told_where_the_chances_look_different(
    history, likelier
):
    model = fitted(("m=a", likelier, 0.001, 0.9), ("m=b", 0.03, 0.03, 0.3), ("m=c", 0.05, 0.0, 0.1))
    said = advice(history, model)
    better = "m=a (6" if likelier == 0.06 else "m=c (5"
    assert f"; a new best is likelier in {better}\u00a0%), but would gain less. A wider" in said


def test_chances_that_look_alike_need_no_words(history):
    model = fitted(("m=a", 0.054, 0.001, 0.9), ("m=b", 0.05, 0.03, 0.3))
    assert "likelier" not in advice(history, model)


def test_a_gain_beyond_all_that_was_seen_is_not_told(history):
    said = advice(history, fitted(("m=a", 0.5, 0.26, 1.0)))  # the trials are 0.25 apart
    assert "to be a new best, but is too unsure to say by how much it would be better. A" in said


def test_when_to_stop_and_what_to_drop(history):
    said = advice(history, fitted(("m=a", 0.01, 0.01, 0.04), ("m=b", 0.001, 0.0, 0.001)))
    assert said.startswith(
        "More trials are hardly worth it: the model gives the next one a chance below 5\u00a0% to "
        "be a new best, wherever it is. A wider"
    )
    assert said.endswith("; and the model sees nothing better in m=b, which can be dropped.")


def test_room_that_the_next_trial_will_hardly_find_is_told(history):
    said = advice(history, fitted(("m=a", 0.01, 0.01, 0.04), ("m=b", 0.001, 0.0, 0.3)))
    assert "wherever it is, though it does not rule out something better in m=b." in said


def test_a_space_without_branches_is_not_divided(history):
    said = advice(history, fitted(("", 0.5, 0.25, 0.6)))
    assert said.startswith(
        "More trials are worth it: the model gives the next one a chance of 50\u00a0% to be a new "
        "best, and expects"
    )


def test_likely_failures_are_told(history):
    said = advice(history, fitted(("m=a", 0.2, 0.2, 0.6, 0.3), ("m=b", 0.1, 0.1, 0.1, 1.0)))
    assert "a new best (trials like it succeed in 30\u00a0% of cases), and expects" in said


def test_a_branch_that_only_fails_is_named(history):
    trials = [history.trials[0]]
    trials += [Trial(n, {"m": "b", "n": 1, "k": n}).failed("no licence") for n in range(1, 4)]
    branches = ("m=a", 0.4, 0.01, 0.9), ("m=b", 0.2, 0.034, 0.3)
    failing = History(history.space, trials)
    assert "; and every trial of m=b failed, for the" in advice(failing, fitted(*branches))
    twice = History(history.space, trials[:-1])
    assert "failed" not in advice(twice, fitted(*branches))
    assert "failed" not in advice(history, fitted(*branches))


def test_an_option_that_only_fails_stands_for_its_branches():
    below = bq.Choice({"e": {"u": bq.Int(0, 9)}, "f": {}})
    parameters = {
        "lp": bq.Choice(
            {"a": {"x": bq.Float(0, 1)}, "b": {"y": bq.Float(0, 1)}, "c": {"p": below}}
        ),
        "cuts": bq.Choice({"on": {"n": bq.Int(0, 9)}, "off": {"k": bq.Int(0, 9)}}),
    }
    space, trials = bq.Space(parameters), []
    for number, config in enumerate(space.sample(0, 60)):
        trial = Trial(number, config)
        works = config["lp"] == "a" or (config["lp"], config["cuts"]) == ("b", "on")
        ended = trial.completed(bq.Evaluation(float(number))) if works else trial.failed("no")
        trials.append(ended)
    said = failing_text(History(space, trials))
    assert said == "every trial of lp=c; lp=b, cuts=off failed, for the reasons below"


def test_whoever_is_told_to_stop_is_told_when_the_model_predicts_poorly(history):
    stop, go = ("m=a", 0.01, 0.01, 0.04), ("m=a", 0.4, 0.01, 0.9)
    said = advice(history, fitted(stop, off=0.3))
    assert said.startswith(
        "More trials are hardly worth it: the model (which predicts poorly, see below) gives the "
    )
    for fine in (fitted(stop, off=0.01), fitted(go, off=0.3)):
        assert "poorly" not in advice(history, fine)


def test_a_bound_that_hardly_matters_asks_for_no_wider_range(history):
    branches = ("m=a", 0.4, 0.01, 0.9), ("m=b", 0.2, 0.034, 0.3)
    assert advice(history, fitted(*branches, slope=1e-4)).endswith(
        " That x is at a bound of its range hardly matters."
    )
    lower = fitted(*branches, slope=-1.0)  # the model expects more further inside
    assert "A wider range" not in advice(history, lower)


def test_an_option_stands_for_all_branches_that_have_it():
    hopeless = ["p=b, q=a", "p=b, q=b", "p=a, q=c", "p=b, q=c"]
    assert shortened(hopeless, ["p=a, q=a", "p=a, q=b"]) == ["p=b", "p=a, q=c"]
    assert shortened(["p=a, q=a"], ["p=a, q=b"]) == ["p=a, q=a"]
    nested = ["m=svm, kernel=rbf", "m=svm, kernel=linear"]
    assert shortened(nested, ["m=forest"]) == ["m=svm"]


def test_the_best_branch_is_never_dropped(history):
    assert "dropped" not in advice(history, fitted(("m=a", 0.0, 0.0, 0.0)))


def test_without_a_model_or_a_value(history):
    assert advice(history, None, "there are 2 trials.").startswith(
        "Run more trials: there are 2 trials. A wider range of x"
    )
    failed = History(history.space, [Trial(0, {"m": "b", "n": 1, "k": 0}).failed("no")])
    assert "Look at the failures below" in advice(failed, None)
    assert advice(History(history.space), None) == "No trial has ended yet. Advice needs some."


def test_values_that_are_all_the_same_ask_for_a_look_at_the_objective(history):
    trials = [Trial(n, {"m": "b", "n": 1, "k": n}).completed(bq.Evaluation(0.5)) for n in range(4)]
    said = advice(History(history.space, trials), None, "all with one value")
    assert said.startswith("All 4 values are the same. See whether the objective depends on its")
    assert "Run more" in advice(History(history.space, trials[:3]), None, "there are 3")


def test_bounds_of_few_values_do_not_count(history):
    first, second = history.trials
    assert at_bounds(history, first) == ["x"]
    assert at_bounds(history, second) == ["k"]  # n has three values only
