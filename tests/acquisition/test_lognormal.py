import numpy as np
import pytest

from bosquet.acquisition.lognormal import LognormalEI


@pytest.mark.parametrize(("mean", "sd"), [(0.5, 0.3), (-1.0, 1.2), (2.0, 0.9)])
def test_it_is_the_improvement_of_costs_whose_logarithms_are_normal(mean, sd):
    costs = np.exp(mean + sd * np.random.default_rng(0).standard_normal(2_000_000))
    expected = np.mean(np.maximum(np.exp(0.2) - costs, 0.0))
    found = LognormalEI(0.2).value(np.array([mean]), np.array([sd**2]))[0]
    assert np.exp(found) == pytest.approx(expected, rel=0.02)


def test_far_above_the_best_it_is_low_and_finite():
    values = LognormalEI(0.0).value(np.array([1.0, 5.0, 30.0]), np.full(3, 0.25))
    assert np.isfinite(values).all()
    assert (np.diff(values) < 0).all()


def test_it_is_not_the_improvement_of_the_logarithm():
    """A wide distribution gains less by going down in costs than in logarithms."""
    narrow, wide = LognormalEI(0.0).value(np.array([0.0, 0.0]), np.array([0.01, 9.0]))
    assert np.exp(wide) < 1.0
    assert np.exp(wide) / np.exp(narrow) < 30  # of logarithms: the ratio of the deviations
