import numpy as np
import pytest

from bosquet.linalg import cholesky, grow_cholesky, inverse_from_cholesky, solve, symmetric


def spd(n, rng):
    A = rng.normal(size=(n, n))
    return A @ A.T + n * np.eye(n)


def test_factor_and_inverse():
    K = spd(6, np.random.default_rng(0))
    L, jitter = cholesky(K)
    assert jitter == 0.0
    np.testing.assert_allclose(L @ L.T, K)
    np.testing.assert_allclose(symmetric(inverse_from_cholesky(L)), np.linalg.inv(K))
    np.testing.assert_allclose(solve(L, K[:, :2]), np.eye(6)[:, :2], atol=1e-12)


def test_jitter_only_when_needed_and_reported():
    repeated = np.ones((4, 4))
    L, jitter = cholesky(repeated)
    assert 0 < jitter < 1e-6
    np.testing.assert_allclose(L @ L.T, repeated + jitter * np.eye(4))
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        cholesky(-np.eye(3))
    with pytest.raises(np.linalg.LinAlgError):
        cholesky(np.full((2, 2), np.nan))


@pytest.mark.parametrize("p", [1, 3, 8])  # 8: from nothing
def test_a_grown_factor_equals_a_fresh_one(p):
    K = spd(8, np.random.default_rng(p))
    n = 8 - p
    L = cholesky(K[:n, :n])[0] if n else np.zeros((0, 0))
    grown = grow_cholesky(L, K[:n, n:], K[n:, n:])
    np.testing.assert_allclose(grown, cholesky(K)[0], atol=1e-12)


def test_a_row_that_repeats_another_can_be_added():
    K = np.eye(3)
    grown = grow_cholesky(cholesky(K)[0], np.array([[1.0], [0.0], [0.0]]), np.array([[1.0]]))
    assert np.all(np.isfinite(grown))
