import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bosquet as bq
from bosquet.models.forest import INACTIVE, Encoding, Forest, log_costs
from tests.space.strategies import relaxed, spaces

few = settings(relaxed, max_examples=15)


def tree_space():
    return bq.Space(
        {
            "x": bq.Float(0, 1),
            "m": bq.Choice({"a": {"u": bq.Float(0, 1), "c": bq.Choice([1, 2, 3])}, "b": {}}),
        }
    )


def grown(space, function, n=120, seed=0, **options):
    configs = space.sample(seed, n)
    X = space.to_unit(configs)
    z = np.array([function(config) for config in configs])
    return X, z, Forest(space, X, z, np.random.default_rng(seed), **options)


@few
@given(spaces, st.integers(0, 100))
def test_the_encoding_tells_configurations_and_activity_apart(space, seed):
    X = space.to_unit(space.sample(seed, 8))
    encode = Encoding(space)
    E, active = encode(X), space.activity(X)
    for i, column in enumerate(encode.columns):
        here, j = active[:, column.dimension], column.dimension
        if column.option is None:
            np.testing.assert_array_equal(E[:, i] >= 0, here)
            np.testing.assert_allclose(E[here, i], X[here, j], atol=1e-7)
        elif column.option == INACTIVE:
            np.testing.assert_array_equal(E[:, i] == 1, ~here)
        else:
            option = space.tree.choice(j).option_index(X[:, j])
            np.testing.assert_array_equal(E[:, i] == 1, here & (option == column.option))


def test_moments_against_scikit_learn_and_the_definition():
    space = tree_space()
    _, _, forest = grown(space, lambda c: c["x"] + 2 * (c["m"] == "a"), n_trees=7)
    queries = space.to_unit(space.sample(1, 30))
    E = forest.encode(queries)
    by_tree = []
    for tree in forest.trees:
        left, right = tree.children_left, tree.children_right
        for row in E:
            node = 0
            while left[node] != -1:
                below = row[tree.feature[node]] <= tree.threshold[node]
                node = left[node] if below else right[node]
            by_tree.append((tree.value[node, 0, 0], tree.impurity[node]))
    pairs = np.array(by_tree).reshape(7, 30, 2)
    second = (pairs[..., 1] + pairs[..., 0] ** 2).mean(axis=0)  # the law of total variance
    mean, variance = forest.moments(queries)
    np.testing.assert_allclose(mean, pairs[..., 0].mean(axis=0))
    np.testing.assert_allclose(variance, np.maximum(second - mean**2, 1e-8), atol=1e-12)


def test_a_branch_is_learned_though_its_variables_are_inactive_elsewhere():
    space = tree_space()
    _, _, forest = grown(space, lambda c: 1.0 if c["m"] == "b" else c["u"] ** 2)
    rows = space.to_unit([{"x": 0.5, "m": "b"}, {"x": 0.5, "m": "a", "u": 0.1, "c": 1}])
    mean, variance = forest.moments(rows)
    assert mean[0] == pytest.approx(1.0, abs=0.05)
    assert mean[1] < 0.15
    assert variance.min() > 0


def test_the_generator_alone_decides():
    space = tree_space()
    X, z, _ = grown(space, lambda c: c["x"])
    queries = space.to_unit(space.sample(5, 20))
    first, second, third = (
        Forest(space, X, z, np.random.default_rng(seed)).moments(queries) for seed in (0, 0, 9)
    )
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, third)


def test_log_costs_keep_the_order_and_shorten_the_tail():
    y = np.concatenate([np.linspace(0, 1, 50), [1e6]])
    z = log_costs(y)
    assert (np.diff(z) > 0).all()
    assert z[-1] - z[-2] < 20
    np.testing.assert_allclose(log_costs(y + 3.0), z, atol=1e-6)  # where zero is does not matter
    np.testing.assert_array_equal(log_costs(np.full(5, 2.0)), np.zeros(5))


def test_every_tree_sees_a_sample_of_its_own():
    """With one column there is no other difference between trees."""
    space = bq.Space({"x": bq.Float(0, 1)})
    X, _, forest = grown(space, lambda c: c["x"])
    assert len({tuple(tree.threshold) for tree in forest.trees}) == len(forest.trees)
    assert forest.moments(X)[1].max() > 1e-6
