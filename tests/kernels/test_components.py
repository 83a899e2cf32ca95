import numpy as np
import pytest
from scipy.optimize import approx_fprime

from bosquet import Choice, Float, Int, Space
from bosquet.kernels.components import Component
from bosquet.kernels.features import Feature, features_of

LINES = (Feature(0, "difference"), Feature(1, "difference"))
MIXED = (*LINES, Feature(2, "overlap"))
CASES = {
    "matern52": Component("m", 0, "matern52", MIXED, 0, (1, 2, 3)),
    "se": Component("s", 0, "se", MIXED, 0, (1, 2, 3)),
    "linear": Component("l", 0, "linear", LINES, 0, (1, 2)),
    "constant": Component("c", 0, "constant", (), 0, ()),
    "tied": Component("t", 0, "matern52", MIXED, 0, (1, 1, 2)),
}


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.random((7, 3))
    X[:, 2] = rng.choice([1 / 6, 0.5, 5 / 6], size=7)
    return X


@pytest.mark.parametrize("name", CASES)
def test_gradient_by_the_hyper_parameters(name, rows):
    component = CASES[name]
    eta = np.array([0.3, -0.4, 0.2, -0.1])
    W = np.random.default_rng(1).normal(size=49)
    prepared = component.prepare(rows)

    def total(at):
        unit, _ = component.gram(prepared, at)
        return np.exp(at[component.variance]) * float(W @ unit)

    unit, slope = component.gram(prepared, eta)
    gradient = np.zeros(4)
    component.pull_back(W, unit, slope, prepared, eta, gradient)
    np.testing.assert_allclose(gradient, approx_fprime(eta, total, 1e-7), atol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_cross_gram_and_diagonal_agree(name, rows):
    component = CASES[name]
    eta = np.array([0.3, -0.4, 0.2, -0.1])
    unit, _ = component.gram(component.prepare(rows), eta)
    gram = np.exp(eta[0]) * unit.reshape(7, 7)
    np.testing.assert_allclose(component.cross(rows, rows, eta), gram)
    np.testing.assert_allclose(component.diagonal(rows, eta), np.diag(gram))
    np.testing.assert_allclose(component.cross_with_slope(rows, rows, eta)[0], gram)
    assert np.linalg.eigvalsh(gram).min() > -1e-9


@pytest.mark.parametrize("name", CASES)
def test_gradient_by_the_coordinates(name, rows):
    component = CASES[name]
    eta = np.array([0.3, -0.4, 0.2, -0.1])
    _, slopes = component.cross_with_slope(rows[:1], rows[1:], eta)
    for j in range(6):

        def value(x, j=j):
            moved = np.append(x, rows[0, 2])[None]
            return component.cross(moved, rows[1 + j : 2 + j], eta)[0, 0]

        expected = approx_fprime(rows[0, :2], value, 1e-7)
        found = [slopes[d][0, j] if d in slopes else 0.0 for d in (0, 1)]
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_components_check_themselves():
    with pytest.raises(ValueError, match="'x': features and length-scales disagree"):
        Component("x", 0, "se", LINES, 0, (1,))
    with pytest.raises(ValueError, match="disagree"):
        Component("x", 0, "constant", LINES, 0, (1, 2))
    with pytest.raises(ValueError, match="needs ordered values"):
        Component("x", 0, "linear", MIXED, 0, (1, 2, 3))


def test_features_by_parameter():
    space = Space(
        {
            "float": Float(0, 1),
            "grid": Float(0, 1, step=0.25),
            "few": Int(0, 9),
            "many": Int(0, 999),
            "category": Choice(["a", "b"]),
            "ordered": Choice(["s", "m", "l"], ordered=True),
        }
    )
    kinds = {d.name: [f.kind for f in features_of(d)] for d in space.dimensions}
    assert kinds == {
        "float": ["difference"],
        "grid": ["difference", "overlap"],
        "few": ["difference", "overlap"],
        "many": ["difference"],
        "category": ["overlap"],
        "ordered": ["difference", "overlap"],
    }
