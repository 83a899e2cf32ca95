"""Block inference against the dense computation of Eq. (4), written out entry by entry."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

import bosquet as bq
from bosquet.kernels.weights import frequencies
from bosquet.models.repeats import NOISE_FLOOR
from bosquet.models.tree_linear import TreeGP, TreeLinear, paths_through
from tests.space.strategies import relaxed, spaces
from tests.support import present

SPACES = {
    "tree": bq.benchmarks.small_balanced(shared=True).space,
    "and-or": bq.Space(
        {
            "s": bq.Float(0, 1),
            "n": bq.Int(1, 5),
            "kind": bq.Choice(["u", "v", "w"]),
            "a": bq.Choice({"p": {"x": bq.Float(0, 1)}, "q": {}, "r": {"c": bq.Choice([1, 2])}}),
            "b": bq.Choice({0: {"y": bq.Float(0, 1)}, 1: {}}),
        }
    ),
    "tuple keys": bq.Space(
        {
            "m": bq.Choice(
                {
                    "a": {"x": bq.Float(0, 1)},
                    "b": {"y": bq.Float(0, 1), "n": bq.Int(0, 3)},
                    "c": {"k": bq.Choice({0: {"z": bq.Float(0, 1)}, 1: {}}), "o": bq.Float(0, 1)},
                    ("a", "b"): {"w": bq.Float(0, 1), "g": bq.Choice(["i", "j", "k"])},
                }
            )
        }
    ),
    "flat": bq.Space({"x": bq.Float(0, 1), "y": bq.Float(0, 1)}),
}
OPTIONS = [
    {"features": "linear", "leaf": "own"},
    {"features": "fourier", "leaf": "own"},
    {"features": "linear", "leaf": "path", "hierarchical": False},
    {"features": "raw", "leaf": "own", "hierarchical": False, "offsets": "scalar"},
    {"features": "fourier", "leaf": "own", "offsets": "scalar"},
]


class Case:
    """Random rows of a space, with random hyper-parameters."""

    def __init__(self, space, seed, n=16, X=None, **options):
        rng = self.rng = np.random.default_rng(seed)
        self.space = space
        self.paths = {}
        self.X = space.to_unit(space.sample(rng, n, by="path")) if X is None else X
        n = len(self.X)
        self.y = rng.standard_normal(n)
        self.noise = np.where(rng.random(n) < 0.3, 0.05, np.nan)
        self.model = TreeLinear(space, list(space.tree.rows_by_path(self.X)), **options)
        self.theta = self.model.hyper.mean + 0.3 * rng.standard_normal(len(self.model.hyper.names))
        self.theta[-1] = np.log(0.01)
        self.gp = TreeGP(self.model, self.X, self.y, self.noise)
        self.eta = self.model.hyper.eta(self.theta)

    # -- the dense way -----------------------------------------------------------------------

    def r(self, weight, x):
        """Section 2.4, one row at a time."""
        if weight.kind == "constant":
            return [1.0]
        parameter = self.space.dimensions[weight.dimension].parameter
        if weight.kind == "one-hot":
            value = parameter.from_unit(np.array([x[weight.dimension]]))[0]
            return [float(value == option) for option in parameter.options]
        if weight.kind == "raw":
            return [x[weight.dimension]]
        if weight.kind == "linear":
            return [2 * x[weight.dimension] - 1]
        omega, amplitude = frequencies()
        at = (x[weight.dimension] - 0.5) / np.exp(self.eta[weight.length])
        return [*(amplitude * np.cos(omega * at)), *(amplitude * np.sin(omega * at))]

    def z(self, x, path):
        return np.concatenate(
            [np.zeros(0)]
            + [
                np.array(self.r(w, x)) if w.node in path else np.zeros(w.size)
                for w in self.model.weights
            ]
        )

    def sigma_c(self):
        return np.diag(
            [np.exp(self.eta[w.variance]) for w in self.model.weights for _ in range(w.size)]
        )

    def path(self, x):
        key = x.tobytes()
        if key not in self.paths:
            self.paths[key] = self._path(x)
        return self.paths[key]

    def _path(self, x):
        return tuple(np.flatnonzero(self.space.tree.node_activity(x[None])[0]).tolist())

    def leaf_covariance(self, A, B, path):
        """K_p plus the variance of b_p."""
        kernel = self.model.leaf(path).kernel
        K = np.full((len(A), len(B)), np.exp(self.eta[self.model.offset]))
        return K if kernel is None else K + kernel.cross(A, B, self.eta)

    def covariance(self, A, B):
        """Eq. (4), all n x n of it."""
        of_a, of_b = [self.path(a) for a in A], [self.path(b) for b in B]
        Za = np.array([self.z(a, path) for a, path in zip(A, of_a, strict=True)])
        Zb = np.array([self.z(b, path) for b, path in zip(B, of_b, strict=True)])
        C = Za @ self.sigma_c() @ Zb.T
        for path in set(of_a):
            i = [i for i, other in enumerate(of_a) if other == path]
            j = [j for j, other in enumerate(of_b) if other == path]
            C[np.ix_(i, j)] += self.leaf_covariance(A[i], B[j], path)
        return C

    def noisy(self):
        learned = np.exp(self.eta[-1])
        diagonal = np.where(np.isnan(self.noise), learned, self.noise) + NOISE_FLOOR
        return self.covariance(self.X, self.X) + np.diag(diagonal)

    def levels(self):
        """b_p of every path with data by generalised least squares: the likelihood is highest."""
        visited = list(dict.fromkeys(self.path(x) for x in self.X))
        if self.model.offsets != "scalar":
            return dict.fromkeys(visited, 0.0)
        H = np.array([[float(self.path(x) == path) for path in visited] for x in self.X])
        CH = np.linalg.solve(self.noisy(), H)
        return dict(zip(visited, np.linalg.solve(H.T @ CH, CH.T @ self.y), strict=True))

    def b(self, X):
        """The level of every row; that of a path without data is the mean of the others."""
        levels = self.levels()
        return np.array([levels.get(self.path(x), np.mean(list(levels.values()))) for x in X])

    def queries(self, m=4):
        """Rows on one path, for several paths; some paths have no data."""
        X = self.space.to_unit(self.space.sample(self.rng, 40, by="path"))
        for path, rows in list(self.space.tree.rows_by_path(X).items())[:5]:
            yield path, X[rows[:m]]


@pytest.fixture(params=[(name, i) for name in SPACES for i in range(len(OPTIONS))], ids=str)
def case(request):
    name, which = request.param
    return Case(SPACES[name], seed=3, **OPTIONS[which])


def dense_slope(case, i):
    """dC / dtheta_i of Eq. (4), by differences of fourth order."""
    h, total = 1e-3, 0.0
    for factor, weight in ((1, 8), (-1, -8), (2, -1), (-2, 1)):
        step = np.zeros(len(case.theta))
        step[i] = factor * h
        case.eta = case.model.hyper.eta(case.theta + step)
        total = total + weight * case.noisy()
    case.eta = case.model.hyper.eta(case.theta)
    return total / (12 * h)


def check_against_dense(case):
    """Value, gradient (relative to its largest entry) and posterior, to 1e-8."""
    C = case.noisy()
    inverse = np.linalg.inv(C)
    b = case.b(case.X)
    alpha = inverse @ (case.y - b)
    value, gradient = case.gp.log_likelihood(case.theta)
    expected = multivariate_normal(b, C).logpdf(case.y)
    assert value == pytest.approx(expected, rel=1e-8, abs=1e-8)
    W = 0.5 * (np.outer(alpha, alpha) - inverse)
    expected = [np.sum(W * dense_slope(case, i)) for i in range(len(case.theta))]
    size = np.abs(expected).max()
    np.testing.assert_allclose(gradient / size, np.array(expected) / size, atol=1e-8)
    posterior = case.gp.posterior(case.theta)
    for path, Q in case.queries():
        mean, variance = posterior.on_path(path).moments(Q)
        cross = case.covariance(Q, case.X)
        np.testing.assert_allclose(mean, case.b(Q) + cross @ alpha, rtol=1e-8, atol=1e-8)
        prior = np.diag(case.covariance(Q, Q))
        expected = prior - np.einsum("ij,jk,ik->i", cross, inverse, cross)
        np.testing.assert_allclose(variance, expected, rtol=1e-8, atol=1e-8)


def test_block_inference_equals_the_dense_one(case):
    check_against_dense(case)


@settings(relaxed, max_examples=25)
@given(spaces, st.integers(0, 2**31), st.sampled_from(OPTIONS))
def test_block_inference_equals_the_dense_one_on_random_spaces(space, seed, options):
    check_against_dense(Case(space, seed, n=6, **options))


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", ["tree", "tuple keys"])
def test_leaves_of_unequal_size_are_computed_together(name, options):
    """7, 8, 3 and 4 rows: two batches, both of them padded."""
    space = SPACES[name]
    X = space.to_unit(space.sample(0, 200, by="path"))
    groups = list(space.tree.rows_by_path(X).values())[:4]
    rows = np.concatenate([group[:n] for group, n in zip(groups, (7, 8, 3, 4), strict=True)])
    case = Case(space, seed=0, X=X[rows], **options)
    assert len(case.gp.batches) == 2
    check_against_dense(case)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", ["tree", "tuple keys"])
def test_repeated_rows_count_as_what_they_are(name, options):
    space = SPACES[name]
    X = space.to_unit(space.sample(0, 10, by="path"))[[*range(10), *[0] * 5, 1, 1, 2, 3, 3]]
    case = Case(space, seed=0, X=X, **options)
    assert sum(batch.n_rows for batch in case.gp.batches) < len(X)
    check_against_dense(case)


def test_gradient_with_priors_against_finite_differences():
    case = Case(SPACES["tuple keys"], seed=1, features="fourier")
    expected = approx_fprime(case.theta, lambda t: case.gp.log_posterior(t)[0], 1e-6)
    found = case.gp.log_posterior(case.theta)[1]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_posterior_of_the_weights(case):
    """Section 2.2 against conditioning the joint normal of c and y."""
    Z = np.array([case.z(x, case.path(x)) for x in case.X])
    prior, C = case.sigma_c(), case.noisy()
    gain = np.linalg.solve(C, Z @ prior).T
    posterior = case.gp.posterior(case.theta)
    expected = gain @ (case.y - case.b(case.X))
    np.testing.assert_allclose(posterior.weights_mean, expected, atol=1e-8)
    covariance = prior - gain @ Z @ prior
    draws = posterior.draw_weights(20_000, case.rng)
    sd = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(draws.mean(axis=0), expected, atol=0.04 * (1 + sd.max(initial=0)))
    if len(sd):
        found = np.cov(draws.T).reshape(covariance.shape)
        np.testing.assert_allclose(found, covariance, atol=0.04 * (1 + sd.max() ** 2))


def test_posterior_of_a_path(case):
    """b_p + z_p' c, which path EI looks at, against conditioning its joint normal with y."""
    posterior = case.gp.posterior(case.theta)
    C, prior = case.noisy(), case.sigma_c()
    Z = np.array([case.z(x, case.path(x)) for x in case.X])
    s_b = np.exp(case.eta[case.model.offset])
    for path, Q in case.queries():
        same = np.array([float(case.path(x) == path) for x in case.X])
        z = np.array([case.z(q, path) for q in Q])
        cross = z @ prior @ Z.T + s_b * same
        solved = np.linalg.solve(C, cross.T)
        mean, variance = posterior.moments_of_path(Q, path)
        expected = case.b(Q) + solved.T @ (case.y - case.b(case.X))
        np.testing.assert_allclose(mean, expected, atol=1e-8)
        before = np.einsum("ij,jk,ik->i", z, prior, z) + s_b
        expected = before - np.sum(cross.T * solved, 0)
        np.testing.assert_allclose(variance, expected, atol=1e-8)
        # The paper's version: b_p known, so that only c varies.
        plug_in, of_c = posterior.moments_of_path(Q, path, plug_in=True)
        np.testing.assert_allclose(plug_in, mean, atol=1e-12)
        left = prior - prior @ Z.T @ np.linalg.solve(C, Z @ prior)
        expected = np.maximum(np.einsum("ij,jk,ik->i", z, left, z), NOISE_FLOOR)
        np.testing.assert_allclose(of_c, expected, atol=1e-10)


# -- Eq. (1) as printed ----------------------------------------------------------------------


def matern52(a, b, variance, length):
    r = np.sqrt(5.0) * np.abs(a[:, None] - b[None, :]) / length
    return variance * (1 + r + r**2 / 3) * np.exp(-r)


def test_equation_1_written_out_for_the_papers_tree():
    """Figure 1, bottom: four leaves of one variable, c = (c_root, c_8, c_9), z = (1, r8, r9)."""
    space = SPACES["tree"]
    rng = np.random.default_rng(5)
    configs = space.sample(rng, 24, by="path")
    leaf = np.array([2 * c["x1"] + c.get("x2", c.get("x3")) for c in configs])
    assert set(leaf) == {0, 1, 2, 3}
    x = np.array([(c[f"x{4 + p}"] + 1) / 2 for p, c in zip(leaf, configs, strict=True)])
    Z = np.array([[1.0, c.get("r8", 0.0), c.get("r9", 0.0)] for c in configs])
    H = np.eye(4)[leaf]
    y = rng.standard_normal(24)
    X = space.to_unit(configs)
    model = TreeLinear(
        space,
        list(space.tree.rows_by_path(X)),
        features="raw",
        hierarchical=False,
        offsets="scalar",
    )
    names = {d.index: d.name for d in space.dimensions}
    assert [names.get(w.dimension) for w in model.weights] == [None, "r8", "r9"]
    assert len(model.hyper.names) == 4 + 4 + 3 + 1  # K_p, Sigma_c, noise; the offsets are profiled
    theta = rng.uniform(-1, 0, len(model.hyper.names))
    eta = model.hyper.eta(theta)
    noise, sigma_c = np.exp(eta[-1]), np.diag([np.exp(eta[w.variance]) for w in model.weights])
    kernels = [
        present(model.leaf(space.path(configs[int(np.argmax(leaf == p))])).kernel) for p in range(4)
    ]

    def block(a, la, b, lb):
        C = np.zeros((len(a), len(b)))
        for p, kernel in enumerate(kernels):
            i, j = np.flatnonzero(la == p), np.flatnonzero(lb == p)
            v, length = np.exp(eta[kernel.variance]), np.exp(eta[kernel.lengths[0]])
            C[np.ix_(i, j)] = matern52(a[i], b[j], v, length)
        return C

    C = Z @ sigma_c @ Z.T + block(x, leaf, x, leaf) + (noise + NOISE_FLOOR) * np.eye(24)
    CH = np.linalg.solve(C, H)
    b = np.linalg.solve(H.T @ CH, CH.T @ y)
    gp = TreeGP(model, X, y)
    value = multivariate_normal(H @ b, C).logpdf(y)
    assert gp.log_likelihood(theta)[0] == pytest.approx(value, abs=1e-9)
    for step in (1e-3, -1e-3):  # b is where the likelihood is highest
        for p in range(4):
            moved = multivariate_normal(H @ (b + step * np.eye(4)[p]), C).logpdf(y)
            assert moved < value
    posterior = gp.posterior(theta)
    alpha = np.linalg.solve(C, y - H @ b)
    left = sigma_c - sigma_c @ Z.T @ np.linalg.solve(C, Z @ sigma_c)
    for config, p, own in zip(configs, leaf, x, strict=True):
        other = config | {f"x{4 + p}": float(rng.uniform(-1, 1))}
        at = space.to_unit(other)[None]
        z = np.array([[1.0, other.get("r8", 0.0), other.get("r9", 0.0)]])
        own = np.array([(other[f"x{4 + p}"] + 1) / 2])
        k = z @ sigma_c @ Z.T + block(own, np.array([p]), x, leaf)
        mean, variance = posterior.on_path(space.path(other)).moments(at)
        assert mean[0] == pytest.approx(b[p] + (k @ alpha)[0], abs=1e-9)
        prior = (z @ sigma_c @ z.T)[0, 0] + np.exp(eta[kernels[p].variance])
        assert variance[0] == pytest.approx(prior - (k @ np.linalg.solve(C, k.T))[0, 0], abs=1e-9)
        # Eq. (6): b_p is known, z' c is not.
        mean, variance = posterior.moments_of_path(at, space.path(other), plug_in=True)
        assert mean[0] == pytest.approx(b[p] + (z @ sigma_c @ Z.T @ alpha)[0], abs=1e-9)
        assert variance[0] == pytest.approx((z @ left @ z.T)[0, 0], abs=1e-9)


def test_scalar_offsets_are_not_shrunk_and_raw_values_not_centred():
    """A level that the covariance calls absurd is taken as it is; at r = 0 there is no slope."""
    space = SPACES["tree"]
    rows = [{"x1": 0, "r8": r, "x2": 0, "x4": x} for r in (0.0, 1.0) for x in (-0.5, 0.0, 0.5)]
    far = [{"x1": 1, "r9": 0.5, "x3": 0, "x6": x} for x in (-0.5, 0.5)]
    X = space.to_unit([*rows, *far])
    y = np.array([0.0] * 6 + [1e3] * 2)

    def at_far(features, offsets):
        model = TreeLinear(
            space,
            list(space.tree.rows_by_path(X)),
            features=features,
            hierarchical=False,
            offsets=offsets,
        )
        posterior = TreeGP(model, X, y).posterior(model.hyper.mean)
        return posterior.moments_of_path(X[[0, 3, 6]], space.path(far[0]), plug_in=True)

    mean, _ = at_far("raw", "scalar")
    np.testing.assert_allclose(mean, 1e3, atol=1e-6)
    assert at_far("linear", "normal")[0][2] < 900  # the model of the default shrinks it

    model = TreeLinear(space, [], features="raw", offsets="scalar")
    leaf = model.leaf(space.path(rows[0]))
    z = leaf.features(X[[0, 3]], np.zeros(0))
    np.testing.assert_array_equal(z, [[1.0, 0.0], [1.0, 1.0]])


def test_gradients_by_the_coordinates(case):
    posterior = case.gp.posterior(case.theta)
    for path, Q in list(case.queries(m=2))[:3]:
        leaf = posterior.on_path(path)
        _, _, by_mean, by_variance = leaf.moments_with_gradients(Q)
        free = [
            d.index
            for d in case.space.dimensions
            if isinstance(d.parameter, bq.Float) and d.node in path
        ]
        for i, q in enumerate(Q):
            for which, gradient in ((0, by_mean), (1, by_variance)):

                def at(x, which=which, q=q, leaf=leaf, free=free):
                    moved = q.copy()
                    moved[free] = x
                    return leaf.moments(moved[None])[which][0]

                expected = approx_fprime(q[free], at, 1e-7)
                np.testing.assert_allclose(gradient[i][free], expected, rtol=1e-4, atol=1e-5)


def test_pending_rows_shrink_the_variance_and_keep_the_mean(case):
    posterior = case.gp.posterior(case.theta)
    P = case.space.to_unit(case.space.sample(case.rng, 3))
    pending = posterior.with_pending(P)
    believed = [posterior.on_path(case.path(p)).moments(p[None])[0][0] for p in P]
    again = TreeGP(
        case.model,
        np.vstack([case.X, P]),
        np.concatenate([case.y, believed]),
        np.concatenate([case.noise, np.full(3, np.nan)]),
    ).posterior(case.theta)
    shrunk = 0.0
    for path, Q in case.queries():
        for moments in (
            lambda p, Q=Q, path=path: p.on_path(path).moments(Q),
            lambda p, Q=Q, path=path: p.moments_of_path(Q, path),
        ):
            mean, variance = moments(pending)
            np.testing.assert_allclose(mean, moments(posterior)[0], atol=1e-10)
            np.testing.assert_allclose(mean, moments(again)[0], atol=1e-8)
            np.testing.assert_allclose(variance, moments(again)[1], atol=1e-8)
            shrunk = max(shrunk, float((moments(posterior)[1] - variance).max()))
    assert shrunk > 1e-4


# -- structure -------------------------------------------------------------------------------


def check_counts(space):
    counts = np.zeros(len(space.nodes), dtype=int)
    for path in space.tree.paths():
        counts[list(path)] += 1
    assert paths_through(space) == counts.tolist()


@settings(relaxed, max_examples=25)
@given(spaces)
def test_paths_through_a_node_are_counted_without_enumerating(space):
    check_counts(space)


@pytest.mark.parametrize("space", [*SPACES.values(), bq.benchmarks.and_or(3).space], ids=repr)
def test_paths_through_the_nodes_of_known_spaces(space):
    check_counts(space)


def test_leaves_and_shared_variables_of_the_papers_tree():
    """Figure 1, bottom: constants at three inner nodes, r8 and r9 linear, a GP of one variable."""
    space = SPACES["tree"]
    model = TreeLinear(space, [])
    names = {d.index: d.name for d in space.dimensions}
    weights = [(w.kind, names.get(w.dimension)) for w in model.weights]
    level = ("constant", None)
    assert weights == [level, level, ("linear", "r8"), level, ("linear", "r9")]
    leaf = model.leaf(space.path({"x1": 0, "r8": 0.2, "x2": 1, "x5": 0.5}))
    assert [names[f.dimension] for f in present(leaf.kernel).features] == ["x5"]
    assert [names[d] for d in leaf.shared] == ["r8"]
    np.testing.assert_array_equal(leaf.columns, [0, 1, 2])
    wide = TreeLinear(space, [], leaf="path").leaf(leaf.path)
    assert [names[f.dimension] for f in present(wide.kernel).features] == ["r8", "x5"]


def test_shared_categories_are_one_hot():
    space = bq.Space(
        {
            "act": bq.Choice(["id", "tanh", "relu"]),
            "size": bq.Choice(["s", "m", "l"], ordered=True),
            "m": bq.Choice({"a": {"x": bq.Float(0, 1)}, "b": {}}),
        }
    )
    model = TreeLinear(space, [])
    kinds = [(w.kind, w.size) for w in model.weights]
    assert kinds == [("constant", 1), ("one-hot", 3), ("linear", 1)]
    X = space.to_unit([{"act": a, "size": "l", "m": "b"} for a in ("id", "tanh", "relu")])
    leaf = model.leaf(space.path({"act": "id", "size": "l", "m": "b"}))
    Z = leaf.features(X, np.zeros(0))
    np.testing.assert_allclose(Z, np.column_stack([np.ones(3), np.eye(3), np.full(3, 2 / 3)]))
    assert leaf.kernel is None  # nothing of its own: g_p is the offset


def test_ties_and_their_absence():
    space = SPACES["tree"]
    path, other = list(space.tree.paths())[:2]
    tied = TreeLinear(space, [path])
    at = tied.hyper.names.index("variance")
    raised = present(tied.hyper.recall({"variance": tied.hyper.mean[at] + 1.0}))
    change = tied.hyper.eta(raised) - tied.hyper.eta(tied.hyper.mean)
    assert change[present(tied.leaf(path).kernel).variance] == pytest.approx(1.0)
    assert change[present(tied.leaf(other).kernel).variance] == pytest.approx(1.0)  # never visited
    alone = TreeLinear(space, [path, other], hierarchical=False)
    assert np.all(np.isinf(alone.hyper.sd))
    np.testing.assert_array_equal(alone.hyper.matrix.sum(axis=0), np.ones(len(alone.hyper.names)))
    assert present(alone.leaf(path).kernel).variance != present(alone.leaf(other).kernel).variance
    np.testing.assert_array_equal(present(tied.hyper.recall(tied.hyper.remember(raised))), raised)


def test_leaves_share_through_their_inner_nodes_only():
    """One low value under x1=0 lowers its sibling leaf, not the other half (without the root)."""
    space = SPACES["tree"]
    rows = [
        {"x1": 0, "r8": 0.5, "x2": 0, "x4": 0.0},
        {"x1": 1, "r9": 0.5, "x3": 0, "x6": 0.0},
    ]
    X = space.to_unit(rows)
    model = TreeLinear(space, list(space.tree.rows_by_path(X)))
    theta = present(
        model.hyper.recall({"constant 0": -20.0})
    )  # the root, which is on every path, off
    posterior = TreeGP(model, X, np.array([-1.0, 1.0])).posterior(theta)
    sibling, far = (
        {"x1": 0, "r8": 0.5, "x2": 1, "x5": 0.0},
        {"x1": 1, "r9": 0.5, "x3": 1, "x7": 0.0},
    )
    means = []
    for config in (sibling, far):
        at, path = space.to_unit(config)[None], space.path(config)
        means.append(posterior.on_path(path).moments(at)[0][0])
    assert means[0] < -0.1
    assert means[1] == pytest.approx(-means[0], rel=1e-6)


def test_a_fit_raises_the_log_posterior_and_finds_the_noise():
    space = SPACES["tree"]
    rng = np.random.default_rng(0)
    configs = space.sample(rng, 60, by="path")
    X = space.to_unit(configs)
    f = np.array([3 * c["x1"] + 2 * (c["r8"] if "r8" in c else c["r9"]) for c in configs])
    y = f + 0.3 * rng.standard_normal(60)
    y = (y - y.mean()) / (scale := y.std())
    model = TreeLinear(space, list(space.tree.rows_by_path(X)))
    gp = TreeGP(model, X, y)
    theta, value = gp.fit([model.hyper.mean])
    assert value > gp.log_posterior(model.hyper.mean)[0] + 5
    sd = scale * np.exp(0.5 * theta[model.hyper.names.index("noise")])
    assert 0.2 < sd < 0.4
