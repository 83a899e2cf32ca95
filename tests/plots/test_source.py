"""Everything that can be plotted, and what cannot."""

import pytest

import bosquet as bq
from bosquet.explain import Model
from bosquet.plots.source import history_of, model_for, model_or_reason

SPACE = bq.Space({"x": bq.Float(0, 1)})


def test_results_histories_optimizers_models_and_storages_have_a_history(tmp_path):
    storage = str(tmp_path / "runs.db")
    result = bq.minimize(
        lambda c: c["x"] ** 2, SPACE, n_trials=5, seed=0, storage=storage, progress=False
    )
    assert history_of(result) is result.history
    assert history_of(result.history) is result.history
    assert history_of(bq.Optimizer(SPACE, history=result.history)) is result.history
    assert len(history_of(storage)) == len(history_of(tmp_path / "runs.db")) == 5
    model = model_for(result)
    assert isinstance(model, Model)
    assert model_for(model) is model
    assert history_of(model) is result.history
    with bq.Study(storage) as study:
        assert len(history_of(study)) == 5
        assert model_for(study).history.best == result.best


def test_what_cannot_be_plotted_is_named():
    with pytest.raises(TypeError, match=r"a plot is of a Result, History.*, not of int 3"):
        history_of(3)


def test_why_there_is_no_model_is_told():
    model, reason = model_or_reason(bq.History(SPACE))
    assert model is None
    assert "this study has 0 complete trials" in reason
