import numpy as np
import pytest
from scipy.optimize import approx_fprime

from bosquet.kernels.components import Component
from bosquet.kernels.features import Feature
from bosquet.kernels.gram import Gram
from bosquet.kernels.stationary import SHAPES
from bosquet.kernels.sums import shape

LINES = (Feature(0, "difference"), Feature(1, "difference"))
MIXED = (*LINES, Feature(2, "overlap"))
ALL = np.arange(7)
SOME = np.array([0, 2, 3, 6])
MEMBERS = {
    "matern52": [(Component("m", 0, "matern52", MIXED, 0, (1, 2, 3)), ALL)],
    "se": [(Component("s", 0, "se", MIXED, 0, (1, 2, 3)), SOME)],
    "constant": [(Component("c", 0, "constant", (), 0, ()), SOME)],
    "tied": [(Component("t", 0, "matern52", MIXED, 0, (1, 1, 2)), ALL)],
}
MEMBERS["sum, slots shared"] = [
    (Component("c", 0, "constant", (), 3, ()), SOME),
    (Component("m", 0, "matern52", MIXED, 0, (1, 2, 3)), ALL),
    (Component("l", 0, "se", LINES, 4, (1, 2)), SOME),
    (Component("m2", 0, "matern52", LINES[:1], 0, (2,)), np.array([1, 4])),
    (Component("s", 0, "se", LINES, 4, (1, 3)), ALL[2:]),
]
MEMBERS["several on the same rows"] = [
    (Component("m", 0, "matern52", MIXED, 0, (1, 2, 3)), SOME),
    (Component("l", 0, "se", LINES, 4, (1, 2)), SOME),
    (Component("m2", 0, "matern52", LINES[:1], 3, (2,)), SOME),
    (Component("m3", 0, "matern52", LINES, 0, (1, 3)), ALL),
    (Component("m4", 0, "matern52", LINES[1:], 4, (1,)), SOME),
]
MEMBERS["of one variable each"] = [
    (Component("a", 0, "matern52", LINES[:1], 0, (1,)), SOME),
    (Component("b", 0, "matern52", LINES[1:], 3, (2,)), SOME),
    (Component("c", 0, "matern52", LINES[:1], 4, (3,)), SOME),
    (Component("d", 0, "se", LINES[1:], 4, (1,)), ALL[2:5]),
    (Component("e", 0, "se", MIXED[2:], 0, (2,)), ALL[2:5]),
    (Component("f", 0, "se", LINES[:1], 3, (2,)), ALL[2:5]),
]
MEMBERS["large, small and constant"] = [
    (Component("r", 0, "matern52", MIXED, 0, (1, 2, 3)), ALL),
    (Component("own", 0, "matern52", LINES[1:], 1, (2,)), SOME),
    (Component("chain", 0, "matern52", MIXED, 2, (3, 1, 4)), SOME),
    (Component("level", 0, "constant", (), 3, ()), SOME),
    (Component("other", 0, "matern52", MIXED[2:], 4, (0,)), ALL[4:]),
    (Component("other level", 0, "constant", (), 0, ()), ALL[4:]),
]
MEMBERS["one that is active on no row"] = [
    (Component("m", 0, "matern52", MIXED, 0, (1, 2, 3)), ALL),
    (Component("n", 0, "se", LINES, 4, (1, 2)), ALL[:0]),
]
MEMBERS["none on any row"] = MEMBERS["one that is active on no row"][1:]
TWICE = [(Component("t", 0, "se", (*MIXED, LINES[0]), 0, (1, 2, 3, 4)), ALL)]
ETA = np.array([0.3, -0.4, 0.2, -0.1, 0.5])


@pytest.fixture(params=["pooled", "joined", "apart"])
def laid_out(request, monkeypatch):
    """Groups of components share calls, are matrix products, or one for every component."""
    if request.param != "pooled":
        monkeypatch.setattr("bosquet.kernels.layout.SMALL", 0)
    if request.param == "apart":
        monkeypatch.setattr("bosquet.kernels.layout.ZEROS", 0)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.random((7, 3))
    X[:, 2] = rng.choice([1 / 6, 0.5, 5 / 6], size=7)
    return X


def dense(members, X, eta):
    K = np.zeros((7, 7))
    for component, rows in members:
        K[np.ix_(rows, rows)] += component.cross(X[rows], X[rows], eta)
    return K


@pytest.mark.usefixtures("laid_out")
@pytest.mark.parametrize("name", MEMBERS)
def test_gram_is_the_sum_of_its_components(name, rows):
    K = Gram(MEMBERS[name], rows).covariance(ETA)
    np.testing.assert_allclose(np.tril(K), np.tril(dense(MEMBERS[name], rows, ETA)), atol=1e-14)


@pytest.mark.usefixtures("laid_out")
@pytest.mark.parametrize("name", MEMBERS)
def test_gradient_by_the_hyper_parameters(name, rows):
    W = np.random.default_rng(1).normal(size=(7, 7))
    W += W.T
    gram = Gram(MEMBERS[name], rows)
    gram.covariance(ETA)
    gradient = gram.pull_back(np.tril(W), ETA)
    expected = approx_fprime(
        ETA, lambda eta: float((W * dense(MEMBERS[name], rows, eta)).sum()), 1e-7
    )
    np.testing.assert_allclose(gradient, expected, atol=2e-5)


@pytest.mark.usefixtures("laid_out")
def test_a_feature_may_come_up_twice(rows):
    K = Gram(TWICE, rows).covariance(ETA)
    np.testing.assert_allclose(np.tril(K), np.tril(dense(TWICE, rows, ETA)), atol=1e-14)


def test_groups_are_pooled_one_by_one(rows, monkeypatch):
    members = MEMBERS["large, small and constant"]
    whole = Gram(members, rows).covariance(ETA)
    monkeypatch.setattr("bosquet.kernels.layout.SMALL", 15)  # only the one of three rows
    np.testing.assert_allclose(Gram(members, rows).covariance(ETA), whole, atol=1e-14)


def test_a_shape_of_ones_own_is_evaluated_piece_by_piece(monkeypatch):
    def root(r2):
        return 1.0 / (1.0 + r2), -1.0 / (1.0 + r2) ** 2

    monkeypatch.setitem(SHAPES, "rational", root)
    monkeypatch.setattr("bosquet.kernels.sums.CACHED", 3)
    r2 = np.linspace(0.0, 2.0, 8)
    alone, both, slope = r2.copy(), r2.copy(), np.empty(8)
    shape("rational", alone)
    shape("rational", both, slope)
    for found in (alone, both):
        np.testing.assert_allclose(found, root(r2)[0])
    np.testing.assert_allclose(slope, root(r2)[1])


def test_no_components_are_a_covariance_of_nothing(rows):
    gram = Gram([], rows)
    assert not gram.covariance(ETA).any()
    assert not gram.pull_back(np.ones((7, 7)), ETA).any()
