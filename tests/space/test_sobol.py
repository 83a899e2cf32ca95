"""Sobol points are SciPy's, bit by bit, and need neither scipy.stats nor its file."""

import numpy as np
import pytest

from bosquet.space import sobol as module
from bosquet.space.sobol import of_scipy, sobol


@pytest.fixture
def forgetful():
    """What has been read of SciPy's file is forgotten, before and after."""
    caches = (module.scrambled, module.initial_directions, module.direction_numbers)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


@pytest.mark.parametrize("dimension", [0, 1, 2, 5, 21, 60, 300])
@pytest.mark.parametrize(
    ("seed", "start", "n"),
    [(0, 0, 1), (5, 0, 2), (7, 3, 6), (2**32 - 1, 20, 30), (9, 0, 1024), (11, 1000, 50)],
)
def test_points_are_those_of_scipy(dimension, seed, start, n):
    points = sobol(dimension, seed, start, n)
    expected = of_scipy(dimension, seed, start, n)
    assert points.dtype == expected.dtype
    np.testing.assert_array_equal(points, expected)


def test_sequences_continue():
    whole = sobol(5, 11, 0, 50)
    assert whole.shape == (50, 5)
    assert np.all((whole >= 0) & (whole < 1))
    np.testing.assert_array_equal(sobol(5, 11, 20, 30), whole[20:])
    np.testing.assert_array_equal(sobol(5, 11, 0, 1), whole[:1])
    assert len(np.unique(whole, axis=0)) == 50


def test_points_can_be_changed_by_who_gets_them():
    points = sobol(3, 1, 0, 4)
    kept = points.copy()
    points[:] = 0.0
    np.testing.assert_array_equal(sobol(3, 1, 0, 4), kept)


@pytest.mark.usefixtures("forgetful")
@pytest.mark.parametrize("arrays", [None, {"others": np.ones(3)}, {"poly": np.ones(1, int)}])
def test_another_file_of_scipy_changes_nothing(arrays, tmp_path, monkeypatch):
    file = tmp_path / "numbers.npz"
    if arrays is not None:
        np.savez(file, **arrays)
    monkeypatch.setattr(module, "FILE", file)
    np.testing.assert_array_equal(sobol(4, 2, 3, 9), of_scipy(4, 2, 3, 9))
