"""What is written a second time in experiments, to check the package and the papers."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import approx_fprime

import bosquet as bq

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(EXPERIMENTS))  # scripts import each other
    return lambda name: runpy.run_path(str(EXPERIMENTS / f"{name}.py"))


def test_eq_1_of_the_tree_paper_written_out_densely(script):
    """The gradient of the likelihood, and both predictions against a covariance of all that is."""
    build = script("tree_ei_rebuilt")
    problem = bq.benchmarks.small_balanced(shared=True)
    trees, rng = build["Trees"](problem.space), np.random.default_rng(0)
    configs = problem.space.sample(rng, 13, by="path")
    X, y = problem.space.to_unit(configs), np.array([problem(config) for config in configs])
    rows = problem.space.tree.rows_by_path(X)
    Z = np.zeros((len(X), len(trees.columns)))
    blocks = []
    for path in trees.paths:
        Z[rows[path]] = trees.z(path, X[rows[path]])
        own = build["features"](trees.of(path, shared=False), X[rows[path]])
        blocks.append((rows[path], *own))
    model = build["Dense"]((y - y.mean()) / y.std(), blocks, Z, trees.groups)
    theta = 0.4 * model.low + 0.6 * model.high
    numeric = approx_fprime(theta, lambda t: model.loss(t)[0], 1e-6)
    np.testing.assert_allclose(model.loss(theta)[1], numeric, atol=1e-4)
    model.fit(rng)
    K, _ = model.covariance(model.theta)
    for k, (at, F, _) in enumerate(blocks):
        # At the trials: their values less what noise explains; c alone explains the linear part.
        mean, sd = model.predict(k, F, Z[at])
        noise = K - (np.exp(model.theta[0]) + 1e-8) * np.eye(len(K))
        expected = model.b[k] + noise[at] @ model.alpha
        np.testing.assert_allclose(mean, expected, atol=1e-8)
        variance = np.diag(noise - noise @ np.linalg.solve(K, noise))[at]
        np.testing.assert_allclose(sd**2, np.maximum(variance, 1e-14), atol=1e-7)
        linear, _ = model.linear(k, Z[at])
        shared = (Z[at] * model.S) @ Z.T
        np.testing.assert_allclose(linear, model.b[k] + shared @ model.alpha, atol=1e-8)


def test_midpoints_are_scikit_learn_s(script):
    tree = pytest.importorskip("sklearn.tree")
    space = bq.Space({"a": bq.Float(0, 1), "b": bq.Float(0, 1)})
    X = np.random.default_rng(0).random((40, 2))
    y = np.sin(9 * X[:, 0]) + X[:, 1]
    ours = script("paper_htbo")["Midpoints"](space, X, y, 5)
    theirs = tree.DecisionTreeRegressor(min_samples_leaf=5, random_state=0).fit(X, y)
    pairs = set(zip(ours.leaf_of(X).tolist(), theirs.apply(X).tolist(), strict=True))
    assert len(pairs) == len(ours.leaves) == theirs.get_n_leaves()
    assert sum(len(leaf.cell.rows) for leaf in ours.leaves) == len(X)  # none is in two
