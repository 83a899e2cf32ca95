"""Whole runs by `minimize` and the loop inside it (study/loop.py)."""

import time

import numpy as np
import pytest

import bosquet as bq
from tests.support import constant, present, told_before


@pytest.fixture
def space():
    return bq.Space({"m": bq.Choice({"a": {"x": bq.Float(0, 1)}, "b": {"n": bq.Int(1, 50)}})})


def value(config):
    return config.get("x", 0.5) + 0.01 * config.get("n", 0)


def test_minimize_and_maximize_keep_the_users_sign(space):
    low = bq.minimize(value, space, n_trials=20, seed=0, strategy="sobol")
    high = bq.maximize(value, space, n_trials=20, seed=0, strategy="sobol")
    assert len(low.trials) == len(high.trials) == 20
    assert low.best_value == min(present(t.value) for t in low.trials) == value(low.best_config)
    assert high.best_value == max(present(t.value) for t in high.trials) == value(high.best_config)
    assert low.best == low.best_trial == low.history.best
    assert present(high.best).config == high.best_config
    assert low.stopped == "all 20 trials done"
    assert "20 trials" in str(low)


def test_a_run_that_others_have_trials_of_does_not_say_that_all_are_done(tmp_path, space):
    with bq.Study(tmp_path / "r.db", space=space, seed=0) as study:
        study.ask()
    options = {"n_trials": 3, "seed": 0, "storage": tmp_path / "r.db", "progress": False}
    result = bq.minimize(value, space, **options)
    assert len(result.trials) == 2
    assert result.stopped == "all 3 trials started, 1 still open elsewhere"
    with bq.Study(tmp_path / "r.db") as study:
        study.tell(0, 0.5)
    assert bq.minimize(value, space, **options).stopped == "all 3 trials done"


def test_a_dict_will_do_as_a_space():
    result = bq.minimize(lambda c: c["x"], {"x": bq.Float(0, 1)}, n_trials=1, strategy="random")
    assert result.history.space == bq.Space({"x": bq.Float(0, 1)})
    assert str(result).startswith("1 trial in ")


def test_a_result_without_trials(space):
    empty = bq.Result(bq.History(space), 0, "interrupted", 0.1)
    with pytest.raises(RuntimeError, match=r"^no trial has returned a value$"):
        _ = empty.best_value


def test_the_same_seed_gives_the_same_run(space):
    runs = [bq.minimize(value, space, n_trials=10, seed=s).trials for s in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


class Odd(Exception):
    pass


class OfItsOwn(BaseException):
    """As the panics of Rust, or of frameworks that cancel."""


class Speechless(Exception):
    def __str__(self):
        raise KeyError("str")

    __repr__ = __str__


class NotANumber:
    def __float__(self):
        raise RuntimeError("not yet computed")


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (lambda: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda: None, "the objective returned None instead of a number"),
        (lambda: "0.3", "the objective returned str '0.3' instead of a number"),
        (lambda: [1.0], "the objective returned list [1.0] instead of a number"),
        (lambda: np.zeros(3), "the objective returned ndarray array([0., 0., 0.]) instead of"),
        (lambda: float("nan"), "the objective returned nan"),
        (lambda: float("-inf"), "the objective returned -inf"),
        (lambda: bq.Evaluation(float("inf")), "the objective returned inf"),
        (lambda: bq.Evaluation(1.0, -2.0), "ValueError: noise_variance=-2.0"),
        (lambda: exec("raise SystemExit(3)"), "SystemExit: 3"),
        (lambda: (_ for _ in ()).throw(Odd()), "Odd (test_minimize.py:"),
        (lambda: exec("raise GeneratorExit"), "GeneratorExit"),
        (lambda: (_ for _ in ()).throw(OfItsOwn("bye")), "OfItsOwn: bye (test_minimize.py:"),
        (lambda: (_ for _ in ()).throw(Speechless()), "Speechless: its text cannot be had (KeyE"),
        (lambda: Speechless(), "KeyError: 'str' (test_minimize.py:"),
        (lambda: NotANumber(), "RuntimeError: not yet computed (test_minimize.py:"),
    ],
)
def test_a_bad_evaluation_costs_one_failed_trial(space, behaviour, reason):
    calls = []

    def objective(config):
        calls.append(config)
        return behaviour() if len(calls) == 2 else value(config)

    result = bq.minimize(objective, space, n_trials=4, seed=0)
    assert [t.state for t in result.trials] == ["complete", "failed", "complete", "complete"]
    assert present(result.trials[1].reason).startswith(reason)


def test_what_numbers_may_be(space):
    for number in (1, np.float32(1), np.array(1.0), True):
        assert bq.minimize(constant(number), space, n_trials=1).best_value == 1.0


def test_noise_reaches_the_trial(space):
    result = bq.minimize(lambda c: bq.Evaluation(value(c), 0.01), space, n_trials=2, seed=0)
    assert result.trials[0].noise_variance == 0.01


def test_when_everything_fails_the_reason_is_told(space):
    result = bq.minimize(lambda _: 1 / 0, space, n_trials=3, seed=0)
    with pytest.raises(
        RuntimeError, match=r"none of the 3 trials has returned a value.*ZeroDivisionError"
    ):
        _ = result.best_config
    assert result.best is None
    assert "nothing found" in str(result)


def test_ctrl_c_returns_what_was_found(space):
    def objective(config):
        if len(seen) == 3:
            raise KeyboardInterrupt
        seen.append(config)
        return value(config)

    seen = []
    result = bq.minimize(objective, space, n_trials=10, seed=0)
    assert result.stopped == "interrupted"
    assert len(result.trials) == 3


def test_timeout(space):
    def slow(config):
        time.sleep(0.02)
        return 0.0

    result = bq.minimize(slow, space, timeout=0.1, seed=0)
    assert result.stopped == "timeout of 0.1 s"
    assert 1 <= len(result.trials) <= 6
    both = bq.minimize(slow, space, timeout=0.1, n_trials=1000, seed=0)
    assert both.stopped == "timeout of 0.1 s"


def test_no_callbacks_may_be_none(space):
    assert len(bq.minimize(value, space, n_trials=1, callbacks=None, progress=False).trials) == 1


def test_callbacks_see_each_trial_and_may_stop(space):
    seen = []

    def stop_after_three(optimizer, trial):
        seen.append((trial.number, trial.state, optimizer.best is not None))
        return trial.number == 2

    for callbacks in ([stop_after_three], stop_after_three, [lambda o, t: np.bool_(t.number == 2)]):
        seen.clear()
        result = bq.minimize(value, space, n_trials=10, seed=0, callbacks=callbacks)
        assert seen in ([(i, "complete", True) for i in range(3)], [])
        assert len(result.trials) == 3
        assert result.stopped == "a callback said so"


def test_what_a_broken_callback_raises_carries_the_trials(space):
    def broken(optimizer, trial):
        if trial.number == 2:
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full") as caught:
        bq.minimize(value, space, n_trials=10, seed=0, callbacks=[broken])
    assert len(told_before(caught.value).trials) == 3
    assert "attribute 'history'" in caught.value.__notes__[0]


def test_failures_say_where_they_happened(space):
    def objective(config):
        return config["typo"]

    result = bq.minimize(objective, space, n_trials=1, seed=0)
    assert present(result.trials[0].reason).startswith("KeyError: 'typo' (test_minimize.py:")
    assert present(result.trials[0].reason).endswith(" in objective)")


def test_things_that_are_not_functions(space):
    with pytest.raises(TypeError, match="must be functions, not 3"):
        bq.minimize(3, space, n_trials=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be functions, not 'x'"):
        bq.minimize(value, space, n_trials=1, callbacks=["x"])  # type: ignore[list-item]


def test_a_space_with_hardly_anything_feasible_is_searched_to_its_end():
    space = bq.Space(
        {"a": bq.Int(1, 200), "b": bq.Int(1, 200)},
        constraints=[lambda c: c["a"] % 50 == 0 and c["b"] % 60 == 0],
    )
    for strategy in ("random", "sobol"):
        result = bq.minimize(lambda c: 0.0, space, n_trials=40, seed=0, strategy=strategy)
        assert len(result.trials) == 12
        assert result.stopped.startswith("space exhausted")


def test_an_exhausted_space_ends_the_study():
    space = bq.Space({"n": bq.Int(1, 3)})
    result = bq.minimize(lambda c: c["n"], space, n_trials=10, seed=0)
    assert len(result.trials) == 3
    assert result.stopped.startswith("space exhausted")
    assert result.best_config == {"n": 1}


def test_the_objective_may_spoil_its_config(space):
    def objective(config):
        config.clear()
        return 0.0

    result = bq.minimize(objective, space, n_trials=3, seed=0)
    assert all(space.validate(t.config) for t in result.trials)


def test_going_on_from_a_history(space):
    whole = bq.minimize(value, space, n_trials=8, seed=4)
    first = bq.minimize(value, space, n_trials=5, seed=4)
    rest = bq.minimize(value, space, n_trials=3, seed=4, history=first.history)
    assert rest.trials == whole.trials


def test_limits_are_checked(space):
    with pytest.raises(ValueError, match="give n_trials, timeout or both"):
        bq.minimize(value, space)
    for bad in (0, -3, 2.5, True):
        with pytest.raises(ValueError, match="n_trials="):
            bq.minimize(value, space, n_trials=bad)  # type: ignore[arg-type]
    for bad in (0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="timeout="):
            bq.minimize(value, space, timeout=bad)
    with pytest.raises(TypeError, match="timeout must be a number"):
        bq.minimize(value, space, timeout="5")  # type: ignore[arg-type]
    assert len(bq.minimize(value, space, n_trials=np.int64(2)).trials) == 2  # type: ignore[arg-type]


def test_quiet_when_not_a_terminal_and_a_bar_at_one(space, capsys, monkeypatch):
    bq.minimize(value, space, n_trials=3, seed=0)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("FORCE_COLOR", "1")  # by which rich takes a pipe for a terminal
    for progress in (None, True):
        bq.minimize(lambda _: 1 / 0, space, n_trials=3, seed=0, progress=progress)
        shown = capsys.readouterr()
        assert shown.out == ""
        assert "3/3" in shown.err
        assert "no value yet (3 failed)" in shown.err
        assert shown.err.count("trial 0 failed: ZeroDivisionError") == 1
        assert "trial 1 failed" not in shown.err
        bq.minimize(lambda _: 0.125, space, n_trials=3, seed=0, progress=progress)
        assert "best 0.125" in capsys.readouterr().err
    bq.minimize(value, space, n_trials=3, seed=0, progress=False)
    assert capsys.readouterr() == ("", "")
