"""Spaces as users of scikit-learn write them."""

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC

import bosquet as bq
from bosquet.integrations.declared import Declared


def test_lists_of_dicts_share_what_is_equal():
    declared = Declared(
        [
            {"scale": ["a", "b"], "model": [SVC()], "model__C": stats.uniform(1, 9)},
            {"scale": ["a", "b"], "model": [Ridge()], "model__alpha": stats.randint(1, 5)},
        ]
    )
    space = declared.space
    assert space.n_paths == 2
    assert len([d for d in space.dimensions if d.name == "scale"]) == 1
    config = {"model": "SVC()", "scale": "a", "model__C": 2.0}
    assert space.validate(config)
    params = declared.params_of(config)
    assert isinstance(params.pop("model"), SVC)
    assert params == {"scale": "a", "model__C": 2.0}
    assert space.tree.by_name["model__C"][0].parameter == bq.Float(1, 10)
    assert space.tree.by_name["model__alpha"][0].parameter == bq.Int(1, 4)


def test_a_list_of_dicts_is_the_choice_that_tells_them_apart():
    svc, ridge, logistic = SVC(), Ridge(), LogisticRegression()
    listed = Declared(
        [
            {"m": [svc], "m__C": bq.Float(1, 10)},
            {"m": [ridge, logistic], "m__tol": bq.Float(0.1, 1)},
        ]
    )
    nested = Declared(
        {
            "m": {
                svc: {"m__C": bq.Float(1, 10)},
                ridge: {},
                logistic: {},
                (ridge, logistic): {"m__tol": bq.Float(0.1, 1)},
            }
        }
    )
    assert listed.space == nested.space
    assert listed.params_of({"m": "Ridge()", "m__tol": 0.5}) == {"m": ridge, "m__tol": 0.5}


def test_the_choice_may_be_any_parameter_of_categories():
    kernels = Declared(
        [
            {"C": [1, 10, 100], "kernel": ["linear"]},
            {"C": [1, 10, 100], "kernel": ["rbf"], "gamma": [0.001, 0.01, 0.1]},
        ]
    )
    assert [name for name, _ in kernels.space.parameters] == ["kernel"]
    assert kernels.space.is_active("C", {"kernel": "linear"})
    assert not kernels.space.is_active("gamma", {"kernel": "linear"})


@pytest.mark.parametrize(
    "grids",
    [
        [{"C": [1, 10]}, {"C": [100, 1000], "gamma": [0.1]}],  # numbers have an order
        [{"m": ["a", "b"], "x": [1, 2]}, {"m": ["b", "c"], "y": [1, 2]}],  # 'b' is in both
        [{"m": ["a"], "x": [1, 2]}, {"y": [1, 2]}],  # m is not in all
        [{"m": bq.Choice(["a"], default="a")}, {"m": bq.Choice(["b"], default="b")}],
    ],
)
def test_dicts_that_no_parameter_tells_apart_are_numbered(grids):
    declared = Declared(grids)
    assert [name for name, _ in declared.space.parameters] == ["grid"]
    config = declared.space.default_config()
    assert set(declared.params_of(config)) == set(config) - {"grid"}


def test_a_parameter_may_be_called_grid():
    assert Declared({"grid": [1, 2]}).params_of({"grid": 1}) == {"grid": 1}


@pytest.mark.parametrize(
    ("declared", "parameter"),
    [
        (stats.loguniform(1, 10), bq.Float(1, 10, log=True)),
        (stats.loguniform(1e-3, 1e3), bq.Float(1e-3, 1e3, log=True)),
        (stats.uniform(-1, 2), bq.Float(-1, 1)),
        ([0.1, 1, 10], bq.Choice([0.1, 1, 10], ordered=True)),
        ([10, 1, 0.1], bq.Choice([10, 1, 0.1])),
        ([True, False], bq.Choice([True, False])),
        (np.array([1, 2, 3]), bq.Choice([1, 2, 3], ordered=True)),
        ([(1, 1), (1, 2)], bq.Choice(["(1, 1)", "(1, 2)"])),
        ({"a": {"y": [1, 2]}, "b": {}}, bq.Choice({"a": {"y": bq.Choice([1, 2])}, "b": {}})),
        (bq.Int(1, 3), bq.Int(1, 3)),
    ],
)
def test_values(declared, parameter):
    assert Declared({"x": declared}).space.parameters == (("x", parameter),)


def test_distributions_without_bounds():
    ((_, C),) = Declared({"C": stats.expon(scale=100)}).space.parameters
    assert isinstance(C, bq.Float)
    assert C.log
    assert C.low == pytest.approx(0.1, rel=0.01)
    assert C.high == pytest.approx(690, rel=0.01)
    ((_, n),) = Declared({"n": stats.poisson(20)}).space.parameters
    assert isinstance(n, bq.Int)
    assert n.low < 20 < n.high


def test_shared_sub_spaces_of_estimators():
    svc, ridge = SVC(), Ridge()
    declared = Declared({"m": {svc: {}, ridge: {}, "drop": {}, (svc, ridge): {"m__tol": [1, 2]}}})
    assert declared.space.is_active("m__tol", {"m": "SVC()"})
    assert not declared.space.is_active("m__tol", {"m": "drop"})
    assert declared.params_of({"m": "SVC()", "m__tol": 1})["m"] is svc
