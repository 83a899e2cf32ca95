"""Block inference against the dense computation of Eq. (4), written out entry by entry."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

import bosquet as bq
from bosquet.kernels.weights import frequencies
from bosquet.models.gp import NOISE_FLOOR
from bosquet.models.tree_leaves import TreeLinear, by_path
from bosquet.models.tree_linear import TreeGP
from tests.space.strategies import relaxed, spaces

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
]


class Case:
    """Random rows of a space, with random hyper-parameters."""

    def __init__(self, space, seed, n=16, **options):
        rng = self.rng = np.random.default_rng(seed)
        self.space = space
        self.X = space.to_unit(space.sample(rng, n, by="path"))
        self.y = rng.standard_normal(n)
        self.noise = np.where(rng.random(n) < 0.3, 0.05, np.nan)
        self.model = TreeLinear(space, list(by_path(space, self.X)), **options)
        self.theta = self.model.hyper.mean + 0.3 * rng.standard_normal(len(self.model.names))
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
        return tuple(np.flatnonzero(self.space.tree.node_activity(x[None])[0]).tolist())

    def leaf_covariance(self, a, b, path):
        """K_p plus the variance of b_p."""
        kernel = self.model.leaf(path).kernel
        k = 0.0 if kernel is None else kernel.cross(a[None], b[None], self.eta)[0, 0]
        return np.exp(self.eta[self.model.offset]) + k

    def covariance(self, A, B):
        of_a, of_b = [self.path(a) for a in A], [self.path(b) for b in B]
        Za = np.array([self.z(a, path) for a, path in zip(A, of_a, strict=True)])
        Zb = np.array([self.z(b, path) for b, path in zip(B, of_b, strict=True)])
        K = np.zeros((len(A), len(B)))
        for i in range(len(A)):
            for j in range(len(B)):
                if of_a[i] == of_b[j]:
                    K[i, j] = self.leaf_covariance(A[i], B[j], of_a[i])
        return Za @ self.sigma_c() @ Zb.T + K

    def noisy(self):
        learned = np.exp(self.eta[-1])
        diagonal = np.where(np.isnan(self.noise), learned, self.noise) + NOISE_FLOOR
        return self.covariance(self.X, self.X) + np.diag(diagonal)

    def queries(self, m=4):
        """Rows on one path, for several paths; some paths have no data."""
        X = self.space.to_unit(self.space.sample(self.rng, 40, by="path"))
        for path, rows in list(by_path(self.space, X).items())[:5]:
            yield path, X[rows[:m]]


@pytest.fixture(params=[(name, i) for name in SPACES for i in range(len(OPTIONS))], ids=str)
def case(request):
    name, which = request.param
    return Case(SPACES[name], seed=3, **OPTIONS[which])


def check_against_dense(case):
    """Value, gradient and posterior, to 1e-8."""
    C = case.noisy()
    expected = multivariate_normal(np.zeros(len(case.y)), C).logpdf(case.y)
    value, gradient = case.gp.log_likelihood(case.theta)
    assert value == pytest.approx(expected, rel=1e-8, abs=1e-8)
    # The dense gradient: tr(W dC/dtheta), with dC by central differences of C itself.
    inverse = np.linalg.inv(C)
    alpha = inverse @ case.y
    W = 0.5 * (np.outer(alpha, alpha) - inverse)
    for i in range(len(case.theta)):
        step = np.zeros(len(case.theta))
        step[i] = 1e-5
        sides = []
        for sign in (1, -1):
            case.eta = case.model.hyper.eta(case.theta + sign * step)
            sides.append(case.noisy())
        expected = np.sum(W * (sides[0] - sides[1])) / 2e-5
        assert gradient[i] == pytest.approx(expected, rel=1e-6, abs=1e-7), case.model.names[i]
    case.eta = case.model.hyper.eta(case.theta)
    posterior = case.gp.posterior(case.theta)
    for path, Q in case.queries():
        mean, variance = posterior.moments(Q, posterior.on_path(path))
        cross = case.covariance(Q, case.X)
        np.testing.assert_allclose(mean, cross @ alpha, rtol=1e-8, atol=1e-8)
        prior = np.diag(case.covariance(Q, Q))
        expected = prior - np.einsum("ij,jk,ik->i", cross, inverse, cross)
        np.testing.assert_allclose(variance, expected, rtol=1e-7, atol=1e-8)


def test_block_inference_equals_the_dense_one(case):
    check_against_dense(case)


@relaxed
@given(spaces, st.integers(0, 2**31), st.sampled_from(OPTIONS))
def test_block_inference_equals_the_dense_one_on_random_spaces(space, seed, options):
    check_against_dense(Case(space, seed, n=7, **options))
