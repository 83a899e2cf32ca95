"""The structure that trials reveal is the structure of the space they were drawn from."""

import numpy as np
import pytest
from hypothesis import given, settings

from bosquet import Choice, Float, Int, Space, SpaceError
from bosquet.space.inference import Asked, infer_space
from bosquet.space.parameter import Parameter
from tests.space.strategies import relaxed, spaces
from tests.support import present


def asked(space, config, whole=True, names=None):
    """What a define-by-run objective on a space asks for, by qualified names."""
    values = space.qualify(config)
    parameters = {
        d.qualified_name: Choice(p.options) if isinstance(p := d.parameter, Choice) else p
        for d in space.dimensions
    }
    kept = list(values)[:names]
    return Asked({n: values[n] for n in kept}, {n: parameters[n] for n in kept}, whole)


def inferred_from(seen):
    return present(infer_space(seen))


def trials(*configs, domains, whole=True):
    return [Asked(c, {name: domains[name] for name in c}, whole) for c in configs]


@given(space=spaces)
@settings(relaxed, max_examples=25)
def test_every_trial_is_explained(space):
    rng = np.random.default_rng(0)
    seen = [asked(space, config) for config in space.sample(rng, 100, by="path")]
    inferred = inferred_from(seen)
    if space.n_paths <= 6:  # each has been visited often: nothing is left to chance
        for trial in seen:
            config = inferred.configure(lambda d, of=trial.values: of[d.name])
            assert set(config) == set(trial.values)


@pytest.fixture
def example():
    return Space(
        {
            "scale": Choice(["none", "standard"]),
            "lr": Float(1e-4, 1e-1, log=True),
            "model": Choice(
                {
                    "svm": {"kernel": Choice({"linear": {}, "rbf": {"gamma": Float(0, 1)}})},
                    "forest": {"depth": Int(1, 20)},
                    "boosting": {},
                    ("forest", "boosting"): {"trees": Int(10, 500, log=True)},
                }
            ),
        }
    )


def test_the_declared_space_comes_back(example):
    renamed = {
        "svm": {"kernel": Choice({"linear": {}, "rbf": {"gamma": Float(0, 1)}})},
        "forest": {"depth": Int(1, 20)},
        "boosting": {},
        ("forest", "boosting"): {"trees": Int(10, 500, log=True)},
    }
    domains = {
        d.name: Choice(p.options) if isinstance(p := d.parameter, Choice) else p
        for d in example.dimensions
    }
    configs = example.sample(np.random.default_rng(0), 60)
    inferred = inferred_from(trials(*configs, domains=domains))
    assert dict(inferred.parameters)["model"] == Choice(renamed)
    assert inferred.n_paths == example.n_paths


def test_one_trial_says_nothing_about_conditions(example):
    config = {"scale": "none", "lr": 0.01, "model": "boosting", "trees": 20}
    inferred = inferred_from([asked(example, config)])
    assert inferred.n_paths == 1
    assert len(inferred) == 4
    assert infer_space([]) is None


def test_trials_that_did_not_end_say_nothing_about_absence(example):
    svm = {"scale": "none", "lr": 0.01, "model": "svm", "kernel": "linear"}
    whole = [asked(example, svm)]
    cut = asked(example, svm, whole=False, names=3)
    assert inferred_from([*whole, cut]).n_paths == 1
    assert inferred_from([*whole, asked(example, svm, names=3)]).n_paths == 1  # nothing explains it
    boosting = {"scale": "none", "lr": 0.01, "model": "boosting", "trees": 20}
    kernel = "model=svm/kernel"
    partial = inferred_from([*whole, asked(example, boosting, whole=False)])
    assert partial.is_active(kernel, {"model": "boosting"})
    assert not partial.is_active("model=forest|boosting/trees", {"model": "svm"})
    ended = inferred_from([*whole, asked(example, boosting)])
    assert not ended.is_active(kernel, {"model": "boosting"})


DOMAINS = {
    "layers": Int(1, 3),
    **{f"units_{i}": Int(1, 64) for i in range(3)},
    "a": Choice(["x", "y"]),
    "b": Choice(["x", "y"]),
    "c": Float(0, 1),
}


def test_an_integer_may_decide():
    seen = trials(
        *({"layers": n} | {f"units_{i}": 8 for i in range(n)} for n in (1, 2, 3)),
        domains=DOMAINS,
    )
    units = Int(1, 64)
    expected = {1: {}, 2: {}, 3: {"units_2": units}, (2, 3): {"units_1": units}}
    inferred = inferred_from(seen)
    assert dict(inferred.parameters) == {
        "layers": Choice(expected, ordered=True),
        "units_0": units,
    }
    wide = {"layers": Int(1, 300)}
    many = trials(
        *({"layers": n} | ({"c": 0.5} if n > 2 else {}) for n in (1, 2, 3)), domains=DOMAINS | wide
    )
    assert inferred_from(many).n_paths == 1


def test_a_parent_is_asked_for_before_its_child():
    seen = trials({"a": "x", "c": 0.5, "b": "x"}, {"a": "y", "b": "y"}, domains=DOMAINS)
    assert inferred_from(seen).is_active("c", {"a": "x", "b": "y"})
    assert not inferred_from(seen).is_active("c", {"a": "y", "b": "x"})


def test_of_two_explanations_the_better_one_counts():
    first = [{"a": "x", "b": "x", "c": 0.5}, {"a": "y", "b": "y"}]
    assert not inferred_from(trials(*first, domains=DOMAINS)).is_active("c", {"b": "y", "a": "x"})
    more = trials(*first, {"a": "x", "b": "y", "c": 0.1}, domains=DOMAINS)
    assert inferred_from(more).is_active("c", {"a": "x", "b": "y"})
    assert not inferred_from(more).is_active("c", {"a": "y", "b": "x"})


def test_a_choice_further_down_is_a_better_explanation_than_one_above_it():
    domains = {
        "layers": Int(1, 2),
        "optimizer": Choice(["adam", "sgd"]),
        "damped": Choice([True, False]),
        "damping": Float(0, 1),
    }
    seen = trials(
        {"layers": 1, "optimizer": "sgd", "damped": True, "damping": 0.5},
        {"layers": 1, "optimizer": "adam"},
        *[{"layers": 2, "optimizer": "sgd", "damped": False}] * 3,
        domains=domains,
    )
    parameters = dict(inferred_from(seen).parameters)
    damped = Choice({True: {"damping": Float(0, 1)}, False: {}})
    assert parameters["optimizer"] == Choice({"adam": {}, "sgd": {"damped": damped}})
    assert parameters["layers"] == Int(1, 2)


def test_trials_cut_short_count_between_explanations_that_are_as_good():
    """All trials with two layers failed: what `b` is in them is chance, and says nothing."""
    domains = {"layers": Int(1, 3), "b": Int(1, 9), "c": Float(0, 1)}
    failed = [{"layers": 2, "b": b, "c": 0.5} for b in (2, 5, 7)]
    failed += [{"layers": layers, "b": b} for layers in (1, 3) for b in (2, 5, 7)]
    ran = trials({"layers": 1, "b": 1}, {"layers": 3, "b": 4}, domains=domains)
    inferred = inferred_from([*ran, *trials(*failed, domains=domains, whole=False)])
    assert inferred.is_active("c", {"layers": 2, "b": 9})
    assert not inferred.is_active("c", {"layers": 1, "b": 5})


def test_what_nothing_explains_is_always_there():
    both = [{"a": a, "b": b} | ({"c": 0.5} if a == b == "x" else {}) for a in "xy" for b in "xy"]
    inferred = inferred_from(trials(*both, domains=DOMAINS))
    assert inferred.n_paths == 2  # one of the two choices is taken for the reason


@pytest.mark.parametrize(
    ("one", "other", "hull"),
    [
        (Float(0, 1), Float(0.5, 2), Float(0, 2)),
        (Int(1, 5), Int(3, 9), Int(1, 9)),
        (Int(0, 6, step=2), Int(4, 8, step=2), Int(0, 8, step=2)),
        (Int(0, 6, step=2), Int(1, 9, step=2), Int(0, 9)),
        (Float(0, 1, step=0.5), Float(0, 1), Float(0, 1)),
        (Float(1, 5, log=True), Float(2, 9), Float(1, 9)),
        (Choice(["x"]), Choice(["x", "y"]), Choice(["x", "y"])),
    ],
)
def test_ranges_that_vary_are_joined(one, other, hull):
    seen = [Asked({"x": None}, {"x": p}, whole=True) for p in (one, other)]
    assert dict(inferred_from(seen).parameters)["x"] == hull


def test_the_same_name_with_other_ranges_in_other_branches():
    def trial(a, high):
        domains: dict[str, Parameter] = {"a": Choice(["x", "y", "z"]), "c": Float(0, high or 1)}
        values = {"a": a} | ({"c": 0.5} if high else {})
        return Asked(values, {name: domains[name] for name in values}, whole=True)

    inferred = inferred_from([trial("x", 1), trial("y", 100), trial("z", 0)])
    assert dict(inferred.parameters) == {
        "a": Choice({"x": {"c": Float(0, 1)}, "y": {"c": Float(0, 100)}, "z": {}})
    }


def test_two_kinds_under_one_name():
    seen = [Asked({"x": 1}, {"x": p}, whole=True) for p in (Int(0, 3), Float(0, 3))]
    with pytest.raises(SpaceError, match="'x' was asked for as an integer from 0 to 3 and as a f"):
        inferred_from(seen)


def test_a_trial_that_did_not_end_makes_no_choice_a_reason():
    domains = {"a": Choice(["x", "y", "z"]), "c": Float(0, 1)}
    seen = trials({"a": "x", "c": 0.5}, {"a": "y", "c": 0.5}, {"a": "x"}, domains=domains)
    cut = trials({"a": "z"}, domains=domains, whole=False)
    assert inferred_from([*seen, *cut]).n_paths == 1
