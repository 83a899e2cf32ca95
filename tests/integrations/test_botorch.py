"""Needs BoTorch: `make test-botorch`."""

import warnings

import numpy as np
import pytest

import bosquet as bq
from tests.test_docs import ROOT, run_examples

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    torch = pytest.importorskip("torch")
    pytest.importorskip("botorch", reason="run make test-botorch")
    from botorch.acquisition import LogExpectedImprovement, qLogExpectedImprovement
    from botorch.optim import optimize_acqf_mixed

from bosquet.integrations.botorch import BosquetModel
from bosquet.models.transform import moments, transform
from bosquet.strategies import get
from bosquet.strategies.base import Task
from bosquet.strategies.gp_strategy import GPStrategy

pytestmark = pytest.mark.filterwarnings("default")

SPACE = bq.Space(
    {
        "lr": bq.Float(1e-4, 1e-1, log=True),
        "layers": bq.Int(1, 5),
        "model": bq.Choice(
            {
                "svm": {"C": bq.Float(0, 1), "kernel": bq.Choice(["linear", "rbf", "poly"])},
                "forest": {"depth": bq.Int(1, 200)},
                "boosting": {"eta": bq.Float(0.01, 1.0)},
                ("forest", "boosting"): {"trees": bq.Float(0, 1)},
            }
        ),
    }
)


def value(config):
    x = np.log10(config["lr"]) + 0.1 * config["layers"]
    if config["model"] == "svm":
        return x + (config["C"] - 0.3) ** 2 + (config["kernel"] == "rbf")
    extra = config.get("eta", 0.5) + config.get("depth", 0) / 100
    return x + 2 * (config["trees"] - 0.6) ** 2 + extra


def history(direction="minimize", noise=None, n=24, space=SPACE):
    rng = np.random.default_rng(0)
    trials = [
        bq.Trial(i, config, "complete", 5 * value(config) + 100, noise_variance=noise)
        for i, config in enumerate(space.sample(rng, n, by="path"))
    ]
    return bq.History(space, trials, direction)


def ours(past, strategy):
    """The same fit by bosquet alone; what turns z into values; rows of every path."""
    chosen = get(strategy)
    assert isinstance(chosen, GPStrategy)
    chosen.transforms = False
    data = past.dataset()
    fitted = chosen.fit(Task(past.space, past), data, np.random.default_rng(0))
    centre, spread = moments(data.y)
    np.testing.assert_allclose(transform(data.y, data.noise).z, (data.y - centre) / spread)
    rows = past.space.to_unit(past.space.sample(np.random.default_rng(1), 40, by="path"))
    return fitted, centre, spread, rows


@pytest.mark.parametrize("strategy", ["add-tree", "independent"])
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize("noise", [None, 0.3, 0.0])
def test_the_posterior_is_ours(strategy, direction, noise):
    past = history(direction, noise)
    model = BosquetModel(past, strategy)
    fitted, centre, spread, rows = ours(past, strategy)
    sign = 1 if direction == "minimize" else -1
    for path, where in past.space.tree.rows_by_path(rows).items():
        mean, covariance = fitted.posterior.on_path(path).joint(rows[where])
        posterior = model.posterior(torch.from_numpy(rows[where]))
        scale = np.abs(past.dataset().y).max()
        np.testing.assert_allclose(
            posterior.mean[:, 0].numpy(), sign * (centre + spread * mean), atol=1e-8 * scale
        )
        theirs = posterior.distribution.covariance_matrix.numpy()
        np.testing.assert_allclose(theirs, spread**2 * covariance, atol=1e-8 * spread**2)
        marginal = model.posterior(torch.from_numpy(rows[where])[:, None, :]).variance
        np.testing.assert_allclose(
            marginal[:, 0, 0].numpy(), np.diag(theirs), atol=1e-8 * spread**2
        )


def test_rows_of_different_paths_covary_as_the_prior_says():
    """What one path's rows learn from another's: the same whether asked for together or alone."""
    past = history()
    model = BosquetModel(past)
    *_, rows = ours(past, "add-tree")
    together = model.posterior(torch.from_numpy(rows)).mean[:, 0]
    alone = torch.cat([model.posterior(torch.from_numpy(row)[None]).mean[:, 0] for row in rows])
    np.testing.assert_allclose(together, alone, atol=1e-7)


def test_gradients_are_ours():
    past = history()
    model = BosquetModel(past)
    fitted, _, spread, rows = ours(past, "add-tree")
    continuous = [d.index for d in SPACE.dimensions if isinstance(d.parameter, bq.Float)]
    for path, where in past.space.tree.rows_by_path(rows).items():
        X = torch.from_numpy(rows[where])[:, None, :].requires_grad_(True)
        posterior = model.posterior(X)
        (by_mean,) = torch.autograd.grad(posterior.mean.sum(), X, retain_graph=True)
        (by_variance,) = torch.autograd.grad(posterior.variance.sum(), X)
        _, _, mean, variance = fitted.posterior.on_path(path).moments_with_gradients(rows[where])
        np.testing.assert_allclose(
            by_mean[:, 0, continuous], spread * mean[:, continuous], atol=1e-6
        )
        np.testing.assert_allclose(
            by_variance[:, 0, continuous], spread**2 * variance[:, continuous], atol=1e-6
        )


def test_discrete_coordinates_are_snapped():
    model = BosquetModel(history())
    row = SPACE.to_unit(SPACE.sample(np.random.default_rng(3)))
    layers = next(d.index for d in SPACE.dimensions if d.name == "layers")
    moved = row.copy()
    moved[layers] += 0.05
    means = model.posterior(torch.from_numpy(np.stack([row, moved]))).mean
    assert means[0] == pytest.approx(means[1])


def test_an_acquisition_is_optimised_over_all_paths():
    past = history()
    model = BosquetModel(past)
    acquisition = LogExpectedImprovement(model, best_f=past.best.value, maximize=False)
    torch.manual_seed(0)
    candidate, found = optimize_acqf_mixed(
        acquisition,
        bounds=model.bounds,
        q=1,
        num_restarts=4,
        raw_samples=32,
        fixed_features_list=model.fixed_features(),
    )
    (config,) = model.configs(candidate)
    assert SPACE.validate(config) == config
    rows = SPACE.to_unit(SPACE.sample(np.random.default_rng(5), 500, by="path"))
    random = acquisition(torch.from_numpy(rows)[:, None, :])
    assert found >= random.max()


def test_batches_and_fantasies():
    past = history("maximize")
    model = BosquetModel(past)
    acquisition = qLogExpectedImprovement(model, best_f=past.best.value)
    rows = torch.from_numpy(SPACE.to_unit(SPACE.sample(np.random.default_rng(5), 6)))
    assert acquisition(rows.reshape(3, 2, -1)).shape == (3,)
    told = model.posterior(rows[:1]).mean + 7.0
    later = model.condition_on_observations(rows[:1], told, noise=torch.full_like(told, 1e-8))
    # GPyTorch raises so little noise to 1e-6, which keeps the mean a little behind what was told.
    assert later.posterior(rows[:1]).mean.item() == pytest.approx(told.item(), abs=0.01)


def test_fixed_features():
    listed = BosquetModel(history()).fixed_features()
    assert len(listed) == SPACE.n_paths
    free = [{d.name for d in SPACE.dimensions if d.index not in fixed} for fixed in listed]
    assert {"lr", "layers", "C", "kernel"} in free
    assert {"lr", "layers", "depth", "trees"} in free


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        ("arc", "'arc' embeds its rows"),
        ("turbo", "'turbo' has no covariance"),
        ("none", "must be one of"),
    ],
)
def test_what_cannot_be_handed_over(strategy, message):
    with pytest.raises(ValueError, match=message):
        BosquetModel(history(), strategy)


def test_without_trials():
    with pytest.raises(ValueError, match="at least one complete trial"):
        BosquetModel(bq.History(SPACE))


def test_the_page():
    run_examples(ROOT / "docs/guides/integrations/botorch.md", " needs-botorch")
