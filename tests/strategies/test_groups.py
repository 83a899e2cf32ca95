"""Declared groups: what is refused, and what the message says."""

import pytest

import bosquet as bq
from bosquet.strategies import Additive


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([("x0", "y")], "unknown parameter 'y'"),
        ([("x0", "x11")], "unknown parameter 'x11'; did you mean 'x1'"),
    ],
)
def test_unknown_names(groups, message):
    with pytest.raises(bq.SpaceError, match=message):
        bq.Optimizer(bq.Space({f"x{i}": bq.Float(0, 1) for i in range(3)}), Additive(groups=groups))


def test_names_that_do_not_fit_conditions():
    space = bq.Space(
        {
            "s": bq.Float(0, 1),
            "m": bq.Choice(
                {"a": {"x": bq.Float(0, 1)}, "b": {"x": bq.Float(0, 1), "y": bq.Float(0, 1)}}
            ),
        }
    )
    for groups, message in (
        ([("s", "y")], "do not always exist together"),
        ([("x", "y")], "several parameters; use one of 'm=a/x', 'm=b/x'"),
        ([("s", "m")], "'m' decides which parameters exist"),
    ):
        with pytest.raises(bq.SpaceError, match=message):
            bq.Optimizer(space, Additive(groups=groups))
    bq.Optimizer(space, Additive(groups=[("m=b/x", "y")]))


@pytest.mark.parametrize("groups", ["ab", [("a", "a")], [()], [("a", 1)], ["ab"], 3, [3]], ids=repr)
def test_bad_groups(groups):
    with pytest.raises(ValueError, match=r"groups=.*must be a list of tuples"):
        Additive(groups=groups)
