from __future__ import annotations

from typing import Any

import pytest

from bosquet import Choice, Float, Int, Space


@pytest.fixture
def example_parameters() -> dict[str, Any]:
    """The tree that the docstrings of the package draw."""
    return {
        "scale": Choice(["none", "standard"]),
        "lr": Float(1e-4, 1e-1, log=True, default=1e-2),
        "model": Choice(
            {
                "svm": {
                    "C": Float(1e-3, 1e3, log=True),
                    "kernel": Choice(
                        {"linear": {}, "rbf": {"gamma": Float(1e-4, 10, log=True)}},
                    ),
                },
                "forest": {"depth": Int(1, 20)},
                "boosting": {"eta": Float(0.01, 1.0)},
                ("forest", "boosting"): {"trees": Int(10, 500, log=True)},
            }
        ),
    }


@pytest.fixture
def example(example_parameters: dict[str, Any]) -> Space:
    return Space(example_parameters)


@pytest.fixture
def svm() -> dict[str, Any]:
    """A configuration of the example."""
    return {"scale": "none", "lr": 0.01, "model": "svm", "C": 1.0, "kernel": "linear"}
