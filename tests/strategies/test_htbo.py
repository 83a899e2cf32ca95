"""HTBO: what it searches, says and refuses; the rest is in the conformance suite."""

from itertools import pairwise

import numpy as np
import pytest

import bosquet as bq
from bosquet.acquisition.base import LogEI
from bosquet.data import History, Trial
from bosquet.models.transform import Targets
from bosquet.models.treed import TreedGP
from bosquet.search.tree_path import PathSearch
from bosquet.strategies import HTBO, AddTree, FlatGP, Task
from bosquet.strategies import htbo as module
from bosquet.strategies.candidates import Candidates
from bosquet.strategies.choosing import Ask
from bosquet.strategies.fitting import Setting
from bosquet.strategies.htbo import sobol_grid


def rough(config):
    """Flat on the left; on the right narrow waves, the deepest at about 0.8."""
    x = config["x"]
    wave = np.sin(70 * x) * np.exp(-30 * (x - 0.8) ** 2) if x > 0.6 else 0.0
    return float(wave - 0.1 * x)


def interval():
    return bq.Space({"x": bq.Float(0, 1)})


def known(space, objective, n, seed=0):
    """A history of random trials."""
    configs = space.sample(seed, n)
    return History(space, [Trial(i, c, "complete", objective(c)) for i, c in enumerate(configs)])


def asked(space, objective, n, strategy, **options):
    """The trial that follows some random ones."""
    return bq.Optimizer(
        space, strategy, seed=0, history=known(space, objective, n), **options
    ).ask()


@pytest.fixture
def seen(monkeypatch):
    """Of the search of each leaf: its region, belief and acquisition."""
    seen = []

    class Spy(PathSearch):
        def __init__(self, space, belief_on, acquisition, feasibility, region=None, taken=None):
            seen.append((region, belief_on((0,)).beliefs[0], acquisition))
            super().__init__(space, belief_on, acquisition, feasibility, region=region, taken=taken)

    monkeypatch.setattr(module, "PathSearch", Spy)
    return seen


def test_every_leaf_is_searched_with_its_own_posterior(seen):
    info = asked(interval(), rough, 25, HTBO()).info
    assert info["leaf"]["leaves"] == len(seen) > 2
    edges = sorted((float(r.lower[0]), float(r.upper[0])) for r, _, _ in seen)
    assert edges[0][0] == 0.0
    assert edges[-1][1] == 1.0
    assert all(a[1] == b[0] for a, b in pairwise(edges))
    means = {float(belief.moments(np.array([[0.5]]))[1][0]) for _, belief, _ in seen}
    assert len(means) == len(seen)


def test_info_says_which_leaf():
    trial = asked(interval(), rough, 25, HTBO())
    about = trial.info["leaf"]
    low, high = about["where"]["x"]
    assert low <= trial.config["x"] <= high
    inside = [c for c in interval().sample(0, 25) if low <= c["x"] <= high]
    assert about["trials"] == len(inside) >= 5


def test_leaves_have_their_own_hyperparameters_if_they_earn_them_or_always():
    task = Task(interval(), known(interval(), rough, 40), index=40)

    def owners(**options):
        strategy = HTBO(**options)
        posterior = strategy.fit(task, task.history.dataset(), np.random.default_rng(0)).posterior
        return {leaf.own for leaf in posterior.leaves}

    assert owners() == {True, False}
    assert owners(earned=False) == {True}
    assert not HTBO.paper().earned
    assert asked(interval(), rough, 40, HTBO(earned=False)).info["leaf"]["own"] is True


def treed(X, z, warp):
    targets = Targets(z, np.full(len(z), np.nan), 0.0)
    return HTBO(warp=warp).model_on(interval(), X, targets, Setting("matern52"))


@pytest.mark.parametrize("warp", [False, True])
def test_fits_also_start_from_short_lengths_and_from_noise(warp):
    X, z = np.array([[0.2], [0.7]]), np.array([1.0, -1.0])
    gp = treed(X, z, warp)
    prior = gp.hyper.eta(gp.hyper.mean)
    short, loud = (gp.hyper.eta(start) - prior for start in gp.starts)
    assert np.flatnonzero(loud).tolist() == [gp.hyper.noise]
    assert prior[-1] + loud[-1] == pytest.approx(np.log(0.1))
    assert np.count_nonzero(short) == 1
    assert short.min() == pytest.approx(-np.log(10))


@pytest.mark.parametrize("warp", [False, True])
def test_a_noisy_start_keeps_noise_from_being_resolved(warp):
    """Noise of 0.6 standard deviations: a fit that starts quiet takes it for a short length."""
    problem = bq.benchmarks.yuan_wahba(12)
    X = np.random.default_rng([2004, 60, 12]).random((60, 1))
    y = np.array([problem({"x1": float(x)}) for x in X[:, 0]])
    z = (y - y.mean()) / y.std()
    gp = treed(X, z, warp)
    theta = gp.fit([gp.hyper.mean])[0]
    assert gp.hyper.eta(theta)[-1] > np.log(0.05)


def test_a_branch_is_split_by_its_own_variable():
    space = bq.Space(
        {
            "s": bq.Float(0, 1),
            "m": bq.Choice({"a": {"x": bq.Float(0, 1)}, "b": {"n": bq.Int(1, 5)}}),
        }
    )

    def objective(config):
        if config["m"] == "b":
            return 3.0 + config["s"]
        return config["s"] + (5.0 if config["x"] < 0.5 else -1.0)

    trial = asked(space, objective, 36, HTBO())
    where = trial.info["leaf"]["where"]
    assert where["m"] == ["a"]
    assert where["x"] != [0.0, 1.0]
    assert where["x"][0] <= trial.config["x"] <= where["x"][1]


@pytest.mark.parametrize("strategy", [HTBO(), HTBO.paper(), HTBO(inference="mcmc")])
def test_candidates_have_the_posterior_of_their_leaf(strategy, monkeypatch):
    monkeypatch.setattr("bosquet.models.treed.SAMPLES", 32)
    space = interval()
    grid = [{"x": float(x)} for x in np.linspace(0, 1, 81)]
    trials = [Trial(i, grid[5 * i], "complete", rough(grid[5 * i])) for i in range(16)]
    task = Task(space, History(space, trials), candidates=Candidates(space, grid), index=16)
    data = task.history.dataset()
    fitted = strategy.fit(task, data, np.random.default_rng(0))
    best = float(fitted.z.min())
    taken = {t.key for t in trials}
    found = strategy.next(Ask(task, fitted, best, data.X, taken, np.random.default_rng(0)))
    posterior, expected = fitted.posterior, {}
    for config in task.left(taken):
        x = space.to_unit([config])
        leaf = posterior.leaves[posterior.tree.leaf_of(x)[0]]
        values = [LogEI(best).value(*belief.moments(x))[0] for belief in leaf.on_path((0,))]
        expected[config["x"]] = np.log(np.mean(np.exp(values)))
    assert found.config["x"] == max(expected, key=lambda x: expected[x])
    assert found.value == pytest.approx(max(expected.values()))


def test_the_grid_covers_all_paths_and_what_is_near_the_best():
    problem = bq.benchmarks.small_balanced(shift=0)
    space = problem.space
    good = space.to_unit(space.sample(0, 2))
    paths = list(space.tree.paths())
    rows = module.sobol_grid(space, paths, good, np.random.default_rng(0))
    assert set(rows) == set(paths)
    assert sum(len(X) for X in rows.values()) == 20_000 + 10
    for path, X in rows.items():
        assert (space.tree.node_activity(X)[:, list(path)]).all()
    best = space.path(space.from_unit(good[0]))
    assert np.abs(rows[best][:10] - good[0]).max() < 0.01


def test_the_grid_is_what_the_paper_looks_at(monkeypatch):
    """Without the climb from its best rows a proposal is one of them."""
    monkeypatch.setattr(PathSearch, "polish", lambda self, found, rng: found)
    monkeypatch.setattr(module, "GRID", 64)
    grids = []

    def spy(*arguments):
        grids.append(sobol_grid(*arguments))
        return grids[-1]

    monkeypatch.setattr(module, "sobol_grid", spy)
    x = asked(interval(), rough, 14, HTBO.paper()).config["x"]
    assert np.abs(grids[0][(0,)][:, 0] - x).min() < 1e-9
    asked(interval(), rough, 14, HTBO())
    assert len(grids) == 1


def test_many_trials_have_limits_unless_all_is_to_be_exact(monkeypatch):
    """About twelve leaves at most, fits to 250 trials, predictions from 400."""
    made = []

    class Spy(TreedGP):
        def __init__(self, grow, *arguments, **options):
            made.append((grow(), options["limits"]))
            super().__init__(grow, *arguments, **options)

    monkeypatch.setattr(module, "TreedGP", Spy)
    X = np.random.default_rng(0).random((600, 1))
    targets = Targets(np.sin(40 * X[:, 0]), np.full(600, np.nan), 0.0)
    for strategy in (HTBO(), HTBO(exact=True)):
        strategy.model_on(interval(), X, targets, Setting("matern52"))
    (ours, limits), (exact, none) = made
    assert (limits.leaves, limits.fitted, limits.factored) == (12, 250, 400)
    assert (none.leaves, none.fitted, none.factored) == (None, None, None)
    assert min(len(leaf.cell.rows) for leaf in ours.leaves) >= 50
    assert len(exact.leaves) > 12 >= len(ours.leaves) > 2


def test_known_noise_counts_by_leaf(seen):
    """Where evaluations are quiet, more is learned from one: the acquisition says so."""
    space = interval()
    rng = np.random.default_rng(0)
    trials = []
    for i, x in enumerate(rng.random(40).tolist()):
        quiet = x < 0.5
        value = (0.0 if quiet else 4.0) + 0.01 * rng.standard_normal()
        trials.append(Trial(i, {"x": x}, "complete", value, 1e-4 if quiet else 1.0))
    strategy = HTBO(least=15, transforms=False)
    task = Task(space, History(space, trials), index=40)
    data = task.history.dataset()
    fitted = strategy.fit(task, data, rng)
    posterior = fitted.posterior
    spread = np.var(data.y)
    np.testing.assert_allclose(
        posterior.noise(np.array([[0.2], [0.9]])), [1e-4 / spread, 1.0 / spread]
    )
    assert strategy.next(Ask(task, fitted, 0.0, data.X, task.taken, rng)) is not None
    assert [acquisition.samples[0].noise for _, _, acquisition in seen] == [
        pytest.approx(leaf.noise[0]) for leaf in posterior.leaves
    ]


@pytest.mark.parametrize("options", [{"inference": "mcmc"}, {"warp": True}, {"leaf_only": True}])
def test_options_run_and_replay(options):
    space = bq.Space({"x": bq.Float(0, 1), "n": bq.Int(1, 5)})

    def objective(config):
        return rough(config) + 0.1 * config["n"]

    first, again = (asked(space, objective, 14, HTBO(**options)) for _ in range(2))
    assert first.config == again.config
    assert first.info["leaf"]["leaves"] > 1


@pytest.mark.parametrize("strategy", [AddTree(warp=True), FlatGP(warp="beta")])
def test_other_strategies_can_warp(strategy):
    """A variable that should have been declared with log=True."""
    space = bq.Space(
        {"x": bq.Float(0, 1000), "k": bq.Choice({"a": {"y": bq.Float(0, 1)}, "b": {}})}
    )

    def objective(config):
        return np.log10(config["x"] + 1e-3) ** 2 + config.get("y", 1.0)

    found = asked(space, objective, 14, strategy).memory["fits"][strategy.name]["theta"]
    plain = asked(space, objective, 14, type(strategy)()).memory["fits"][strategy.name]["theta"]
    assert len(found) == len(plain) + 4
    assert found["warp a 0"] < -0.1  # its low end is stretched


def test_bad_arguments_are_said():
    with pytest.raises(ValueError, match="least=1 must be an integer of at least 2"):
        HTBO(least=1)
    with pytest.raises(ValueError, match="inference='vi' must be one of map, mcmc"):
        HTBO(inference="vi")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="search='sobol' must be one of box, grid"):
        HTBO(search="sobol")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="warp='cdf' must be True, False, 'beta'"):
        HTBO(warp="cdf")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="use warp=False"):
        AddTree(warp=True, acquisition="node-ucb", interactions=False)
