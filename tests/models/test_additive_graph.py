"""The additive model on a graph against dense computations."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

import bosquet as bq
from bosquet.acquisition.base import LowerBound
from bosquet.graphs import edges_of
from bosquet.models.additive_graph import (
    GraphCovariance,
    clique_components,
    cliques_by_node,
    paper_additive,
    scales,
)
from bosquet.models.clique_sum import CliqueSum
from bosquet.models.covariance import Covariance, SpaceGP
from bosquet.models.gp import AdditiveGP
from bosquet.testing.conformance import tree_space
from tests.support import present


def components_on(space, groups, length=0.3, noise=1e-3):
    return paper_additive(space, edges_of(groups), dict.fromkeys(range(len(space)), length), noise)


def box(d):
    return bq.Space({f"x{i}": bq.Float(0, 1) for i in range(d)})


def test_the_covariance_of_section_5():
    space = box(5)
    rng = np.random.default_rng(0)
    lengths = {v: 0.2 + 0.1 * v for v in range(5)}
    components, hyper = paper_additive(space, edges_of([(0, 1, 2), (2, 3)]), lengths, 1e-2)
    assert len(hyper.mean) == 0
    eta = hyper.eta(hyper.mean)
    a, b = rng.random((2, 5))
    expected = 0.0
    for clique, d in (((0, 1, 2), 3), ((2, 3), 2), ((4,), 1)):
        r2 = sum(((a[v] - b[v]) / lengths[v]) ** 2 for v in clique)
        expected += d / 6 * np.exp(-0.5 * r2)
    found = sum(c.cross(a[None], b[None], eta)[0, 0] for c in components)
    assert found == pytest.approx(expected)
    assert sum(c.diagonal(a[None], eta)[0] for c in components) == pytest.approx(1.0)
    assert np.exp(eta[-1]) == pytest.approx(1e-2)


def test_per_clique_posteriors_are_equation_4():
    space = box(4)
    rng = np.random.default_rng(1)
    components, hyper = components_on(space, [(0, 1), (1, 2), (2, 3)])
    X, y, q = rng.random((12, 4)), rng.normal(size=12), rng.random((5, 4))
    eta = hyper.eta(hyper.mean)
    gp = SpaceGP(Covariance(space, components, hyper), X, y)
    theta, evidence = gp.fit([hyper.mean])
    assert len(theta) == 0
    assert np.isfinite(evidence)
    posterior = gp.posterior(theta).additive
    delta = sum(c.cross(X, X, eta) for c in components) + (1e-3 + 1e-10) * np.eye(12)
    for c in components:
        k = c.cross(q, X, eta)
        mean, variance = posterior.of([c]).moments(q)
        np.testing.assert_allclose(mean, k @ np.linalg.solve(delta, y), atol=1e-8)
        expected = c.diagonal(q, eta) - np.sum(k * np.linalg.solve(delta, k.T).T, axis=1)
        np.testing.assert_allclose(variance, expected, atol=1e-8)


def test_a_bound_of_the_clique_sum_is_the_sum_of_bounds():
    space = box(4)
    rng = np.random.default_rng(2)
    components, hyper = components_on(space, [(0, 1), (1, 2), (2, 3)])
    X = rng.random((10, 4))
    gp = AdditiveGP(components, hyper, X, np.ones((10, 1), bool), rng.normal(size=10))
    posterior = gp.posterior(hyper.mean)
    belief, bound = CliqueSum(posterior, components), LowerBound(1.3)
    q = rng.random((6, 4))
    expected = sum(bound.value(*posterior.of([c]).moments(q)) for c in components)
    np.testing.assert_allclose(bound.value(*belief.moments(q)), expected)
    np.testing.assert_allclose(belief.moments(q)[0], posterior.of(components).moments(q)[0])
    assert np.all(belief.moments(q)[1] >= posterior.of(components).moments(q)[1])
    values, gradients = bound.with_gradient(*belief.moments_with_gradients(q))
    np.testing.assert_allclose(values, expected)
    for row, gradient in zip(q, gradients, strict=True):
        numeric = approx_fprime(row, lambda x: bound.value(*belief.moments(x[None]))[0], 1e-7)
        np.testing.assert_allclose(gradient, numeric, atol=1e-4)


def test_cliques_stay_within_nodes():
    space = tree_space()
    names = {d.qualified_name: d.index for d in space.dimensions}
    root = (names["scale"], names["lr"])
    cliques = cliques_by_node(space, [root])
    assert cliques[0] == [root]
    covered = sorted(v for own in cliques for clique in own for v in clique)
    assert covered == [i for i in range(len(space)) if i not in space.tree.children]
    across = (names["lr"], names["model=forest/depth"])
    assert cliques_by_node(space, [across]) == cliques_by_node(space, [])


def test_scales():
    assert scales([(0, 1, 2), (2, 3), (4,)]) == pytest.approx([1 / 2, 1 / 3, 1 / 6])


def test_one_length_scale_per_variable_and_free_scales():
    space = box(4)
    covariance = GraphCovariance(space, edges_of([(0, 1), (1, 2)]), "se", residual=False)
    eta = covariance.hyper.eta(covariance.hyper.mean)
    first, second, alone = covariance.components
    assert (first.name, second.name, alone.name) == ("clique 0,1", "clique 1,2", "clique 3")
    assert eta[first.lengths[1]] == eta[second.lengths[0]]
    assert eta[first.variance] == eta[alone.variance]
    theta = covariance.hyper.mean.copy()
    theta[covariance.hyper.names.index("difference 1")] += 0.5
    moved = covariance.hyper.eta(theta) - eta
    assert moved[[first.lengths[1], second.lengths[0]]] == pytest.approx(0.5)
    assert np.count_nonzero(moved) == 2
    theta[covariance.hyper.names.index("variance clique 3")] += 0.5
    assert covariance.hyper.eta(theta)[alone.variance] == eta[alone.variance] + 0.5


def test_residuals_are_there_where_a_graph_leaves_something_out():
    def kinds(space, groups):
        covariance = GraphCovariance(space, edges_of(groups), "matern52")
        return [c.name.split()[0] for c in covariance.components]

    assert kinds(box(3), [(0, 1)]) == ["clique", "clique", "residual"]
    assert kinds(box(3), [(0, 1, 2)]) == ["clique"]
    covariance = GraphCovariance(tree_space(), [], "matern52")
    assert {c.name.split()[0] for c in covariance.components} == {"clique", "residual", "constant"}
    cliques = clique_components(covariance.components)
    assert {c.name.split()[0] for c in cliques} == {"clique", "constant"}


def test_a_fit_is_remembered_by_name():
    space = box(4)
    rng = np.random.default_rng(0)
    X, z = rng.random((15, 4)), rng.normal(size=15)
    chain = SpaceGP(GraphCovariance(space, [(0, 1), (1, 2)], "se"), X, z)
    theta, _ = chain.fit([chain.hyper.mean], 5)
    kept = chain.hyper.remember(theta)
    np.testing.assert_array_equal(chain.hyper.recall(kept), theta)
    other = SpaceGP(GraphCovariance(space, [(1, 2), (2, 3)], "se"), X, z)
    recalled = other.hyper.remember(present(other.hyper.recall(kept)))
    assert recalled["difference 1"] == kept["difference 1"]
    assert recalled["variance clique 1,2"] == kept["variance clique 1,2"]
    assert recalled["variance clique 2,3"] == 0.0
    assert other.hyper.recall([1.0, 2.0]) is None


def test_components_are_asked_together_as_they_are_one_by_one():
    rng = np.random.default_rng(0)
    space = bq.Space({f"x{i}": bq.Float(0, 1) for i in range(4)} | {"c": bq.Choice(["a", "b"])})
    X = space.to_unit(space.sample(0, 12))
    gp = GraphCovariance(space, [(0, 1)], "matern52").on_rows(X, rng.standard_normal(12))
    posterior = gp.posterior(gp.hyper.mean)
    queries = [space.to_unit(space.sample(i, i + 1)) for i in range(len(posterior.components))]
    for each, component, Q in zip(
        posterior.of_each(posterior.components, queries),
        posterior.components,
        queries,
        strict=True,
    ):
        np.testing.assert_allclose(each, posterior.of([component]).moments(Q), atol=1e-13)
