"""Algorithm 3 against enumeration, and its likelihood against the dense one."""

import itertools

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import multivariate_normal

import bosquet as bq
from bosquet.graphs import components, edges_of, maximal_cliques, treewidth
from bosquet.models.additive_graph import cliques_by_node, paper_additive
from bosquet.models.graph_learning import (
    LENGTHS,
    NOISES,
    GraphLearning,
    GraphState,
    first_state,
    learn_graph,
)
from bosquet.models.graph_likelihood import GraphLikelihood
from bosquet.models.repeats import NOISE_FLOOR
from bosquet.testing.conformance import and_or_space, tree_space


def box(d):
    return bq.Space({f"x{i}": bq.Float(0, 1) for i in range(d)})


def draw(space, edges, n, seed, length=0.2):
    """Targets from the model itself."""
    rng = np.random.default_rng(seed)
    X = space.to_unit(space.sample(rng, n))
    components, hyper = paper_additive(space, edges, dict.fromkeys(range(len(space)), length), 1e-8)
    eta, active = hyper.eta(hyper.mean), space.tree.node_activity(X)
    K = sum(c.cross(X, X, eta) * np.outer(active[:, c.node], active[:, c.node]) for c in components)
    y = np.linalg.cholesky(K + 1e-8 * np.eye(n)) @ rng.standard_normal(n)
    return X, (y - y.mean()) / y.std()


@pytest.mark.parametrize("repeats", [0, 8])
@pytest.mark.parametrize("make_space", [lambda: box(5), tree_space, and_or_space])
def test_the_likelihood_is_the_dense_one(make_space, repeats):
    space = make_space()
    rng = np.random.default_rng(0)
    own = [i for i in space.nodes[0].dimensions if i not in space.tree.children]
    X, z = draw(space, [], 20, 0)
    X[20 - repeats :] = X[[0, 0, 0, 0, 1, 1, 2, 3][:repeats]]
    noise = np.where(rng.random(20) < 0.3, 0.05, np.nan)
    likelihood = GraphLikelihood(space, X, z, noise, "se", free_scale=False)
    active = space.tree.node_activity(X)
    for step in range(12):  # sums are updated from one call to the next
        pairs = list(itertools.combinations(own, 2))
        edges = [pair for pair in pairs if rng.random() < 0.5]
        lengths = rng.choice(LENGTHS, len(space))
        level = float(rng.choice(NOISES))
        cliques = [mine for mine in cliques_by_node(space, edges) if mine]
        found = likelihood(cliques, lengths.tolist(), level)
        parts, hyper = paper_additive(space, edges, dict(enumerate(lengths)), level)
        eta = hyper.eta(hyper.mean)
        K = np.diag(np.where(np.isnan(noise), level, noise) + NOISE_FLOOR)
        for c in parts:
            K += c.cross(X, X, eta) * np.outer(active[:, c.node], active[:, c.node])
        expected = multivariate_normal(np.zeros(20), K, allow_singular=False).logpdf(z)
        assert found == pytest.approx(expected + 10 * np.log(2 * np.pi), rel=1e-8), step


@pytest.mark.parametrize("kind", ["overlap", "disjoint"])
def test_the_best_state_looked_at_is_kept(kind):
    """Of all whose likelihood was computed, drawn or not."""
    seen = []

    class Spy(GraphLikelihood):
        def __call__(self, cliques, lengths, noise):
            seen.append(super().__call__(cliques, lengths, noise))
            return seen[-1]

    space = box(4)
    X, z = draw(space, [(0, 1), (1, 2)], 12, 0)
    likelihood = Spy(space, X, z, np.full(12, np.nan), "se", free_scale=False)
    start = GraphState((), (0.8,) * 4, 1e-2)
    learning = GraphLearning(edge_probability=0.5, likelihoods=60)
    learned = learn_graph(space, likelihood, start, learning, np.random.default_rng(0), kind)
    best = max(seen)
    assert learned.log_likelihood == best
    cliques = [maximal_cliques(range(4), learned.state.edges)]
    again = likelihood(cliques, learned.state.lengths, learned.state.noise)
    assert again == pytest.approx(best)


def test_a_free_scale_is_integrated_out():
    space = box(3)
    X, z = draw(space, [(0, 1)], 15, 1)
    X[13:] = X[:2]
    nan = np.full(15, np.nan)
    cliques, lengths = [[(0, 1), (2,)]], [0.4] * 3
    free = GraphLikelihood(space, X, z, nan, "matern52")(cliques, lengths, 1e-2)
    unit = GraphLikelihood(space, X, z, nan, "matern52", free_scale=False)(cliques, lengths, 1e-2)
    scaled = GraphLikelihood(space, X, 5 * z, nan, "matern52")(cliques, lengths, 1e-2)
    # log of the integral over s2 of N(z; 0, s2 K) IG(s2; 1, 1), constants aside, by quadrature.
    log_s2 = np.linspace(-8, 8, 4001)
    s2 = np.exp(log_s2)
    half_log_det = -GraphLikelihood(space, X, 0 * z, nan, "matern52", free_scale=False)(
        cliques, lengths, 1e-2
    )
    square = -2 * (unit + half_log_det)
    integrand = np.exp(-7.5 * log_s2 - (0.5 * square + 1) / s2 - log_s2)
    log_integral = np.log(trapezoid(integrand, log_s2))
    log_gamma = float(np.sum(np.log(np.arange(0.5, 8.5, 1.0)))) + 0.5 * np.log(np.pi)
    assert free == pytest.approx(log_integral - log_gamma - half_log_det, rel=1e-6)
    assert scaled > -half_log_det - 8.5 * np.log(1 + 12.5 * square) - 1e-9


def test_edge_marginals_are_those_of_enumeration():
    """Three variables, length-scales and noise given: eight graphs."""
    space = box(3)
    X, z = draw(space, [(0, 1)], 12, 3, length=0.5)
    likelihood = GraphLikelihood(space, X, z, np.full(12, np.nan), "se")
    state = GraphState((), (0.4,) * 3, 1e-2)
    pairs = list(itertools.combinations(range(3), 2))
    weights, totals = 0.0, dict.fromkeys(pairs, 0.0)
    p = 0.3
    for there in itertools.product([0, 1], repeat=3):
        edges = [pair for pair, one in zip(pairs, there, strict=True) if one]
        log = likelihood([maximal_cliques(range(3), edges)], state.lengths, state.noise)
        weight = np.exp(log) * p ** len(edges) * (1 - p) ** (3 - len(edges))
        weights += weight
        for edge in edges:
            totals[edge] += weight

    class Fixed(GraphLikelihood):
        """Only the graph counts."""

        def __call__(self, cliques, lengths, noise):
            return super().__call__(cliques, state.lengths, state.noise)

    fixed = Fixed(space, X, z, np.full(12, np.nan), "se")
    learning = GraphLearning(edge_probability=p, likelihoods=10_000)
    learned = learn_graph(space, fixed, state, learning, np.random.default_rng(0))
    for edge in pairs:
        assert learned.marginals[edge] == pytest.approx(totals[edge] / weights, abs=0.03)


def test_the_best_sample_is_kept():
    space = box(5)
    edges = [(0, 1), (1, 2)]
    X, z = draw(space, edges, 80, 0, length=0.4)
    likelihood = GraphLikelihood(space, X, z, np.full(80, np.nan), "se")
    start = first_state(space, likelihood)
    assert start.lengths == (start.lengths[0],) * 5
    learned = learn_graph(space, likelihood, start, GraphLearning(), np.random.default_rng(0))
    assert learned.state.edges == tuple(edges)
    assert learned.likelihoods == pytest.approx(800, abs=6)
    cliques = [maximal_cliques(range(5), learned.state.edges)]
    again = likelihood(cliques, learned.state.lengths, learned.state.noise)
    assert again == pytest.approx(learned.log_likelihood)
    assert min(learned.marginals[edge] for edge in edges) > 0.8
    assert max(p for edge, p in learned.marginals.items() if edge not in edges) < 0.5


def test_few_likelihoods_do_not_lose_the_start():
    space = box(4)
    X, z = draw(space, [(0, 1), (1, 2), (2, 3)], 60, 1, length=0.4)
    likelihood = GraphLikelihood(space, X, z, np.full(60, np.nan), "se")
    good = GraphState(((0, 1), (1, 2), (2, 3)), (0.4,) * 4, 1e-6)
    learned = learn_graph(
        space, likelihood, good, GraphLearning(likelihoods=1), np.random.default_rng(0)
    )
    assert learned.state == good
    assert learned.likelihoods == 1


@pytest.mark.parametrize(("max_clique", "max_treewidth"), [(2, 1), (2, 2), (3, 4)])
def test_caps(max_clique, max_treewidth):
    """Where a clique of all variables is the truth, graphs still keep to the caps."""
    space = box(6)
    X, z = draw(space, edges_of([range(6)]), 60, 0, length=0.8)
    likelihood = GraphLikelihood(space, X, z, np.full(60, np.nan), "se")
    start = GraphState((), (0.8,) * 6, 1e-4)
    learning = GraphLearning(
        edge_probability=0.9,
        likelihoods=300,
        max_clique=max_clique,
        max_treewidth=max_treewidth,
    )
    edges = learn_graph(space, likelihood, start, learning, np.random.default_rng(0)).state.edges
    assert treewidth(range(6), edges) <= max_treewidth
    assert max(map(len, maximal_cliques(range(6), edges))) <= max_clique
    assert len(edges) >= 5


def test_without_caps_all_variables_may_be_one_clique():
    """As published: groups of any size, and triangulations of any width."""
    space = box(6)
    X, z = draw(space, edges_of([range(6)]), 60, 0, length=0.8)
    likelihood = GraphLikelihood(space, X, z, np.full(60, np.nan), "se")
    start = GraphState((), (0.8,) * 6, 1e-4)
    learning = GraphLearning(
        edge_probability=0.99, likelihoods=300, max_clique=None, max_treewidth=None
    )
    edges = learn_graph(space, likelihood, start, learning, np.random.default_rng(0)).state.edges
    assert maximal_cliques(range(6), edges) == [(0, 1, 2, 3, 4, 5)]


def test_disjoint_groups():
    space = box(6)
    truth = [(0, 3), (1, 2, 5), (4,)]
    X, z = draw(space, edges_of(truth), 120, 2, length=0.5)
    likelihood = GraphLikelihood(space, X, z, np.full(120, np.nan), "se")
    start = first_state(space, likelihood)
    rng = np.random.default_rng(0)
    learned = learn_graph(space, likelihood, start, GraphLearning(), rng, "disjoint")
    assert components(range(6), learned.state.edges) == sorted(truth)
    assert learned.marginals[0, 3] > 0.8
    few = GraphLearning(max_groups=2, max_clique=3, likelihoods=300)
    learned = learn_graph(space, likelihood, start, few, rng, "disjoint")
    groups = components(range(6), learned.state.edges)
    assert sorted(map(len, groups)) == [3, 3]
    assert learned.state.edges == tuple(edges_of(groups))


def test_disjoint_groups_go_on_from_those_of_the_last_time():
    """They are dealt anew only where they are too many."""
    space = box(6)
    X, z = draw(space, [], 12, 0)
    likelihood = GraphLikelihood(space, X, z, np.full(12, np.nan), "se")
    start = GraphState(tuple(edges_of([(0, 3), (1, 2, 5), (4,)])), (0.8,) * 6, 1e-2)
    for most, kept in ((3, True), (2, False)):
        only_start = GraphLearning(max_groups=most, max_clique=None, likelihoods=1)
        rng = np.random.default_rng(0)
        learned = learn_graph(space, likelihood, start, only_start, rng, "disjoint")
        assert (learned.state.edges == start.edges) == kept
        assert len(components(range(6), learned.state.edges)) == most


def test_a_variable_changes_its_group_alone():
    """The start is by far the likeliest: all that is looked at is one step away from it."""
    groups, seen = [(0, 3), (1, 2, 5), (4,)], set()

    class Fixed(GraphLikelihood):
        def __call__(self, cliques, lengths, noise):
            (own,) = cliques
            seen.add(tuple(own))
            return 0.0 if own == groups else -1e6

    space = box(6)
    X, z = draw(space, [], 12, 0)
    start = GraphState(tuple(edges_of(groups)), (0.8,) * 6, 1e-2)
    likelihood = Fixed(space, X, z, np.full(12, np.nan), "se")
    rng = np.random.default_rng(0)
    learn_graph(space, likelihood, start, GraphLearning(likelihoods=120), rng, "disjoint")
    expected = set()
    for v in range(6):
        rest = [left for group in groups if (left := tuple(u for u in group if u != v))]
        expected.add(tuple(sorted([*rest, (v,)])))
        for group in rest:
            others = [one for one in rest if one != group]
            expected.add(tuple(sorted([*others, tuple(sorted((*group, v)))])))
    assert seen == expected


def test_a_given_graph_keeps_its_edges():
    space = box(3)
    X, z = draw(space, [(0, 1)], 40, 0)
    likelihood = GraphLikelihood(space, X, z, np.full(40, np.nan), "se")
    start = GraphState(((1, 2),), (3.2,) * 3, 1e-1)
    learned = learn_graph(
        space, likelihood, start, GraphLearning(), np.random.default_rng(0), "fixed"
    )
    assert learned.state.edges == ((1, 2),)
    assert learned.state.lengths != start.lengths
    assert learned.marginals == {}


def test_edges_join_variables_of_one_node_only():
    space = tree_space()
    X, z = draw(space, [], 40, 0)
    likelihood = GraphLikelihood(space, X, z, np.full(40, np.nan), "matern52")
    start = first_state(space, likelihood)
    learned = learn_graph(space, likelihood, start, GraphLearning(), np.random.default_rng(0))
    node = space.tree.node_of_dimension
    assert learned.marginals
    assert all(node[i] == node[j] for i, j in learned.marginals)


def test_groups_are_dealt_within_nodes():
    space = tree_space()
    X, z = draw(space, [], 30, 0)
    likelihood = GraphLikelihood(space, X, z, np.full(30, np.nan), "se")
    few = GraphLearning(max_groups=1, likelihoods=5)
    start = first_state(space, likelihood)
    edges = learn_graph(space, likelihood, start, few, np.random.default_rng(0), "disjoint")
    names = {d.qualified_name: d.index for d in space.dimensions}
    assert edges.state.edges == ((names["scale"], names["lr"]),)


def test_a_covariance_without_a_factor_stops_nothing():
    space = box(2)
    X = 0.5 + 1e-9 * np.arange(60.0).reshape(30, 2)  # repeats would be merged
    z = np.random.default_rng(0).normal(size=30)
    likelihood = GraphLikelihood(space, X, z, np.full(30, -1e-3), "se")
    start = first_state(space, likelihood)
    learned = learn_graph(space, likelihood, start, GraphLearning(), np.random.default_rng(0))
    assert learned.state == start


def test_one_variable_has_no_edges():
    space = box(1)
    X, z = draw(space, [], 10, 0)
    likelihood = GraphLikelihood(space, X, z, np.full(10, np.nan), "se")
    start = first_state(space, likelihood)
    learned = learn_graph(space, likelihood, start, GraphLearning(), np.random.default_rng(0))
    assert learned.state.edges == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("edge_probability", 0.0),
        ("edge_probability", 1.0),
        ("likelihoods", 0),
        ("every", 0),
        ("every", True),
        ("max_clique", 1.5),
        ("max_treewidth", 0),
        ("max_groups", 0),
    ],
)
def test_bad_settings(name, value):
    with pytest.raises(ValueError, match=f"{name}={value}"):
        GraphLearning(**{name: value})


def test_settings_by_the_number_of_variables():
    learning = GraphLearning()
    assert learning.log_odds(40) == pytest.approx(np.log(0.05 / 0.95))
    assert learning.log_odds(2) == 0.0
    assert learning.budget(10) == 800
    assert learning.budget(35) == 2 * (35 * 34 // 2 + 5 * 35)
    assert learning.budget(100) == 3_000
    assert GraphLearning(likelihoods=7).budget(100) == 7
