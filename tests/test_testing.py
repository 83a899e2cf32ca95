"""The conformance suite catches strategies that misbehave."""

import random
from dataclasses import replace

import numpy as np
import pytest

from bosquet.kernels.stationary import SHAPES
from bosquet.strategies import AddTree, Proposal, Random, Strategy
from bosquet.testing import check_shape
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


class Leaky(AddTree):
    """Remembers in the process, and only there, that a model has proposed."""

    seen = 0

    def propose(self, task, n, rng):
        found = super().propose(task, n, np.random.default_rng([self.seen, task.index]))
        self.__dict__["seen"] = self.seen + any("fits" in p.memory for p in found)
        return found


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
        (Leaky, c.check_replay),
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
    with pytest.raises((AssertionError, TypeError, ValueError, RuntimeError)) as caught:
        check(strategy)
    if strategy is not Greedy:  # whose own assertion says nothing
        assert str(caught.value)


def test_what_differs_is_told():
    with pytest.raises(
        AssertionError, match=r"the same seed gives another run: proposal \d+ is \{"
    ):
        c.check_deterministic(Unseeded)
    with pytest.raises(AssertionError, match="another seed gives the same run"):
        c.check_deterministic(FixedSeed)
    with pytest.raises(AssertionError, match=r"resumed after \d+ trials, the run is another one"):
        c.check_replay(Stateful)
    with pytest.raises(AssertionError, match="global generator has moved: draw from the rng"):
        c.check_global_random_state(Global)


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_our_shapes_pass(name):
    check_shape(SHAPES[name])


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        (lambda r2: np.exp(-r2), r"must return \(k, dk / d r2\), not <class 'numpy.ndarray'>"),
        (lambda r2: (r2, r2, r2), r"must return \(k, dk / d r2\), not 3 things"),
        (lambda r2: (np.exp(-r2), -1.0), r"the slope must have the shape of r2, \(6, 10\), not"),
        (lambda r2: (2 * np.exp(-r2), -2 * np.exp(-r2)), "must be 1 at distance 0, and is 2"),
        (
            lambda r2: (np.exp(-r2 / 2), np.exp(-r2 / 2)),
            r"slope by r2 at r2 = 0.001 is 0.9995, but finite differences give -0.49975",
        ),
        (  # a cosine is positive definite in one dimension alone
            lambda r2: (np.cos(np.sqrt(r2)), -np.sinc(np.sqrt(r2) / np.pi) / 2),
            "not positive definite in 2 dimensions: a matrix of 80 points has the eigenvalue -",
        ),
    ],
)
def test_what_cannot_be_a_shape(shape, text):
    with pytest.raises(AssertionError, match=text):
        check_shape(shape)
