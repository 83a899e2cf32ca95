import numpy as np
import pytest

import bosquet as bq
from bosquet.acquisition.base import LogEI, LowerBound
from bosquet.models.add_tree import add_tree
from bosquet.models.covariance import Covariance, SpaceGP
from bosquet.search.tree_path import PathEffort, PathSearch, all_rows


def fitted(problem, n, seed=0):
    space = problem.space
    configs = space.sample(seed, n)
    X = space.to_unit(configs)
    y = np.array([problem(config) for config in configs])
    z = (y - y.mean()) / y.std()
    gp = SpaceGP(Covariance(space, *add_tree(space)), X, z)
    return space, X, z, gp.posterior(gp.fit([gp.hyper.mean])[0])


@pytest.mark.parametrize("kind", [lambda z: LogEI(z.min()), lambda z: LowerBound(2.0)])
@pytest.mark.parametrize("seed", range(3))
def test_the_search_finds_what_a_fine_grid_finds(seed, kind):
    space, X, z, posterior = fitted(bq.benchmarks.small_balanced(shared=True), 25, seed)
    acquisition = kind(z)
    paths = list(space.tree.paths())
    search = PathSearch(space, posterior.on_path, acquisition)
    found = search.maximise(paths, X[np.argsort(z)[:5]], np.random.default_rng(seed))
    assert [s.path for s in found] == sorted(
        paths, key=lambda p: -next(s.values[0] for s in found if s.path == p)
    )
    line = np.linspace(0, 1, 121)
    for scored in found:
        rows = np.repeat(scored.X[:1], len(line) ** 2, axis=0)
        active = np.flatnonzero(space.activity(scored.X[:1])[0])
        free = [i for i in active if isinstance(space.dimensions[i].parameter, bq.Float)]
        first, second = np.meshgrid(line, line)
        rows[:, free[0]], rows[:, free[1]] = first.ravel(), second.ravel()
        assert scored.values[0] >= search.score(scored.path, rows).values[0] - 1e-3


def test_discrete_spaces_are_searched_to_the_best_value():
    problem = bq.benchmarks.mixed(shift=2)
    space, X, z, posterior = fitted(problem, 40)
    search = PathSearch(space, posterior.on_path, LowerBound(1.0))
    rng = np.random.default_rng(0)
    for scored in search.maximise(list(space.tree.paths()), X[np.argsort(z)[:5]], rng):
        np.testing.assert_array_equal(space.snap(scored.X), scored.X)
        rivals = search.candidates(scored.path, X, 20_000, rng)
        assert scored.values[0] >= search.score(scored.path, rivals).values[0] - 0.05


def test_candidates_lie_on_their_path():
    space = bq.benchmarks.and_or(3).space
    covariance = Covariance(space, *add_tree(space))
    good = space.to_unit(space.sample(0, 4))
    posterior = SpaceGP(covariance, good, np.zeros(4)).posterior(covariance.hyper.mean)
    search = PathSearch(space, posterior.on_path, LowerBound(1.0))
    for path in list(space.tree.paths())[:5]:
        rows = search.candidates(path, good, 50, np.random.default_rng(0))
        assert {space.path(config) for config in space.from_unit(rows)} == {path}


def test_starts_are_looked_at_on_every_path():
    space, X, z, posterior = fitted(bq.benchmarks.small_balanced(shared=True), 25)
    effort = PathEffort(candidates=4, least_per_path=4, polished_paths=0)
    search = PathSearch(space, posterior.on_path, LogEI(z.min()), effort=effort)
    start = np.random.default_rng(1).random((1, len(space)))
    paths = list(space.tree.paths())
    for scored in search.maximise(paths, X, np.random.default_rng(0), start):
        choices = list(space.tree.children)
        same = np.delete(scored.X, choices, axis=1) == np.delete(start, choices, axis=1)
        active = np.delete(space.activity(scored.X), choices, axis=1)
        assert np.all(same | ~active, axis=1).any()


# -- paths without continuous coordinates ----------------------------------------------------

GRID = bq.Space(
    {
        "mode": bq.Choice(["a", "b", "c"]),
        "size": bq.Int(1, 40, log=True),
        "solver": bq.Choice({"direct": {}, "iterative": {"steps": bq.Int(1, 9)}}),
    }
)


def grid_posterior(n=30):
    X = GRID.to_unit(GRID.sample(0, n))
    z = np.cos(7 * X).sum(axis=1)
    gp = SpaceGP(Covariance(GRID, *add_tree(GRID)), X, (z - z.mean()) / z.std())
    return X, gp.posterior(gp.hyper.mean)


def test_all_rows_are_those_of_all_configurations():
    configs = list(GRID.configs())
    assert sum(len(all_rows(GRID, path)) for path in GRID.tree.paths()) == len(configs) == 1200
    rows = np.vstack([all_rows(GRID, path) for path in GRID.tree.paths()])
    encoded = GRID.to_unit(configs)
    assert {row.tobytes() for row in rows} == {row.tobytes() for row in encoded}


def test_all_rows_of_very_many_variables():
    """More than an array may have dimensions."""
    space = bq.Space({f"c{i}": bq.Choice(["only"]) for i in range(70)} | {"n": bq.Int(1, 5)})
    (path,) = space.tree.paths()
    assert space.from_unit(all_rows(space, path)) == list(space.configs())


def test_paths_with_more_rows_than_floats_count():
    huge = {f"n{i}": bq.Int(0, 10**9) for i in range(36)}
    space = bq.Space(huge | {"x": bq.Float(0, 1)})
    X = space.to_unit(space.sample(0, 4))
    covariance = Covariance(space, *add_tree(space))
    posterior = SpaceGP(covariance, X, np.arange(4.0)).posterior(covariance.hyper.mean)
    search = PathSearch(space, posterior.on_path, LowerBound(1.0), taken=X)
    (found,) = search.maximise(list(space.tree.paths()), X, np.random.default_rng(0))
    assert np.isfinite(found.best)


@pytest.mark.parametrize("candidates", [16, 2048])
def test_finite_paths_are_searched_for_what_is_not_taken(candidates):
    X, posterior = grid_posterior()
    effort = PathEffort(candidates=candidates, least_per_path=8)
    # Without a bonus the best rows are next to trials, or are theirs.
    acquisition = LowerBound(0.0)
    search = PathSearch(GRID, posterior.on_path, acquisition, effort=effort, taken=X)
    taken = {row.tobytes() for row in X}
    for scored in search.maximise(list(GRID.tree.paths()), X, np.random.default_rng(0)):
        assert not taken & {row.tobytes() for row in scored.X}
        if candidates > GRID.size:
            rows = all_rows(GRID, scored.path)
            free = np.array([row.tobytes() not in taken for row in rows])
            mean, _ = posterior.on_path(scored.path).moments(rows[free])
            assert scored.best == pytest.approx(-mean.min())


def test_a_path_on_which_all_is_taken_is_left_out():
    _, posterior = grid_posterior()
    direct, iterative = sorted(GRID.tree.paths(), key=lambda path: len(all_rows(GRID, path)))
    taken = all_rows(GRID, direct)
    search = PathSearch(GRID, posterior.on_path, LowerBound(1.0), taken=taken)
    found = search.maximise([direct, iterative], taken[:4], np.random.default_rng(0))
    assert [scored.path for scored in found] == [iterative]
    assert search.score(direct, taken).best == -np.inf
