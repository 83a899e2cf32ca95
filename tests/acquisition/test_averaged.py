import numpy as np
import pytest

from bosquet.acquisition.averaged import AveragedLogEI, Stacked
from bosquet.acquisition.base import LogEI


class Wave:
    """A belief with moments that have a slope."""

    def __init__(self, phase):
        self._phase = phase

    def moments(self, X):
        angle = 3 * X.sum(axis=1) + self._phase
        return np.sin(angle), 0.2 + 0.1 * np.cos(angle)

    def moments_with_gradients(self, X):
        angle = 3 * X.sum(axis=1)[:, None] + self._phase + np.zeros_like(X)
        return *self.moments(X), 3 * np.cos(angle), -0.3 * np.sin(angle)


@pytest.mark.parametrize("weights", [None, np.array([0.7, 0.05, 0.25])])
def test_the_average_of_improvements_and_its_gradient(weights):
    beliefs = [Wave(0.0), Wave(1.0), Wave(-2.0)]
    samples = [LogEI(-0.5), LogEI(-0.5, 0.01), LogEI(-0.5)]
    averaged = AveragedLogEI(samples, None if weights is None else np.log(weights))
    stacked = Stacked(beliefs)
    X = np.random.default_rng(0).random((7, 2))
    each = [one.value(*belief.moments(X)) for one, belief in zip(samples, beliefs, strict=True)]
    value = averaged.value(*stacked.moments(X))
    np.testing.assert_allclose(value, np.log(np.average(np.exp(each), axis=0, weights=weights)))
    same, gradient = averaged.with_gradient(*stacked.moments_with_gradients(X))
    np.testing.assert_allclose(same, value)
    for k in range(2):
        step = np.zeros(2)
        step[k] = 1e-6
        up, down = (averaged.value(*stacked.moments(X + s * step)) for s in (1, -1))
        np.testing.assert_allclose(gradient[:, k], (up - down) / 2e-6, rtol=1e-5, atol=1e-7)
