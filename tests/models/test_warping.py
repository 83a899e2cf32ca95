"""Warps against scipy and finite differences; a warped GP against one that is given warped rows."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import approx_fprime

import bosquet as bq
from bosquet.models import baselines
from bosquet.models.add_tree import add_tree
from bosquet.models.covariance import Covariance, SpaceGP
from bosquet.models.fitting import maximise
from bosquet.models.warping import WARPS, WarpedGP, beta, kumaraswamy
from tests.support import present

GRID = np.linspace(0.001, 0.999, 41)


def tree():
    return bq.Space(
        {
            "s": bq.Float(0, 1),
            "n": bq.Int(0, 5),
            "m": bq.Choice({"a": {"x": bq.Float(0, 1), "c": bq.Choice([1, 2])}, "b": {}}),
        }
    )


def box(d=2):
    return bq.Space({f"x{i}": bq.Float(0, 1) for i in range(d)})


SURROGATES = {
    "box": lambda: Covariance(box(), *add_tree(box())),
    "tree": lambda: Covariance(tree(), *add_tree(tree())),
    "flat": lambda: baselines.flat(tree(), "matern52"),
    "arc": lambda: baselines.ArcCovariance(tree(), "se", 0.5),
}


@pytest.mark.parametrize("name", WARPS)
def test_warps_are_increasing_and_one_one_is_the_identity(name):
    warp = WARPS[name]
    np.testing.assert_allclose(warp(GRID, np.zeros(1), np.zeros(1))[0], GRID, atol=1e-12)
    for shape in (-1.5, -0.7, 0.3, 1.5):
        for other in (-1.5, 0.0, 1.3):
            y, slope, _, _ = warp(GRID, np.array([shape]), np.array([other]))
            assert (np.diff(y) > 0).all()
            assert (slope > 0).all()
            ends = warp(np.array([0.0, 1.0]), np.array([shape]), np.array([other]))
            assert np.isfinite(ends).all()
            np.testing.assert_array_equal(ends[0], [0.0, 1.0])


def test_beta_is_the_distribution_function():
    y = beta(GRID, np.log([2.5]), np.log([0.6]))[0]
    np.testing.assert_allclose(y, stats.beta(2.5, 0.6).cdf(GRID), atol=1e-12)


@pytest.mark.parametrize("name", WARPS)
@pytest.mark.parametrize("shapes", [(0.4, -0.6), (-1.0, 0.8), (0.0, 0.0)])
def test_slopes_against_differences(name, shapes):
    def value(p):
        return WARPS[name](p[:1], p[1:2], p[2:])[0][0]

    for x in (0.03, 0.4, 0.95):
        p = np.array([x, *shapes])
        slopes = [part[0] for part in WARPS[name](p[:1], p[1:2], p[2:])[1:]]
        for i, slope in enumerate(slopes):
            step = np.zeros(3)
            step[i] = 1e-5
            numeric = (value(p + step) - value(p - step)) / 2e-5
            assert slope == pytest.approx(numeric, rel=1e-5, abs=1e-7)


def test_how_far_the_two_families_are_apart():
    """The closest Kumaraswamy to a Beta warp within two prior deviations: never beyond 0.03."""
    shapes = np.arange(-1.5, 2.01, 0.05)
    A, B = (grid.ravel()[:, None] for grid in np.meshgrid(shapes, shapes))
    ours = kumaraswamy(GRID[None], A, B)[0]
    for log_a in (-1.0, 0.0, 1.0):
        for log_b in (-1.0, 0.0, 1.0):
            wanted = beta(GRID, np.array([log_a]), np.array([log_b]))[0]
            assert np.abs(ours - wanted).max(axis=1).min() < 0.03


def planted(covariance, seed=0, n=14):
    rng = np.random.default_rng(seed)
    space = covariance.space
    X = space.to_unit(space.sample(rng, n))
    z = np.sin(4 * X.sum(axis=1)) + 0.1 * rng.standard_normal(n)
    noise = np.where(rng.random(n) < 0.3, 0.02, np.nan)
    return X, z, noise


@pytest.mark.parametrize("repeats", [0, 3])
@pytest.mark.parametrize("warp", WARPS)
@pytest.mark.parametrize("name", SURROGATES)
def test_the_gradient_of_the_likelihood(name, warp, repeats):
    covariance = SURROGATES[name]()
    X, z, noise = planted(covariance)
    X[:repeats] = X[-1]
    gp = WarpedGP(covariance, X, z, noise, warp=warp)
    theta = gp.hyper.mean + 0.3 * np.random.default_rng(1).standard_normal(len(gp.hyper.mean))
    theta[: len(covariance.hyper.mean)][-1] = np.log(1e-2)
    gradient = gp.log_posterior(theta)[1]
    numeric = approx_fprime(theta, lambda t: gp.log_posterior(t)[0], 1e-6)
    np.testing.assert_allclose(gradient, numeric, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("warp", [None, *WARPS])
@pytest.mark.parametrize("repeats", [0, 3])
def test_a_mean_is_taken_from_the_targets(warp, repeats):
    covariance = SURROGATES["tree"]()
    X, z, _ = planted(covariance)
    X[:repeats] = X[-1]
    gp = WarpedGP(covariance, X, z, None, warp, mean=True)
    own = covariance.hyper.mean
    theta = np.concatenate([own, np.zeros(len(gp.hyper.mean) - len(own))])
    theta[-1] = 0.4
    plain = SpaceGP(covariance, X, z - 0.4)
    assert gp.log_likelihood(theta)[0] == pytest.approx(plain.log_likelihood(own)[0])
    numeric = approx_fprime(theta, lambda t: gp.log_likelihood(t)[0], 1e-6)
    np.testing.assert_allclose(gp.log_likelihood(theta)[1], numeric, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("name", SURROGATES)
def test_it_is_the_covariance_on_warped_rows(name):
    covariance = SURROGATES[name]()
    space = covariance.space
    X, z, noise = planted(covariance)
    gp = WarpedGP(covariance, X, z, noise)
    own = covariance.hyper.mean
    k = (len(gp.hyper.mean) - len(own)) // 2
    a, b = np.linspace(-0.5, 0.4, k), np.linspace(0.6, -0.3, k)
    continuous = [d.index for d in space.dimensions if isinstance(d.parameter, bq.Float)]

    def bent(rows):
        rows = rows.copy()
        rows[:, continuous] = kumaraswamy(rows[:, continuous], a, b)[0]
        return rows

    plain = SpaceGP(covariance, bent(X), z, noise)
    theta = np.concatenate([own, a, b])
    assert gp.log_likelihood(theta)[0] == pytest.approx(plain.log_likelihood(own)[0])
    np.testing.assert_allclose(gp.leave_one_out(theta), plain.leave_one_out(own))
    pending = space.to_unit(space.sample(5, 2))
    ours, theirs = gp.posterior(theta), plain.posterior(own)
    np.testing.assert_array_equal(ours.eta, theirs.eta)
    ours, theirs = ours.with_pending(pending), theirs.with_pending(bent(pending))
    queries = space.to_unit(space.sample(6, 12))
    for path, rows in space.tree.rows_by_path(queries).items():
        Q = queries[rows]
        mean, variance, by_mean, by_variance = ours.on_path(path).moments_with_gradients(Q)
        expected = theirs.on_path(path).moments(bent(Q))
        np.testing.assert_allclose((mean, variance), expected)
        np.testing.assert_allclose(ours.on_path(path).moments(Q), expected)
        free = [i for i in continuous if space.activity(Q)[0, i]]
        for i in free:
            step = np.zeros(len(space))
            step[i] = 1e-6
            up, down = (ours.on_path(path).moments(Q + s * step) for s in (1, -1))
            for slope, high, low in zip((by_mean, by_variance), up, down, strict=True):
                np.testing.assert_allclose(slope[:, i], (high - low) / 2e-6, atol=1e-4, rtol=1e-4)


def test_a_bent_function_is_explained_better():
    """Fast near zero, slow elsewhere: a logarithmic variable declared without log."""
    X = np.random.default_rng(0).random((25, 1))
    z = np.sin(8 * X[:, 0] ** 0.25)
    z = (z - z.mean()) / z.std()
    covariance = Covariance(box(1), *add_tree(box(1)))
    warped, plain = WarpedGP(covariance, X, z), SpaceGP(covariance, X, z)
    theta, better = warped.fit([warped.hyper.mean])
    assert better > plain.fit([covariance.hyper.mean])[1] + 5
    assert theta[-2] < -0.3  # log a: the low end is stretched
    assert present(warped.hyper.recall(warped.hyper.remember(theta))).tolist() == theta.tolist()
    # A fit without warps goes on with the identity.
    unwarped = present(warped.hyper.recall(plain.hyper.remember(theta[:-2])))
    assert unwarped.tolist() == [*theta[:-2], 0.0, 0.0]


@pytest.mark.parametrize("name", WARPS)
@pytest.mark.parametrize("seed", [0, 1, 4])
def test_a_cold_fit_is_not_caught_by_the_mirrored_warp(name, seed):
    """Forty rows on which a fit from the prior alone ends 28 to 56 below the better optimum."""
    X = np.random.default_rng(seed).random((40, 2))
    z = np.sin(8 * X[:, 0] ** 0.3) + X[:, 1] ** 3
    covariance = Covariance(box(2), *add_tree(box(2)))
    gp = WarpedGP(covariance, X, (z - z.mean()) / z.std(), warp=name)
    alone = maximise(gp.log_posterior, gp.hyper, [gp.hyper.mean])[1]
    theta, value = gp.fit([gp.hyper.mean])
    assert value > alone + 20
    assert theta[gp.hyper.names.index("warp a 0")] < -0.7  # the low end of x0 is stretched
    assert theta[gp.hyper.names.index("warp b 0")] < 0.3
    # A fit that goes on from another one has its start alone.
    assert gp.fit([gp.hyper.mean + 1e-9])[1] == pytest.approx(alone, abs=1e-3)


@pytest.mark.parametrize("warp", [None, "beta"])
def test_the_mean_is_fitted(warp):
    X = np.random.default_rng(0).random((12, 1))
    z = 3.0 + 0.1 * np.sin(5 * X[:, 0])
    covariance = Covariance(box(1), *add_tree(box(1)))
    gp = WarpedGP(covariance, X, z, warp=warp, mean=True)
    theta, value = gp.fit([gp.hyper.mean])
    assert gp.hyper.names[-1] == "mean"
    assert 2.8 < theta[-1] < 3.2
    shifted = WarpedGP(covariance, X, z - theta[-1], warp=warp)
    assert value == pytest.approx(shifted.log_posterior(theta[:-1])[0])
    queries = np.linspace(0, 1, 5)[:, None]
    ours = gp.posterior(theta).on_path((0,))
    mean, variance = shifted.posterior(theta[:-1]).on_path((0,)).moments(queries)
    np.testing.assert_allclose(ours.moments(queries), (mean + theta[-1], variance))
    np.testing.assert_allclose(ours.moments_with_gradients(queries)[0], ours.moments(queries)[0])
    pending = gp.posterior(theta).with_pending(np.array([[0.5]])).on_path((0,))
    np.testing.assert_allclose(pending.moments(queries)[0], mean + theta[-1])
    np.testing.assert_allclose(gp.leave_one_out(theta), shifted.leave_one_out(theta[:-1]))
    left_out, spread = shifted.left_out_moments(theta[:-1])
    np.testing.assert_allclose(gp.left_out_moments(theta), (left_out + theta[-1], spread))
    together, covariance_of = gp.posterior(theta).joint(queries)
    np.testing.assert_allclose(together, mean + theta[-1])
    np.testing.assert_allclose(np.diag(covariance_of), variance, atol=1e-9)
    near = theta + 0.01
    numeric = approx_fprime(near, lambda t: gp.log_posterior(t)[0], 1e-7)
    assert gp.log_posterior(near)[1][-1] == pytest.approx(numeric[-1], rel=1e-2)
