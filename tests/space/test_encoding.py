"""Unit vectors that are wrong; test_properties.py has what holds for all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bosquet import ConfigError, Space
from tests.space.errors import raises


@pytest.mark.parametrize(
    ("units", "text"),
    [
        ([0.5] * 8, "a unit vector of this space has 9 coordinates, got an array of shape (8,)"),
        (0.5, "a unit vector of this space has 9 coordinates, got an array of shape ()"),
        (
            np.zeros((1, 1, 9)),
            "a unit vector of this space has 9 coordinates, got an array of shape (1, 1, 9)",
        ),
        ([np.nan] * 9, "a unit vector must be finite"),
        ([np.inf] * 9, "a unit vector must be finite"),
        ("abc", "a unit vector is an array of numbers, not 'abc'"),
        ([[0.5], [0.5, 0.5]], "a unit vector is an array of numbers, not [[0.5], [0.5, 0.5]]"),
        ({"lr": 1}, "a unit vector is an array of numbers, not {'lr': 1}"),
    ],
)
def test_bad_unit_vectors(example: Space, units: Any, text: str) -> None:
    with raises(ConfigError, text):
        example.from_unit(units)


def test_units_outside_the_cube_are_clipped(example: Space) -> None:
    units = np.full(9, 0.5)
    units[1] = 1.5
    assert example.from_unit(units)["lr"] == 0.1
