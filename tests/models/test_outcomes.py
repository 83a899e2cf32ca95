"""Laplace's approximation, against scikit-learn's and against sums over a fine grid."""

import numpy as np
import pytest
from scipy.special import expit, log_expit, logsumexp

from bosquet.models.outcomes import mode

RNG = np.random.default_rng(0)
X = RNG.random((25, 2))
FAILED = X[:, 0] + 0.2 * RNG.standard_normal(25) < 0.4


def covariance(log_variance, log_length, X=X):
    squared = ((X[:, None] - X) ** 2).sum(axis=2)
    return np.exp(log_variance - 0.5 * squared / np.exp(2 * log_length))


def test_evidence_and_mode_are_those_of_scikit_learn():
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    theta = np.array([2.0, -1.0])
    kernel = ConstantKernel(np.exp(theta[0])) * RBF(np.exp(theta[1]))
    theirs = GaussianProcessClassifier(kernel, optimizer=None).fit(X, ~FAILED)
    value, gradient = theirs.log_marginal_likelihood(theta, eval_gradient=True)
    K = covariance(*theta)
    found = mode(K, FAILED, 0.0)
    ours, by_K = found.evidence()
    assert ours == pytest.approx(value, abs=1e-6)
    squared = ((X[:, None] - X) ** 2).sum(axis=2)
    by_theta = [np.sum(by_K * K), np.sum(by_K * K * squared / np.exp(2 * theta[1]))]
    np.testing.assert_allclose(by_theta, gradient, atol=1e-5)


@pytest.mark.parametrize("variance", [0.1, 5.0, 400.0])
def test_the_mode_is_where_the_gradient_vanishes(variance):
    K = covariance(np.log(variance), -1.0)
    found = mode(K, FAILED, 2.0)
    np.testing.assert_allclose(found.f, 2.0 + K @ found.a)
    np.testing.assert_allclose(found.a, ~FAILED - expit(found.f), atol=1e-6)


def test_the_mode_does_not_depend_on_the_start():
    K = covariance(3.0, -1.0)
    cold = mode(K, FAILED, 2.0)
    warm = mode(K, FAILED, 2.0, 0.5 * RNG.standard_normal(25))
    np.testing.assert_allclose(warm.f, cold.f, atol=1e-5)


def test_evidence_of_one_outcome_against_a_sum():
    """A normal approximation: close where the prior is not much wider than the logistic."""
    for failed in (True, False):
        value, _ = mode(np.array([[0.5]]), np.array([failed]), 2.0).evidence()
        f = np.linspace(-8, 12, 20001)
        log_prior = -0.5 * (f - 2.0) ** 2 / 0.5 - 0.5 * np.log(2 * np.pi * 0.5)
        exact = logsumexp(log_prior + log_expit(-f if failed else f)) + np.log(f[1] - f[0])
        assert value == pytest.approx(exact, abs=0.01)


def test_the_derivative_of_evidence_by_every_entry():
    K = covariance(1.0, -1.0)
    _, by_K = mode(K, FAILED, 2.0).evidence()
    step = 1e-4
    for i, j in [(0, 0), (3, 7), (12, 12), (20, 4)]:
        moved = np.zeros_like(K)
        moved[i, j] = moved[j, i] = step
        up, _ = mode(K + moved, FAILED, 2.0).evidence()
        down, _ = mode(K - moved, FAILED, 2.0).evidence()
        assert np.sum(by_K * moved) == pytest.approx((up - down) / 2, rel=1e-3, abs=1e-9)
