import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import bosquet as bq
from bosquet.search.mixed import MixedEffort, maximise_mixed, neighbours
from bosquet.testing.conformance import tree_space
from tests.space.strategies import constrained_spaces, relaxed

few = settings(relaxed, max_examples=15)
SMALL = MixedEffort(random=40, starts=3, moves=2, steps=4)


@few
@given(constrained_spaces(), st.integers(0, 100))
def test_what_is_found_is_valid_and_sorted(space, seed):
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal(len(space))
    good = space.to_unit(space.sample(seed, 2))
    X, values = maximise_mixed(space, lambda X: X @ weights, good, rng, SMALL)
    assert len(X) >= len(good)
    np.testing.assert_allclose(values, X @ weights, atol=1e-12)
    assert (np.diff(values) <= 0).all()
    assert values[0] >= (good @ weights).max() - 1e-12
    for x, config in zip(X, space.from_unit(X), strict=True):
        assert space.violation(config) is None
        np.testing.assert_allclose(space.to_unit(config), x, atol=1e-6)


@few
@given(constrained_spaces(), st.integers(0, 100))
def test_neighbours_differ_in_one_coordinate_and_what_it_activates(space, seed):
    X = space.to_unit(space.sample(seed, 3))
    rows, of = neighbours(space, X, np.random.default_rng(seed), 2)
    active, before = space.activity(rows), space.activity(X)[of]
    for x, y, was, now in zip(X[of], rows, before, active, strict=True):
        changed = np.flatnonzero((x != y) & was & now)
        assert len(changed) == 1 or (len(changed) == 0 and (was != now).any())
        if len(changed) and (was != now).any():
            assert changed[0] in space.tree.children


def test_it_finds_the_best_of_a_finite_space_and_of_a_tree():
    space = bq.Space({f"c{i}": bq.Choice(range(9)) for i in range(6)})
    target = space.to_unit({f"c{i}": (3 * i) % 9 for i in range(6)})
    X, values = maximise_mixed(
        space, lambda X: -np.sum(target != X, axis=1).astype(float), two(space), rng(0)
    )
    np.testing.assert_array_equal(X[0], target)
    assert values[0] == 0


def test_local_search_crosses_branches():
    space = tree_space()
    start = space.to_unit([{"scale": "standard", "lr": 1e-2, "model": "forest", "depth": 3,
                            "trees": 100}])  # fmt: skip
    gamma = next(d.index for d in space.dimensions if d.name == "gamma")

    def score(X):
        active = space.activity(X)
        distance = np.abs(X[:, gamma] - 0.9)
        return active.sum(axis=1) + np.where(active[:, gamma], 3.0 - distance, 0.0)

    effort = MixedEffort(random=0, moves=12, steps=60)
    X, values = maximise_mixed(space, score, start, rng(1), effort)
    config = space.from_unit(X[0])
    assert config["model"] == "svm"
    assert config["scale"] == "standard"
    assert values[0] > 8.0


def two(space):
    return space.to_unit(space.sample(0, 2))


def rng(seed):
    return np.random.default_rng(seed)
