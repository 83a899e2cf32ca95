"""Leaves against Gaussian processes written out by hand."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from bosquet.acquisition.base import LogEI
from bosquet.models.add_tree import add_tree
from bosquet.models.cart import Cart
from bosquet.models.covariance import Covariance, SpaceGP
from bosquet.models.plain import plain
from bosquet.models.treed import (
    LEAST_GAIN,
    NO_LIMITS,
    Limits,
    Mixture,
    PathLikelihood,
    TreedGP,
)
from bosquet.models.warping import on_rows
from bosquet.strategies.htbo import SPEARMINT
from tests.models.uneven import box, jagged, tree_space


def treed(space, X, z, noise=None, least=5, warp=None, **options):
    noise = np.full(len(z), np.nan) if noise is None else noise
    covariance = Covariance(space, *add_tree(space))

    def make(rows, weights=None):
        return on_rows(covariance, X[rows], z[rows], noise[rows], warp, weights)

    return TreedGP(lambda: Cart(space, X, z, least), make, noise, **options), covariance


class Cells:
    """Eq. (2) written out: the likelihood of every cell by itself. The slow reference."""

    def __init__(self, models, weights):
        self.models, self.weights, self.hyper = models, weights, models[0].hyper

    def log_likelihood(self, theta):
        parts = [model.log_likelihood(theta) for model in self.models]
        value = sum(w * one for w, (one, _) in zip(self.weights, parts, strict=True))
        return value, sum(w * by for w, (_, by) in zip(self.weights, parts, strict=True))

    def log_likelihoods(self, thetas):
        return np.array([self.log_likelihood(theta)[0] for theta in thetas])


def slow_path(covariance, X, z, leaf, noise=None, warp=None):
    noise = np.full(len(z), np.nan) if noise is None else noise
    cells = [on_rows(covariance, X[c.rows], z[c.rows], noise[c.rows], warp) for c in leaf.path]
    return PathLikelihood(Cells(cells, leaf.weights))


def test_weights_of_equation_2():
    X, z = jagged(40)
    deep = max(Cart(box(), X, z).leaves, key=lambda leaf: len(leaf.path))
    assert len(deep.path) >= 3
    sizes = [len(cell.rows) for cell in deep.path]
    depth = len(sizes) - 1
    expected = [sizes[-1] / sizes[i] / (1 + depth - i) for i in range(len(sizes))]
    np.testing.assert_allclose(deep.weights, expected)
    assert deep.weights[-1] == 1.0


def on_a_tree():
    """Rows of a conditional space, two of them repeated, some with known noise."""
    space = tree_space()
    X = space.to_unit(space.sample(1, 30))
    X = np.vstack([X, X[:2]])
    return space, X, np.sin(7 * X.sum(axis=1)) + 0.1 * np.cos(40 * np.arange(32))


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("warp", [None, "kumaraswamy"])
@pytest.mark.parametrize("data", [lambda: (box(), *jagged()), on_a_tree], ids=["box", "tree"])
def test_the_log_posterior_along_a_path_is_the_sum_over_its_cells(data, warp, mean):
    """One factor of all rows against one of every cell."""
    space, X, z = data()
    noise = np.where(np.arange(len(z)) % 3 == 0, 0.01, np.nan)
    covariance = Covariance(space, *add_tree(space))
    leaf = max(Cart(space, X, z).leaves, key=lambda leaf: len(leaf.path))
    assert len(leaf.path) > 2
    rows, weights = leaf.nested()
    model = on_rows(covariance, X[rows], z[rows], noise[rows], warp, weights, mean)
    fast = PathLikelihood(model)
    theta = fast.hyper.mean + 0.2
    theta[len(covariance.hyper.mean) - 1] = np.log(0.01)  # of the noise
    value, gradient = fast.log_posterior(theta)
    parts = [
        on_rows(covariance, X[c.rows], z[c.rows], noise[c.rows], warp, None, mean)
        for c in leaf.path
    ]
    likelihoods = [part.log_likelihood(theta)[0] for part in parts]
    expected = leaf.weights @ likelihoods + fast.hyper.log_prior(theta)[0]
    assert value == pytest.approx(expected)
    numeric = approx_fprime(theta, lambda t: fast.log_posterior(t)[0], 1e-7)
    np.testing.assert_allclose(gradient, numeric, rtol=2e-3, atol=2e-3)
    assert fast.log_posterior(fast.map(theta))[0] > value + 1


def test_a_leaf_predicts_from_all_rows_with_its_own_hyperparameters():
    X, z = jagged()
    noise = np.where(np.arange(24) % 4 == 0, 0.02, np.nan)
    space = box()
    gp, covariance = treed(space, X, z, noise)
    theta = gp.fit([gp.hyper.mean])[0]
    posterior = gp.posterior(theta)
    queries = np.linspace(0, 1, 60)[:, None]
    leaf_of = posterior.tree.leaf_of(queries)
    mean, variance = posterior.on_path((0,)).moments(queries)
    thetas = set()
    for i, leaf in enumerate(posterior.tree.leaves):
        own = slow_path(covariance, X, z, leaf, noise).map(theta)
        thetas.add(tuple(own))
        whole = SpaceGP(covariance, X, z, noise).posterior(own)
        expected = whole.on_path((0,)).moments(queries[leaf_of == i])
        np.testing.assert_allclose(mean[leaf_of == i], expected[0], atol=1e-3)
        np.testing.assert_allclose(variance[leaf_of == i], expected[1], rtol=1e-2, atol=1e-4)
        assert posterior.leaves[i].noise == [pytest.approx(np.exp(whole.eta[-1]), rel=1e-2)]
    assert len(thetas) == len(posterior.tree.leaves) > 2

    alone = treed(space, X, z, noise, leaf_only=True)[0].posterior(theta)
    i = int(leaf_of[10])
    rows = posterior.tree.leaves[i].cell.rows
    alike = SpaceGP(covariance, X[rows], z[rows], noise[rows])
    eta = posterior.leaves[i].samples[0].eta
    np.testing.assert_array_equal(alone.leaves[i].samples[0].eta, eta)
    found = alone.on_path((0,)).moments(queries[10:11])
    (common,) = (t for t in thetas if np.allclose(covariance.hyper.eta(np.array(t)), eta))
    np.testing.assert_allclose(
        found, alike.posterior(np.array(common)).on_path((0,)).moments(queries[10:11])
    )


def test_one_leaf_is_the_plain_model():
    X, z = jagged(8)
    gp, covariance = treed(box(), X, z)
    plain = SpaceGP(covariance, X, z)
    theta, value = gp.fit([gp.hyper.mean])
    assert value == plain.fit([gp.hyper.mean])[1]
    queries = np.linspace(0, 1, 9)[:, None]
    np.testing.assert_array_equal(
        gp.posterior(theta).on_path((0,)).moments(queries),
        plain.posterior(theta).on_path((0,)).moments(queries),
    )
    np.testing.assert_array_equal(gp.hyper.recall(gp.hyper.remember(theta)), theta)


def test_hyperparameters_follow_the_place():
    """Where the function varies little, so does its prior; the whole has one variance."""
    X, z = jagged(40)
    gp, covariance = treed(box(), X, z)
    posterior = gp.posterior(gp.fit([gp.hyper.mean])[0])
    slot = covariance.components[0].variance
    variances = {leaf.cell.upper[0]: leaf.samples[0].eta[slot] for leaf in posterior.leaves}
    quiet = [v for upper, v in variances.items() if upper < 0.5]
    wild = [v for upper, v in variances.items() if upper > 0.75]
    assert max(quiet) < posterior.eta[slot] < min(wild)


def left_out(covariance, X, z, theta, i):
    """log p(z_i | all others), by a model without row i."""
    rest = np.arange(len(z)) != i
    posterior = SpaceGP(covariance, X[rest], z[rest]).posterior(theta)
    mean, variance = (m[0] for m in posterior.on_path((0,)).moments(X[i : i + 1]))
    variance += np.exp(posterior.eta[-1])
    return -0.5 * (np.log(2 * np.pi * variance) + (z[i] - mean) ** 2 / variance)


@pytest.mark.parametrize("leaf_only", [False, True])
def test_a_leaf_must_earn_its_hyperparameters(leaf_only):
    """By predicting its rows better with them, each from all others (or those of the leaf)."""
    X, z = jagged(40)
    gp, covariance = treed(box(), X, z, earned=True, leaf_only=leaf_only)
    theta = gp.fit([gp.hyper.mean])[0]
    posterior = gp.posterior(theta)
    for leaf in posterior.leaves:
        rows = leaf.cell.rows
        best = slow_path(covariance, X, z, leaf.leaf).map(theta)
        data = (X[rows], z[rows]) if leaf_only else (X, z)
        which = range(len(rows)) if leaf_only else rows
        gain = sum(
            left_out(covariance, *data, best, i) - left_out(covariance, *data, theta, i)
            for i in which
        )
        assert leaf.own == (gain > LEAST_GAIN)
        eta = covariance.hyper.eta(best if leaf.own else theta)
        np.testing.assert_allclose(leaf.samples[0].eta, eta, atol=0.05)  # where L-BFGS-B stops
    assert len({leaf.own for leaf in posterior.leaves}) == 2
    everyone = treed(box(), X, z, leaf_only=leaf_only)[0].posterior(theta)
    assert all(leaf.own for leaf in everyone.leaves)


def test_what_leaves_have_in_common_is_computed_once():
    """Leaves that keep the hyper-parameters of the root share its posterior and its densities."""
    X, z = jagged(40)
    covariance = Covariance(box(), *add_tree(box()))
    calls = []

    class Spy(SpaceGP):
        def posterior(self, theta):
            calls.append(("posterior", *theta))
            return super().posterior(theta)

        def leave_one_out(self, theta):
            calls.append(("left out", *theta))
            return super().leave_one_out(theta)

    def make(rows, weights):
        return Spy(covariance, X[rows], z[rows], None, weights)

    gp = TreedGP(lambda: Cart(box(), X, z), make, np.full(40, np.nan), earned=True)
    leaves = gp.posterior(gp.fit([gp.hyper.mean])[0]).leaves
    assert sum(not leaf.own for leaf in leaves) > 1
    assert len(calls) == len(set(calls))


# -- many rows -------------------------------------------------------------------------------


def uneven(n, seed=0):
    """Flat in one half of a square, waves in the other."""
    X = np.random.default_rng(seed).random((n, 2))
    z = np.where(X[:, 0] < 0.5, X[:, 1], 2 * np.sin(25 * X[:, 0]) * X[:, 1])
    return X, (z - z.mean()) / z.std()


def test_limits_change_nothing_while_rows_are_few():
    X, z = uneven(40)
    exact, fast = treed(box(2), X, z)[0], treed(box(2), X, z, limits=Limits(2, 40, 40))[0]
    theta, value = exact.fit([exact.hyper.mean])
    assert fast.fit([exact.hyper.mean])[1] == value
    queries = np.random.default_rng(1).random((30, 2))
    np.testing.assert_array_equal(
        exact.posterior(theta).on_path((0,)).moments(queries),
        fast.posterior(theta).on_path((0,)).moments(queries),
    )
    assert Limits(4).least(5, 100) == 25
    assert NO_LIMITS.least(5, 10_000) == 5
    assert not NO_LIMITS.exceeded(10_000)


def test_beyond_the_limits_it_predicts_as_well():
    """240 rows with at most 120 in a factor, against one of all."""
    X, z = uneven(240)
    queries, held_out = uneven(200, seed=1)
    density = {}
    for label, limits in (("exact", NO_LIMITS), ("fast", Limits(6, 60, 120))):
        gp, _ = treed(box(2), X, z, least=limits.least(5, 240), earned=True, limits=limits)
        posterior = gp.posterior(gp.fit([gp.hyper.mean])[0])
        mean, variance = posterior.on_path((0,)).moments(queries)
        variance = variance + posterior.noise(queries)
        log_density = -0.5 * (np.log(2 * np.pi * variance) + (held_out - mean) ** 2 / variance)
        density[label] = float(np.mean(log_density))
    assert density["fast"] > density["exact"] - 0.3


def test_no_factor_is_larger_than_the_limit():
    X, z = uneven(240)
    covariance = Covariance(box(2), *add_tree(box(2)))
    sizes = []

    def make(rows, weights):
        sizes.append(len(rows))
        return SpaceGP(covariance, X[rows], z[rows], None, weights)

    limits = Limits(6, 60, 120)
    tree = Cart(box(2), X, z, limits.least(5, 240))
    gp = TreedGP(lambda: tree, make, np.full(240, np.nan), earned=True, limits=limits)
    posterior = gp.posterior(gp.hyper.mean)
    assert 2 < len(posterior.leaves) <= 7
    assert set(sizes) <= {*range(61), 120}
    assert sizes.count(120) == 1 + len(posterior.leaves)


def test_a_fit_to_some_rows_is_scaled_to_all():
    X, z = uneven(60)
    gp, covariance = treed(box(2), X, z, limits=Limits(None, None, 30))
    every = np.linspace(0, 59, 30).round().astype(int)
    _, value = SpaceGP(covariance, X[every], z[every]).fit([gp.hyper.mean])
    assert gp.fit([gp.hyper.mean])[1] == pytest.approx(2 * value)


def test_leaves_that_earn_nothing_share_the_samples_of_the_root(monkeypatch):
    monkeypatch.setattr("bosquet.models.treed.SAMPLES", 16)
    X, z = jagged(30)
    gp, _ = treed(box(), X, z, earned=True, inference="mcmc")
    leaves = gp.posterior(gp.fit([gp.hyper.mean])[0]).leaves
    chains: dict[bool, set[Any]] = {leaf.own: set() for leaf in leaves}
    for leaf in leaves:
        chains[leaf.own].add(tuple(tuple(one.eta) for one in leaf.samples))
    assert len(chains[False]) == 1 < sum(not leaf.own for leaf in leaves)
    assert len(chains[True]) == sum(leaf.own for leaf in leaves)


def test_a_second_start_finds_what_the_first_takes_for_noise():
    X, z = jagged(40)
    z = np.sin(90 * X[:, 0])
    gp, _ = treed(box(), X, z)
    rough = np.array(gp.hyper.mean)
    rough[3] -= np.log(10)  # the common length-scale
    more, _ = treed(box(), X, z, starts=[rough])
    theta, evidence = gp.fit([gp.hyper.mean])
    better, higher = more.fit([gp.hyper.mean])
    assert higher > evidence + 5
    assert better[-1] < theta[-1] - np.log(10)


def test_the_variance_at_a_split_is_far_below_that_between_midpoint_leaves():
    """Figure 1, leaves on their own data: a gap between two leaves that share no point."""
    X = np.linspace(0, 1, 17)[:, None]
    z = np.where(X[:, 0] < 0.5, -1.0, 1.0) + 0.1 * np.sin(9 * X[:, 0])
    gp, covariance = treed(box(), X, z, least=8, leaf_only=True)
    theta = np.array(gp.hyper.mean)
    posterior = gp.posterior(theta)
    assert len(posterior.leaves) == 2
    edge = posterior.leaves[0].cell.upper[0]
    left, right = X[:, 0] <= edge, X[:, 0] > edge
    middle = 0.5 * (X[left].max() + X[right].min())
    queries = np.linspace(X[left].max(), X[right].min(), 21)[1:-1, None]
    ours = posterior.on_path((0,)).moments(queries)[1]
    thetas = [PathLikelihood(SpaceGP(covariance, X[s], z[s])).map(theta) for s in (left, right)]
    alone = [
        SpaceGP(covariance, X[s], z[s]).posterior(t)
        for s, t in zip((left, right), thetas, strict=True)
    ]
    beliefs = [one.on_path((0,)).moments(queries)[1] for one in alone]
    midpoint = np.where(queries[:, 0] <= middle, *beliefs)
    assert ours.max() < 0.5 * midpoint.max()


def test_gradients_of_beliefs_and_pending_rows_on_a_tree():
    space = tree_space()
    configs = space.sample(1, 40)
    X = space.to_unit(configs)
    z = np.sin(7 * X.sum(axis=1))
    gp, _ = treed(space, X, z)
    posterior = gp.posterior(gp.hyper.mean)
    assert len(posterior.leaves) > 2
    pending = space.to_unit(space.sample(5, 3))
    believed = posterior.with_pending(pending)
    queries = space.to_unit(space.sample(2, 15))
    for path, rows in space.tree.rows_by_path(queries).items():
        Q = queries[rows]
        before, after = posterior.on_path(path), believed.on_path(path)
        np.testing.assert_allclose(before.moments(Q)[0], after.moments(Q)[0], atol=1e-9)
        assert (after.moments(Q)[1] <= before.moments(Q)[1] + 1e-12).all()
        mean, variance, by_mean, by_variance = after.moments_with_gradients(Q)
        np.testing.assert_allclose((mean, variance), after.moments(Q))
        step = np.zeros(len(space))
        step[0] = 1e-6
        up, down = after.moments(Q + step), after.moments(Q - step)
        np.testing.assert_allclose(by_mean[:, 0], (up[0] - down[0]) / 2e-6, atol=1e-4)
        np.testing.assert_allclose(by_variance[:, 0], (up[1] - down[1]) / 2e-6, atol=1e-4)


def test_known_noise_is_respected_by_leaf():
    X = np.linspace(0, 1, 30)[:, None]
    noise = np.where(X[:, 0] < 0.5, 0.001, 0.5)
    z = np.where(X[:, 0] < 0.5, -1.0, 1.0)
    gp, _ = treed(box(), X, z, noise, least=15)
    posterior = gp.posterior(gp.hyper.mean)
    np.testing.assert_array_equal(posterior.noise(np.array([[0.2], [0.9]])), [0.001, 0.5])
    some = np.where(np.arange(30) == 29, np.nan, noise)
    partly = treed(box(), X, z, some, least=15)[0].posterior(gp.hyper.mean)
    assert partly.leaves[0].noise == [0.001]
    assert partly.leaves[-1].noise == [pytest.approx(np.exp(partly.leaves[-1].samples[0].eta[-1]))]


def test_learned_noise_differs_from_leaf_to_leaf():
    """Noise of sd 0.02 on the left and of sd 0.5 on the right."""
    rng = np.random.default_rng(0)
    X = rng.random((80, 1))
    sd = np.where(X[:, 0] < 0.5, 0.02, 0.5)
    y = np.where(X[:, 0] < 0.5, X[:, 0], 2 - X[:, 0]) + sd * rng.standard_normal(80)
    z = (y - y.mean()) / y.std()
    gp, _ = treed(box(), X, z, least=20)
    posterior = gp.posterior(gp.fit([gp.hyper.mean])[0])
    quiet, loud = np.sqrt(posterior.noise(np.array([[0.2], [0.8]]))) * y.std()
    assert quiet < 0.5 * loud


# -- sampling --------------------------------------------------------------------------------


def test_samples_follow_the_log_posterior():
    """They lie below its maximum by about half the number of parameters, and within bounds."""
    X, z = jagged(12)
    covariance = Covariance(box(), *add_tree(box()))
    gp = SpaceGP(covariance, X, z)
    target = PathLikelihood(gp)
    _, best = gp.fit([target.hyper.mean])
    samples = target.sample(256, np.random.default_rng(0))
    values = [target.log_posterior(theta)[0] for theta in samples]
    assert (samples >= target.hyper.lower).all()
    assert (samples <= target.hyper.upper).all()
    assert np.std(samples[:, -1]) > 0.3
    assert 1.0 < best - np.mean(values) < len(target.hyper.mean)


@pytest.mark.parametrize("published", [False, True])
def test_without_data_samples_are_those_of_the_prior(published):
    """Normal ones, of two widths about their mean, within bounds; and those of a paper."""
    covariance = plain(box(), SPEARMINT) if published else Covariance(box(), *add_tree(box()))

    class Nothing:
        hyper = covariance.hyper

        def log_likelihood(self, theta):
            return 0.0, np.zeros(len(theta))

        def log_likelihoods(self, thetas):
            return np.zeros(len(thetas))

    hyper = covariance.hyper
    found = PathLikelihood(Nothing()).sample(2000, np.random.default_rng(0))
    points = np.linspace(hyper.lower, hyper.upper, 1001)
    for i in range(len(hyper.mean)):
        around = np.repeat(hyper.mean[None], len(points), axis=0)
        around[:, i] = points[:, i]
        density = np.exp([hyper.log_prior(theta)[0] for theta in around])
        share = np.cumsum(density) / density.sum()
        for quantile in (0.1, 0.5, 0.9):
            expected = points[np.searchsorted(share, quantile), i]
            assert np.mean(found[:, i] < expected) == pytest.approx(quantile, abs=0.05)


@pytest.mark.parametrize("seed", range(2))
def test_the_averaged_improvement_is_that_of_many_more_samples(seed):
    """To 20 %, where the best of all places promises most; a maximum may be far off."""
    X, z = jagged(14, seed)
    model = on_rows(plain(box(), SPEARMINT), X, z, np.full(14, np.nan), None, mean=True)
    grid = np.linspace(0, 1, 41)[:, None]

    def averaged(n, generator):
        thetas = PathLikelihood(model).sample(n, np.random.default_rng(generator))
        moments = [model.posterior(theta).on_path((0,)).moments(grid) for theta in thetas]
        return np.mean([np.exp(LogEI(z.min(), 0.0).value(*one)) for one in moments], axis=0)

    many = averaged(600, 9)
    at = int(np.argmax(many))
    np.testing.assert_allclose(averaged(256, 0)[at], many[at], rtol=0.2)


def test_mcmc_gives_several_posteriors_and_their_mixture(monkeypatch):
    monkeypatch.setattr("bosquet.models.treed.SAMPLES", 32)
    X, z = jagged(14)
    gp, _ = treed(box(), X, z, inference="mcmc")
    posterior, again = (gp.posterior(gp.hyper.mean) for _ in range(2))
    queries = np.random.default_rng(0).random((6, 1))
    found = posterior.on_path((0,)).moments(queries)
    np.testing.assert_array_equal(found, again.on_path((0,)).moments(queries))
    leaf = posterior.leaves[0]
    assert len({tuple(one.eta) for one in leaf.samples}) > 4
    each = [belief.moments(queries) for belief in leaf.on_path((0,))]
    means, variances = (np.array(part) for part in zip(*each, strict=True))
    mixture = Mixture(leaf.on_path((0,)))
    np.testing.assert_allclose(mixture.moments(queries)[0], means.mean(axis=0))
    np.testing.assert_allclose(
        mixture.moments(queries)[1], (variances + means**2).mean(axis=0) - means.mean(axis=0) ** 2
    )
    mean, variance, by_mean, by_variance = mixture.moments_with_gradients(queries)
    np.testing.assert_allclose((mean, variance), mixture.moments(queries))
    up, down = mixture.moments(queries + 1e-6), mixture.moments(queries - 1e-6)
    np.testing.assert_allclose(by_mean[:, 0], (up[0] - down[0]) / 2e-6, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(by_variance[:, 0], (up[1] - down[1]) / 2e-6, rtol=1e-3, atol=1e-4)
