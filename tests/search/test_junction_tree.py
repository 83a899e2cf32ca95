"""Message passing against brute force."""

import itertools

import networkx as nx
import numpy as np
import pytest

import bosquet as bq
from bosquet.acquisition.base import LowerBound
from bosquet.graphs import edges_of, junction_tree, maximal_cliques
from bosquet.models.clique_sum import CliqueSum
from bosquet.models.gp import AdditiveGP
from bosquet.search.clique_tables import plan_levels
from bosquet.search.junction_tree import CliqueSearch, TableEffort
from bosquet.search.message_passing import max_sum
from tests.models.test_additive_graph import components_on

SQUARES = [(0, 1), *(e for k in (2, 4, 6) for e in ((0, k), (k, k + 1), (1, k + 1)))]
GRAPHS = {
    "figure 1": [(1, 2, 3), (1, 3, 4), (4, 5), (6,)],
    "tree": nx.random_labeled_tree(9, seed=1).edges,
    "star": nx.star_graph(8).edges,
    "cycle": nx.cycle_graph(9).edges,
    "grid": nx.convert_node_labels_to_integers(nx.grid_2d_graph(3, 4)).edges,
    "clique of 4": [(0, 1, 2, 3), (3, 4), (5,)],
    "isolated": [(0,), (1,), (2, 3)],
    "an edge with three 4-cycles": SQUARES,
}
GRID = [tuple(e) for e in nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 4)).edges]


def random_tables(vertices, groups, rng, most=3):
    sizes = {v: int(rng.integers(1, most + 1)) for v in vertices}
    cliques = maximal_cliques(vertices, edges_of(groups))
    return sizes, [(c, rng.normal(size=[sizes[v] for v in c])) for c in cliques]


def total(terms, levels):
    return sum(table[tuple(levels[v] for v in clique)] for clique, table in terms)


def brute_force(vertices, sizes, terms):
    """The sum on the whole grid, as one big array."""
    whole = np.zeros([sizes[v] for v in vertices])
    for clique, table in terms:
        whole = whole + table[tuple(slice(None) if v in clique else None for v in vertices)]
    return whole.max()


def check(vertices, groups, rng, roots=None, most=3):
    sizes, terms = random_tables(vertices, groups, rng, most)
    expected = brute_force(vertices, sizes, terms)
    edges = edges_of(groups)
    for root in range(len(junction_tree(vertices, edges).bags)) if roots is None else roots:
        value, levels = max_sum(junction_tree(vertices, edges, root), terms, sizes)
        assert value == pytest.approx(expected)
        assert total(terms, levels) == pytest.approx(expected)
        assert set(levels) == set(vertices)


@pytest.mark.parametrize("name", GRAPHS)
def test_the_maximum_is_that_of_brute_force(name):
    groups = [tuple(group) for group in GRAPHS[name]]
    vertices = sorted({v for group in groups for v in group})
    for seed in range(10):
        check(vertices, groups, np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs(seed):
    rng = np.random.default_rng(seed)
    vertices = list(range(int(rng.integers(1, 10))))
    share = rng.choice([0.1, 0.3, 0.5])
    edges = [e for e in itertools.combinations(vertices, 2) if rng.random() < share]
    check(vertices, edges, rng)


@pytest.mark.parametrize("seed", range(3))
def test_a_grid_of_4_by_4_with_every_root(seed):
    """Here two children of a bag often contain the same clique."""
    check(list(range(16)), GRID, np.random.default_rng(seed), most=2)


def test_minus_infinity_is_never_chosen():
    rng = np.random.default_rng(0)
    sizes, terms = random_tables(range(5), [(0, 1), (1, 2), (2, 3), (3, 4)], rng, most=4)
    mask = np.where(np.eye(sizes[1], sizes[2]) > 0, -np.inf, 0.0)
    terms.append(((1, 2), mask))
    tree = junction_tree(range(5), [(i, i + 1) for i in range(4)])
    value, levels = max_sum(tree, terms, sizes)
    assert levels[1] != levels[2]
    assert value == pytest.approx(brute_force(range(5), sizes, terms))


# -- grids -----------------------------------------------------------------------------------


def test_levels_keep_to_the_budget():
    n_values = {0: np.inf, 1: np.inf, 2: np.inf, 3: 4, 4: np.inf}
    cliques = [(0, 1), (1, 2, 3), (4,)]
    levels = plan_levels(
        cliques, [(0, 1), (1, 2, 3), (4,)], n_values, TableEffort(evaluations=1000)
    )
    assert levels == {0: 31, 1: 15, 2: 15, 3: 4, 4: 33}
    levels = plan_levels(cliques, [(0, 1), (1, 2, 3), (4,)], n_values, TableEffort(entries=500))
    assert levels == {0: 22, 1: 11, 2: 11, 3: 4, 4: 33}
    assert (
        plan_levels([tuple(range(7))], [], dict.fromkeys(range(7), np.inf), TableEffort()) is None
    )


# -- the search on a posterior ---------------------------------------------------------------


def posterior_on(space, groups, n=25, seed=0):
    rng = np.random.default_rng(seed)
    components, hyper = components_on(space, groups)
    X = space.to_unit(space.sample(rng, n))
    gp = AdditiveGP(components, hyper, X, space.tree.node_activity(X), rng.normal(size=n))
    return gp.posterior(hyper.mean)


def box(d):
    return bq.Space({f"x{i}": bq.Float(0, 1) for i in range(d)})


CYCLE = [(0, 1), (1, 2), (2, 3), (0, 3)]


@pytest.mark.parametrize("seed", range(3))
def test_the_refined_optimum_beats_a_fine_search(seed):
    space = box(4)
    posterior = posterior_on(space, CYCLE, seed=seed)
    acquisition, rng = LowerBound(0.8), np.random.default_rng(seed)
    belief = CliqueSum(posterior, posterior.components)
    found = CliqueSearch(space, posterior, posterior.components).maximise(acquisition, rng)
    values = acquisition.value(*belief.moments(found.rows))
    assert values[0] == pytest.approx(found.values[0])
    assert np.all(np.diff(values) <= 1e-12)  # every stage is at least as good as the one before
    assert values[0] > values[-1]
    rows = rng.random((40_000, 4))
    assert values[0] >= acquisition.value(*belief.moments(rows)).max()
    local = np.clip(found.rows[0] + 0.02 * rng.normal(size=(5_000, 4)), 0, 1)
    assert values[0] >= acquisition.value(*belief.moments(local)).max() - 1e-6
    assert found.summary == {"cliques": 4, "treewidth": 2, "table_entries": 2 * 31**3}


def test_without_refinement_it_is_the_best_point_of_the_grid():
    space = box(4)
    posterior = posterior_on(space, CYCLE)
    acquisition = LowerBound(0.8)
    effort = TableEffort(evaluations=81, refine=False, levels=9)
    search = CliqueSearch(space, posterior, posterior.components, effort)
    found = search.maximise(acquisition, np.random.default_rng(0))
    line = np.linspace(0, 1, 9)
    grid = np.array(list(itertools.product(line, repeat=4)))
    belief = CliqueSum(posterior, posterior.components)
    assert len(found.rows) == 1
    assert found.values[0] == pytest.approx(acquisition.value(*belief.moments(grid)).max())
    assert np.isin(found.rows[0], line).all()
    # And the next best ones, in order.
    values = np.sort(acquisition.value(*belief.moments(grid)))[::-1]
    ranked = list(itertools.islice(search.ranked(acquisition, np.random.default_rng(0), 1), 30))
    np.testing.assert_allclose([value for value, *_ in ranked], values[:30], rtol=1e-9)
    rows = np.array([row for *_, row in ranked])
    np.testing.assert_allclose(acquisition.value(*belief.moments(rows)), values[:30], rtol=1e-9)
    assert len(np.unique(rows, axis=0)) == 30
    np.testing.assert_allclose(rows * 8, np.round(rows * 8), atol=1e-12)


@pytest.mark.parametrize("evaluations", [27, 8])  # three levels of a triangle; none at all
def test_where_tables_are_too_small_the_whole_grid_is_exchanged(evaluations):
    space = box(3)
    posterior = posterior_on(space, [(0, 1, 2)])
    acquisition = LowerBound(0.8)
    effort = TableEffort(evaluations=evaluations, refine=False, levels=13)
    search = CliqueSearch(space, posterior, posterior.components, effort)
    ranked = list(search.ranked(acquisition, np.random.default_rng(0), 1))
    assert len(ranked) in (evaluations, evaluations + 1)
    values = np.array([value for value, *_ in ranked])
    assert np.all(np.diff(values) <= 0)
    row = ranked[0][2]
    np.testing.assert_allclose(row * 12, np.round(row * 12), atol=1e-12)
    belief = CliqueSum(posterior, posterior.components)
    for v in range(3):  # no value of one variable is better
        near = np.repeat(row[None], 13, axis=0)
        near[:, v] = np.linspace(0, 1, 13)
        assert acquisition.value(*belief.moments(near)).max() <= values[0] + 1e-12
    assert search.maximise(acquisition, np.random.default_rng(0)).values[0] == values[0]


def test_points_of_a_conditional_space_are_ranked_over_its_paths():
    space = bq.Space({"m": bq.Choice({"a": {"x": bq.Float(0, 1)}, "b": {"y": bq.Int(1, 4)}})})
    rng = np.random.default_rng(0)
    posterior = posterior_on(space, [], n=12)
    acquisition = LowerBound(1.0)
    effort = TableEffort(evaluations=9, refine=False, levels=9)
    search = CliqueSearch(space, posterior, posterior.components, effort)
    ranked = list(search.ranked(acquisition, rng, 2))
    values = [value for value, *_ in ranked]
    assert len(ranked) == 9 + 4
    assert values == sorted(values, reverse=True)
    assert len({path for _, path, _ in ranked}) == 2
    assert len(list(search.ranked(acquisition, rng, 1))) in (9, 4)


def test_discrete_variables_are_exact():
    space = bq.Space(
        {
            "a": bq.Choice(["p", "q", "r"]),
            "b": bq.Int(1, 30, log=True),
            "c": bq.Float(0, 1, step=0.125),
            "d": bq.Choice([1, 2, 5], ordered=True),
        }
    )
    posterior = posterior_on(space, [(0, 1), (1, 2), (2, 3)])
    acquisition = LowerBound(0.5)
    found = CliqueSearch(space, posterior, posterior.components).maximise(
        acquisition, np.random.default_rng(0)
    )
    everything = space.to_unit(list(space.configs()))
    belief = CliqueSum(posterior, posterior.components)
    best = acquisition.value(*belief.moments(everything)).max()
    assert found.values[0] == pytest.approx(best)
    np.testing.assert_array_equal(space.snap(found.rows), found.rows)


def test_many_values_are_zoomed_in_on_and_exchanged():
    space = bq.Space({"a": bq.Int(0, 999), "b": bq.Int(1, 200), "c": bq.Float(0, 1)})
    posterior = posterior_on(space, [(0, 1), (1, 2)])
    acquisition = LowerBound(0.5)
    found = CliqueSearch(space, posterior, posterior.components).maximise(
        acquisition, np.random.default_rng(0)
    )
    belief = CliqueSum(posterior, posterior.components)
    rows = space.to_unit(space.sample(0, 30_000))
    assert found.values[0] >= acquisition.value(*belief.moments(rows)).max()
    np.testing.assert_array_equal(space.snap(found.rows[:1]), found.rows[:1])


def test_categories_too_many_for_a_grid_are_tried_one_by_one():
    space = bq.Space({"a": bq.Choice([f"o{i}" for i in range(90)]), "b": bq.Float(0, 1)})
    posterior = posterior_on(space, [(0,), (1,)], n=60)
    acquisition = LowerBound(0.01)
    found = CliqueSearch(space, posterior, posterior.components).maximise(
        acquisition, np.random.default_rng(0)
    )
    rows = np.repeat(found.rows[:1], 90, axis=0)
    rows[:, 0] = (np.arange(90) + 0.5) / 90
    belief = CliqueSum(posterior, posterior.components)
    best = acquisition.value(*belief.moments(rows)).max()
    assert found.values[0] == pytest.approx(best)


def test_constraints_inside_a_node_are_kept_exactly():
    space = bq.Space(
        {"a": bq.Float(0, 1), "b": bq.Float(0, 1), "c": bq.Int(0, 9), "d": bq.Float(0, 1)},
        constraints=[
            bq.Constraint(lambda s: s["a"] + s["d"] < 0.4, on=("a", "d")),
            bq.Forbid({"c": [0, 1, 2, 3]}),
            lambda config: True,
        ],
    )
    posterior = posterior_on(space, [(0, 1), (1, 2), (2, 3)])
    acquisition = LowerBound(0.5)
    search = CliqueSearch(space, posterior, posterior.components, TableEffort(zooms=1))
    assert search.summary["treewidth"] == 2  # the constraint on a and d closes a cycle
    found = search.maximise(acquisition, np.random.default_rng(0))
    on_grid = space.from_unit(found.rows[-1])
    assert space.violation(on_grid) is None
    rows = np.array(list(itertools.product(*[np.linspace(0, 1, 17)] * 2, [0.0], [0.0])))
    shifts = [np.array([0, 0, (c + 0.5) / 10, d]) for c in range(4, 10) for d in (0, 0.2)]
    rows = np.vstack([rows + shift for shift in shifts])
    rows = rows[[space.violation(config) is None for config in space.from_unit(rows)]]
    belief = CliqueSum(posterior, posterior.components)
    best = acquisition.value(*belief.moments(rows)).max()
    assert acquisition.value(*belief.moments(found.rows[-1:]))[0] >= best - 0.1


def test_too_wide_a_graph_is_searched_without_tables_and_says_so():
    space = box(9)
    posterior = posterior_on(space, [tuple(range(9))])
    acquisition, rng = LowerBound(0.5), np.random.default_rng(0)
    found = CliqueSearch(space, posterior, posterior.components).maximise(acquisition, rng)
    assert found.summary["notes"] == [
        "no message passing: a clique of 9 variables, treewidth 8; random rows and climbing instead"
    ]
    belief = CliqueSum(posterior, posterior.components)
    rows = rng.random((20_000, 9))
    assert found.values[0] >= acquisition.value(*belief.moments(rows)).max()
    six = posterior_on(box(6), [tuple(range(6))])
    coarse = CliqueSearch(box(6), six, six.components)
    assert coarse.summary["notes"] == ["grids coarsened to 3 levels"]


def test_every_node_has_its_optimum():
    space = bq.Space(
        {
            "s": bq.Float(0, 1),
            "t": bq.Float(0, 1),
            "m": bq.Choice({"a": {"x": bq.Float(0, 1), "y": bq.Float(0, 1)}, "b": {}}),
        }
    )
    names = {d.name: d.index for d in space.dimensions}
    posterior = posterior_on(space, [(names["s"], names["t"]), (names["x"], names["y"])])
    acquisition, rng = LowerBound(0.5), np.random.default_rng(0)
    found = CliqueSearch(space, posterior, posterior.components).maximise(acquisition, rng)
    for component in posterior.components:
        if component.features:
            rows = rng.random((5_000, len(space)))
            values = acquisition.value(*posterior.of([component]).moments(rows))
            assert found.values[component.node] >= values.max()
            best = acquisition.value(*posterior.of([component]).moments(found.rows[:1]))[0]
            assert best <= found.values[component.node] + 1e-9
