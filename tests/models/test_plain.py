import numpy as np
import pytest
from scipy.optimize import approx_fprime

import bosquet as bq
from bosquet.models.add_tree import add_tree
from bosquet.models.covariance import SpaceGP
from bosquet.models.plain import Published, plain
from bosquet.strategies.htbo import SPEARMINT
from bosquet.strategies.published import SMAC, TURBO


def box(d=2):
    return bq.Space({f"x{i}": bq.Float(0, 1) for i in range(d)})


@pytest.mark.parametrize("published", [SPEARMINT, SMAC, TURBO])
def test_bounds_are_those_given(published):
    hyper = plain(box(), published).hyper
    assert hyper.names[-1] == "noise"
    lower, upper = np.exp(hyper.lower), np.exp(hyper.upper)
    expected = np.array([published.variances, *[published.lengths] * 2, published.noises])
    np.testing.assert_allclose(np.column_stack([lower, upper]), expected)
    assert (hyper.mean >= hyper.lower).all()
    assert (hyper.mean <= hyper.upper).all()


def test_the_numbers_of_boing_s_authors():
    """As the page of `boing` has them: bounds, a log-normal variance, a horseshoe for the noise."""
    hyper = plain(box(1), SMAC).hyper
    np.testing.assert_allclose(hyper.lower, [-10.0, -6.754, np.log(1e-5)], atol=1e-3)
    np.testing.assert_allclose(hyper.upper, [2.0, 0.0859, 2.0], atol=1e-3)
    value, _ = hyper.log_prior(np.array([-1.5, -2.0, np.log(0.01)]))
    assert value == pytest.approx(-0.5 * 1.5**2 + np.log(np.log1p((0.1 / 0.01) ** 2)))


@pytest.mark.parametrize("published", [SPEARMINT, SMAC, TURBO])
def test_the_gradient_of_the_prior(published):
    hyper = plain(box(), published).hyper
    theta = 0.3 * hyper.lower + 0.7 * hyper.upper
    numeric = approx_fprime(theta, lambda t: hyper.log_prior(t)[0], 1e-7)
    np.testing.assert_allclose(hyper.log_prior(theta)[1], numeric, atol=1e-4)


@pytest.mark.parametrize(
    "hyper",
    [plain(box(), SPEARMINT).hyper, plain(box(), SMAC).hyper, add_tree(box())[1]],
    ids=["Spearmint", "SMAC", "add-tree"],
)
def test_many_priors_are_those_of_each(hyper):
    thetas = np.random.default_rng(0).uniform(hyper.lower, hyper.upper, (9, len(hyper.mean)))
    each = [hyper.log_prior(theta)[0] for theta in thetas]
    np.testing.assert_allclose(hyper.log_priors(thetas), each)


def test_maximum_likelihood_has_no_prior():
    hyper = plain(box(), TURBO).hyper
    value, gradient = hyper.log_prior(hyper.lower + 0.1)
    assert value == 0.0
    assert not gradient.any()


def test_a_stretched_box_is_one_whose_rows_are_stretched():
    """Length-scales of the stretched coordinates, in their own interval."""
    widths = np.array([0.5, 0.1])
    X = np.random.default_rng(0).random((9, 2)) * widths
    z = np.sin(9 * X.sum(axis=1))
    narrow, whole = plain(box(), SMAC, widths), plain(box(), SMAC)
    stretched = SpaceGP(whole, X / widths, z).log_likelihood(whole.hyper.mean)[0]
    assert SpaceGP(narrow, X, z).log_likelihood(narrow.hyper.mean)[0] == pytest.approx(stretched)
    np.testing.assert_allclose(narrow.hyper.upper[1:3] - whole.hyper.upper[1:3], np.log(widths))


def test_every_node_has_a_component():
    space = bq.Space({"s": bq.Float(0, 1), "m": bq.Choice({"a": {"x": bq.Float(0, 1)}, "b": {}})})
    assert [c.node for c in plain(space, SMAC).components] == [0, 1]
    one = Published(1.0, (0.1, 2.0), 1.0, (0.1, 10.0), 0.01, (1e-4, 1.0))
    assert np.isinf(plain(space, one).hyper.sd).all()
