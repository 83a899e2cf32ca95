"""Sums of components: what may be added to one."""

import pytest

import bosquet as bq
from bosquet.models.add_tree import own_features
from bosquet.models.priors import SumBuilder

SPACE = bq.Space({"x": bq.Float(0, 1), "n": bq.Int(1, 9)})


def test_components_with_the_same_name_share_their_variance():
    builder = SumBuilder("se")
    features = own_features(SPACE, SPACE.nodes[0])
    for name in ("a", "a", "b"):
        builder.add(name, 0, features, "own")
    names = builder.hyperparameters().names
    assert [name for name in names if name.startswith("variance")] == ["variance a", "variance b"]


def test_roles_and_features_are_checked():
    builder = SumBuilder("se")
    with pytest.raises(ValueError, match="role='big' must be one of 'own', 'chain', 'constant'"):
        builder.add("a", 0, own_features(SPACE, SPACE.nodes[0]), "big")  # type: ignore[arg-type]
    with pytest.raises(
        TypeError, match="'a': a feature is a Feature, as own_features gives it, no"
    ):
        builder.add("a", 0, ("x",), "own")  # type: ignore[arg-type]
