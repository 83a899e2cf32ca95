import numpy as np
import pytest

import bosquet as bq
from bosquet.strategies import AddTree, Arc
from bosquet.strategies.base import Task
from bosquet.strategies.beliefs import NEGLIGIBLE, Belief, Beliefs, weights_of
from bosquet.strategies.choosing import Ask, places_of


def test_weights_follow_the_evidence_and_add_up_to_one():
    weights = weights_of({"a": -10.0, "b": -12.0, "c": -10.0})
    assert weights["a"] == weights["c"] > weights["b"] > NEGLIGIBLE
    assert sum(weights.values()) == pytest.approx(1.0)


def test_what_hardly_counts_is_left_out():
    assert weights_of({"a": 0.0, "b": -1000.0}) == {"a": 1.0}
    assert weights_of({"alone": -1e300}) == {"alone": 1.0}


def test_evidence_is_tempered():
    few = weights_of({"a": 9.0, "b": 5.0})
    assert few["a"] / few["b"] == pytest.approx(np.e)


@pytest.mark.parametrize("weights", [(0.9, 0.1), (0.1, 0.9)])
def test_what_is_tried_has_the_highest_weighted_improvement(weights):
    problem = bq.benchmarks.small_balanced(shared=True, shift=2)
    space, rng = problem.space, np.random.default_rng(0)
    opt = bq.Optimizer(space, seed=0)
    for config in space.sample(1, 15):
        opt.tell(config, problem(config))
    task, data = Task(space, opt.history, index=15), opt.history.dataset()
    beliefs = Beliefs(
        [
            Belief(one, Ask.given(task, one.fit(task, data, rng), data, task.taken, rng), weight)
            for one, weight in zip((AddTree(), Arc()), weights, strict=True)
        ]
    )

    def improvement(config):
        """Of each belief, by its own posterior and its own incumbent; times where good ones lie."""
        x, path = space.to_unit([config]), space.path(config)
        each = [
            belief.acquisition.value(*belief.ask.fitted.posterior.on_path(path).moments(x))[0]
            for belief in beliefs.all
        ]
        here = places_of(task).log_probability(x, path)[0]
        return float(np.logaddexp.reduce(np.array(each) + np.log(weights)) + here)

    found = beliefs.next()
    assert found is not None
    assert found.value == pytest.approx(improvement(found.config))
    assert found.value >= max(improvement(config) for config in space.sample(2, 500)) - 1e-6
