from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime

import bosquet as bq
from bosquet.kernels.components import Component
from bosquet.models import baselines
from bosquet.models.covariance import SpaceGP
from bosquet.models.tree_linear import TreeGP, TreeLinear
from bosquet.testing.conformance import and_or_space, plain_tree_space, tree_space
from tests.support import present

MODELS = {
    "independent": lambda space: baselines.independent(space, "matern52"),
    "flat": lambda space: baselines.flat(space, "matern52"),
    "arc": lambda space: baselines.ArcCovariance(space, "matern52", 0.5),
    "marginal": lambda space: baselines.marginal(space, "matern52"),
}
ANYWHERE = ("independent", "flat", "arc")


def fitted(covariance, n=25, seed=0):
    space = covariance.space
    rng = np.random.default_rng(seed)
    X = space.to_unit(space.sample(rng, n))
    z = rng.normal(size=n)
    theta = covariance.hyper.mean + 0.1 * rng.normal(size=len(covariance.hyper.mean))
    theta[-1] = np.log(1e-2)
    return X, z, theta, SpaceGP(covariance, X, z).posterior(theta)


def kernel(covariance, theta, A, B):
    """The covariance of rows, component by component."""
    eta = covariance.hyper.eta(theta)
    EA, EB = (covariance.embed(X, covariance.space.activity(X)) for X in (A, B))
    GA, GB = covariance.groups(A), covariance.groups(B)
    K = np.zeros((len(A), len(B)))
    for c in covariance.components:
        K += c.cross(EA, EB, eta) * np.outer(GA[:, c.node], GB[:, c.node])
    return K


@pytest.mark.parametrize("make_space", [tree_space, and_or_space])
@pytest.mark.parametrize("name", ANYWHERE)
def test_beliefs_equal_the_dense_ones(name, make_space):
    covariance = MODELS[name](make_space())
    X, z, theta, posterior = fitted(covariance)
    K = kernel(covariance, theta, X, X) + (1e-2 + 1e-10) * np.eye(len(X))
    at_rows = kernel(covariance, theta, X, X) @ np.linalg.solve(K, z)
    np.testing.assert_allclose(posterior.known_means(X.copy()), at_rows, atol=1e-8)
    assert posterior.known_means(X[1:]) is None
    for config in covariance.space.sample(5, 6):
        q = covariance.space.to_unit(config)[None]
        mean, variance = posterior.on_path(covariance.space.path(config)).moments(q)
        cross = kernel(covariance, theta, q, X)
        assert mean[0] == pytest.approx((cross @ np.linalg.solve(K, z))[0], abs=1e-8)
        prior = kernel(covariance, theta, q, q)[0, 0]
        expected = prior - (cross @ np.linalg.solve(K, cross.T))[0, 0]
        assert variance[0] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("name", ANYWHERE)
def test_gradients_by_the_coordinates(name):
    space = tree_space()
    covariance = MODELS[name](space)
    _, _, _, posterior = fitted(covariance)
    for config in space.sample(7, 5):
        x, path = space.to_unit(config), space.path(config)
        belief = posterior.on_path(path)
        _, _, by_mean, by_variance = belief.moments_with_gradients(x[None])
        continuous = [space.dimensions[i].name in config for i in range(len(space))]
        for i, d in enumerate(space.dimensions):
            if not continuous[i] or not isinstance(d.parameter, bq.Float) or d.node not in path:
                continue
            for which, found in ((0, by_mean), (1, by_variance)):

                def value(u, i=i, which=which, x=x, belief=belief):
                    moved = x.copy()
                    moved[i] = u[0]
                    return belief.moments(moved[None])[which][0]

                expected = approx_fprime(x[i : i + 1], value, 1e-7)[0]
                assert found[0, i] == pytest.approx(expected, abs=2e-5)


def test_independent_paths_share_nothing():
    space = bq.benchmarks.small_balanced(shared=True).space
    covariance = MODELS["independent"](space)
    X, _, theta, _ = fitted(covariance)
    K = kernel(covariance, theta, X, X)
    paths = [space.path(config) for config in space.from_unit(X)]
    for i, one in enumerate(paths):
        for j, other in enumerate(paths):
            assert (K[i, j] > 0.0) == (one == other)


def test_flat_rows_hold_defaults_where_parameters_are_inactive():
    space = bq.Space(
        {"m": bq.Choice({"a": {"x": bq.Float(0, 1, default=0.25)}, "b": {"y": bq.Float(0, 1)}})}
    )
    covariance = MODELS["flat"](space)
    X = space.to_unit([{"m": "b", "y": 0.9}, {"m": "a", "x": 0.7}])
    embedded = covariance.embed(X, space.activity(X))
    np.testing.assert_allclose(embedded[:, 1:], [[0.25, 0.9], [0.7, 0.5]])


def test_arc_distances():
    """Inactive is one radius from every value; values are chords of the arc apart."""
    space = bq.Space({"m": bq.Choice({"a": {"x": bq.Float(0, 1)}, "b": {}})})
    covariance = baselines.ArcCovariance(space, "se", 0.5)
    rows: list[dict[str, Any]] = [
        {"m": "a", "x": 0.0},
        {"m": "a", "x": 1.0},
        {"m": "a", "x": 0.3},
        {"m": "b"},
    ]
    X = space.to_unit(rows)
    E = covariance.embed(X, space.activity(X))[:, 1:]  # without the choice
    squared = ((E[:, None] - E[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(squared[3, :3], 1.0)
    assert squared[0, 1] == pytest.approx(2 * (1 - np.cos(np.pi / 2)))
    assert squared[0, 2] == pytest.approx(2 * (1 - np.cos(0.15 * np.pi)))
    lengths = covariance.hyper.eta(covariance.hyper.mean)[list(covariance.components[0].lengths)]
    assert lengths[1] == lengths[2]  # sine and cosine have one length-scale


def test_marginal_is_equation_4():
    """Constants of the inner nodes that two leaves share, plus a GP within the leaf."""
    space = bq.benchmarks.small_balanced().space
    covariance = MODELS["marginal"](space)
    X, _, theta, _ = fitted(covariance)
    eta = covariance.hyper.eta(theta)
    by_name = {c.name: c for c in covariance.components}
    K = kernel(covariance, theta, X, X)
    paths = [space.path(config) for config in space.from_unit(X)]
    listed = list(space.tree.paths())
    for i, one in enumerate(paths):
        for j, other in enumerate(paths):
            shared = [
                c for n, c in by_name.items() if "constant" in n and c.node in {*one} & {*other}
            ]
            expected = sum(np.exp(eta[c.variance]) for c in shared)
            if one == other:
                leaf: Component = by_name[f"leaf {listed.index(one)}"]
                expected += leaf.cross(X[i : i + 1], X[j : j + 1], eta)[0, 0]
            assert K[i, j] == pytest.approx(expected)
    constants = {c.node for n, c in by_name.items() if "constant" in n}
    assert constants == {n for n in range(1, len(space.nodes)) if sum(n in p for p in listed) > 1}


def test_marginal_and_tree_ei_have_one_posterior():
    """Integrating the weights out or inferring them is the same (2017, section 2.3)."""
    space = bq.benchmarks.small_balanced().space
    covariance = MODELS["marginal"](space)
    X, z, theta, marginal = fitted(covariance)
    eta = covariance.hyper.eta(theta)
    tree = TreeLinear(space, list(space.tree.paths()), features="linear", hierarchical=False)
    named = {"offset": -60.0, "constant 0": -60.0, "noise": eta[-1]}  # marginal has neither
    for c in covariance.components:
        if c.name.startswith("constant"):
            named[c.name] = eta[c.variance]
        else:
            path = list(space.tree.paths())[int(c.name.split()[1])]
            named["leaf " + ".".join(map(str, path))] = eta[c.variance]
            for feature, slot in zip(c.features, c.lengths, strict=True):
                named[f"length {feature.dimension} {feature.kind}"] = eta[slot]
    assert set(named) == set(tree.hyper.names)
    posterior = TreeGP(tree, X, z).posterior(present(tree.hyper.recall(named)))
    for config in space.sample(3, 8):
        x, path = space.to_unit(config)[None], space.path(config)
        for one, other in zip(
            posterior.on_path(path).moments(x), marginal.on_path(path).moments(x), strict=True
        ):
            np.testing.assert_allclose(one, other, atol=1e-8)


def test_what_they_cannot_do_is_said_at_once():
    space = bq.benchmarks.small_balanced(shared=True).space
    with pytest.raises(bq.SpaceError, match=r"'marginal' has no place for variables .* x1=0/r8"):
        bq.Optimizer(space, "marginal")
    bq.Optimizer(plain_tree_space(), "marginal")
    many = bq.Space({f"c{i}": bq.Choice({0: {f"x{i}": bq.Float(0, 1)}, 1: {}}) for i in range(9)})
    with pytest.raises(bq.SpaceError, match=r"'independent' fits a GP to every path.* 512"):
        bq.Optimizer(many, "independent")
