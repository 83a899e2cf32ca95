import numpy as np
import pytest

from bosquet import Choice, Float, Int, Space
from bosquet.kernels.components import Component
from bosquet.kernels.features import Feature, features_of

LINES = (Feature(0, "difference"), Feature(1, "difference"))
MIXED = (*LINES, Feature(2, "overlap"))
CASES = {
    "matern52": Component("m", 0, "matern52", MIXED, 0, (1, 2, 3)),
    "se": Component("s", 0, "se", MIXED, 0, (1, 2, 3)),
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
def test_cross_and_diagonal_agree(name, rows):
    component = CASES[name]
    eta = np.array([0.3, -0.4, 0.2, -0.1])
    gram = component.cross(rows, rows, eta)
    np.testing.assert_allclose(component.diagonal(rows, eta), np.diag(gram))
    assert np.linalg.eigvalsh(gram).min() > -1e-9


def test_components_check_themselves():
    with pytest.raises(ValueError, match="'x': features and length-scales disagree"):
        Component("x", 0, "se", LINES, 0, (1,))
    with pytest.raises(ValueError, match="disagree"):
        Component("x", 0, "constant", LINES, 0, (1, 2))


def test_a_kind_that_is_no_shape_is_refused():
    with pytest.raises(ValueError, match=r"'x': kind='cubic' must be one of 'matern52', 'se'"):
        Component("x", 0, "cubic", (LINES[0],), 0, (1,))  # type: ignore[arg-type]


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
