import numpy as np
import pytest
from scipy.optimize import approx_fprime

from bosquet.kernels.weights import SHORTEST_WAVE, Weight, frequencies
from tests.support import present

FOURIER = Weight("w", 0, 0, "fourier", 2 * len(frequencies()[0]), 0, 0)


@pytest.mark.parametrize("length", [SHORTEST_WAVE, 0.5, 2.0])
def test_fourier_features_approximate_a_squared_exponential(length):
    X = np.linspace(0, 1, 41)[:, None]
    r = FOURIER.features(X, np.array([np.log(length)]))
    assert r.shape == (41, FOURIER.size)
    expected = np.exp(-0.5 * (X - X.T) ** 2 / length**2)
    np.testing.assert_allclose(r @ r.T, expected, atol=1e-4)


@pytest.mark.parametrize("kind", ["linear", "fourier"])
def test_slopes(kind):
    size = FOURIER.size if kind == "fourier" else 1
    weight = Weight("w", 0, 1, kind, size, 0, 0 if kind == "fourier" else -1)
    X, eta = np.array([[0.1, 0.3]]), np.array([-0.4])
    for j in range(size):
        by_x = approx_fprime(
            [0.3], lambda x, j=j: weight.features(np.array([[0.1, x[0]]]), eta)[0, j]
        )
        assert present(weight.slope(X, eta))[0, j] == pytest.approx(by_x[0], abs=1e-5)
        if kind == "fourier":
            by_length = approx_fprime(eta, lambda e, j=j: weight.features(X, e)[0, j])
            assert weight.slope_by_length(X, eta)[0, j] == pytest.approx(by_length[0], abs=1e-5)


def test_categories_and_constants_have_no_slope():
    one_hot = Weight("w", 0, 0, "one-hot", 3, 0, -1)
    X = np.array([[1 / 6], [0.5], [5 / 6], [1.0]])
    np.testing.assert_array_equal(one_hot.features(X, np.zeros(0)), np.eye(3)[[0, 1, 2, 2]])
    assert one_hot.slope(X, np.zeros(0)) is None
    constant = Weight("w", 0, -1, "constant", 1, 0, -1)
    np.testing.assert_array_equal(constant.features(X, np.zeros(0)), np.ones((4, 1)))
    assert constant.slope(X, np.zeros(0)) is None
