"""When BOinG+ hands over, and back (Appendix B.2)."""

import numpy as np
import pytest

import bosquet as bq
from bosquet.data import History, Trial
from bosquet.strategies.switching import Switching, switching


def played(*steps, d=2):
    state = Switching()
    for engine, improved in steps:
        state = state.after(engine, improved, d)
    return state


def test_counters_of_appendix_b2():
    fails = [("boing", False)] * 5
    assert played(*fails).counts == (2.0, 0.0)  # once per d failures
    assert played(*fails).probability == pytest.approx(0.2)
    assert played(*fails, ("boing", True)).counts == (1.0, 0.0)
    assert played(*fails, ("boing", True), ("boing", False)).counts == (1.0, 0.0)
    switched = played(*fails, ("turbo", False))
    assert switched.counts == (1.0, 0.0)  # halved
    assert switched.probability == 0.0
    assert played(*fails, *[("turbo", False)] * 4).counts == (1.0, 2.0)
    assert played(*fails, *[("turbo", False)] * 4, ("boing", False)).counts == (1.5, 1.0)
    assert played(*fails, ("turbo", True)).probability == 1.0  # back at once
    assert played(*[("boing", False)] * 60).probability == 1.0


def test_the_state_comes_from_the_history_alone():
    space = bq.Space({"x": bq.Float(0, 1)})
    steps = [
        ("gp", 3.0),
        ("boing", 3.5),
        ("design", 9.0),
        ("boing", None),
        ("boing", 2.0),
        ("turbo", 1.0),
    ]
    trials = [
        Trial(i, {"x": i / 10}, "failed", reason="no", memory={"engine": e})
        if v is None
        else Trial(i, {"x": i / 10}, "complete", v, memory={"engine": e})
        for i, (e, v) in enumerate(steps)
    ]
    trials.append(Trial(6, {"x": 0.9}, "complete", 5.0, info={"why": "added by the user"}))
    state = switching(History(space, trials), 2)
    assert (state.engine, state.improved, state.probability) == ("turbo", True, 1.0)
    assert state.counts == (0.0, 0.0)
    rng = np.random.default_rng(0)
    assert state.next(rng) == "boing"


def test_the_authors_draw_every_d_failures_and_when_turbo_collapses():
    for k in range(1, 9):
        assert played(*[("boing", False)] * k, d=3).due(collapsed=False) == (k % 3 == 0)
    assert not played(("boing", True), d=1).due(collapsed=False)
    turbo = [("boing", False)] * 2, ("turbo", False)
    state = played(*turbo[0], *[turbo[1]] * 4, d=2)
    assert not state.due(collapsed=False)
    assert state.due(collapsed=True)
    assert played(*turbo[0], ("turbo", True)).due(collapsed=False)  # back at once


def test_appendix_b2_written_out():
    """Sentence by sentence, over random runs of both engines."""
    rng = np.random.default_rng(0)
    for d in (1, 3, 5):
        state, engine = Switching(), "boing"
        c_fail = {"boing": 0.0, "turbo": 0.0}
        in_vain = {"boing": 0, "turbo": 0}
        for _ in range(400):
            better = bool(rng.random() < 0.15)
            if better:  # "decrease it if a better configuration was found"
                c_fail[engine] = max(c_fail[engine] - 1, 0)
                in_vain[engine] = 0
            else:  # "increase it every n_dim times when we have not found a better one"
                in_vain[engine] += 1
                if in_vain[engine] % d == 0:
                    c_fail[engine] += 1
            state = state.after(engine, better, d)
            assert state.counts == (c_fail["boing"], c_fail["turbo"])
            # "if TuRBO finds a better configuration, we switch back directly"; Eq. (1)
            back = engine == "turbo" and better
            assert state.probability == (1.0 if back else min(0.1 * c_fail[engine], 1.0))
            if rng.random() < state.probability:  # "we halve their failure counts"
                engine = {"boing": "turbo", "turbo": "boing"}[engine]
                c_fail = {name: count / 2 for name, count in c_fail.items()}
