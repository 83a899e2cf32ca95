"""What is remembered of fits, and what the next fit makes of it."""

import json

import numpy as np
import pytest

import bosquet as bq
from bosquet.data import History, Trial
from bosquet.models.gp import AdditiveGP
from bosquet.strategies import AddTree, Arc
from bosquet.strategies.additive import GraphSetting
from bosquet.strategies.base import Task
from bosquet.strategies.baselines import ArcSetting
from bosquet.strategies.fitting import FitRecord, Setting, records

SPACE = bq.Space({"x": bq.Float(0, 1)})


def history(*memories):
    trials = [
        Trial(i, {"x": i / 10}, "complete", float(i), memory=memory)
        for i, memory in enumerate(memories)
    ]
    return History(SPACE, trials)


@pytest.mark.parametrize(
    "setting",
    [
        Setting("se", 0.5),
        ArcSetting("matern52", bend=0.25),
        GraphSetting("se", edges=((0, 1), (1, 2)), lengths=(0.1, 3.2), noise=1e-4, learned_at=30),
    ],
)
def test_a_record_survives_json(setting):
    record = FitRecord({"noise": 0.1 + 0.2}, setting, 12, -3.5)
    stored = json.loads(json.dumps(record.to_json(), allow_nan=False))
    assert FitRecord.from_json(stored, type(setting)) == record


def test_a_record_of_other_settings_is_not_taken():
    stored = FitRecord({}, Setting("se")).to_json()
    assert FitRecord.from_json(stored, ArcSetting) is None
    assert FitRecord.from_json(FitRecord({}, ArcSetting("se")).to_json(), Setting) is not None


def test_the_last_record_of_a_name_comes_first():
    kept = [{"fits": {"a": FitRecord({}, Setting("se"), n).to_json()}} for n in range(3)]
    told = history(kept[0], kept[1], {}, {"fits": {"b": kept[2]["fits"]["a"]}})
    assert [record.fitted_at for record in records(told, "a", Setting)] == [1, 0]


def test_a_fit_with_a_kernel_that_is_not_wanted_does_not_count():
    told = history({"fits": {"add-tree": FitRecord({}, Setting("se"), 7).to_json()}})
    assert AddTree().last_fit(Task(SPACE, told)).fitted_at == 7
    assert AddTree(kernel="matern52").last_fit(Task(SPACE, told)).fitted_at == 0


@pytest.mark.parametrize("strategy", [AddTree(), Arc()])
def test_evidence_and_setting_are_on_the_fit(strategy):
    configs = SPACE.sample(0, 8)
    told = History(
        SPACE, [Trial(i, c, "complete", np.sin(9 * c["x"])) for i, c in enumerate(configs)]
    )
    fitted = strategy.fit(Task(SPACE, told), told.dataset(), np.random.default_rng(0))
    assert fitted.memory["fits"][strategy.name] == fitted.record.to_json()
    assert np.isfinite(fitted.record.evidence)
    assert isinstance(fitted.record.setting, strategy.setting_class)
    assert fitted.record.fitted_at == 8


def test_a_first_fit_looks_at_each_setting_once(monkeypatch):
    """Fits that end by their number of iterations gained a little by turns, hundreds of times."""
    fits = []

    def fit(self, starts, _iterations):
        fits.append(self)
        return starts[0], float(len(fits))  # each one better than the last

    monkeypatch.setattr(AdditiveGP, "fit", fit)
    told = history(*({} for _ in range(8)))
    AddTree().fit(Task(SPACE, told), told.dataset(), np.random.default_rng(0))
    assert len(fits) <= 2 * 3  # kernels by transforms
