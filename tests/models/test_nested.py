"""Nested sets of rows against one Gaussian density after the other."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from bosquet.models.nested import weighted_log_likelihood


def case(n=9, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n))
    return A @ A.T + n * np.eye(n), rng.standard_normal(n)


SIZES, WEIGHTS = (3, 5, 9), (1.0, 0.4, 0.2)


def written_out(K, y, order):
    return sum(
        w * multivariate_normal(cov=K[np.ix_(order[:m], order[:m])]).logpdf(y[order[:m]])
        for m, w in zip(SIZES, WEIGHTS, strict=True)
    )


@pytest.mark.parametrize("shuffled", [False, True])
def test_the_sum_over_nested_sets_and_its_gradients(shuffled):
    K, y = case()
    order = np.random.default_rng(1).permutation(9) if shuffled else np.arange(9)
    shares = np.empty(9)
    shares[order] = [sum(w for m, w in zip(SIZES, WEIGHTS, strict=True) if j < m) for j in range(9)]
    value, by_K, by_y = weighted_log_likelihood(np.tril(K), y, shares)
    assert value == pytest.approx(written_out(K, y, order))
    numeric = approx_fprime(y, lambda t: written_out(K, t, order), 1e-7)
    np.testing.assert_allclose(by_y, numeric, atol=1e-5)
    for i, j in ((0, 0), (4, 2), (8, 3), (7, 7)):
        step = np.zeros((9, 9))
        step[i, j] = step[j, i] = 1e-6
        slope = (written_out(K + step, y, order) - written_out(K - step, y, order)) / 2e-6
        assert slope == pytest.approx(by_K[i, j] * (1 if i == j else 2), abs=1e-6)


def test_one_set_of_weight_one_is_the_plain_density():
    K, y = case()
    value, _, by_y = weighted_log_likelihood(K, y, np.ones(9))
    assert value == pytest.approx(multivariate_normal(cov=K).logpdf(y))
    np.testing.assert_allclose(by_y, -np.linalg.solve(K, y))
