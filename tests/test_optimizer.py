from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

import bosquet as bq
from bosquet.strategies import Proposal, Strategy
from tests.support import present


@pytest.fixture
def space():
    return bq.Space({"m": bq.Choice({"a": {"x": bq.Float(0, 1)}, "b": {"n": bq.Int(1, 3)}})})


def test_ask_and_tell(space):
    opt = bq.Optimizer(space, seed=0)
    assert opt.best is None
    trial = opt.ask()
    assert (trial.number, trial.state, trial.value) == (0, "pending", None)
    assert opt.pending == (trial,)
    ended = opt.tell(trial, 0.5, noise_variance=0.1)
    assert (ended.state, ended.value, ended.noise_variance) == ("complete", 0.5, 0.1)
    assert not opt.pending
    assert opt.best == ended
    failed = opt.tell_failure(opt.ask(), "out of memory")
    assert (failed.state, failed.reason) == ("failed", "out of memory")
    assert [t.number for t in opt.history.trials] == [0, 1]


def test_ask_n_gives_a_list(space):
    opt = bq.Optimizer(space, seed=0)
    trials = opt.ask(3)
    assert [t.number for t in trials] == [0, 1, 2]
    assert isinstance(opt.ask(1), list)
    for bad in (0, -1, 1.5, True, "2"):
        with pytest.raises(ValueError, match="positive integer"):
            opt.ask(bad)  # type: ignore[arg-type]


def test_telling_twice_or_a_stranger(space):
    opt = bq.Optimizer(space, seed=0)
    trial = opt.ask()
    opt.tell(trial, 1.0)
    with pytest.raises(ValueError, match=r"trial 0 .*is not pending: it has been told already"):
        opt.tell(trial, 2.0)
    with pytest.raises(ValueError, match=r"trial 5 .*is not pending: it was not asked for here"):
        opt.tell(bq.Trial(5, {"m": "b", "n": 1}), 2.0)
    opt.ask()
    for number in (0, 1):  # one that has ended, one that is pending
        stranger = bq.Trial(number, {"m": "b", "n": 1})
        text = rf"trial {number} of this optimizer has .*; this one comes from another optimizer"
        with pytest.raises(ValueError, match=text):
            opt.tell(stranger, 2.0)
    assert present(opt.best).value == 1.0


def test_what_it_is_and_how_far_it_has_come(space):
    opt = bq.Optimizer(space, "random", seed=0, direction="maximize")
    text = f"<Optimizer of {len(space)} parameters, strategy 'random', maximize: "
    assert repr(opt) == f"{text}0 complete, 0 failed and 0 pending trials>"
    opt.tell(opt.ask(), 0.25)
    opt.tell_failure(opt.ask(), "no")
    opt.ask(2)
    assert repr(opt) == f"{text}1 complete, 1 failed and 2 pending trials, best 0.25 (trial 0)>"


def test_a_history_of_another_space_or_direction_says_which():
    x, y = bq.Float(0, 1), bq.Choice({"a": {"z": bq.Int(0, 3)}, "b": {}})
    space = bq.Space({"x": x, "y": y})
    for other, text in (
        (bq.Space({"x": x, "w": x}), "it has a parameter 'w', which this one has not"),
        (bq.Space({"x": x}), "it has no parameter 'y', which this one has"),
        (
            bq.Space({"x": bq.Float(0, 2), "y": y}),
            "there 'x' is a float from 0 to 2, here a float from 0 to 1",
        ),
        (
            bq.Space({"x": x, "y": bq.Choice({"a": {}, "b": {"z": bq.Int(0, 3)}})}),
            "it has a parameter 'y=b/z', which this one has not",
        ),
        (bq.Space({"y": y, "x": x}), "its parameters come in another order"),
        (bq.Space({"x": x, "y": y}, [bq.Forbid({"z": 1})]), "its constraints are others"),
    ):
        with pytest.raises(ValueError, match=f"^the history belongs to another space: {text}"):
            bq.Optimizer(space, history=bq.History(other))
    with pytest.raises(ValueError, match=r"^direction='minimize': the history is one of direct"):
        bq.Optimizer(space, history=bq.History(space, (), "maximize"))


def test_a_dict_will_do_as_a_space():
    parameters: dict[str, Any] = {"x": bq.Float(0, 1), "m": bq.Choice(["a", "b"])}
    first = bq.Optimizer(parameters, seed=0)
    assert first.space == bq.Space(parameters)
    assert first.ask().config == bq.Optimizer(bq.Space(parameters), seed=0).ask().config


def test_a_bad_value_leaves_the_trial_pending(space):
    opt = bq.Optimizer(space, seed=0)
    trial = opt.ask()
    for bad in (None, "0.3", [1.0]):
        with pytest.raises(TypeError, match="must be a number"):
            opt.tell(trial, bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="noise_variance"):
        opt.tell(trial, 1.0, noise_variance=-1)
    with pytest.raises(ValueError, match="not both"):
        opt.tell(trial, bq.Evaluation(1.0, 0.1), noise_variance=0.1)
    assert opt.pending == (trial,)


def test_telling_a_config_ends_the_pending_trial_that_has_it(space):
    opt = bq.Optimizer(space, seed=0)
    trial = opt.ask()
    assert opt.tell(trial.config, 0.2).number == trial.number
    assert not opt.pending
    added = opt.tell({"m": "b", "n": np.int64(2)}, 0.1)
    assert (added.number, added.config) == (1, {"m": "b", "n": 2})
    with pytest.raises(bq.ConfigError, match="'x' is not active when m='b'"):
        opt.tell({"m": "b", "n": 2, "x": 0.1}, 0.1)


def test_nan_is_recorded_as_a_failure(space):
    opt = bq.Optimizer(space, seed=0)
    assert opt.tell(opt.ask(), float("nan")).reason == "the objective returned nan"


def test_bad_arguments(space):
    with pytest.raises(
        ValueError, match="strategy='magic' must be one of add-tree, additive, arc, auto, "
    ):
        bq.Optimizer(space, strategy="magic")
    with pytest.raises(TypeError, match=r"bosquet\.Space or a dict of parameters, not list"):
        bq.Optimizer([bq.Float(0, 1)])  # type: ignore[arg-type]
    for seed in (-1, 1.5, True, "0"):
        with pytest.raises(ValueError, match="seed="):
            bq.Optimizer(space, seed=seed)  # type: ignore[arg-type]
    with pytest.raises(bq.ConfigError, match=r"initial\[1\]: 'n': 9 is not allowed"):
        bq.Optimizer(space, initial=[{"m": "b", "n": 1}, {"m": "b", "n": 9}])
    with pytest.raises(bq.ConfigError, match=r"candidates\[0\]"):
        bq.Optimizer(space, candidates=[{"m": "c"}])
    with pytest.raises(bq.ConfigError, match="candidates is empty"):
        bq.Optimizer(space, candidates=[])
    with pytest.raises(bq.ConfigError, match=r"initial\[0\].*not among the candidates"):
        bq.Optimizer(space, candidates=[{"m": "b", "n": 1}], initial=[{"m": "b", "n": 2}])
    with pytest.raises(bq.ConfigError, match="initial must be a list"):
        bq.Optimizer(space, initial={"m": "b", "n": 1})  # type: ignore[dict-item]
    other = bq.History(bq.Space({"x": bq.Float(0, 1)}))
    with pytest.raises(ValueError, match="history belongs to another space"):
        bq.Optimizer(space, history=other)
    with pytest.raises(TypeError, match=r"must be a bosquet\.History"):
        bq.Optimizer(space, history="runs.jsonl")  # type: ignore[arg-type]
    result = bq.Result(bq.History(space), 0, "interrupted", 0.1)
    with pytest.raises(
        TypeError, match=r"must be a bosquet.History, not Result; give its .history"
    ):
        bq.Optimizer(space, history=result)  # type: ignore[arg-type]


def test_what_a_user_does_to_a_config_stays_with_the_user(space):
    opt = bq.Optimizer(space, seed=0)
    trial = opt.ask()
    proposed = dict(trial.config)
    trial.config.clear()
    with pytest.raises(ValueError, match="is not pending"):
        opt.tell(trial, 1.0)
    assert opt.pending[0].config == proposed


def test_the_papers_version_by_name(space):
    by_name = bq.Optimizer(space, "add-tree.paper").strategy
    assert vars(by_name) == vars(bq.strategies.AddTree.paper())
    released = bq.Optimizer(space, "add-tree.released").strategy
    assert vars(released) == vars(bq.strategies.AddTree.released())
    with pytest.raises(ValueError, match=r"'add-tree' has no version 'else'; use 'add-tree', or "):
        bq.Optimizer(space, "add-tree.else")
    with pytest.raises(ValueError, match=r"'tree-ei' has no version 'released'; use .*\.paper'$"):
        bq.Optimizer(space, "tree-ei.released")


def test_without_a_seed_runs_differ_and_can_be_repeated(space):
    first, second = bq.Optimizer(space), bq.Optimizer(space)
    assert first.seed != second.seed
    repeated = bq.Optimizer(space, seed=first.seed)
    assert first.ask().config == repeated.ask().config


class Stubborn(Strategy):
    """Proposes the same configuration for ever."""

    name = "stubborn"

    def __init__(self, config):
        self.config = config

    def propose(self, task, n, rng):
        return [Proposal(self.config) for _ in range(n)]


def test_duplicates_are_replaced_for_any_strategy(space):
    opt = bq.Optimizer(space, Stubborn({"m": "b", "n": 1}), seed=0)
    trials = opt.ask(5)
    assert len({t.key for t in trials}) == 5
    assert "replaced" not in trials[0].info
    assert all("replaced" in t.info for t in trials[1:])


class Bare(Strategy):
    """Proposes configurations as they are."""

    name = "bare"

    def propose(self, task, n, rng):
        return task.space.sample(rng, n)


def test_a_configuration_alone_is_not_a_proposal(space):
    with pytest.raises(
        TypeError, match=r"strategy 'bare' proposed \{.*it must be a Proposal\(config"
    ):
        bq.Optimizer(space, Bare(), seed=0).ask()


def test_a_class_is_not_a_strategy(space):
    with pytest.raises(ValueError, match=r"strategy=Bare is a class; make one with Bare\(\)"):
        bq.Optimizer(space, Bare)  # type: ignore[arg-type]


def test_a_strategy_that_proposes_nonsense_is_named(space):
    with pytest.raises(bq.ConfigError, match=r"'stubborn' proposed a bad one: 'n': 7"):
        bq.Optimizer(space, Stubborn({"m": "b", "n": 7}), seed=0).ask()
    opt = bq.Optimizer(space, Stubborn({"m": "b", "n": 1}), candidates=[{"m": "b", "n": 2}])
    with pytest.raises(bq.ConfigError, match="not a candidate"):
        opt.ask()


def test_defaults_come_first_when_declared():
    space = bq.Space({"x": bq.Float(0, 1, default=0.125), "n": bq.Int(1, 9)})
    assert bq.Optimizer(space, seed=3).ask().config == {"x": 0.125, "n": 5}
    # Once evaluated, they are not proposed again, also in a resumed run.
    history = bq.History(space, [bq.Trial(0, {"x": 0.125, "n": 5}, "complete", 1.0)])
    assert bq.Optimizer(space, seed=3, history=history).ask().config != {"x": 0.125, "n": 5}


def test_an_infeasible_space_raises():
    space = bq.Space({"x": bq.Float(0, 1)}, constraints=[lambda c: c["x"] > 2])
    with pytest.raises(bq.SpaceError, match="feasible part is empty or too small"):
        bq.Optimizer(space, seed=0).ask()


def test_following_a_shared_study():
    space = bq.Space({"x": bq.Float(0, 1)})
    mine, other = (bq.Optimizer(space, "sobol", seed=0) for _ in range(2))
    ended = tuple(mine.tell(mine.ask(), i) for i in range(3))
    running = mine.ask()
    other.follow(ended, [running])
    assert other.history == mine.history
    assert other.pending == mine.pending
    assert other.ask() == mine.ask()
    other.follow(ended[:2], [])  # the third does not count any more
    assert other.history.trials == ended[:2]
    assert other.ask().number == 2


def test_trials_know_when_they_ran(space):
    opt = bq.Optimizer(space, "random", seed=0)
    before = datetime.now(UTC)
    trial = opt.ask()
    assert trial.ended is None
    failed = opt.tell_failure(trial, "no luck")
    told = opt.tell(opt.ask(), 1.0)
    added = opt.tell(space.sample(1), 2.0)
    after = datetime.now(UTC)
    for ended in (failed, told):
        assert before <= present(ended.started) <= present(ended.ended) <= after
        assert present(ended.duration) <= (after - before).total_seconds()
    assert (added.started, added.duration) == (None, None)
    assert opt.history.trials[0].ended == failed.ended


def test_a_failure_has_a_reason():
    space = bq.Space({"x": bq.Float(0, 1)})
    optimizer = bq.Optimizer(space, "random", seed=0)
    with pytest.raises(TypeError, match="reason=None must be a text that says why"):
        optimizer.tell_failure(optimizer.ask(), None)  # type: ignore[arg-type]
    reasons: list[str | Exception] = ["out of memory", ValueError("bad"), ValueError()]
    told = [optimizer.tell_failure(optimizer.ask(), reason) for reason in reasons]
    assert [trial.reason for trial in told] == ["out of memory", "bad", "ValueError"]
