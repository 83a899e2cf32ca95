"""Many likelihoods at once against one at a time."""

import numpy as np
import pytest

import bosquet as bq
from bosquet.models.add_tree import add_tree
from bosquet.models.covariance import Covariance
from bosquet.models.many import factors
from bosquet.models.plain import plain
from bosquet.models.warping import on_rows
from bosquet.strategies.htbo import SPEARMINT


def space():
    return bq.Space(
        {
            "s": bq.Float(0, 1),
            "m": bq.Choice({"a": {"x": bq.Float(0, 1)}, "b": {"n": bq.Int(1, 9)}, "c": {}}),
        }
    )


def rows(n=18, seed=0):
    rng = np.random.default_rng(seed)
    X = space().to_unit(space().sample(rng, n))
    X[-2:] = X[0]  # repeats
    noise = np.where(np.arange(n) < 4, 0.01, np.nan)
    return X, rng.standard_normal(n), noise


def thetas(hyper, n=12, seed=1):
    rng = np.random.default_rng(seed)
    low, high = np.maximum(hyper.lower, hyper.mean - 2), np.minimum(hyper.upper, hyper.mean + 2)
    return rng.uniform(low, high, (n, len(low)))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("warp", [None, "beta", "kumaraswamy"])
@pytest.mark.parametrize("published", [False, True])
def test_they_are_those_of_the_model(published, warp, mean, weighted):
    X, z, noise = rows()
    shares = None
    if weighted:  # as rows of a leaf have them; repeats the same
        shares = np.linspace(2.0, 0.2, len(z))
        shares[-2:] = shares[0]
    covariance = plain(space(), SPEARMINT) if published else Covariance(space(), *add_tree(space()))
    model = on_rows(covariance, X, z, noise, warp, shares, mean)
    some = thetas(model.hyper)
    expected = [model.log_likelihood(theta)[0] for theta in some]
    np.testing.assert_allclose(model.log_likelihoods(some), expected, rtol=1e-8)


def test_parts_of_a_large_stack_are_those_of_a_small_one(monkeypatch):
    X, z, noise = rows()
    model = on_rows(plain(space(), SPEARMINT), X, z, noise, None, mean=True)
    some = thetas(model.hyper)
    whole = model.log_likelihoods(some)
    monkeypatch.setattr("bosquet.models.many.ENTRIES", 1000)
    again = on_rows(plain(space(), SPEARMINT), X, z, noise, None, mean=True)
    np.testing.assert_allclose(again.log_likelihoods(some), whole)


def test_what_has_no_factor_has_no_density(monkeypatch):
    np.testing.assert_array_equal(
        factors(np.array([np.eye(2), -np.eye(2)])), [np.eye(2), np.full((2, 2), np.nan)]
    )
    X, z, noise = rows()
    model = on_rows(plain(space(), SPEARMINT), X, z, noise, None)
    monkeypatch.setattr("bosquet.models.many.factors", lambda K: np.full_like(K, np.nan))
    assert (model.log_likelihoods(thetas(model.hyper)) == -np.inf).all()
