"""The fit of hyper-parameters, on log posteriors whose maximum is known."""

import numpy as np
import pytest
import scipy
from scipy.optimize import OptimizeResult

from bosquet.models.fitting import maximise, minimise, with_prior
from bosquet.models.priors import Hyperparameters


def hyper(mean, sd=np.inf):
    mean = np.asarray(mean, dtype=float)
    size = len(mean)
    names = tuple(f"theta {i}" for i in range(size))
    sds, edge = np.full(size, sd), np.full(size, 5.0)
    return Hyperparameters(np.zeros(size), np.eye(size), mean, sds, -edge, edge, names)


def two_hills(theta):
    """Two maxima, near -2 and near 3; the second one is higher."""
    (x,) = theta
    heights = np.array([1.0, 2.0])
    gaps = x - np.array([-2.0, 3.0])
    hills = heights * np.exp(-0.5 * gaps**2)
    return float(hills.sum()), np.array([-(hills * gaps).sum()])


def test_the_best_of_several_starts_wins():
    low, low_value = maximise(two_hills, hyper([0.0]), [np.array([-3.0])])
    best, value = maximise(two_hills, hyper([0.0]), [np.array([-3.0]), np.array([4.0])])
    assert low == pytest.approx([-2.0], abs=0.01)
    assert best == pytest.approx([3.0], abs=0.01)
    assert value > low_value
    assert value == pytest.approx(two_hills(best)[0])


def test_bounds_hold_for_starts_and_results():
    best, value = maximise(
        lambda theta: (float(theta[0]), np.ones(1)), hyper([0.0]), [np.array([99.0])]
    )
    assert best.tolist() == [5.0]
    assert value == 5.0


def test_a_covariance_without_a_factor_is_avoided():
    def fails_above_one(theta):
        if theta[0] > 1.0:
            raise np.linalg.LinAlgError
        return -float((theta[0] - 0.5) ** 2), -2.0 * (theta - 0.5)

    best, value = maximise(fails_above_one, hyper([0.0]), [np.array([-4.0]), np.array([0.0])])
    assert best == pytest.approx([0.5], abs=1e-3)
    assert value == pytest.approx(0.0, abs=1e-6)
    best, value = maximise(lambda _: (np.nan, np.zeros(1)), hyper([0.0]), [np.array([2.0])])
    assert best.tolist() == [2.0]
    assert value < -1e20  # whoever chooses by evidence does not choose this


@pytest.mark.parametrize("edge", [0.9, 0.05, 1e-3])
def test_a_first_step_into_nowhere_does_not_end_the_fit(edge):
    """The first step of the line search has length one, and meets no value there."""

    def fails_beyond(theta):
        if theta[0] > edge:
            raise np.linalg.LinAlgError
        gap = theta - 0.8 * edge
        return -50.0 * float(gap @ gap), -100.0 * gap

    best, _ = maximise(fails_beyond, hyper([0.0]), [np.zeros(1)])
    assert best == pytest.approx([0.8 * edge], rel=1e-3)


def test_nothing_to_be_fitted():
    best, value = maximise(lambda _: (-3.0, np.zeros(0)), hyper([]), [np.zeros(0)])
    assert len(best) == 0
    assert value == -3.0


def test_the_prior_is_added_with_its_gradient():
    prior = hyper([1.0, -1.0], sd=2.0)
    theta = np.array([3.0, 0.0])
    value, gradient = with_prior(lambda t: (float(t.sum()), np.ones(2)), prior, theta)
    assert value == pytest.approx(3.0 - 0.5 * (1.0 + 0.25))
    assert gradient.tolist() == pytest.approx([1.0 - 0.5, 1.0 - 0.25])


def test_a_gradient_is_that_of_the_point_whatever_was_asked_before(monkeypatch):
    """SciPy asks for the value and the gradient of one point after the other; it need not."""

    def asks_elsewhere(value, start, jac, **_):
        np.testing.assert_array_equal(jac(start), 2.0 * start)
        assert value(start) == 1.0
        np.testing.assert_array_equal(jac(start + 1.0), 2.0 * (start + 1.0))
        return OptimizeResult(x=start, fun=value(start))

    monkeypatch.setattr(scipy.optimize, "minimize", asks_elsewhere)
    x, lowest = minimise(
        lambda x: (float(x @ x), 2.0 * x), np.array([1.0]), -np.ones(1), np.ones(1)
    )
    assert x.tolist() == [1.0]
    assert lowest == 1.0
