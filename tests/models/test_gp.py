"""The engine against dense computations written out from the definition."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

import bosquet as bq
from bosquet.kernels.components import Component, Kind
from bosquet.kernels.features import Feature, features_of
from bosquet.models.gp import AdditiveGP
from bosquet.models.priors import Hyperparameters
from bosquet.models.repeats import NOISE_FLOOR


def spaces():
    tree = bq.benchmarks.small_balanced(shared=True).space
    and_or = bq.Space(
        {
            "s": bq.Float(0, 1),
            "n": bq.Int(1, 5),
            "a": bq.Choice({"p": {"x": bq.Float(0, 1)}, "q": {}, "r": {"c": bq.Choice([1, 2])}}),
            "b": bq.Choice({0: {"y": bq.Float(0, 1)}, 1: {"z": bq.Float(0, 1)}, 2: {}}),
        }
    )
    shared = bq.Space(
        {
            "m": bq.Choice(
                {
                    "a": {"x": bq.Float(0, 1)},
                    "b": {"y": bq.Float(0, 1)},
                    "c": {"z": bq.Float(0, 1)},
                    ("a", "b"): {"w": bq.Float(0, 1)},
                }
            )
        }
    )
    return {"tree": tree, "and-or": and_or, "tuple-key": shared}


def make_components(space, rng):
    """Components of all kinds on every node, with slots of their own; the noise comes last."""
    components, slots = [], 0
    for node in space.nodes:
        dims = [d for d in node.dimensions if d not in space.tree.children]
        features = tuple(f for d in dims for f in features_of(space.dimensions[d]))
        ordered = tuple(f for f in features if f.kind == "difference")
        kinds: list[tuple[Kind, tuple[Feature, ...]]]
        kinds = [("matern52", features), ("se", ordered), ("constant", ())]
        for kind, mine in kinds:
            if kind == "constant" and node.index == 0:
                continue
            if mine or kind == "constant":
                lengths = tuple(range(slots + 1, slots + 1 + len(mine)))
                name = f"{node.label} {kind}"
                components.append(Component(name, node.index, kind, mine, slots, lengths))
                slots += 1 + len(mine)
    size = slots + 1
    theta = rng.normal(-0.5, 0.5, size)
    theta[-1] = np.log(0.01)
    hyper = Hyperparameters(
        np.zeros(size), np.eye(size), np.zeros(size), np.full(size, 2.0),
        np.full(size, -25.0), np.full(size, 5.0), tuple(map(str, range(size))),
    )  # fmt: skip
    return components, hyper, theta


def problem(space, seed, n=14):
    rng = np.random.default_rng(seed)
    components, hyper, theta = make_components(space, rng)
    X = space.to_unit(space.sample(rng, n))
    Z = space.tree.node_activity(X)
    y = rng.standard_normal(n)
    noise = np.where(rng.random(n) < 0.3, 0.05, np.nan)
    return components, hyper, theta, X, Z, y, noise, rng


def entry(component, eta, a, b):
    """One covariance, written out."""
    v = np.exp(eta[component.variance])
    if component.kind == "constant":
        return v
    lengths = np.exp(eta[list(component.lengths)])
    gaps = [a[f.dimension] - b[f.dimension] for f in component.features]
    r2 = sum(
        (gap**2 if f.kind == "difference" else float(gap != 0)) / length**2
        for f, gap, length in zip(component.features, gaps, lengths, strict=True)
    )
    if component.kind == "se":
        return v * np.exp(-r2 / 2)
    s = np.sqrt(5 * r2)
    return v * (1 + s + s**2 / 3) * np.exp(-s)


def dense(components, eta, A, ZA, B, ZB):
    K = np.zeros((len(A), len(B)))
    for i in range(len(A)):
        for j in range(len(B)):
            K[i, j] = sum(
                entry(c, eta, A[i], B[j]) for c in components if ZA[i, c.node] and ZB[j, c.node]
            )
    return K


def noise_diagonal(noise, eta):
    return np.diag(np.where(np.isnan(noise), np.exp(eta[-1]), noise) + NOISE_FLOOR)


def repeated(X, Z, y, noise, rng):
    """The same rows several times, with other targets, of learned and of several known noises."""
    again = np.concatenate([np.arange(len(y)), rng.integers(0, 4, 12)])
    noise = np.where(
        rng.random(len(again)) < 0.5, np.nan, rng.choice([1e-3, 0.02, 0.3], len(again))
    )
    return X[again], Z[again], rng.standard_normal(len(again)), noise


@pytest.fixture(params=["tree", "and-or", "tuple-key", "tree, repeated", "and-or, repeated"])
def case(request):
    name, _, repeats = request.param.partition(", ")
    space = spaces()[name]
    components, hyper, theta, X, Z, y, noise, rng = problem(space, seed=3)
    if repeats:
        X, Z, y, noise = repeated(X, Z, y, noise, rng)
    return space, components, hyper, theta, X, Z, y, noise, rng


def test_likelihood_equals_the_dense_one(case):
    _, components, hyper, theta, X, Z, y, noise, _ = case
    K = dense(components, theta, X, Z, X, Z) + noise_diagonal(noise, theta)
    expected = multivariate_normal(np.zeros(len(y)), K).logpdf(y)
    gp = AdditiveGP(components, hyper, X, Z, y, noise)
    assert gp.log_likelihood(theta)[0] == pytest.approx(expected, rel=1e-10)


def test_gradients_of_likelihood_and_prior(case):
    _, components, hyper, theta, X, Z, y, noise, _ = case
    gp = AdditiveGP(components, hyper, X, Z, y, noise)
    expected = approx_fprime(theta, lambda t: gp.log_posterior(t)[0], 1e-6)
    np.testing.assert_allclose(gp.log_posterior(theta)[1], expected, rtol=1e-4, atol=1e-4)


def test_a_hierarchy_passes_gradients_through(case):
    _, components, _hyper, theta, X, Z, y, noise, rng = case
    size = len(theta)
    tied = Hyperparameters(
        theta, rng.normal(size=(size, 4)) * 0.2, np.zeros(4), np.ones(4),
        np.full(4, -3.0), np.full(4, 3.0), tuple("abcd"),
    )  # fmt: skip
    gp = AdditiveGP(components, tied, X, Z, y, noise)
    at = rng.normal(size=4) * 0.3
    expected = approx_fprime(at, lambda t: gp.log_posterior(t)[0], 1e-6)
    np.testing.assert_allclose(gp.log_posterior(at)[1], expected, rtol=1e-4, atol=1e-4)


def on_path(posterior, path):
    return posterior.of([c for c in posterior.components if c.node in path])


def moments(posterior, X, path):
    return on_path(posterior, path).moments(X)


def queries(space, rng, m=5):
    """Rows on one path."""
    configs = space.sample(rng, 200)
    path = space.path(configs[0])
    X = space.to_unit([c for c in configs if space.path(c) == path][:m])
    return X, path, space.tree.node_activity(X)


def test_posterior_equals_the_dense_one(case):
    space, components, hyper, theta, X, Z, y, noise, rng = case
    K = dense(components, theta, X, Z, X, Z) + noise_diagonal(noise, theta)
    posterior = AdditiveGP(components, hyper, X, Z, y, noise).posterior(theta)
    for _ in range(4):
        Q, path, ZQ = queries(space, rng)
        cross = dense(components, theta, Q, ZQ, X, Z)
        mean, variance = moments(posterior, Q, path)
        np.testing.assert_allclose(mean, cross @ np.linalg.solve(K, y), rtol=1e-8, atol=1e-10)
        prior = np.diag(dense(components, theta, Q, ZQ, Q, ZQ))
        expected = prior - np.einsum("ij,ji->i", cross, np.linalg.solve(K, cross.T))
        np.testing.assert_allclose(variance, expected, rtol=1e-7)


def test_means_at_the_rows_of_the_model(case):
    """In the order in which they were given, repeats included, and whatever is pending."""
    _, components, hyper, theta, X, Z, y, noise, rng = case
    again = np.append(rng.permutation(len(y)), [0, 3, 3])
    X, Z, y, noise = X[again], Z[again], rng.normal(size=len(again)), noise[again]
    K = dense(components, theta, X, Z, X, Z)
    posterior = AdditiveGP(components, hyper, X, Z, y, noise).posterior(theta)
    expected = K @ np.linalg.solve(K + noise_diagonal(noise, theta), y)
    for one in (posterior, posterior.with_pending(X[:2], Z[:2])):
        np.testing.assert_allclose(one.means, expected, atol=1e-8)


def test_other_targets_at_the_same_rows(case):
    _, components, hyper, theta, X, Z, y, noise, rng = case
    X, Z, y, noise = (np.concatenate([one, one[:3]]) for one in (X, Z, y, noise))
    other, spoiled = rng.normal(size=len(y)), 2.0 * noise
    model = AdditiveGP(components, hyper, X, Z, y, noise)
    before = model.log_likelihood(theta)
    expected = AdditiveGP(components, hyper, X, Z, other, spoiled)
    found = model.with_targets(other, spoiled)
    for one, as_one in zip(
        found.log_likelihood(theta), expected.log_likelihood(theta), strict=True
    ):
        np.testing.assert_array_equal(one, as_one)
    np.testing.assert_array_equal(found.posterior(theta).means, expected.posterior(theta).means)
    np.testing.assert_array_equal(found.leave_one_out(theta), expected.leave_one_out(theta))
    assert model.log_likelihood(theta)[0] == before[0]


def test_components_add_up_and_match_the_dense_ones(case):
    space, components, hyper, theta, X, Z, y, noise, rng = case
    K = dense(components, theta, X, Z, X, Z) + noise_diagonal(noise, theta)
    posterior = AdditiveGP(components, hyper, X, Z, y, noise).posterior(theta)
    Q, path, ZQ = queries(space, rng)
    total = np.zeros(len(Q))
    for component in components:
        if component.node in path:
            cross = dense([component], theta, Q, ZQ, X, Z)
            mean, variance = posterior.of([component]).moments(Q)
            np.testing.assert_allclose(mean, cross @ np.linalg.solve(K, y), atol=1e-9)
            prior = np.diag(dense([component], theta, Q, ZQ, Q, ZQ))
            expected = prior - np.einsum("ij,ji->i", cross, np.linalg.solve(K, cross.T))
            np.testing.assert_allclose(variance, expected, atol=1e-9)
            total += mean
    np.testing.assert_allclose(total, moments(posterior, Q, path)[0], atol=1e-9)


def test_gradients_of_the_posterior_by_the_query(case):
    space, components, hyper, theta, X, Z, y, noise, rng = case
    posterior = AdditiveGP(components, hyper, X, Z, y, noise).posterior(theta)
    Q, path, _ZQ = queries(space, rng)
    mean, variance, by_mean, by_variance = on_path(posterior, path).moments_with_gradients(Q)
    plain = moments(posterior, Q, path)
    np.testing.assert_allclose(mean, plain[0])
    np.testing.assert_allclose(variance, plain[1])
    free = [
        d.index
        for d in space.dimensions
        if isinstance(d.parameter, bq.Float) and d.node in path
    ]  # fmt: skip
    for i in range(len(Q)):
        for which, gradient in ((0, by_mean), (1, by_variance)):

            def at(x, which=which, i=i):
                moved = Q[i].copy()
                moved[free] = x
                return moments(posterior, moved[None], path)[which][0]

            expected = approx_fprime(Q[i][free], at, 1e-6)
            np.testing.assert_allclose(gradient[i][free], expected, rtol=1e-4, atol=1e-5)


def test_pending_rows_shrink_the_variance_and_keep_the_mean(case):
    space, components, hyper, theta, X, Z, y, noise, rng = case
    posterior = AdditiveGP(components, hyper, X, Z, y, noise).posterior(theta)
    P = space.to_unit(space.sample(rng, 3))
    ZP = space.tree.node_activity(P)
    with_pending = posterior.with_pending(P, ZP)
    # The dense way: the same rows with the believed means as observations.
    believed = [moments(posterior, P[i : i + 1], np.flatnonzero(ZP[i]))[0][0] for i in range(3)]
    again = AdditiveGP(
        components, hyper, np.vstack([X, P]), np.vstack([Z, ZP]),
        np.concatenate([y, believed]), np.concatenate([noise, np.full(3, np.nan)]),
    ).posterior(theta)  # fmt: skip
    for _ in range(4):
        Q, path, _ = queries(space, rng)
        mean, variance = moments(with_pending, Q, path)
        expected_mean, expected_variance = moments(again, Q, path)
        np.testing.assert_allclose(mean, moments(posterior, Q, path)[0], atol=1e-9)
        np.testing.assert_allclose(mean, expected_mean, atol=1e-7)
        np.testing.assert_allclose(variance, expected_variance, rtol=1e-6)
        assert np.all(variance <= moments(posterior, Q, path)[1] + 1e-12)


def test_leave_one_out_equals_refitting_without(case):
    _, components, hyper, theta, X, Z, y, noise, _ = case
    gp = AdditiveGP(components, hyper, X, Z, y, noise)
    densities = gp.leave_one_out(theta)
    means, variances = gp.left_out_moments(theta)
    K = dense(components, theta, X, Z, X, Z) + noise_diagonal(noise, theta)
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        k = K[i, rest]
        mean = k @ np.linalg.solve(K[np.ix_(rest, rest)], y[rest])
        variance = K[i, i] - k @ np.linalg.solve(K[np.ix_(rest, rest)], k)
        expected = -0.5 * (np.log(2 * np.pi * variance) + (y[i] - mean) ** 2 / variance)
        assert densities[i] == pytest.approx(expected, abs=1e-7)
        assert means[i] == pytest.approx(mean, abs=1e-7)
        assert variances[i] == pytest.approx(variance, rel=1e-6)


def test_the_joint_posterior_of_rows_of_all_paths_is_the_dense_one(case):
    space, components, hyper, theta, X, Z, y, noise, rng = case
    posterior = AdditiveGP(components, hyper, X, Z, y, noise).posterior(theta)
    Q = space.to_unit(space.sample(rng, 12))
    ZQ = space.tree.node_activity(Q)
    mean, covariance = posterior.joint(Q, ZQ)
    K = dense(components, theta, X, Z, X, Z) + noise_diagonal(noise, theta)
    cross = dense(components, theta, Q, ZQ, X, Z)
    np.testing.assert_allclose(mean, cross @ np.linalg.solve(K, y), atol=1e-7)
    expected = dense(components, theta, Q, ZQ, Q, ZQ) - cross @ np.linalg.solve(K, cross.T)
    np.testing.assert_allclose(covariance, expected, atol=1e-7)


def test_repeats_are_one_row():
    components, hyper, _, X, Z, _, _, rng = problem(spaces()["tree"], seed=0)
    many = [0] * 500 + [1, 2]
    gp = AdditiveGP(components, hyper, X[many], Z[many], rng.standard_normal(502))
    assert sum(len(block.y) for block in gp.blocks) == 3


def test_independent_subtrees_are_blocks():
    """Without anything at the root, the halves of the tree do not know of each other (App. B)."""
    space = spaces()["tree"]
    components, hyper, _theta, X, Z, y, noise, _ = problem(space, seed=0)
    gp = AdditiveGP(components, hyper, X, Z, y, noise)
    assert len(gp.blocks) == 2
    for block in gp.blocks:
        assert all(np.all(np.diff(rows) == 1) for _, rows in block.members)


def test_fit_agrees_with_scikit_learn():
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    rng = np.random.default_rng(0)
    X = rng.random((40, 2))
    y = np.sin(6 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(40)
    y = (y - y.mean()) / y.std()
    component = Component(
        "f", 0, "matern52", (Feature(0, "difference"), Feature(1, "difference")), 0, (1, 2)
    )
    hyper = Hyperparameters(
        np.zeros(4), np.eye(4), np.zeros(4), np.full(4, np.inf),
        np.full(4, -12.0), np.full(4, 5.0), tuple("abcd"),
    )  # fmt: skip
    gp = AdditiveGP([component], hyper, X, np.ones((40, 1), bool), y)
    theta, value = gp.fit([np.array([0.0, -1.0, -1.0, -4.0])])
    kernel = ConstantKernel() * Matern([0.4, 0.4], nu=2.5) + WhiteKernel(0.02)
    reference = GaussianProcessRegressor(kernel, alpha=0.0).fit(X, y)
    assert value == pytest.approx(reference.log_marginal_likelihood_value_, abs=1e-3)
    Q = rng.random((9, 2))
    mean, sd = reference.predict(Q, return_std=True)
    found, variance = moments(gp.posterior(theta), Q, (0,))
    np.testing.assert_allclose(found, mean, atol=1e-3)
    np.testing.assert_allclose(variance + np.exp(theta[-1]), sd**2, atol=1e-3)


def test_many_queries_are_answered_in_pieces(monkeypatch):
    components, hyper, theta, X, Z, y, noise, rng = problem(spaces()["tree"], 0)
    posterior = AdditiveGP(components, hyper, X, Z, y, noise).posterior(theta)
    belief = on_path(posterior, [0, 1])
    queries = rng.random((40, X.shape[1]))
    whole = belief.moments(queries)
    monkeypatch.setattr("bosquet.models.posterior.ENTRIES", 50)
    for one, other in zip(whole, belief.moments(queries), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
