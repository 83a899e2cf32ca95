import pytest

import bosquet as bq
from bosquet.data import Trial


@pytest.fixture
def space():
    return bq.Space(
        {"m": bq.Choice({"a": {"x": bq.Float(0, 1)}, "b": {"x": bq.Int(1, 3), "y": bq.Int(0, 1)}})}
    )


@pytest.fixture
def trials(space):
    return [
        Trial(0, {"m": "a", "x": 0.25}).completed(bq.Evaluation(2.0)),
        Trial(2, {"m": "b", "x": 2, "y": 0}).completed(bq.Evaluation(1.0, noise_variance=0.5)),
        Trial(1, {"m": "b", "x": 1, "y": 1}).failed("killed"),
    ]
