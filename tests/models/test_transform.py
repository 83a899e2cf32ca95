"""Targets and back: the transform that a model sees values through can be undone."""

import numpy as np
import pytest

from bosquet.models.transform import Scale, transform, undo_yeo_johnson, yeo_johnson

LAMBDAS = [0.0, 0.5, 1.0, 1.5, 2.0]


@pytest.mark.parametrize("lam", LAMBDAS)
def test_yeo_johnson_is_undone(lam):
    y = np.array([-30.0, -1.0, -1e-9, 0.0, 1e-9, 0.7, 40.0])
    np.testing.assert_allclose(undo_yeo_johnson(yeo_johnson(y, lam)[0], lam), y, rtol=1e-9)


@pytest.mark.parametrize("lam", LAMBDAS)
@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_a_scale_gives_the_targets_and_the_values_back(lam, size):
    y = size * np.random.default_rng(0).standard_normal(20)
    scale = Scale.of(y, lam)
    z = transform(y, np.full(20, np.nan), lam).z
    np.testing.assert_array_equal(scale.to_z(y), z)
    np.testing.assert_allclose(scale.to_y(z), y, rtol=1e-9, atol=1e-12 * size)


def test_the_slope_of_a_scale_is_its_derivative():
    y = np.array([0.3, 1.0, 2.5, 9.0])
    scale = Scale.of(y, 0.5)
    slope = (scale.to_z(y + 1e-6) - scale.to_z(y - 1e-6)) / 2e-6
    np.testing.assert_allclose(scale.with_slope(y)[1], slope, rtol=1e-6)


@pytest.mark.parametrize("lam", LAMBDAS)
def test_beyond_the_values_a_scale_is_no_steeper_than_at_their_ends(lam):
    y = np.array([-2.0, -0.5, 0.1, 0.3, 1.0, 4.0])
    scale = Scale.of(y, lam)
    low, high = scale.to_z(y[[0, -1]])
    z = np.linspace(low - 20.0, high + 20.0, 400)
    values = scale.to_y(z)
    np.testing.assert_allclose(scale.to_z(values), z, atol=1e-8)
    steepness = np.diff(values) / np.diff(z)
    ends = 1.0 / scale.with_slope(y[[0, -1]])[1]
    assert (steepness > 0).all()
    assert (steepness[values[1:] <= y[0]] <= ends[0] * (1 + 1e-9)).all()
    assert (steepness[values[:-1] >= y[-1]] <= ends[1] * (1 + 1e-9)).all()
