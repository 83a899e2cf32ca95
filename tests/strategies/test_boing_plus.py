import pytest

import bosquet as bq
from bosquet.data import History
from bosquet.search.region import Region
from bosquet.search.subregion import subregion
from bosquet.strategies import BOinGPlus
from bosquet.strategies import boing_plus as module
from bosquet.strategies.switching import Switching
from bosquet.testing import STRATEGY_CHECKS


class EarlyPlus(BOinGPlus):
    def __init__(self, **options):
        super().__init__(points_per_dimension=1, **options)


@pytest.fixture
def always_turbo(monkeypatch):
    """Switches at every ask that may."""
    monkeypatch.setattr(Switching, "probability", property(lambda self: self.engine == "boing"))


@pytest.mark.parametrize("check", STRATEGY_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.usefixtures("always_turbo")
def test_the_turbo_stage_conforms(check):
    check(EarlyPlus)


@pytest.mark.usefixtures("always_turbo")
def test_turbo_works_in_the_largest_of_the_sampled_subregions(monkeypatch):
    seen = []

    def spy(*arguments):
        found = subregion(*arguments)
        seen.append(found[0])
        return found

    problem = bq.benchmarks.levy(3, shift=0)
    opt = bq.Optimizer(problem.space, EarlyPlus(), seed=0)
    for _ in range(10):
        trial = opt.ask()
        opt.tell(trial, problem(trial.config))
        if trial.info["engine"] == "turbo":
            break
        monkeypatch.setattr(module, "subregion", spy)
        seen.clear()
    assert trial.info["engine"] == "turbo"
    region = Region.from_json(problem.space, trial.memory["turbo"]["region"])
    assert len(seen) == 20
    assert region.volume == max(one.volume for one in seen)
    assert region.contains(problem.space.to_unit([trial.config])).all()
    # The same run goes on until it is worn out, then another one begins.
    starts = []
    for _ in range(22):
        trial = opt.ask()
        assert trial.info["engine"] == "turbo"
        starts.append(trial.memory["turbo"]["start"])
        opt.tell(trial, 1e3 + trial.number)
    assert starts == sorted(starts)
    assert len(set(starts)) == 2
    assert starts.count(starts[0]) in (15, 16)  # from 0.8, four times four failures: below 2^-4


def test_boing_plus_hands_over_when_nothing_better_is_found():
    space = bq.Space({"x": bq.Float(0, 1), "y": bq.Float(0, 1)})
    opt = bq.Optimizer(space, EarlyPlus(), seed=0)
    engines = []
    for i in range(40):
        trial = opt.ask()
        engines.append(trial.info["engine"])
        opt.tell(trial, float(i))
    assert {"gp", "boing", "turbo"} == set(engines)
    again = bq.Optimizer(
        space, EarlyPlus(), seed=0, history=History(space, opt.history.trials[:25])
    )
    assert again.ask().config == opt.history.trials[25].config
