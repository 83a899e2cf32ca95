"""The model for users: their units, their sign, and clear words where there is nothing to say."""

import numpy as np
import pytest

import bosquet as bq
from bosquet.explain import Model, model_of
from tests.explain.studies import studied, tree_space, tree_value

SMALL = bq.Space({"x": bq.Float(0, 1), "y": bq.Float(0, 1)})


def bowl(config):
    return 100.0 + 50.0 * (config["x"] - 0.4) ** 2 + 20.0 * config["y"]


def test_predictions_are_near_the_truth_in_its_own_units(tree_model):
    configs = tree_model.space.sample(1, 50)
    truth = np.array([tree_value(config) for config in configs])
    mean, sd = tree_model.predict(configs)
    assert mean.shape == sd.shape == (50,)
    np.testing.assert_allclose(mean, truth, atol=0.2)
    low, high = tree_model.interval(configs, 0.95)
    assert np.mean((low <= truth) & (truth <= high)) > 0.8
    wide_low, wide_high = tree_model.interval(configs, 0.99)
    assert (wide_low <= low).all()
    assert (high <= wide_high).all()


def test_maximising_the_negative_says_the_negative():
    low = Model(studied(SMALL, bowl))
    high = Model(studied(SMALL, lambda config: -bowl(config), direction="maximize"))
    configs = SMALL.sample(1, 20)
    for one, other in zip(low.predict(configs), high.predict(configs), strict=True):
        np.testing.assert_allclose(np.abs(one), np.abs(other), rtol=1e-6, atol=1e-6)
    assert (high.predict(configs)[0] < 0).all()
    ends, turned = low.interval(configs), high.interval(configs)
    np.testing.assert_allclose(turned[0], -ends[1], rtol=1e-6, atol=1e-6)
    assert low.best_predicted()[0].config["x"] == pytest.approx(0.4, abs=0.05)
    assert high.best_predicted()[0].config["x"] == pytest.approx(0.4, abs=0.05)
    assert high.best_predicted()[0].mean == pytest.approx(-100.0, abs=0.5)
    effects = {effect.parameter: effect.mean for effect in high.effects()}
    np.testing.assert_allclose(np.diff(effects["y"]), -1.0, atol=0.05)


def test_one_configuration_is_a_list_of_one():
    model = Model(studied(SMALL, bowl, 12))
    mean, sd = model.predict({"x": 0.5, "y": 0.5})
    assert mean.shape == sd.shape == (1,)
    with pytest.raises(bq.ConfigError, match="x"):
        model.predict({"x": 2.0, "y": 0.5})


def test_noise_widens_what_a_further_evaluation_may_be():
    rng = np.random.default_rng(0)
    model = Model(studied(SMALL, lambda config: bowl(config) + rng.standard_normal(), 40))
    config = {"x": 0.4, "y": 0.5}
    noisy, plain = model.predict(config, noise=True)[1][0], model.predict(config)[1][0]
    assert plain < noisy
    assert 0.5 < noisy < 2.0
    stated = bq.History(
        SMALL,
        [
            bq.Trial(i, c, "complete", bowl(c), noise_variance=4.0)
            for i, c in enumerate(SMALL.sample(0, 20))
        ],
    )
    model = Model(stated)
    assert model.predict(config, noise=True)[1][0] == pytest.approx(2.0, rel=0.5)


def test_leaving_one_out_predicts_each_trial_without_itself(tree_model):
    left_out = tree_model.leave_one_out()
    assert [one.trial.number for one in left_out] == [t.number for t in tree_model.trials]
    assert all(one.low < one.mean < one.high for one in left_out)
    assert all(0.0 <= one.level <= 1.0 for one in left_out)
    # An outlier is not where the others put it, and the model has not seen it there.
    # One of forty is rare enough for intervals that hold nine of ten.
    history = studied(SMALL, bowl, 40)
    wrong = bq.Trial(99, {"x": 0.5, "y": 0.5}, "complete", 500.0)
    one = Model(history.with_trial(wrong)).leave_one_out()[-1]
    assert one.trial is wrong
    assert one.mean < 300.0
    assert one.level > 0.95


def test_a_model_says_what_was_fitted(tree_model):
    assert "29 trials" in str(tree_model)
    assert "log evidence" in repr(tree_model)
    assert sum(belief.weight for belief in tree_model.beliefs) == pytest.approx(1.0)
    assert tree_model.branches == ("model=svm", "model=forest")


def test_of_very_many_trials_some_are_fitted(monkeypatch):
    monkeypatch.setattr("bosquet.explain.fit.MOST", 30)
    space = bq.Space({"x": bq.Float(0, 1)})
    model = Model(studied(space, lambda config: config["x"] ** 2, 32), bq.strategies.FlatGP())
    assert len(model.trials) == 30
    assert "30 of 32 trials" in str(model)
    assert model.history.best in model.trials


@pytest.mark.parametrize(
    ("history", "message"),
    [
        (studied(SMALL, bowl, 0), "this study has 0 complete trials"),
        (studied(SMALL, bowl, 5, failed=[0, 1]), r"this study has 3 complete trials \(2 failed\)"),
        (studied(SMALL, lambda _: 7.0, 6), "6 complete trials, all with the value 7.0"),
    ],
)
def test_there_is_no_model_before_there_are_values(history, message):
    with pytest.raises(bq.ModelError, match="a model needs at least 4 complete trials") as caught:
        model_of(history)
    assert caught.match(message)


def test_unknown_branches_and_parameters_are_named(tree_model):
    with pytest.raises(bq.ModelError, match="'model=svn' is no branch of this space; did you mean"):
        tree_model.effects("model=svn")
    with pytest.raises(bq.ModelError, match="'depth' is no parameter of model=svm"):
        tree_model.effects("model=svm", ["depth"])
    with pytest.raises(ValueError, match="must lie between 0 and 1"):
        tree_model.interval(tree_model.space.sample(0, 1), 90)


def test_results_and_optimizers_have_their_model():
    result = bq.minimize(bowl, SMALL, n_trials=6, seed=0, strategy="random", progress=False)
    assert result.model() is result.model()
    optimizer = bq.Optimizer(SMALL, strategy="flat-gp", history=result.history, seed=0)
    model = optimizer.model()
    assert [belief.strategy for belief in model.beliefs] == ["flat-gp"]
    assert optimizer.model() is model
    with pytest.raises(bq.ModelError, match="this study has 0 complete trials"):
        bq.Optimizer(SMALL).model()


@pytest.mark.parametrize(
    "strategy", ["add-tree", "additive", "arc", "independent", "tree-ei", "htbo"]
)
def test_every_strategy_has_a_model(strategy):
    space = tree_space()
    result = bq.minimize(tree_value, space, n_trials=9, seed=0, strategy=strategy, progress=False)
    model = result.model()
    own = strategy if strategy not in ("tree-ei", "htbo") else "add-tree"
    assert own in [belief.strategy for belief in model.beliefs]
    mean, sd = model.predict(space.sample(0, 5))
    assert np.isfinite(mean).all()
    assert (sd > 0).all()


def test_a_warped_model_explains_too():
    strategy = bq.strategies.AddTree(warp=True)
    model = Model(studied(tree_space(), tree_value, 10), strategy)
    assert model.importance()[0].parameter in ("model", "model=svm/C")
    assert len(model.leave_one_out()) == 10
