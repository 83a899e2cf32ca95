from itertools import product

import numpy as np
import pytest

import bosquet as bq
from bosquet.acquisition.base import LogEI
from bosquet.models.feasibility import Feasibility
from bosquet.models.tree_linear import TreeGP, TreeLinear
from bosquet.search import two_step as module
from bosquet.search.two_step import Promise, TwoStep, paths_best_by_draws

TREE = bq.benchmarks.small_balanced(shared=True).space


def shared_space(n=2, **options):
    """n shared numbers and one shared category above two leaves."""
    return bq.Space(
        {f"s{i}": bq.Float(0, 1) for i in range(n)}
        | {
            "kind": bq.Choice(["u", "v", "w"]),
            "steps": bq.Int(1, 4),
            "m": bq.Choice({"a": {"x": bq.Float(0, 1)}, "b": {"y": bq.Float(0, 1)}}),
        },
        **options,
    )


def posterior_on(space, seed=0, n=12, **options):
    rng = np.random.default_rng(seed)
    X = space.to_unit(space.sample(rng, n, by="path"))
    model = TreeLinear(space, list(space.tree.rows_by_path(X)), **options)
    theta = model.hyper.mean + 0.3 * rng.standard_normal(len(model.hyper.names))
    return TreeGP(model, X, rng.standard_normal(n)).posterior(theta), rng


def rows_on(space, path, n, rng):
    X = space.to_unit(space.sample(rng, 60 * n, by="path"))
    return X[space.tree.rows_by_path(X)[path][:n]]


# -- Eqs. (5) and (6) ------------------------------------------------------------------------


@pytest.mark.parametrize("best", [-0.8, -0.5, 0.5])
def test_ei_and_path_ei_against_draws_of_the_model(best):
    posterior, rng = posterior_on(TREE, seed=1)
    steps = TwoStep(TREE, posterior, LogEI(best), plug_in=True)
    path = next(iter(TREE.tree.paths()))
    x = rows_on(TREE, path, 1, rng)
    draws = posterior.draw_weights(100_000, rng)
    z = posterior.model.leaf(path).features(x, posterior.eta)[0]
    shared = draws[:, posterior.model.leaf(path).columns] @ z
    # Eq. (6), with b_p at its posterior mean.
    b = posterior.moments_of_path(x, path)[0][0] - z @ posterior.weights_mean[: len(z)]
    expected = np.maximum(best - b - shared, 0.0)
    found = np.exp(steps.path_ei(x, path)[0])
    assert abs(found - expected.mean()) < 4 * expected.std() / np.sqrt(len(draws))
    # Eq. (5): g_p and c together.
    mean, variance = (moment[0] for moment in posterior.on_path(path).moments(x))
    expected = np.maximum(best - mean - np.sqrt(variance) * rng.standard_normal(len(draws)), 0.0)
    found = np.exp(steps.score(path, x).values[0])
    assert abs(found - expected.mean()) < 4 * expected.std() / np.sqrt(len(draws))


def test_the_uncertainty_of_an_offset_counts_unless_it_is_plugged_in():
    posterior, rng = posterior_on(TREE)
    path = next(iter(TREE.tree.paths()))
    x = rows_on(TREE, path, 1, rng)
    low = -2.0  # where improvement needs luck, variance is what it comes from
    plugged, whole = (
        TwoStep(TREE, posterior, LogEI(low), plug_in=plug_in).path_ei(x, path)[0]
        for plug_in in (True, False)
    )
    assert plugged != pytest.approx(whole, abs=1e-3)


# -- step 1 ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_linear_path_ei_is_highest_at_a_corner(seed):
    space = shared_space()
    posterior, rng = posterior_on(space, seed)
    steps = TwoStep(space, posterior, LogEI(best=-0.5))
    paths = list(space.tree.paths())
    for promise in steps.rank(paths, [0, 0], rng):
        inside = rows_on(space, promise.path, 400, rng)
        assert promise.value >= steps.path_ei(inside, promise.path).max() - 1e-9
        config = space.from_unit(promise.x)
        assert {config["s0"], config["s1"]} <= {0.0, 1.0}
        assert config["steps"] in (1, 4)
        # A segment between two points: convexity itself.
        a, b = inside[0].copy(), inside[1]
        a[2] = b[2]  # the same category
        line = np.array([a + t * (b - a) for t in (0.0, 0.5, 1.0)])
        left, middle, right = np.exp(steps.path_ei(line, promise.path))
        assert middle <= 0.5 * (left + right) + 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_linear_ei_of_a_leaf_is_convex_in_the_shared_variables(seed):
    """Eq. (5) too: whether step 2 moves them or not, they end at a corner."""
    space = shared_space()
    posterior, rng = posterior_on(space, seed)
    steps = TwoStep(space, posterior, LogEI(best=-0.5))
    for path in space.tree.paths():
        a, b = rows_on(space, path, 2, rng)
        names = [d.name for d in space.dimensions]
        moves = [names.index("s0"), names.index("s1")]
        line = np.tile(a, (9, 1))
        line[:, moves] += np.linspace(0.0, 1.0, 9)[:, None] * (b - a)[moves]
        scored = steps.score(path, line)
        order = [int(np.flatnonzero((row == scored.X).all(axis=1))[0]) for row in line]
        ei = np.exp(scored.values[order])
        assert (np.diff(ei, 2) >= -1e-12).all()


def test_fourier_path_ei_may_be_highest_inside():
    """A shared variable with its optimum in the middle."""
    X = TREE.to_unit(TREE.sample(0, 40, by="path"))
    configs = TREE.from_unit(X)
    y = np.array([(c.get("r8", c.get("r9")) - 0.5) ** 2 for c in configs])
    model = TreeLinear(TREE, list(TREE.tree.rows_by_path(X)), features="fourier")
    gp = TreeGP(model, X, (y - y.mean()) / y.std())
    posterior = gp.posterior(gp.fit([model.hyper.mean])[0])
    steps = TwoStep(TREE, posterior, LogEI(float(((y - y.mean()) / y.std()).min())))
    best = steps.rank(list(TREE.tree.paths()), [0] * 4, np.random.default_rng(0))[0]
    config = TREE.from_unit(best.x)
    assert 0.3 < config.get("r8", config.get("r9")) < 0.7


def test_anchor_points_are_looked_at_instead_of_corners():
    """The best of them by Eq. (6), which is no corner, and another one in every ask."""
    posterior, _ = posterior_on(TREE, features="linear")
    path = next(iter(TREE.tree.paths()))

    def promises(anchors, seed=0):
        steps = TwoStep(TREE, posterior, LogEI(0.0), refine_shared=False, anchors=anchors)
        return steps.rank([path], [0], np.random.default_rng(seed))

    corner, many, one = promises(None), promises(64), promises(1)
    assert len(one) == 1
    assert corner[0].value > many[0].value > one[0].value
    assert [p.value for p in many] == sorted([p.value for p in many], reverse=True)
    values = {TREE.from_unit(promises(64, seed)[0].x)["r8"] for seed in range(5)}
    assert len(values) == 5
    assert not values & {0.0, 1.0}


@pytest.mark.parametrize("seed", range(4))
def test_where_corners_are_many_the_ascent_finds_the_best(monkeypatch, seed):
    space = shared_space(6)
    posterior, rng = posterior_on(space, seed, n=20)
    steps = TwoStep(space, posterior, LogEI(best=-0.5))
    paths = list(space.tree.paths())
    every = steps.rank(paths, [0, 0], rng)
    monkeypatch.setattr(module, "ENUMERATED", 1)
    found = steps.rank(paths, [0, 0], rng)
    for path in paths:
        best, near = (next(p.value for p in ps if p.path == path) for ps in (every, found))
        assert near == pytest.approx(best, abs=1e-9)


def test_ties_go_to_the_path_visited_less_and_then_to_chance():
    """Leaves without data below the same inner node look the same."""
    X = TREE.to_unit([{"x1": 1, "r9": 0.5, "x3": 0, "x6": 0.0}])
    model = TreeLinear(TREE, list(TREE.tree.rows_by_path(X)))
    posterior = TreeGP(model, X, np.array([1.0])).posterior(model.hyper.mean)
    steps = TwoStep(TREE, posterior, LogEI(best=-1.0))
    paths = list(TREE.tree.paths())

    def first(visits, seed):
        return steps.rank(paths, visits, np.random.default_rng(seed))[0].path

    left = {first([0, 0, 1, 0], seed) for seed in range(20)}
    assert left == set(paths[:2])  # the half without the bad value, either leaf
    assert {first([3, 0, 1, 0], seed) for seed in range(20)} == {paths[1]}


def test_rounding_does_not_break_ties(monkeypatch):
    posterior, _ = posterior_on(TREE)
    paths = list(TREE.tree.paths())
    noise = {path: 1e-13 * i for i, path in enumerate(paths)}
    monkeypatch.setattr(TwoStep, "path_ei", lambda self, X, path: np.zeros(len(X)) + noise[path])
    steps = TwoStep(TREE, posterior, LogEI(best=0.0))
    firsts = [steps.rank(paths, [0] * 4, np.random.default_rng(s))[0].path for s in range(30)]
    assert set(firsts) == set(paths)


def test_promises_satisfy_the_constraints():
    upper = shared_space(constraints=[lambda c: c["s0"] < 0.5])
    posterior, rng = posterior_on(upper)
    for promise in TwoStep(upper, posterior, LogEI(0.0)).rank(
        list(upper.tree.paths()), [0, 0], rng
    ):
        assert upper.from_unit(promise.x)["s0"] == 0.0  # the other end is forbidden
    inside = shared_space(constraints=[lambda c: 0.2 < c["s0"] < 0.8])
    posterior, rng = posterior_on(inside)
    promises = TwoStep(inside, posterior, LogEI(0.0)).rank(list(inside.tree.paths()), [0, 0], rng)
    assert len(promises) == 2
    for promise in promises:
        assert inside.violation(inside.from_unit(promise.x)) is None


def test_failures_lower_a_path():
    posterior, rng = posterior_on(TREE)
    paths = list(TREE.tree.paths())
    plain = TwoStep(TREE, posterior, LogEI(0.0)).rank(paths, [0] * 4, rng)
    bad = rows_on(TREE, plain[0].path, 30, rng)
    failed = Feasibility(TREE, bad, np.ones(len(bad), dtype=bool))
    wary = TwoStep(TREE, posterior, LogEI(0.0), failed).rank(paths, [0] * 4, rng)
    before, after = (
        next(p.value for p in ranked if p.path == plain[0].path) for ranked in (plain, wary)
    )
    assert after < before - 1.0


def test_the_next_best_corners_are_spare():
    """For when the best one is taken, as where shared values stay where step 1 puts them."""
    space = shared_space()
    posterior, rng = posterior_on(space)
    steps = TwoStep(space, posterior, LogEI(-0.5), refine_shared=False)
    paths = list(space.tree.paths())
    promises = steps.rank(paths, [0, 0], rng)
    assert {promise.path for promise in promises[:2]} == set(paths)
    spares = [promise.value for promise in promises[2:]]
    assert spares == sorted(spares, reverse=True)
    ends = product((0.0, 1.0), (0.0, 1.0), "uvw", (1, 4))
    corners = [{"s0": a, "s1": b, "kind": kind, "steps": n} for a, b, kind, n in ends]
    for path, own in zip(paths, ({"m": "a", "x": 0.5}, {"m": "b", "y": 0.5}), strict=True):
        every = steps.path_ei(space.to_unit([corner | own for corner in corners]), path)
        found = [promise.value for promise in promises if promise.path == path]
        np.testing.assert_allclose(found, np.sort(every)[::-1][:8])


@pytest.mark.parametrize("fails", [False, True])
def test_candidates_are_ranked_by_their_best_row(fails):
    posterior, rng = posterior_on(TREE)
    X = TREE.to_unit(TREE.sample(rng, 30))
    failed = Feasibility(TREE, X[:12], np.arange(12) % 3 > 0) if fails else None
    steps = TwoStep(TREE, posterior, LogEI(0.0), failed)
    rows = {path: X[which] for path, which in TREE.tree.rows_by_path(X).items()}
    ranked = steps.rank_rows(rows)
    assert [p.value for p in ranked] == sorted((p.value for p in ranked), reverse=True)
    for promise in ranked:
        values = steps.path_ei(rows[promise.path], promise.path)
        if failed is not None:
            values = values + failed.log_probability(rows[promise.path], promise.path)
        assert promise.value == values.max()


def test_paths_that_draws_of_the_weights_like():
    """The level of every option is known: the best path comes first, without enumerating."""
    space = bq.Space({f"c{i}": bq.Choice({0: {f"x{i}": bq.Float(0, 1)}, 1: {}}) for i in range(5)})
    configs = space.sample(0, 80)
    y = np.array([sum((c[f"c{i}"] + i) % 2 for i in range(5)) for c in configs], dtype=float)
    X = space.to_unit(configs)
    model = TreeLinear(space, list(space.tree.rows_by_path(X)))
    gp = TreeGP(model, X, (y - y.mean()) / y.std())
    posterior = gp.posterior(gp.fit([model.hyper.mean])[0])
    found = paths_best_by_draws(posterior, 16, np.random.default_rng(0))
    assert len(set(found)) == len(found)
    assert space.tree.path_label(found[0]) == "c0=0, c1=1, c2=0, c3=1, c4=0"


# -- step 2 ----------------------------------------------------------------------------------


@pytest.mark.parametrize("refine", [True, False])
def test_step_two_keeps_the_shared_values_only_when_told_to(refine):
    posterior, rng = posterior_on(TREE, seed=5, n=20)
    steps = TwoStep(TREE, posterior, LogEI(best=-0.3), refine_shared=refine)
    path = next(iter(TREE.tree.paths()))
    r8 = next(d.index for d in TREE.dimensions if d.name == "r8")
    x = rows_on(TREE, path, 1, rng)[0]
    x[r8] = 0.25
    (scored,) = steps.maximise([Promise(path, x, 0.0)], np.zeros((0, len(TREE))), rng)
    assert scored.path == path
    assert np.all(scored.X[:, r8] == 0.25) == (not refine)
    x4 = next(d.index for d in TREE.dimensions if d.name == "x4")
    grid = np.repeat(scored.X[:1], 201, axis=0)
    grid[:, x4] = np.linspace(0, 1, 201)
    assert scored.values[0] >= steps.score(path, grid).values[0] - 1e-6
