"""The search of a region, which BOinG and TuRBO share."""

import numpy as np
import pytest

import bosquet as bq
from bosquet.acquisition.base import LogEI
from bosquet.data import History, Trial
from bosquet.models.covariance import SpaceGP
from bosquet.search.region import Region
from bosquet.strategies.base import Task
from bosquet.strategies.candidates import Candidates
from bosquet.strategies.choosing import Ask
from bosquet.strategies.fitting import fit_local
from bosquet.strategies.local import improve, local_covariance
from tests.support import present


def asked(constraints=(), candidates=None):
    """After some trials of a function that falls towards the upper right corner."""
    space = bq.Space({"x": bq.Float(0, 1), "y": bq.Float(0, 1)}, constraints)
    rows = np.random.default_rng(0).random((12, 2))
    trials = [
        Trial(i, {"x": x, "y": y}, "complete", -x - y) for i, (x, y) in enumerate(rows.tolist())
    ]
    allowed = None if candidates is None else Candidates(space, candidates)
    task = Task(space, History(space, trials), candidates=allowed, index=12)
    z = -rows.sum(axis=1) + rows.sum(axis=1).mean()
    noise = np.full(12, np.nan)
    fitted = fit_local(task, SpaceGP(local_covariance(space), rows, z, noise), z, noise)
    return Ask(task, fitted, float(z.min()), rows, task.taken, np.random.default_rng(1))


def region(ask):
    """The lower left quarter."""
    return Region(ask.task.space, np.array([0.25, 0.25]), np.zeros(2), np.full(2, 0.5))


def test_the_best_of_the_region_is_found():
    ask = asked()
    config, value = present(improve(ask, region(ask), None))
    assert max(config.values()) <= 0.5
    rivals = 0.5 * np.random.default_rng(2).random((2000, 2))
    belief = ask.fitted.posterior.on_path((0,))
    values = LogEI(ask.best, ask.fitted.noise).value(*belief.moments(rivals))
    assert value >= values.max() - 1e-6


def test_of_candidates_those_of_the_region_count():
    given = ({"x": 0.1, "y": 0.1}, {"x": 0.4, "y": 0.45}, {"x": 0.9, "y": 0.9})
    ask = asked(candidates=given)
    config, _ = present(improve(ask, region(ask), None))
    assert config == given[1]
    far = asked(candidates=given[2:])
    assert improve(far, region(far), None) is None


def test_constraints_that_leave_little_of_the_region():
    """The best rows all violate it; some of the random ones do not."""
    ask = asked([bq.Constraint(lambda c: c["x"] + c["y"] < 0.2, on=("x", "y"))])
    config, _ = present(improve(ask, region(ask), None))
    assert config["x"] + config["y"] == pytest.approx(0.2, abs=0.2)
    assert ask.task.space.violation(config) is None
