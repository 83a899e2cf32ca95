import numpy as np
import pytest

import bosquet as bq
from bosquet.data import History
from bosquet.strategies.base import Batch, Proposal, Task
from bosquet.strategies.exploring import explored, explores, next_or_explored

BOX = bq.Space({"x": bq.Float(0, 1)})
TREE = bq.Space({"kind": bq.Choice({"a": {"x": bq.Float(0, 1)}, "b": {}})})
MIXED = bq.Space({"x": bq.Float(0, 1), "k": bq.Choice(["a", "b"])})


@pytest.mark.parametrize(("space", "does"), [(BOX, False), (TREE, True), (MIXED, True)])
def test_every_sixth_trial_explores_unless_the_space_is_one_box(space, does):
    numbers = [number for number in range(18) if explores(space, number, 6)]
    assert numbers == ([5, 11, 17] if does else [])
    assert not any(explores(space, number, None) for number in range(18))


@pytest.mark.parametrize("space", [BOX, TREE])
@pytest.mark.parametrize(
    ("number", "gain", "explored_now"),
    [
        (6, -20.0, False),
        (7, -20.0, True),
        (7, -1.0, False),
        (7, None, False),
    ],
)
def test_a_model_without_hope_is_helped_every_second_time(space, number, gain, explored_now):
    batch = Batch(Task(space, History(space), index=number))
    wanted = Proposal(space.sample(0), gain)
    found = next_or_explored(
        batch, 6, np.random.default_rng(0), lambda: wanted, lambda proposal: proposal.value
    )
    assert found is not None
    assert (found is not wanted) == explored_now
    assert ("nothing seems left to gain" in found.why) == explored_now


def test_what_is_explored_is_a_path_visited_least():
    history = History(TREE)
    optimizer = bq.Optimizer(TREE, "sobol", seed=0, history=history)
    optimizer.tell({"kind": "a", "x": 0.5}, 1.0)
    batch = Batch(Task(TREE, optimizer.history, index=1))
    found = explored(batch, "for a test", np.random.default_rng(0))
    assert found is not None
    assert found.config == {"kind": "b"}


def test_where_nothing_is_left_nothing_is_explored():
    space = bq.Space({"k": bq.Choice(["a"])})
    optimizer = bq.Optimizer(space, "sobol", seed=0)
    optimizer.tell({"k": "a"}, 1.0)
    batch = Batch(Task(space, optimizer.history, index=1))
    assert explored(batch, "for a test", np.random.default_rng(0)) is None
