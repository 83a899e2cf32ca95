"""The climb from several rows at once: each ends at a maximum of its own, inside its box."""

import numpy as np

from bosquet.acquisition.base import LowerBound
from bosquet.search.box import climb


class Bowls:
    """Lowest in every coordinate at 0.2 and at 0.8; its variance is the same everywhere."""

    def moments(self, X):
        return self.moments_with_gradients(X)[:2]

    def moments_with_gradients(self, X):
        left, right = X - 0.2, X - 0.8
        mean = ((left * right) ** 2).sum(axis=1)
        return mean, np.ones(len(X)), 2 * left * right * (left + right), np.zeros_like(X)


START = np.array([[0.1, 0.9], [0.45, 0.3], [0.6, 0.7]])


def test_each_row_climbs_to_its_own_maximum():
    found = climb(Bowls(), LowerBound(1.0), START, [0, 1])
    np.testing.assert_allclose(found, [[0.2, 0.8], [0.2, 0.2], [0.8, 0.8]], atol=1e-2)


def test_other_coordinates_stay():
    found = climb(Bowls(), LowerBound(1.0), START, [1])
    np.testing.assert_array_equal(found[:, 0], START[:, 0])
    np.testing.assert_allclose(found[:, 1], [0.8, 0.2, 0.8], atol=1e-2)
    np.testing.assert_array_equal(climb(Bowls(), LowerBound(1.0), START, []), START)


def test_bounds_and_what_is_added_count():
    low, high = np.array([0.0, 0.4]), np.array([0.45, 0.6])
    found = climb(Bowls(), LowerBound(1.0), np.clip(START, low, high), [0, 1], bounds=(low, high))
    assert ((found >= low) & (found <= high)).all()
    np.testing.assert_allclose(found[:, 0], 0.2, atol=1e-2)
    assert set(np.round(found[:, 1], 2)) <= {0.4, 0.6}

    def towards_one(X):
        return 9.0 * X[:, 0], np.tile([9.0, 0.0], (len(X), 1))

    found = climb(Bowls(), LowerBound(1.0), START, [0, 1], [towards_one])
    np.testing.assert_allclose(found[:, 0], 1.0)
