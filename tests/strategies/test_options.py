"""Arguments of strategies: what is refused, and how the message says what would be right."""

import pytest

from bosquet.strategies.options import one_of, whole


def test_one_of_the_allowed_values():
    one_of("kernel", "se", ("matern52", "se"))
    with pytest.raises(ValueError, match="kernel='rbf' must be one of matern52, se"):
        one_of("kernel", "rbf", ("matern52", "se"))


@pytest.mark.parametrize("wrong", [0, -1, 1.0, True, "1", None])
def test_positive_integers(wrong):
    whole("least", 1)
    with pytest.raises(ValueError, match=f"least={wrong!r} must be a positive integer$"):
        whole("least", wrong)


def test_integers_from_another_one_on_and_none():
    whole("every", 2, 2)
    whole("every", None, 2, none=True)
    with pytest.raises(ValueError, match="every=1 must be an integer of at least 2, or None"):
        whole("every", 1, 2, none=True)
