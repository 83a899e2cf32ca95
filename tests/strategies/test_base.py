"""What is done for every strategy: batches, and what a proposal says."""

import numpy as np
import pytest

import bosquet as bq
from bosquet.data import History, Trial, key_of
from bosquet.strategies import Proposal, Task
from bosquet.strategies.base import Batch, SequentialStrategy, propose

SPACE = bq.Space({"x": bq.Int(0, 9), "m": bq.Choice({"a": {"y": bq.Float(0, 1)}, "b": {}})})


def config(x):
    return {"x": x, "m": "b"}


class Counting(SequentialStrategy):
    """Proposes the numbers that are free, and notes what it is told of its own proposals."""

    name = "counting"

    def __init__(self, most=10):
        self.most = most
        self.seen = []

    def proposals(self, batch, rng):
        for x in range(self.most):
            if key_of(config(x)) not in batch.taken:
                self.seen.append((batch.index, len(batch.now.pending), len(batch.proposals)))
                yield Proposal(config(x), float(x), "the next number")


def test_proposals_are_pending_before_the_next_is_made():
    strategy = Counting()
    ended = Trial(0, config(1), "complete", 1.0)
    task = Task(SPACE, History(SPACE, [ended]), (Trial(1, config(0)),), index=2)
    found = propose(strategy, task, 3, np.random.default_rng(0))
    assert [proposal.config["x"] for proposal in found] == [2, 3, 4]
    assert strategy.seen == [(2, 1, 0), (3, 2, 1), (4, 3, 2)]  # nothing is made that is not taken


def test_where_a_strategy_finds_nothing_more_the_rest_is_drawn():
    task = Task(SPACE, History(SPACE))
    found = propose(Counting(most=2), task, 5, np.random.default_rng(0))
    assert [p.why for p in found[:2]] == ["the next number"] * 2
    assert all(p.why.startswith("random draw: strategy 'counting'") for p in found[2:])
    assert len({key_of(p.config) for p in found}) == 5


def test_without_any_proposal_the_design_proposes():
    task = Task(SPACE, History(SPACE))
    found = propose(Counting(most=0), task, 3, np.random.default_rng(0))
    assert [proposal.why for proposal in found] == ["space-filling design"] * 3


def test_with_noise_nothing_is_taken():
    noisy = History(SPACE, [Trial(0, config(0), "complete", 1.0, 0.5)])
    batch = Batch(Task(SPACE, noisy, index=1))
    batch.add(Proposal(config(0)))
    assert not batch.taken
    assert [trial.number for trial in batch.now.pending] == [1]


def test_what_people_read():
    (found,) = propose(Counting(), Task(SPACE, History(SPACE)), 1, np.random.default_rng(0))
    assert found.info(SPACE) == {
        "path": "m=b",
        "why": "the next number",
        "strategy": "counting",
        "acquisition": 0.0,
    }


def test_a_dict_is_no_acquisition_value():
    """As strategies of version 0.1 had it: Proposal(config, info)."""
    with pytest.raises(TypeError, match="the value of a Proposal must be a number, not dict"):
        Proposal(config(0), {"why": "once"})  # type: ignore[arg-type]
