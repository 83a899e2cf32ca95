import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import approx_fprime

from bosquet.acquisition.base import LogEI
from bosquet.acquisition.ei import log_ei, log_ei_gradient, log_h


@pytest.mark.parametrize("z", [5.0, 0.3, -0.99, -1.01, -4.0, -24.9, -25.1, -100.0, -1e4])
def test_log_h_is_accurate_everywhere(z):
    # h(z) = phi(z) * integral of t exp(z t - t^2 / 2) over t > 0, substituted to have width 1.
    width = 1.0 / max(1.0, -z)

    def integrand(u):
        return u * np.exp(z * width * u - (width * u) ** 2 / 2)

    integral = quad(integrand, 0, 60, epsabs=0, epsrel=1e-12, limit=200)[0] * width**2
    expected = -0.5 * z**2 - 0.5 * np.log(2 * np.pi) + np.log(integral)
    assert float(log_h(np.array(z))) == pytest.approx(expected, rel=1e-9)


def test_ei_equals_monte_carlo():
    rng = np.random.default_rng(0)
    draws = 0.3 + 0.5 * rng.standard_normal(400_000)
    expected = np.maximum(0.1 - draws, 0).mean()
    found = np.exp(log_ei(np.array([0.3]), np.array([0.25]), 0.1)[0])
    assert found == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("mean", [-2.0, 0.0, 0.5, 3.0, 20.0])
def test_gradient(mean):
    def at(x):
        return log_ei(np.array([mean + x[0]]), np.array([np.exp(x[1])]), 0.2)[0]

    by_mean, by_variance = np.array([[1.0, 0.0]]), np.array([[0.0, np.exp(-1.0)]])
    value, gradient = log_ei_gradient(
        np.array([mean]), np.array([np.exp(-1.0)]), 0.2, by_mean, by_variance
    )
    assert value[0] == pytest.approx(at([0.0, -1.0]))
    expected = approx_fprime(np.array([0.0, -1.0]), at, 1e-7)
    np.testing.assert_allclose(gradient[0], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_augmented_ei_and_its_gradient(noise):
    """Huang et al. (2006), and finite differences by mean and variance."""
    acquisition = LogEI(0.2, noise)
    mean, variance = np.array([0.5, -1.0]), np.array([0.4, 0.01])
    discount = 1.0 - np.sqrt(noise / (variance + noise))
    np.testing.assert_allclose(
        np.exp(acquisition.value(mean, variance)), np.exp(log_ei(mean, variance, 0.2)) * discount
    )
    by_mean, by_variance = np.array([[1.0, 0.0]] * 2), np.array([[0.0, 1.0]] * 2)
    values, gradients = acquisition.with_gradient(mean, variance, by_mean, by_variance)
    np.testing.assert_allclose(values, acquisition.value(mean, variance))
    for i in range(2):
        expected = approx_fprime(
            np.array([mean[i], variance[i]]),
            lambda at: acquisition.value(at[:1], at[1:])[0],
            1e-8,
        )
        np.testing.assert_allclose(gradients[i], expected, rtol=1e-4, atol=1e-6)
