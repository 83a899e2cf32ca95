"""The annealed population against distributions that are known."""

import numpy as np
import pytest
from scipy import stats

from bosquet.models.sampling import annealed

LOW, HIGH = -20.0, 20.0


def drawn(log_target, d=1, n=1000, seed=0, low=LOW, high=HIGH):
    """From a population that is even within the bounds."""
    rng = np.random.default_rng(seed)
    bounds = np.full(d, low), np.full(d, high)
    start = rng.uniform(low, high, (n, d))
    return annealed(start, lambda x: np.zeros(len(x)), log_target, bounds, rng)


def test_a_skewed_density():
    """log of a Gamma variable."""
    reference = stats.loggamma(3.0)
    found = drawn(lambda x: reference.logpdf(x[:, 0]))[:, 0]
    assert stats.kstest(found, reference.cdf).pvalue > 0.01


def test_correlated_normals():
    covariance = [[1.0, 0.95], [0.95, 1.0]]
    precision = np.linalg.inv(covariance)
    found = drawn(lambda x: -0.5 * np.einsum("ij,jk,ik->i", x - 1, precision, x - 1), d=2)
    np.testing.assert_allclose(found.mean(axis=0), 1.0, atol=0.15)
    np.testing.assert_allclose(np.cov(found.T), covariance, atol=0.2)


@pytest.mark.parametrize("seed", range(3))
def test_modes_far_apart_have_their_shares(seed):
    """A narrow mode with 0.3 of the mass, 33 of its standard deviations from a wide one."""

    def log_target(x):
        narrow = stats.norm(-5, 0.3).logpdf(x).sum(axis=1)
        wide = stats.norm(5, 1.0).logpdf(x).sum(axis=1)
        return np.logaddexp(np.log(0.3) + narrow, np.log(0.7) + wide)

    found = drawn(log_target, d=2, seed=seed)
    assert np.mean(found[:, 0] < 0) == pytest.approx(0.3, abs=0.12)
    assert np.std(found[found[:, 0] < 0], axis=0) == pytest.approx([0.3] * 2, rel=0.25)


def test_bounds_and_a_density_with_holes():
    """Even on [0, 1] outside (0.4, 0.6), where there is no density."""

    def log_target(x):
        return np.where((x[:, 0] > 0.4) & (x[:, 0] < 0.6), -np.inf, 0.0)

    found = drawn(log_target, low=0.0, high=1.0)[:, 0]
    assert found.min() >= 0.0
    assert found.max() <= 1.0
    assert not ((found > 0.4) & (found < 0.6)).any()
    assert abs(np.mean(found < 0.4) - 0.5) < 0.06
    assert stats.kstest(found[found < 0.4] / 0.4, "uniform").pvalue > 0.01


def test_the_density_to_start_from_is_accounted_for():
    """Normal draws, weighted to an even density times a normal one."""
    rng = np.random.default_rng(0)
    start = rng.standard_normal((1000, 1))
    bounds = np.full(1, -9.0), np.full(1, 9.0)
    target = stats.norm(1.0, 0.5)
    found = annealed(
        start,
        lambda x: -0.5 * x[:, 0] ** 2,
        lambda x: target.logpdf(x[:, 0]),
        bounds,
        rng,
    )
    assert stats.kstest(found[:, 0], target.cdf).pvalue > 0.01


def test_the_same_generator_gives_the_same_points():
    one, two = (drawn(lambda x: -0.5 * x[:, 0] ** 2, n=50, seed=4) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_bad_arguments_are_said():
    rng, edges = np.random.default_rng(0), (np.zeros(1), np.ones(1))

    def none(x):
        return np.full(len(x), -np.inf)

    with pytest.raises(ValueError, match="7 points are too few"):
        annealed(np.full((7, 1), 0.5), none, none, edges, rng)
    with pytest.raises(ValueError, match="must lie within the bounds"):
        annealed(np.full((8, 1), 2.0), none, none, edges, rng)
    with pytest.raises(ValueError, match="has a density"):
        annealed(np.full((8, 1), 0.5), none, none, edges, rng)
