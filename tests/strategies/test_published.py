"""`.paper()` and `.released()`: what the pages list as faithful stays so."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import bosquet as bq
from bosquet.acquisition.base import LogEI
from bosquet.acquisition.lognormal import LognormalEI
from bosquet.data import History, Trial
from bosquet.models.covariance import SpaceGP
from bosquet.models.forest import Forest, log_costs
from bosquet.models.graph_learning import GraphLearning
from bosquet.models.plain import plain
from bosquet.models.transform import transform
from bosquet.models.treed import NO_LIMITS, PathLikelihood, TreedGP
from bosquet.search.subregion import subregion
from bosquet.space.sobol import sobol
from bosquet.strategies import HTBO, Additive, AddTree, BOinG, BOinGPlus, Task, TreeEI, Turbo, get
from bosquet.strategies import boing as boing_module
from bosquet.strategies import htbo as htbo_module
from bosquet.strategies import turbo as turbo_module
from bosquet.strategies.choosing import Ask, first_free
from bosquet.strategies.fitting import Setting
from bosquet.strategies.local import improve
from bosquet.strategies.published import SMAC, TURBO, Noisy, Textbook, fit_published
from bosquet.strategies.turbo import trust_region
from bosquet.testing import STRATEGY_CHECKS
from tests.support import present


def box(d=2):
    return bq.Space({f"x{i}": bq.Float(0, 1) for i in range(d)})


def known(n=24, d=2, seed=0):
    space = box(d)
    rng = np.random.default_rng(seed)
    trials = [
        Trial(i, {f"x{k}": float(v) for k, v in enumerate(x)}, "complete", float(np.exp(x @ x)))
        for i, x in enumerate(rng.random((n, d)))
    ]
    return Task(space, History(space, trials), index=n)


class Soon(BOinG):
    """The forest comes in as early as may be."""

    def __init__(self):
        made = BOinG.paper()
        super().__init__(
            points_per_dimension=2,
            log_cost=made.log_cost,
            explore_every=made.explore_every,
            early=made.early,
            published=made.published,
        )


@pytest.mark.parametrize("check", STRATEGY_CHECKS, ids=lambda check: check.__name__)
def test_the_published_forest_stage_conforms(check):
    check(Soon)


# -- the fit ---------------------------------------------------------------------------------


def test_a_fit_has_its_restarts_and_remembers_nothing():
    task = known()
    data = task.history.dataset()
    starts = []

    class Spy(SpaceGP):
        def fit(self, given, max_iterations=200):
            starts.append(np.array(given))
            return super().fit(given, max_iterations)

    z = transform(data.y, data.noise).z
    model = Spy(plain(task.space, SMAC), data.X, z)
    fitted, again = (fit_published(task, model, z, data.noise) for _ in range(2))
    assert fitted.record == again.record
    assert len(starts[0]) == 10
    np.testing.assert_array_equal(starts[0][0], model.hyper.mean)
    assert (starts[0] >= model.hyper.lower).all()
    assert (starts[0] <= model.hyper.upper).all()
    assert len({tuple(start) for start in starts[0].tolist()}) == 10


def test_noise_is_part_of_the_variance():
    task = known()
    data = task.history.dataset()
    model = SpaceGP(plain(task.space, SMAC), data.X, transform(data.y, data.noise).z)
    inner = model.posterior(model.hyper.mean)
    noisy = Noisy(inner).with_pending(np.array([[0.5, 0.5]]))
    inner = inner.with_pending(np.array([[0.5, 0.5]]))
    mean, variance = inner.on_path((0,)).moments(data.X)
    expected = mean, variance + np.exp(inner.eta[-1])
    np.testing.assert_allclose(noisy.on_path((0,)).moments(data.X), expected)
    np.testing.assert_allclose(noisy.on_path((0,)).moments_with_gradients(data.X)[:2], expected)


@pytest.fixture
def starts(monkeypatch):
    """Of every fit of a Gaussian process, where it started."""
    starts = []
    fit = SpaceGP.fit

    def spy(self, given, max_iterations=200):
        starts.append((np.array(given), self.hyper))
        return fit(self, given, max_iterations)

    monkeypatch.setattr(SpaceGP, "fit", spy)
    return starts


# -- Add-Tree --------------------------------------------------------------------------------


@pytest.mark.parametrize(("strategy", "n"), [(AddTree.paper(), 5), (AddTree.released(), 2)])
def test_add_tree_is_fitted_from_random_starts(strategy, n, starts):
    """All over the bounds, in every ask others, and none of them where the last fit ended."""
    task = known()
    data, rng = task.history.dataset(), np.random.default_rng(0)
    for _ in range(3):
        memory = strategy.fit(task, data, rng).memory
        *others, last = task.history.trials
        task = Task(task.space, History(task.space, [*others, replace(last, memory=memory)]))
    drawn = np.vstack([given for given, _ in starts])
    assert [len(given) for given, _ in starts] == [n] * 3
    assert len({*drawn[:, 0].tolist()}) == 3 * n
    hyper = starts[0][1]
    assert np.ptp((drawn - hyper.lower) / (hyper.upper - hyper.lower)) > 0.6


def test_add_tree_is_fitted_by_maximum_likelihood_alone():
    """No priors and no ties; the released code has no variances to fit, and no noise."""
    space = bq.benchmarks.small_balanced(shared=True).space
    for strategy, kinds in ((AddTree.paper(), 2), (AddTree.released(), 1)):
        hyper = strategy.covariance(space, Setting("se")).hyper
        assert np.isinf(hyper.sd).all()
        assert (hyper.matrix.sum(axis=1) <= 1).all()  # of thetas in one eta
        assert (hyper.matrix.sum(axis=0) == 1).all()  # of etas with one theta
        assert sum(name != "noise" for name in hyper.names) == 6 * kinds


# -- BOinG -----------------------------------------------------------------------------------


def test_every_fit_of_boing_has_ten_starts(starts):
    """On all trials, on those inside, and with inducing points; fits before do not matter."""
    task = known(40)
    data, strategy = task.history.dataset(), BOinG.paper()
    inside = data.X[:, 0] < 0.5
    Textbook.paper().fit(task, data, np.random.default_rng(0))
    for one in (strategy, replace(strategy, model="local"), replace(strategy, model="full")):
        one.local_model(task, data, inside)
    assert [len(given) for given, _ in starts] == [10] * 4


@pytest.mark.parametrize("make", [BOinG.paper, BOinGPlus.paper])
def test_boing_begins_with_2d_sobol_points(make):
    problem = bq.benchmarks.levy(3, shift=0)
    result = bq.minimize(problem, problem.space, n_trials=8, strategy=make(), seed=0)
    why = ["design" in trial.info["why"] for trial in result.trials]
    assert why == [True] * 6 + [False] * 2
    assert Textbook.paper().covariance(box()).hyper.names[-1] == "noise"


def test_the_forest_is_searched_by_ei_of_a_lognormal_below_the_predicted_best(monkeypatch):
    seen = []

    class Spy(LognormalEI):
        def __init__(self, log_best):
            seen.append(log_best)
            super().__init__(log_best)

    monkeypatch.setattr(boing_module, "LognormalEI", Spy)
    task = known()
    data, strategy = task.history.dataset(), BOinG.paper()
    forest = strategy.forest(task, data, np.random.default_rng(0))
    strategy.global_best(task, data, forest, None, set(), np.random.default_rng(0))
    assert seen == [pytest.approx(forest.moments(data.X)[0].min())]
    assert np.ptp(strategy.costs(data)) == pytest.approx(np.ptp(log_costs(data.y)))


def test_with_plain_costs_the_forest_is_searched_by_plain_ei(monkeypatch):
    """D.3: EI at the global level, on costs as they are."""
    seen = []

    class Spy(LogEI):
        def __init__(self, best):
            seen.append(best)
            super().__init__(best)

    monkeypatch.setattr(boing_module, "LogEI", Spy)
    task = known()
    data, strategy = task.history.dataset(), replace(BOinG.paper(), log_cost=False)
    forest = strategy.forest(task, data, np.random.default_rng(0))
    strategy.global_best(task, data, forest, None, set(), np.random.default_rng(0))
    assert seen == [pytest.approx(forest.moments(data.X)[0].min())]
    np.testing.assert_array_equal(strategy.costs(data), data.y)


def test_the_local_level_is_the_authors(monkeypatch):
    asks, covariances = [], []

    def spy(ask, region, feasibility):
        asks.append((ask, region))
        return improve(ask, region, feasibility)

    def spied(space, published, widths):
        covariances.append((published, widths))
        return plain(space, published, widths)

    monkeypatch.setattr(boing_module, "improve", spy)
    monkeypatch.setattr(boing_module, "plain", spied)
    task = known(40)
    BOinG.paper().next(task, task.taken, np.random.default_rng(0))
    ((ask, region),) = asks
    assert isinstance(ask.fitted.posterior, Noisy)
    inside = region.contains(task.history.units)
    assert ask.best == pytest.approx(ask.fitted.means(task.history.units[inside]).min())
    ((published, widths),) = covariances
    assert published is SMAC
    np.testing.assert_array_equal(widths, region.upper - region.lower)


def test_the_forest_grows_as_the_authors_do(monkeypatch):
    """Ten trees, leaves of one trial, all columns looked at, and the spread of the trees alone."""
    asked = []

    def spy(*arguments, **options):
        asked.append(options)
        return Forest(*arguments, **options)

    monkeypatch.setattr(boing_module, "Forest", spy)
    task = known(30)
    data, strategy = task.history.dataset(), BOinG.paper()
    forest = strategy.forest(task, data, np.random.default_rng(0))
    assert len(forest.trees) == 10
    assert asked == [{"least_in_leaf": 1, "columns_per_split": 1.0}]
    for tree in forest.trees:
        leaf = tree.children_left == -1
        np.testing.assert_allclose(tree.impurity[leaf], 0.0, atol=1e-12)
        assert (tree.n_node_samples[leaf] == 1).all()
    E = forest.encode(data.X)
    by_tree = np.array([tree.value[tree.apply(E), 0, 0] for tree in forest.trees])
    mean, variance = forest.moments(data.X)
    np.testing.assert_allclose(mean, by_tree.mean(axis=0))
    np.testing.assert_allclose(variance, np.maximum(by_tree.var(axis=0), 1e-8))
    ours = BOinG().forest(task, data, np.random.default_rng(0))
    assert min(t.n_node_samples[t.children_left == -1].min() for t in ours.trees) > 1


def test_a_subregion_has_more_than_n_min_trials_and_at_most_half(monkeypatch):
    """Algorithm 1, line 8; the bound above is of the authors' code."""
    asked = []

    def spy(space, forest, x, X, least, most=np.inf):
        found = subregion(space, forest, x, X, least, most)
        asked.append((least, most, int(found[1].sum())))
        return found

    monkeypatch.setattr(boing_module, "subregion", spy)
    for n in (40, 60):
        task = known(n)
        BOinG.paper().next(task, task.taken, np.random.default_rng(0))
        BOinG(explore_every=None).next(task, task.taken, np.random.default_rng(0))
    few, ours, many, again = asked
    assert few[:2] == (11, np.inf)  # n_min = 10; half of 40 is not above 2 n_min
    assert many[:2] == (11, 30)
    assert 11 <= many[2] <= 30
    assert ours[:2] == again[:2] == (10, np.inf)


def test_one_candidate_of_the_forest_in_twelve_is_random(monkeypatch):
    searched = []
    monkeypatch.setattr(BOinG, "global_best", lambda *_: searched.append(1))
    task, rng = known(40), np.random.default_rng(0)
    forest = BOinG.paper().forest(task, task.history.dataset(), rng)
    monkeypatch.setattr(BOinG, "forest", lambda *_: forest)
    monkeypatch.setattr(boing_module, "improve", lambda *_: None)
    found = [BOinG.paper().next(task, task.taken, rng) for _ in range(300)]
    drawn = [one for one in found if one is not None]
    assert len(drawn) + len(searched) == 300
    assert 0.05 < len(drawn) / 300 < 0.13
    assert all(BOinG(explore_every=None).next(task, task.taken, rng) is None for _ in range(50))


def test_units_are_those_of_all_trials_where_hardly_any_are_outside():
    """Appendix B: fewer outside than inducing points, one GP of all."""
    task = known(40)
    data, strategy = task.history.dataset(), BOinG.paper()
    for outside in (3, 4):
        inside = np.ones(40, dtype=bool)
        inside[:outside] = False
        fitted, inducing = strategy.local_model(task, data, inside)
        chosen = inside if outside == 4 else slice(None)
        assert inducing == (4 if outside == 4 else 0)
        assert np.mean(fitted.z[chosen]) == pytest.approx(0.0, abs=1e-9)
        assert np.std(fitted.z[chosen]) == pytest.approx(1.0)


def test_boing_begins_with_the_local_gaussian_process_on_all_trials():
    task = known(12)
    strategy = Textbook.paper()
    fitted = strategy.fit(task, task.history.dataset(), np.random.default_rng(0))
    assert isinstance(fitted.posterior, Noisy)
    assert (strategy.incumbent, strategy.explore_every, strategy.transforms) == (
        "predicted",
        None,
        False,
    )
    assert strategy.places(task) is None
    local, inducing = BOinG.paper().local_model(
        task, task.history.dataset(), np.ones(12, dtype=bool)
    )
    assert inducing == 0
    assert fitted.record.theta == pytest.approx(local.record.theta, abs=1e-5)  # logarithms


def test_turbo_inside_boing_plus_is_the_authors(monkeypatch):
    steps = []
    step = Turbo.step

    def spy(self, *arguments):
        steps.append((self.acquisition, self.published))
        return step(self, *arguments)

    monkeypatch.setattr(Turbo, "step", spy)
    problem = bq.benchmarks.levy(2, shift=0)
    opt = bq.Optimizer(problem.space, BOinGPlus.paper(), seed=1)
    engines = []
    for i in range(60):
        trial = opt.ask()
        engines.append(trial.info["engine"])
        opt.tell(trial, 1.0 + i)
        if len(steps) > 4:
            break
    assert set(steps) == {("thompson", True)}
    # A run of TuRBO that finds nothing goes on until it collapses, which takes 16 failures.
    start = engines.index("turbo")
    assert set(engines[start:]) == {"turbo"}


# -- TuRBO -----------------------------------------------------------------------------------


def test_turbo_has_the_authors_gaussian_process_and_sobol_points(monkeypatch):
    made, drawn = [], []

    def spy(task, model, z, noise, **settings):
        made.append((model, z))
        assert settings == {"restarts": 1, "iterations": 50}
        return fit_published(task, model, z, noise, **settings)

    def spied(*arguments):
        drawn.append(arguments)
        return sobol(*arguments)

    monkeypatch.setattr(turbo_module, "fit_published", spy)
    monkeypatch.setattr(turbo_module, "sobol", spied)
    task = known(12)
    data = task.history.dataset()
    found = Turbo.paper().step(task, data, 0.8, task.taken, np.random.default_rng(0))
    assert found is not None
    ((model, z),) = made
    assert np.median(z) == pytest.approx(0.0)
    assert np.std(z) == pytest.approx(1.0)
    assert model.hyper.names[-1] == "mean"
    np.testing.assert_allclose(np.exp(model.hyper.upper[:3]), [20.0, 2.0, 2.0])
    noise = model.hyper.names.index("noise")
    bounds = np.exp([model.hyper.lower[noise], model.hyper.upper[noise]])
    np.testing.assert_allclose(bounds, TURBO.noises)
    assert [arguments[0] for arguments in drawn] == [2]
    assert drawn[0][-1] == 200


def scattered(d, n, rng):
    """Trials whose values are a slope and more noise."""
    space = box(d)
    X = rng.random((n, d))
    values = (X[:, 0] + 0.5 * rng.standard_normal(n)).tolist()
    pairs = enumerate(zip(space.from_unit(X), values, strict=True))
    trials = [Trial(i, config, "complete", value) for i, (config, value) in pairs]
    return Task(space, History(space, trials), index=n)


def test_turbo_is_around_the_best_trial_observed(monkeypatch):
    """Not around the one with the lowest mean, which is another one here."""
    regions, fits = [], []

    def spy(*arguments):
        regions.append(trust_region(*arguments))
        return regions[-1]

    def spied(*arguments, **settings):
        fits.append(fit_published(*arguments, **settings))
        return fits[-1]

    monkeypatch.setattr(turbo_module, "trust_region", spy)
    monkeypatch.setattr(turbo_module, "fit_published", spied)
    task = scattered(2, 40, np.random.default_rng(2))
    data = task.history.dataset()
    Turbo.paper().step(task, data, 0.8, task.taken, np.random.default_rng(0))
    best = int(np.argmin(data.y))
    assert np.argmin(fits[0].means(data.X)) != best
    np.testing.assert_array_equal(regions[0].centre, data.X[best])


def test_turbo_moves_20_coordinates_of_the_centre(monkeypatch):
    looked_at = []

    def spy(task, scored, taken):
        looked_at.append(scored[0].X)
        return first_free(task, scored, taken)

    monkeypatch.setattr(turbo_module, "first_free", spy)
    task = scattered(40, 50, np.random.default_rng(0))
    data, strategy = task.history.dataset(), replace(Turbo.paper(), most_points=200)
    strategy.step(task, data, 0.8, task.taken, np.random.default_rng(0))
    moved = looked_at[0] != data.X[np.argmin(data.y)]
    assert moved.shape == (200, 40)
    assert 0.47 < moved.mean() < 0.53


# -- HTBO ------------------------------------------------------------------------------------


def test_htbo_has_a_mean_a_leaf_beta_warps_and_no_limits(monkeypatch):
    made = []

    def spy(*arguments, **options):
        made.append((arguments, options))
        return TreedGP(*arguments, **options)

    monkeypatch.setattr(htbo_module, "TreedGP", spy)
    task = known(30)
    data = task.history.dataset()
    strategy = HTBO.paper()
    targets = transform(data.y, data.noise)
    model = strategy.model_on(task.space, data.X, targets, Setting("matern52"))
    assert made[0][1]["limits"] is NO_LIMITS
    assert not made[0][1]["earned"]
    assert model.hyper.names[-1] == "mean"
    np.testing.assert_allclose(np.exp(model.hyper.upper[1:3]), 2.0)
    posterior = model.posterior(model.fit([model.hyper.mean])[0])
    far = np.array([[0.5, 0.5]])
    assert len(posterior.leaves) > 2
    assert all(leaf.own for leaf in posterior.leaves)
    assert np.isfinite(posterior.on_path((0,)).moments(far)).all()
    warped = HTBO(model="paper", kernel="matern52", warp=True)
    bent = warped.model_on(task.space, data.X, targets, Setting("matern52"))
    beta = HTBO(model="paper", kernel="matern52", warp="beta")
    same = beta.model_on(task.space, data.X, targets, Setting("matern52"))
    theta = bent.hyper.mean + 0.1
    queries = np.random.default_rng(1).random((5, 2))
    np.testing.assert_array_equal(
        bent.posterior(theta).on_path((0,)).moments(queries),
        same.posterior(theta).on_path((0,)).moments(queries),
    )
    with pytest.raises(ValueError, match="kernel='evidence': model='paper' has kernel='matern52'"):
        HTBO(model="paper")


@pytest.mark.parametrize("warp", [False, True])
def test_cold_fits_of_htbo_have_three_starts(warp):
    """The prior's, and as the page says from short length-scales and from much noise."""
    task = known()
    data = task.history.dataset()
    strategy = replace(HTBO.paper(), warp=warp)
    targets = transform(data.y, data.noise)
    model = strategy.model_on(task.space, data.X, targets, Setting("matern52"))
    at = {name: i for i, name in enumerate(model.hyper.names)}
    short, loud = (start - model.hyper.mean for start in model.starts)
    assert [name for name in at if loud[at[name]]] == ["noise"]
    assert model.starts[1][at["noise"]] == pytest.approx(np.log(0.1))
    changed = [name for name in at if short[at[name]]]
    assert all(name.startswith("length") for name in changed)
    assert short.min() == pytest.approx(-np.log(10))


def test_samples_of_htbo_are_256_and_all_of_them_decide(monkeypatch):
    """In every leaf; the search may look at some of them first."""
    asked = []

    def drawn(self, n, rng):
        asked.append(n)
        return self.hyper.mean + 0.3 * rng.standard_normal((n, len(self.hyper.mean)))

    monkeypatch.setattr(PathLikelihood, "sample", drawn)
    monkeypatch.setattr(htbo_module, "GRID", 500)
    task = known(14)
    data, strategy = task.history.dataset(), replace(HTBO.paper(), inference="mcmc")
    rng = np.random.default_rng(0)
    fitted = strategy.fit(task, data, rng)
    leaves = fitted.posterior.leaves
    assert len(leaves) == len(asked) > 1
    assert set(asked) == {256} == {len(leaf.samples) for leaf in leaves}
    best = float(fitted.z.min())
    found = present(strategy.next(Ask(task, fitted, best, data.X, task.taken, rng)))
    x = task.space.to_unit([found.config])
    beliefs = leaves[fitted.posterior.tree.leaf_of(x)[0]].on_path((0,))
    values = [LogEI(best, 0.0).value(*belief.moments(x))[0] for belief in beliefs]
    assert found.value == pytest.approx(np.log(np.mean(np.exp(values))))


def test_the_mean_differs_from_leaf_to_leaf():
    """Far from its rows a leaf expects its own level."""
    space = box(1)
    X = np.linspace(0, 1, 24)[:, None]
    rng = np.random.default_rng(0)
    y = np.where(X[:, 0] < 0.5, 0.0, 10.0) + 0.1 * rng.standard_normal(24)
    targets = transform(y, np.full(24, np.nan))
    strategy = HTBO(model="paper", kernel="matern52", leaf_only=True, earned=False, exact=True)
    model = strategy.model_on(space, X, targets, Setting("matern52"))
    posterior = model.posterior(model.hyper.mean)
    means = [leaf.on_path((0,))[0].moments(np.array([[0.5]]))[0][0] for leaf in posterior.leaves]
    assert means[0] < -0.5
    assert means[-1] > 0.5


# -- all of them -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "published",
    [AddTree.paper(), AddTree.released(), TreeEI.paper(), Additive.paper(), HTBO.paper()],
    ids=lambda strategy: strategy.name,
)
def test_nothing_that_our_defaults_add_is_in_a_published_version(published):
    """No exploration, transforms, defaults or good places; EI below the best value observed."""
    assert published.explore_every is None
    assert not published.transforms
    assert not published.defaults_first
    assert published.places(known()) is None
    assert published.acquisition != "logei" or published.incumbent == "observed"
    space = box(2)
    first = bq.Optimizer(space, published, seed=0).ask().config
    assert first != space.from_unit(np.full((1, 2), 0.5))[0]


BOING = {
    "model": "lgpga",
    "log_cost": True,
    "local_targets": True,
    "points_per_dimension": 5,
    "published": True,
}
SETTINGS: dict[str, dict[str, Any]] = {
    "add-tree.paper": {"acquisition": "node-ucb", "model": "paper", "restarts": 5, "beta": None},
    "add-tree.released": {"acquisition": "ucb", "model": "released", "restarts": 2, "beta": 25.0},
    "tree-ei.paper": {
        "features": "raw",
        "offsets": "scalar",
        "leaf": "own",
        "search": "two-step",
        "k": 1,
        "anchors": None,
        "refine_shared": False,
        "model": "paper",
        "kernel": "matern52",
    },
    "additive.paper": {
        "acquisition": "ucb",
        "model": "paper",
        "graph": "learned",
        "residual": False,
        "max_eval": None,
        "learning": GraphLearning(
            edge_probability=0.5,
            likelihoods=200,
            every=30,
            max_clique=None,
            max_treewidth=None,
            max_groups=None,
        ),
    },
    "htbo.paper": {
        "least": 5,
        "leaf_only": False,
        "earned": False,
        "inference": "map",
        "warp": False,
        "search": "grid",
        "exact": True,
        "model": "paper",
        "kernel": "matern52",
    },
    "boing.paper": BOING,
    "boing+.paper": BOING,
    "turbo.paper": {
        "acquisition": "thompson",
        "most_points": 5000,
        "least_length": 2.0**-7,
        "published": True,
    },
}


@pytest.mark.parametrize("name", SETTINGS)
def test_the_settings_that_the_pages_name(name):
    strategy = get(name)
    found = {setting: getattr(strategy, setting) for setting in SETTINGS[name]}
    assert found == SETTINGS[name]


@pytest.mark.parametrize("published", [BOinG.paper(), BOinGPlus.paper()])
def test_boing_as_published_does_not_explore(published):
    assert published.explore_every is None
