"""Moments, quantiles and draws of several posteriors agree with each other."""

from dataclasses import replace

import numpy as np
import pytest

from bosquet import Float, Space
from bosquet.explain.fit import fit_views
from bosquet.explain.held_out import Asked
from bosquet.explain.mixture import Mixture, interval_levels, root
from tests.explain.studies import studied, tree_space, tree_value


@pytest.fixture(scope="module")
def skewed():
    """Values over several powers of ten, which a model transforms."""
    space = Space({"x": Float(0, 1), "y": Float(0, 1)})
    history = studied(space, lambda c: float(np.exp(6 * c["x"] + 2 * c["y"])), 14)
    _, views = fit_views(history)
    return Mixture(space, views), views, space


def test_means_and_quantiles_are_those_of_the_transformed_back_normals(skewed):
    mixture, views, space = skewed
    assert any(view.scale.lam != 1.0 for view in views)
    X = space.to_unit(space.sample(5, 6))
    rng = np.random.default_rng(0)
    drawn, widened = [], []
    for view in views:
        mean, variance = view.posterior.on_path((0,)).moments(X)
        n = round(200_000 * view.weight)
        away = np.sqrt(variance) * rng.standard_normal((n, len(X)))
        y = view.scale.to_y(mean + away)
        drawn.append(y.mean(axis=0) + view.asked.wider * (y - y.mean(axis=0)))
        widened.append(view.scale.to_y(mean + view.asked.wider * away))
    y = np.vstack(drawn)
    mean, sd = mixture.mean_and_sd(X)
    np.testing.assert_allclose(mean, y.mean(axis=0), rtol=0.02, atol=0.02 * sd.max())
    np.testing.assert_allclose(sd, y.std(axis=0), rtol=0.1)
    levels = [0.05, 0.5, 0.95]
    np.testing.assert_allclose(
        mixture.quantiles(X, levels),
        np.quantile(np.vstack(widened), levels, axis=0),
        rtol=0.05,
        atol=0.05 * sd.max(),
    )


def test_draws_have_the_moments_of_the_mixture():
    space = tree_space()
    _, views = fit_views(studied(space, tree_value, 12))
    mixture = Mixture(space, views)
    X = space.to_unit(space.sample(3, 8))
    drawn = mixture.draws(X, 4000)
    mean, sd = mixture.mean_and_sd(X)
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=0.1 * sd.max())
    np.testing.assert_allclose(drawn.std(axis=0), sd, rtol=0.15, atol=1e-4)
    np.testing.assert_array_equal(mixture.draws(X), mixture.draws(X))
    np.testing.assert_allclose(mixture.levels(X), mean, atol=2 * sd.max())


def test_widening_leaves_means_and_widens_all_else():
    space = tree_space()
    _, views = fit_views(studied(space, tree_value, 12))
    X = space.to_unit(space.sample(3, 8))
    curved = replace(views[0].scale, lam=0.0)  # z far above zero becomes an exponential function
    narrow, wide = (
        Mixture(space, [replace(views[0], asked=Asked(factor), weight=1.0, scale=curved)])
        for factor in (1.0, 2.0)
    )
    (mean, sd), (same, twice) = (one.mean_and_sd(X) for one in (narrow, wide))
    np.testing.assert_allclose(same, mean)
    np.testing.assert_allclose(twice, 2.0 * sd)
    np.testing.assert_allclose(wide.draws(X) - mean, 2.0 * (narrow.draws(X) - mean), atol=1e-9)
    np.testing.assert_allclose(wide.left_out([0.5])[1], 2.0 * narrow.left_out([0.5])[1])


def test_odds_lower_chances_and_what_is_gained_by_them():
    space = tree_space()
    _, views = fit_views(studied(space, tree_value, 12))
    X = space.to_unit(space.sample(3, 8))
    believed, doubted = (
        Mixture(space, [replace(views[0], asked=Asked(2.0, odds), weight=1.0)])
        for odds in (1.0, 0.25)
    )
    mean, sd = believed.mean_and_sd(X)
    below = float(np.min(mean + 0.2 * sd))
    (chance, gain), (less, smaller) = (one.improvement(X, below) for one in (believed, doubted))
    np.testing.assert_allclose(less / (1 - less), 0.25 * chance / (1 - chance))
    np.testing.assert_allclose(smaller * chance, gain * less)
    assert 0.0 < doubted.room(X, below) < believed.room(X, below) < 1.0


@pytest.mark.parametrize("factor", [1.0, 2.0, 5.0])
def test_quantiles_are_those_of_widened_targets(factor):
    """Where the map is curved, the long tail alone becomes much longer."""
    space = tree_space()
    _, views = fit_views(studied(space, tree_value, 12))
    X = space.to_unit(space.sample(3, 8))
    curved = replace(views[0].scale, lam=0.0)
    wide = Mixture(space, [replace(views[0], asked=Asked(factor), weight=1.0, scale=curved)])
    z = views[0].posterior.joint(X)
    sd = np.sqrt(np.diag(z[1]))
    for level, place in ((0.05, -1.6449), (0.5, 0.0), (0.95, 1.6449)):
        expected = curved.to_y(z[0] + factor * place * sd)
        np.testing.assert_allclose(wide.quantiles(X, [level])[0], expected, rtol=1e-4, atol=1e-6)


def test_improvement_is_that_of_the_distribution():
    space = tree_space()
    _, views = fit_views(studied(space, tree_value, 12))
    mixture = Mixture(space, [replace(view, asked=Asked()) for view in views])
    X = space.to_unit(space.sample(3, 8))
    below = float(np.median(mixture.mean_and_sd(X)[0]))
    chance, gain = mixture.improvement(X, below)
    drawn = mixture.draws(X, 20_000)
    np.testing.assert_allclose(chance, (drawn < below).mean(axis=0), atol=0.03)
    by_hand = np.maximum(below - drawn, 0.0).mean(axis=0)
    np.testing.assert_allclose(gain, by_hand, atol=0.03 * drawn.std(axis=0).max())


def test_levels_of_an_interval():
    assert interval_levels(0.9) == pytest.approx((0.05, 0.95))
    for level in (0.0, 1.0, 90):
        with pytest.raises(ValueError, match=f"level={level}.* must lie between 0 and 1"):
            interval_levels(level)


def test_the_root_of_a_covariance_may_be_singular():
    rounding = 1e-9 * np.array([[1.0, -0.6, -0.6], [-0.6, 1.0, -0.6], [-0.6, -0.6, 1.0]])
    for covariance in (np.diag([1.0, 2.0]), np.ones((3, 3)), np.zeros((2, 2))):
        R = root(covariance)
        np.testing.assert_allclose(R @ R.T, covariance, atol=1e-6)
    assert np.isfinite(root(rounding)).all()
