"""The slice sampler against distributions whose moments are known."""

import numpy as np
import pytest
from scipy import stats

from bosquet.models.sampling import slice_sample


def chain(log_density, start, n=4000, width=1.0, bounds=(-np.inf, np.inf), seed=0):
    d = len(start)
    low, high = (np.full(d, edge) for edge in bounds)
    return slice_sample(
        log_density,
        np.array(start, dtype=float),
        np.full(d, width),
        n,
        np.random.default_rng(seed),
        bounds=(low, high),
        burn_in=20,
    )


@pytest.mark.parametrize("width", [0.1, 1.0, 20.0])
def test_a_skewed_density(width):
    """log of a Gamma variable; whatever the width that is given."""
    reference = stats.loggamma(3.0)
    drawn = chain(lambda x: float(reference.logpdf(x[0])), [0.0], width=width, n=3000)[:, 0]
    assert stats.kstest(drawn[::5], reference.cdf).pvalue > 0.01


def test_correlated_normals():
    precision = np.linalg.inv([[1.0, 0.8], [0.8, 1.0]])
    drawn = chain(lambda x: -0.5 * float((x - 1) @ precision @ (x - 1)), [0.0, 0.0], n=8000)
    np.testing.assert_allclose(drawn.mean(axis=0), 1.0, atol=0.15)
    np.testing.assert_allclose(np.cov(drawn.T), [[1.0, 0.8], [0.8, 1.0]], atol=0.2)


def test_bounds_and_a_density_with_holes():
    """Uniform on [0, 1] outside (0.4, 0.6), where the density is NaN."""

    def log_density(x):
        return np.nan if 0.4 < x[0] < 0.6 else 0.0

    drawn = chain(log_density, [0.1], bounds=(0.0, 1.0), n=3000)[:, 0]
    assert drawn.min() >= 0.0
    assert drawn.max() <= 1.0
    assert not ((drawn > 0.4) & (drawn < 0.6)).any()
    assert abs(np.mean(drawn < 0.4) - 0.5) < 0.06
    assert stats.kstest(drawn[drawn < 0.4][::3] / 0.4, "uniform").pvalue > 0.01


def test_the_same_generator_gives_the_same_chain_and_burn_in_is_dropped():
    def log_density(x):
        return -0.5 * float(x @ x)

    one, two = (chain(log_density, [3.0], n=5, seed=4) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    start, widths, rng = np.array([3.0]), np.ones(1), np.random.default_rng(4)
    edges = np.full(1, -9.0), np.full(1, 9.0)
    whole = slice_sample(log_density, start, widths, 25, rng, bounds=edges)
    np.testing.assert_array_equal(whole[20:], one)


def test_bad_arguments_are_said():
    with pytest.raises(ValueError, match="n=0 must be positive"):
        chain(lambda x: 0.0, [0.0], n=0)
    with pytest.raises(ValueError, match=r"start=\[2.0\] must lie within the bounds"):
        chain(lambda x: 0.0, [2.0], bounds=(0.0, 1.0))
    with pytest.raises(ValueError, match="have a density"):
        chain(lambda x: np.nan, [0.5])
