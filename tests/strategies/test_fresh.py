"""New configurations down to the last one; "exhausted" only when nothing is left."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import bosquet as bq
from bosquet.data import History, key_of
from bosquet.errors import NothingFound
from bosquet.strategies import Strategy
from bosquet.strategies.base import Proposal, Task, propose
from tests.space.strategies import build, finite_declarations, relaxed


def equal(a, b):
    """Two parameters that must be equal."""
    return bq.Constraint(lambda c: c[a] == c[b], on=[a, b])


def visited(opt, sizes, most=200):
    """All configurations proposed in batches, each once."""
    keys: list[Any] = []
    for i in range(most):
        try:
            trials = opt.ask(sizes[i % len(sizes)])
        except bq.SpaceExhausted:
            assert len(set(keys)) == len(keys)
            return set(keys)
        for trial in trials:
            keys.append(trial.key)
            opt.tell(trial, float(len(repr(trial.config)) % 5))
    raise AssertionError(f"not exhausted after {len(keys)} trials")


@pytest.mark.parametrize("strategy", ["random", "sobol", "add-tree"])
@settings(relaxed, max_examples=15)
@given(finite_declarations, st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(0, 2))
def test_finite_spaces_are_visited_to_the_last_one(strategy, declaration, sizes, rest):
    space = build(declaration)
    assume(space.size <= 30)
    if rest:
        odd = bq.Constraint(lambda config: len(repr(config)) % 3 != rest)
        assume(not space.has_defaults or odd.allows(space.default_config()))
        space = build(declaration, [odd])
    everything = {key_of(config) for config in space.configs()}
    opt = bq.Optimizer(space, strategy, seed=0)
    if everything:
        assert visited(opt, sizes) == everything
    else:
        with pytest.raises(bq.SpaceError, match="allow no configuration at all"):
            opt.ask()


@pytest.mark.parametrize("strategy", ["add-tree", "tree-ei", "additive", "boing", "turbo", "htbo"])
def test_a_batch_that_explores_takes_what_is_left(strategy):
    """The trial that explores comes when everything else has been proposed in the same batch."""
    space = bq.Space({"a": bq.Int(0, 2), "b": bq.Choice(["p", "q", "r"])})
    for size in (2, 4, 7):
        opt = bq.Optimizer(space, strategy, seed=1)
        assert len(visited(opt, [5, size])) == 9


class Quitter(Strategy):
    """Says that nothing is left when it has no more ideas."""

    name = "quitter"

    def __init__(self, ideas):
        self.ideas = ideas

    def propose(self, task, n, rng):
        if not self.ideas:
            raise bq.SpaceExhausted("no more ideas")
        return [Proposal(config, np.float64("inf")) for config in self.ideas[:n]]


def test_only_the_space_decides_whether_anything_is_left():
    space = bq.Space({"n": bq.Int(1, 4)})
    task = Task(space, History(space))
    rng = np.random.default_rng(0)
    for ideas in ([], [{"n": 3}], [{"n": 3}, {"n": 3}]):
        proposals = propose(Quitter(ideas), task, 3, rng)
        assert len({p.config["n"] for p in proposals}) == 3
    assert len(propose(Quitter([{"n": 2}]), task, 9, rng)) == 4
    told = [bq.Trial(i, {"n": i + 1}, "failed") for i in range(4)]
    with pytest.raises(bq.SpaceExhausted, match="4 ended, 0 pending"):
        propose(Quitter([{"n": 1}]), Task(space, History(space, told)), 2, rng)


def test_few_of_very_many_are_found():
    """10^12 configurations, four of which are allowed."""
    names = [f"n{i}" for i in range(12)]
    same = [equal(a, b) for a, b in pairwise(names)]
    space = bq.Space(
        {name: bq.Int(0, 9) for name in names}, [*same, bq.Forbid({"n0": [*range(6)]})]
    )
    assert len(visited(bq.Optimizer(space, "random", seed=0), [3, 1])) == 4


def needle(width, at=0.4):
    """One discrete configuration, and a short interval of a continuous parameter."""
    return bq.Space(
        {"m": bq.Choice({"a": {}, "b": {"x": bq.Float(0, 1)}})},
        [bq.Constraint(lambda c: at <= c["x"] <= at + width, on=["x"])],
    )


def test_an_infinite_space_is_not_exhausted():
    opt = bq.Optimizer(needle(1e-12), "random", seed=0)
    opt.tell(opt.ask(), 1.0)
    with pytest.raises(NothingFound, match=r"constraints \(<lambda>\(x\)\) was found in \d+ draws"):
        opt.ask()
    assert issubclass(NothingFound, bq.SpaceError)


@pytest.mark.parametrize("strategy", ["random", "sobol", "add-tree", "turbo"])
def test_known_configurations_lead_to_others(strategy):
    space = needle(1e-9)
    opt = bq.Optimizer(space, strategy, seed=0, initial=[{"m": "b", "x": 0.4 + 5e-10}])
    for size in (1, 1, 3, 2, 1, 1, 1, 1, 1):
        trials = opt.ask(size)
        assert len(trials) == size
        for trial in trials:
            opt.tell(trial, trial.config.get("x", 1.0))
    assert len({trial.key for trial in opt.history.trials}) == 12


def test_what_constraints_leave_of_an_infinite_space_may_be_finite():
    space = bq.Space(
        {"m": bq.Choice({"a": {}, "b": {"x": bq.Float(0, 1)}, "c": {"n": bq.Int(0, 2)}})},
        [bq.Forbid({"m": "b"})],
    )
    assert len(visited(bq.Optimizer(space, "sobol", seed=0), [1])) == 4


def test_with_noise_a_needle_is_proposed_again():
    opt = bq.Optimizer(needle(1e-12), "random", seed=0, initial=[{"m": "b", "x": 0.4}])
    opt.tell(opt.ask(), 1.0, noise_variance=0.1)
    space = bq.Space(
        {"x": bq.Float(0, 1)}, [bq.Constraint(lambda c: 0.4 <= c["x"] <= 0.4 + 1e-12, on=["x"])]
    )
    opt = bq.Optimizer(space, "random", seed=0, initial=[{"x": 0.4}])
    for _ in range(3):
        opt.tell(opt.ask(), 1.0, noise_variance=0.1)
    assert {trial.config["x"] for trial in opt.history.trials} == {0.4}


@pytest.mark.parametrize(
    "space",
    [
        bq.Space({"n": bq.Int(0, 9)}, [lambda config: False]),
        bq.Space({"n": bq.Int(0, 9)}, [bq.Forbid({"n": [*range(10)]})]),
        bq.Space({"n": bq.Int(0, 9), "x": bq.Float(0, 1)}, [bq.Forbid({"n": [*range(10)]})]),
        bq.Space(
            {f"n{i}": bq.Int(0, 9) for i in range(9)}, [bq.Constraint(lambda c: False, on=["n0"])]
        ),
    ],
)
def test_a_space_that_forbids_everything_is_not_exhausted_but_wrong(space):
    for strategy in ("random", "sobol", "auto"):
        with pytest.raises(bq.SpaceError, match="the constraints of the space allow no config"):
            bq.Optimizer(space, strategy, seed=0).ask()
    with pytest.raises(bq.SpaceError, match="allow no configuration"):
        bq.minimize(lambda config: 0.0, space, n_trials=3, progress=False)


def test_minimize_ends_when_nothing_more_is_found():
    result = bq.minimize(lambda config: 0.0, needle(1e-12), n_trials=5, seed=0, progress=False)
    assert len(result.trials) == 1
    assert "no further configuration that satisfies the constraints" in result.stopped
