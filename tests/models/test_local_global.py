"""LGPGA against dense Gaussian processes written out, and its gradients against differences."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

import bosquet as bq
from bosquet.models.add_tree import add_tree
from bosquet.models.covariance import Covariance, SpaceGP
from bosquet.models.local_global import (
    Kernel,
    LocalGlobalGP,
    Outside,
    n_inducing,
)
from bosquet.models.repeats import merge


def tree():
    return bq.Space(
        {
            "s": bq.Float(0, 1),
            "n": bq.Int(0, 5),
            "m": bq.Choice({"a": {"x": bq.Float(0, 1), "c": bq.Choice([1, 2])}, "b": {}}),
        }
    )


def box(d=3):
    return bq.Space({f"x{i}": bq.Float(0, 1) for i in range(d)})


def planted(space, n_in=8, n_out=12, seed=0):
    rng = np.random.default_rng(seed)
    covariance = Covariance(space, *add_tree(space))
    X = space.to_unit(space.sample(rng, n_in + n_out))
    z = np.sin(4 * X.sum(axis=1)) + 0.1 * rng.standard_normal(len(X))
    noise = np.where(rng.random(len(X)) < 0.3, 0.02, np.nan)
    theta = covariance.hyper.clip(covariance.hyper.mean + 0.2 * rng.standard_normal())
    theta[-1] = np.log(1e-2)
    cut = (slice(0, n_in), slice(n_in, None))
    inside, outside = ((X[s], z[s], noise[s]) for s in cut)
    return covariance, inside, outside, theta


@pytest.mark.parametrize("repeats", [0, 3])
@pytest.mark.parametrize("space", [box(), tree()], ids=["box", "tree"])
def test_with_all_outside_points_inducing_it_is_the_full_gp(space, repeats):
    covariance, inside, outside, theta = planted(space)
    for X, _, _ in (inside, outside):
        X[:repeats] = X[-1]
    whole = [np.concatenate(pair) for pair in zip(inside, outside, strict=True)]
    full = SpaceGP(covariance, *whole).posterior(theta)
    ours = LocalGlobalGP(covariance, inside, outside, m=99).posterior(theta)
    pending = space.to_unit(space.sample(8, 2))
    queries = space.to_unit(space.sample(9, 25))
    for one, other in ((full, ours), (full.with_pending(pending), ours.with_pending(pending))):
        for path, rows in space.tree.rows_by_path(queries).items():
            X = queries[rows]
            for a, b in zip(
                one.on_path(path).moments_with_gradients(X),
                other.on_path(path).moments_with_gradients(X),
                strict=True,
            ):
                np.testing.assert_allclose(a, b, atol=2e-5)
            moments = other.on_path(path).moments(X)
            np.testing.assert_allclose(moments, other.on_path(path).moments_with_gradients(X)[:2])


def test_without_points_outside_it_is_the_local_gp():
    space = box()
    covariance, inside, outside, theta = planted(space)
    nothing = tuple(part[:0] for part in outside)
    ours = LocalGlobalGP(covariance, inside, nothing, m=5)
    local = SpaceGP(covariance, *inside)
    X = space.to_unit(space.sample(3, 10))
    np.testing.assert_allclose(
        ours.posterior(theta).on_path((0,)).moments(X),
        local.posterior(theta).on_path((0,)).moments(X),
    )
    start = covariance.hyper.mean
    np.testing.assert_array_equal(ours.fit([start], 5)[0], local.fit([start], 5)[0])


@pytest.mark.parametrize("space", [box(), tree()], ids=["box", "tree"])
def test_the_collapsed_likelihood_and_the_summary_against_dense_algebra(space):
    covariance, _, (X, z, noise), theta = planted(space)
    kernel = Kernel(covariance, covariance.hyper.eta(theta))
    outside = Outside(kernel, X, z, noise)
    U = space.snap(np.clip(outside.choose(4) + 0.03, 0, 1))
    K_uu, K_uo, K_oo = kernel.cross(U, U), kernel.cross(U, X), kernel.cross(X, X)
    np.testing.assert_allclose(K_oo, K_oo.T)
    A = np.linalg.solve(K_uu, K_uo)
    Lambda = np.diag(np.diag(K_oo - K_uo.T @ A) + merge(X, z, noise).variance(kernel.noise))
    C = K_uo.T @ A + Lambda
    value, gradient = outside.log_likelihood(U)
    assert value == pytest.approx(multivariate_normal.logpdf(z, np.zeros(len(z)), C), abs=1e-4)

    # q(u) is the exact posterior of u in this model, and R holds q(u) / p(u).
    S = K_uu - K_uo @ np.linalg.solve(C, K_uo.T)
    mean = K_uo @ np.linalg.solve(C, z)
    seen = outside.summarise(U)
    precision = np.linalg.inv(S) - np.linalg.inv(K_uu)
    np.testing.assert_allclose(seen.R.T @ seen.R, precision, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(
        np.linalg.solve(np.linalg.inv(K_uu) + seen.R.T @ seen.R, seen.R.T @ seen.eta),
        mean,
        atol=1e-5,
    )

    free = space.activity(U) & np.array(
        [isinstance(d.parameter, bq.Float) for d in space.dimensions]
    )

    def by_free(flat):
        moved = U.copy()
        moved[free] = flat
        return outside.log_likelihood(moved)[0]

    numeric = approx_fprime(U[free], by_free, 1e-6)
    np.testing.assert_allclose(gradient[free], numeric, rtol=1e-3, atol=1e-3)


def test_positions_are_optimised_where_they_can_move():
    space = tree()
    covariance, _, (X, z, noise), theta = planted(space, n_out=30)
    outside = Outside(Kernel(covariance, covariance.hyper.eta(theta)), X, z, noise)
    start = outside.choose(6)
    assert len(np.unique(start, axis=0)) == 6
    assert all((row == X).all(axis=1).any() for row in start)
    found = outside.optimise(start)
    assert outside.log_likelihood(found)[0] > outside.log_likelihood(start)[0] + 0.1
    kept = ~(space.activity(start) & [isinstance(d.parameter, bq.Float) for d in space.dimensions])
    np.testing.assert_array_equal(found[kept], start[kept])  # branch, categories, integers
    assert ((found >= 0) & (found <= 1)).all()


def test_no_row_is_chosen_twice():
    """Of rows that come in pairs there is one each."""
    covariance, _, (X, z, noise), theta = planted(box(), n_out=6)
    twice = [np.concatenate([part, part]) for part in (X, z, noise)]
    outside = Outside(Kernel(covariance, covariance.hyper.eta(theta)), *twice)
    chosen = outside.choose(12)
    np.testing.assert_array_equal(np.sort(chosen, axis=0), np.sort(X, axis=0))


def test_a_repeated_inducing_point_does_no_harm():
    """The precision is singular then."""
    space = box(2)
    covariance, _, (X, z, noise), theta = planted(space)
    kernel = Kernel(covariance, covariance.hyper.eta(theta))
    outside = Outside(kernel, X, z, noise)
    U = outside.choose(4)
    once, twice = outside.summarise(U), outside.summarise(np.vstack([U, U]))
    queries = np.random.default_rng(0).random((10, 2))
    means = [kernel.cross(queries, s.X) @ kernel.condition(s).alpha for s in (once, twice)]
    np.testing.assert_allclose(means[0], means[1], atol=1e-4)


def test_what_is_outside_helps_inside_as_long_as_its_residual_counts(monkeypatch):
    """On a smooth function: better than the local GP; worse than it when eight inducing values are
    taken for certain (q(u) as in the bound of Titsias, with hardly any noise)."""
    space = box(3)
    X = np.random.default_rng(0).random((150, 3))
    z = np.sin(5 * X[:, 0]) * np.cos(4 * X[:, 1]) + X[:, 2] ** 2
    z = (z - z.mean()) / z.std()
    near = np.argsort(np.sum((X - 0.4) ** 2, axis=1))
    noise = np.full(150, np.nan)
    inside, outside = ((X[rows], z[rows], noise[rows]) for rows in (near[:24:2], near[24:]))
    covariance = Covariance(space, *add_tree(space))
    gp = LocalGlobalGP(covariance, inside, outside, m=8)
    theta = gp.fit([covariance.hyper.mean], 40)[0]
    theta[covariance.hyper.names.index("noise")] = np.log(1e-5)
    held = near[1:24:2]

    def error(posterior):
        return float(np.sqrt(np.mean((z[held] - posterior.on_path((0,)).moments(X[held])[0]) ** 2)))

    ours, local = (
        error(gp.posterior(theta)),
        error(SpaceGP(covariance, *inside).posterior(theta)),
    )
    explained = Outside.explained
    monkeypatch.setattr(Outside, "explained", lambda self, *K: (*explained(self, *K)[:2], 0.0))
    certain = error(gp.posterior(theta))
    assert ours < 0.75 * local
    assert certain > 2 * ours


def test_local_noise_is_kept_where_noise_differs():
    """Appendix E: mean and noise of Yuan & Wahba (2004); quiet on the right."""
    rng = np.random.default_rng(3)
    x = np.sort(rng.random(50))
    sd = np.exp(np.sin(2 * np.pi * x))
    y = 2 * (np.exp(-30 * (x - 0.25) ** 2) + np.sin(np.pi * x**2)) + sd * rng.standard_normal(50)
    z = (y - y.mean()) / y.std()
    inside = np.zeros(50, dtype=bool)
    inside[35:45] = True
    covariance = Covariance(box(1), *add_tree(box(1)))
    noise = np.full(50, np.nan)
    near, far = ((x[rows, None], z[rows], noise[rows]) for rows in (inside, ~inside))
    ours, full = LocalGlobalGP(covariance, near, far, m=5), SpaceGP(covariance, x[:, None], z)
    variances = []
    for gp in (ours, full):
        theta = gp.fit([covariance.hyper.mean])[0]
        posterior = gp.posterior(theta)
        _, variance = posterior.on_path((0,)).moments(x[inside, None])
        variances.append(float(np.mean(variance + np.exp(posterior.eta[-1]))))
    true = float(np.mean(sd[inside] ** 2)) / y.var()
    assert abs(np.log(variances[0] / true)) < abs(np.log(variances[1] / true))
    assert variances[0] < 0.5 * variances[1]


def test_how_many_inducing_points():
    assert [n_inducing(2, 40), n_inducing(14, 40), n_inducing(14, 400), n_inducing(14, 5000)] == [
        4, 10, 20, 50,
    ]  # fmt: skip
    covariance, inside, outside, _ = planted(box())
    with pytest.raises(ValueError, match="m=0 must be at least 1"):
        LocalGlobalGP(covariance, inside, outside, m=0)
