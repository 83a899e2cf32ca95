"""The conformance suite: what users may rely on, whatever the strategy.

Each check takes a function that makes a strategy, and raises AssertionError when it misbehaves.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bosquet.data import Evaluation, History, Trial, key_of
from bosquet.errors import SpaceError, SpaceExhausted
from bosquet.optimizer import Optimizer
from bosquet.space import Choice, Config, Constraint, Float, Forbid, Int, Space
from bosquet.strategies import Strategy

MakeStrategy = Callable[[], Strategy]
Objective = Callable[[Config], float]

_DESIGN = 10  # the trials before the first model are not more
_FIRST, _LAST = 3, 3  # the proposals of a whole run: without a model, and mostly with one
_TRIALS = 12  # of a whole run, with those that are told between these
_SEED = 7


def flat_space() -> Space:
    return Space({"x": Float(-1, 1), "y": Float(1e-3, 1e3, log=True)})


def tree_space() -> Space:
    """The example tree of the package, with its constraints."""
    return Space(
        {
            "scale": Choice(["none", "standard"]),
            "lr": Float(1e-4, 1e-1, log=True, default=1e-2),
            "model": Choice(
                {
                    "svm": {
                        "C": Float(1e-3, 1e3, log=True),
                        "kernel": Choice({"linear": {}, "rbf": {"gamma": Float(1e-4, 10)}}),
                    },
                    "forest": {"depth": Int(1, 20)},
                    "boosting": {"eta": Float(0.01, 1.0)},
                    ("forest", "boosting"): {"trees": Int(10, 500, log=True)},
                }
            ),
        },
        constraints=[
            Forbid({"scale": "none", "model": "svm"}),
            Constraint(lambda c: c["lr"] < 0.05, on=("lr",)),
        ],
    )


def and_or_space() -> Space:
    """Independent choices, discrete values of every kind, one name in exclusive branches."""
    return Space(
        {
            f"part{i}": Choice(
                {
                    "off": {},
                    True: {f"n{i}": Int(0, 9, step=3), f"w{i}": Choice([1, 2.5, None])},
                    2: {f"n{i}": Float(0.0, 1.0, step=0.25)},
                }
            )
            for i in range(3)
        }
        | {"level": Choice(["low", "mid", "high"], ordered=True)}
    )


def finite_space() -> Space:
    """Seven configurations, one of which is forbidden."""
    return Space(
        {
            "a": Choice(
                {"x": {"n": Int(1, 3)}, "y": {"b": Choice(["p", "q"], ordered=True)}, "z": {}}
            )
        }
        | {"one": Choice(["only"])},
        constraints=[lambda config: config.get("n") != 2],
    )


def plain_tree_space() -> Space:
    """A tree whose paths share no variable, for strategies that cannot have it otherwise."""
    return Space(
        {
            "model": Choice(
                {
                    "a": {"x": Float(-1, 1), "n": Int(0, 9)},
                    "b": {
                        "kind": Choice(
                            {"p": {"y": Float(0.1, 10, log=True)}, "q": {"k": Int(1, 30)}}
                        )
                    },
                    "c": {"z": Float(0, 2, default=0.5), "w": Choice(["u", "v", None])},
                },
                default="c",
            )
        },
        constraints=[Constraint(lambda c: c["x"] < 0.9, on=("x",))],
    )


def plain_finite_space() -> Space:
    """Five feasible configurations, and no variable that paths share."""
    return Space(
        {"a": Choice({"x": {"n": Int(1, 3)}, "y": {"b": Choice(["p", "q"])}, "z": {}})},
        constraints=[lambda config: config.get("n") != 2],
    )


def fitting(make: MakeStrategy, wanted: Callable[[], Space]) -> Space:
    """The wanted space, or a plainer one where the strategy says that it cannot work there."""
    space = wanted()
    try:
        make().check_space(space)
    except SpaceError:
        return plain_finite_space() if wanted is finite_space else plain_tree_space()
    return space


def small_space() -> Space:
    """Few trials suffice for a model of it: the cheapest space to try values on."""
    return Space({"m": Choice({"a": {"x": Float(0, 1)}, "b": {"n": Int(0, 9)}})})


SPACES = (flat_space, tree_space, and_or_space)


def smooth(config: Config) -> float:
    """Some function of every parameter that is there."""
    numbers = [float(v) for v in config.values() if isinstance(v, (int, float))]
    return math.fsum(math.sin(3 * v) + 0.1 * math.log1p(abs(v)) for v in numbers) + len(config)


def _run(optimizer: Optimizer, n: int, objective: Objective = smooth) -> list[Config]:
    """Sequential trials; the configurations proposed."""
    configs = []
    for _ in range(n):
        trial = optimizer.ask()
        configs.append(trial.config)
        optimizer.tell(trial, objective(trial.config))
    return configs


def _run_whole(optimizer: Optimizer, objective: Objective = smooth) -> list[Config]:
    """The first proposals, and some after as many trials as a model needs.

    The trials between them are told, as models of all of them would take most of the time.
    """
    first = _run(optimizer, _FIRST, objective)
    for config in optimizer.space.sample(_SEED, _TRIALS - _FIRST - _LAST):
        optimizer.tell(config, objective(config))
    return first + _run(optimizer, _LAST, objective)


def _assert_same(proposed: Sequence[Config], expected: Sequence[Config], what: str) -> None:
    for i, (one, other) in enumerate(zip(proposed, expected, strict=True)):
        assert one == other, f"{what}: proposal {i} is {one}, and was {other}"


@dataclass(frozen=True)
class _WholeRun:
    """A sequential run, and whether it has moved NumPy's global generator."""

    history: History
    configs: list[Config]
    moved_global_state: bool


@lru_cache(maxsize=len(SPACES))
def _whole_run(make: MakeStrategy, wanted: Callable[[], Space]) -> _WholeRun:
    """What several checks of one strategy look at, or compare another run with."""
    optimizer = Optimizer(fitting(make, wanted), make(), seed=_SEED)
    before = np.random.get_state(legacy=False)  # noqa: NPY002 - the state under test
    configs = _run_whole(optimizer)
    after = np.random.get_state(legacy=False)  # noqa: NPY002
    return _WholeRun(optimizer.history, configs, str(before) != str(after))


def check_valid(make: MakeStrategy) -> None:
    """Proposals are canonical, feasible, plain and JSON-able on all kinds of spaces."""
    for run in (_whole_run(make, wanted) for wanted in SPACES):
        space = run.history.space
        for config in run.configs:
            canonical = space.validate(config)
            assert list(canonical.items()) == list(config.items()), f"{config}, not {canonical}"
            plain = (str, int, float, bool, type(None))
            assert all(type(value) in plain for value in config.values()), config
        for trial in (*run.history.trials[:_FIRST], *run.history.trials[-_LAST:]):
            json.dumps([trial.info, trial.memory], allow_nan=False)
            path = space.path_label(trial.config)
            assert trial.info.get("path") == path, f"{trial.info} has another path than {path!r}"
            assert isinstance(trial.info.get("why"), str), f"no reason is given for {trial}"
            assert trial.info["why"], f"no reason (Proposal.why) is given for {trial}"


def check_deterministic(make: MakeStrategy) -> None:
    """The same seed gives the same run, another seed another."""
    run = _whole_run(make, tree_space)
    again = Optimizer(run.history.space, make(), seed=_SEED)
    _assert_same(_run_whole(again), run.configs, "the same seed gives another run")
    other = Optimizer(run.history.space, make(), seed=_SEED + 1)
    differs = any(_run(other, 1) != [config] for config in run.configs[:_FIRST])
    assert differs, "another seed gives the same run"


def check_global_random_state(make: MakeStrategy) -> None:
    """NumPy's global generator is neither read nor moved."""
    moved = any(_whole_run(make, wanted).moved_global_state for wanted in SPACES)
    assert not moved, "NumPy's global generator has moved: draw from the rng that propose is given"


def check_replay(make: MakeStrategy) -> None:
    """A run resumed from its history goes on as the uninterrupted one did.

    Once after a proposal of a model, which the resumed run has not made itself, and to its end, as
    what is remembered in a process may also show up late.
    """
    for run in (_whole_run(make, wanted) for wanted in SPACES):
        space = run.history.space
        for cut, proposed in ((1, run.configs[1:_FIRST]), (_TRIALS - 2, run.configs[-2:])):
            history = History(space, run.history.trials[:cut])
            resumed = Optimizer(space, make(), seed=_SEED, history=history)
            what = f"resumed after {cut} trials, the run is another one"
            _assert_same(_run(resumed, len(proposed)), proposed, what)


def check_order_of_telling(make: MakeStrategy) -> None:
    """What is proposed next does not depend on the order in which a batch is told."""
    space = fitting(make, tree_space)
    after = []
    for order in ((0, 1, 2, 3), (2, 3, 0, 1)):
        optimizer = Optimizer(space, make(), seed=2)
        batch = optimizer.ask(4)
        for i in order:
            optimizer.tell(batch[i], smooth(batch[i].config))
        after.append(_run(optimizer, 3))
    _assert_same(after[1], after[0], "another order of telling gives another run")


def check_directions(make: MakeStrategy) -> None:
    """Maximising a function proposes what minimising its negative does."""
    low = _whole_run(make, tree_space)
    high = Optimizer(low.history.space, make(), seed=_SEED, direction="maximize")
    proposed = _run_whole(high, lambda config: -smooth(config))
    _assert_same(proposed, low.configs, "maximising the negative gives another run")
    assert low.history.best is not None
    assert high.best is not None
    assert low.history.best.config == high.best.config


def check_pending(make: MakeStrategy) -> None:
    """Trials in flight are not proposed again, in a batch or one by one."""
    space = fitting(make, and_or_space)
    optimizer = Optimizer(space, make(), seed=0)
    _run(optimizer, 5)
    trials = [*optimizer.ask(4), optimizer.ask(), *optimizer.ask(3)]
    keys = {trial.key for trial in (*optimizer.history.trials, *trials)}
    assert len(keys) == 5 + 8, "a configuration was proposed that is evaluated or pending already"
    assert [trial.number for trial in trials] == list(range(5, 13))


def check_exhausted(make: MakeStrategy) -> None:
    """A finite space is visited once each, then exhausted; a batch takes what is left."""
    space = fitting(make, finite_space)
    everything = {key_of(config) for config in space.configs()}
    assert len(everything) == 5
    for begun in (3, 0, 4):
        optimizer = Optimizer(space, make(), seed=0)
        seen = {space.key(config) for config in _run(optimizer, begun)}
        rest = optimizer.ask(9)
        assert len(rest) == 5 - begun, f"{len(rest)} of the {5 - begun} configurations left"
        assert seen | {trial.key for trial in rest} == everything
        _assert_exhausted(optimizer)


def _assert_exhausted(optimizer: Optimizer) -> None:
    try:
        trial = optimizer.ask()
    except SpaceExhausted:
        return
    raise AssertionError(f"{trial} was proposed although nothing is left")


def check_candidates(make: MakeStrategy) -> None:
    """Only given candidates are proposed, each once."""
    space = fitting(make, tree_space)
    candidates = space.sample(0, 9)
    optimizer = Optimizer(space, make(), seed=0, candidates=[*candidates, candidates[0]])
    proposed = _run(optimizer, 9)
    missed = {space.key(c) for c in candidates} - {space.key(c) for c in proposed}
    assert not missed, f"candidates that were never proposed: {missed}"
    _assert_exhausted(optimizer)


def check_failures(make: MakeStrategy) -> None:
    """Failures, NaN and infinities are recorded, and the search goes on whatever fails."""
    space = fitting(make, tree_space)
    results: Sequence[float | None] = (None, math.nan, math.inf, -math.inf, 0.5, None, -0.5)
    optimizer = Optimizer(space, make(), seed=0)
    for result in (*results, *[None] * 6):
        trial = optimizer.ask()
        if result is None:
            optimizer.tell_failure(trial, "out of memory")
        else:
            optimizer.tell(trial, result)
    assert len(optimizer.history.complete) == 2
    assert len(optimizer.history.failed) == 11
    assert all(trial.reason for trial in optimizer.history.failed)
    assert len({trial.key for trial in optimizer.history.trials}) == 13


def check_odd_values(make: MakeStrategy) -> None:
    """Constant, huge, tiny and wildly different values do not stop the search.

    The ends of the floats are among them; what is said of a trial stays JSON.
    """
    different = [1.0, 1e12, -1e-12, 3.0]
    for values in (
        *([1.0], [0.0], [1e300, -1e300], [1e-300, 0.0], different),
        *([1.7e308, -1.7e308, 1e308], [1e-320, 3e-320, 2e-320], [5e-324, 0.0]),
    ):
        _tell_in_turn(make, small_space(), values)
    _tell_in_turn(make, fitting(make, and_or_space), different)


def _tell_in_turn(make: MakeStrategy, space: Space, values: Sequence[float]) -> None:
    """Values of as many trials as a model needs, and then of some that are asked for.

    Two, as one of them may be spent on exploring without a model.
    """
    optimizer = Optimizer(space, make(), seed=0)
    for i, config in enumerate(space.sample(0, _DESIGN)):
        optimizer.tell(config, values[i % len(values)])
    for i in range(2):
        trial = optimizer.ask()
        json.dumps([trial.info, trial.memory], allow_nan=False)
        optimizer.tell(trial, values[i % len(values)])


def check_noise(make: MakeStrategy) -> None:
    """Stated noise is accepted, and then a small space is never exhausted."""
    optimizer = Optimizer(fitting(make, finite_space), make(), seed=0)
    for i in range(12):
        trial = optimizer.ask()
        optimizer.tell(trial, Evaluation(smooth(trial.config) + 0.01 * (-1) ** i, 1e-4))
    assert len(optimizer.history) == 12


def check_known_points(make: MakeStrategy) -> None:
    """Points told without having been asked for are used, and not proposed again."""
    space = fitting(make, finite_space)
    optimizer = Optimizer(space, make(), seed=0)
    known = list(space.configs())[:3]
    for config in known:
        optimizer.tell(config, smooth(config))
    proposed = _run(optimizer, 2)
    assert {space.key(c) for c in (*known, *proposed)} == {space.key(c) for c in space.configs()}


def check_initial(make: MakeStrategy) -> None:
    """Given configurations come first, then the declared defaults."""
    space = fitting(make, tree_space)
    initial = space.sample(11, 2)
    optimizer = Optimizer(space, make(), seed=0, initial=initial)
    first: list[Trial] = [*optimizer.ask(2), optimizer.ask()]
    assert [trial.config for trial in first] == [*initial, space.default_config()]
    assert optimizer.ask().config not in [trial.config for trial in first]


STRATEGY_CHECKS: tuple[Callable[[MakeStrategy], None], ...] = (
    check_valid,
    check_deterministic,
    check_global_random_state,
    check_replay,
    check_order_of_telling,
    check_directions,
    check_pending,
    check_exhausted,
    check_candidates,
    check_failures,
    check_odd_values,
    check_noise,
    check_known_points,
    check_initial,
)
