"""Targets and back: the transform that a model sees values through can be undone."""

import numpy as np
import pytest

from bosquet.models.transform import COMPRESSED, Scale, compress, expand, transform

STRENGTHS = [0.0, 0.3, COMPRESSED]


@pytest.mark.parametrize("strength", STRENGTHS)
def test_a_compression_is_undone(strength):
    s = np.array([-30.0, -1.0, -1e-9, 0.0, 1e-9, 0.7, 40.0])
    t, log_slope = compress(s, strength)
    np.testing.assert_allclose(expand(t, strength), s, rtol=1e-9)
    numeric = (compress(s + 1e-6, strength)[0] - compress(s - 1e-6, strength)[0]) / 2e-6
    np.testing.assert_allclose(np.exp(log_slope), numeric, rtol=1e-5)


def test_what_is_below_the_median_is_not_compressed():
    """Dead settings far above the others: what tells the others apart must not be lost."""
    y = np.array([0.1, 0.2, 0.3, 0.5, 1.0, 6.0, 600.0])
    z = Scale.of(y, COMPRESSED).to_z(y)
    np.testing.assert_allclose(np.diff(z[:4]) / np.diff(y[:4]), (z[1] - z[0]) / 0.1)
    assert z[6] - z[5] < 10 * (z[3] - z[0])
    assert np.diff(Scale.of(y).to_z(y))[5] > 100 * (Scale.of(y).to_z(y)[3] - Scale.of(y).to_z(y)[0])


@pytest.mark.parametrize("y", [[2.0, 2.0, 2.0], [1.0, 1.0, 1.0, 5.0], [0.0, 0.0], [1.0]])
def test_where_nothing_is_below_the_median_the_spread_is_that_of_all(y):
    z = transform(np.array(y), np.full(len(y), np.nan), COMPRESSED).z
    assert np.all(np.isfinite(z))
    assert len(set(z)) == len(set(y))


@pytest.mark.parametrize("strength", STRENGTHS)
@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_a_scale_gives_the_targets_and_the_values_back(strength, size):
    y = size * np.random.default_rng(0).standard_normal(20)
    scale = Scale.of(y, strength)
    z = transform(y, np.full(20, np.nan), strength).z
    np.testing.assert_array_equal(scale.to_z(y), z)
    np.testing.assert_allclose(scale.to_y(z), y, rtol=1e-9, atol=1e-12 * size)


@pytest.mark.parametrize("strength", STRENGTHS)
def test_targets_are_standardised_with_their_jacobian(strength):
    rng = np.random.default_rng(0)
    y = rng.gamma(2.0, size=30) * 50
    noise = np.where(rng.random(30) < 0.5, 1.0, np.nan)
    targets = transform(y, noise, strength)
    assert targets.z.mean() == pytest.approx(0.0, abs=1e-12)
    assert targets.z.std() == pytest.approx(1.0)
    assert np.all(np.diff(targets.z[np.argsort(y)]) > 0)
    numeric = np.diff([Scale.of(y, strength).to_z(y + step) for step in (-1e-6, 1e-6)], axis=0)
    expected = (numeric[0] / 2e-6) ** 2
    known = ~np.isnan(noise)
    np.testing.assert_allclose(targets.noise[known], expected[known], rtol=1e-6)
    assert targets.log_jacobian == pytest.approx(0.5 * np.log(expected).sum(), rel=1e-6)


def test_targets_of_odd_values():
    for y in ([1.0, 1.0], [0.0, 0.0], [1e300, -1e300], [1e-300, 0.0], [5.0, 5.0 + 1e-15]):
        targets = transform(np.array(y), np.array([np.nan, 0.1]))
        assert np.all(np.isfinite(targets.z))
        assert np.isfinite(targets.noise[1])


@pytest.mark.parametrize("strength", STRENGTHS)
@pytest.mark.parametrize("e", [-1060, -1000, 900, 1021])
def test_targets_near_the_ends_of_the_floats(e, strength):
    """A power of two changes nothing but the Jacobian, which says how much."""
    y = np.array([-1.0, 0.25, 0.5, 1.5, 1.75])
    noise = np.array([np.nan, 0.0, np.nan, 0.0, np.nan])
    plain, odd = (transform(values, noise, strength) for values in (y, np.ldexp(y, e)))
    np.testing.assert_allclose(odd.z, plain.z, rtol=1e-12)
    np.testing.assert_array_equal(odd.noise, plain.noise)
    assert odd.log_jacobian == pytest.approx(plain.log_jacobian - 5 * e * np.log(2.0))
