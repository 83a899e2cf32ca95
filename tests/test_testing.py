"""The conformance suite catches strategies that misbehave."""

import random
from dataclasses import replace

import numpy as np
import pytest

from bosquet.strategies import Proposal, Random, Strategy
from bosquet.testing import conformance as c


class Stateful(Random):
    """Remembers how often it was asked, so a resumed run differs."""

    def __init__(self):
        self.calls = 0

    def propose(self, task, n, rng):
        self.calls += 1
        return super().propose(task, n, np.random.default_rng([self.calls, task.seed]))


class Global(Random):
    def propose(self, task, n, rng):
        np.random.rand()  # noqa: NPY002 - the misbehaviour
        return super().propose(task, n, rng)


class Unseeded(Random):
    def propose(self, task, n, rng):
        return super().propose(task, n, np.random.default_rng(random.randrange(2**32)))


class FixedSeed(Random):
    def propose(self, task, n, rng):
        return super().propose(task, n, np.random.default_rng(task.index))


class Disobedient(Strategy):
    """Ignores the candidates."""

    name = "disobedient"

    def propose(self, task, n, rng):
        configs = task.space.sample(rng, n)
        return [Proposal(x, why="drawn") for x in configs]


class Greedy(Random):
    """Cannot do without a best value."""

    def propose(self, task, n, rng):
        if task.history.trials:
            assert task.history.best is not None
        return super().propose(task, n, rng)


class SignBlind(Random):
    """Uses raw values instead of losses."""

    def propose(self, task, n, rng):
        total = sum(t.value > 0 for t in task.history.complete)
        return super().propose(task, n, np.random.default_rng([task.seed, task.index, total]))


class Wordy(Random):
    """Its info cannot be stored."""

    def propose(self, task, n, rng):
        return [replace(p, about={"x": object()}) for p in super().propose(task, n, rng)]


class Forgetful(Random):
    """What it wants to remember cannot be stored."""

    def propose(self, task, n, rng):
        return [replace(p, memory={"x": {1, 2}}) for p in super().propose(task, n, rng)]


class Silent(Random):
    """Gives no reason."""

    def propose(self, task, n, rng):
        return [replace(p, why="") for p in super().propose(task, n, rng)]


class Arrival(Random):
    """Depends on the last trial told; pending order leaks in."""

    def propose(self, task, n, rng):
        if len(task.pending) > 0:
            raise RuntimeError("busy")
        return super().propose(task, n, rng)


@pytest.mark.parametrize(
    ("strategy", "check"),
    [
        (Stateful, c.check_replay),
        (Global, c.check_global_random_state),
        (Unseeded, c.check_deterministic),
        (FixedSeed, c.check_deterministic),
        (Disobedient, c.check_candidates),
        (Greedy, c.check_failures),
        (SignBlind, c.check_directions),
        (Wordy, c.check_valid),
        (Forgetful, c.check_valid),
        (Silent, c.check_valid),
        (Arrival, c.check_pending),
    ],
)
def test_misbehaviour_is_caught(strategy, check):
    with pytest.raises((AssertionError, TypeError, ValueError, RuntimeError)):
        check(strategy)
