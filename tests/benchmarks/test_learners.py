"""Every branch of the classifier spaces is a scikit-learn estimator that can be fitted."""

import warnings

import numpy as np
import pytest

import bosquet as bq
from bosquet.benchmarks.learners import boosted, boosting_space, selected, selection_space

pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 5))
    return X, (X[:, 0] + 0.1 * rng.standard_normal(40) > 0).astype(int)


def fits(estimator, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # solvers that stop early
        return set(estimator.fit(X, y).predict(X)) <= {0, 1}


def test_every_kind_of_classifier_is_fitted(data):
    space = selection_space()
    one_of_each = {config["model"]: config for config in space.sample(0, 60, by="path")}
    model = space["model"]
    assert isinstance(model, bq.Choice)
    assert set(one_of_each) == set(model.options)
    assert all(fits(selected(config), *data) for config in one_of_each.values())


def test_boosted_trees_are_fitted(data):
    assert all(fits(boosted(config), *data) for config in boosting_space().sample(0, 3))
