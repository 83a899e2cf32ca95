"""How much each of several models is trusted; the rest is tested with the strategy `auto`."""

import pytest

from bosquet.strategies.beliefs import NEGLIGIBLE, weights_of


def test_weights_follow_the_evidence_and_add_up_to_one():
    weights = weights_of({"a": -10.0, "b": -12.0, "c": -10.0})
    assert weights["a"] == weights["c"] > weights["b"] > NEGLIGIBLE
    assert sum(weights.values()) == pytest.approx(1.0)


def test_what_hardly_counts_is_left_out():
    assert weights_of({"a": 0.0, "b": -1000.0}) == {"a": 1.0}
    assert weights_of({"alone": -1e300}) == {"alone": 1.0}
