"""Draws of hyper-parameters: as wide as the log posterior is, and never wider than the prior."""

import numpy as np

from bosquet.models.laplace import laplace_draws
from bosquet.models.priors import Prior, PriorBuilder


def hyper(*sds):
    builder = PriorBuilder()
    for i, sd in enumerate(sds):
        builder.eta([builder.theta(f"t{i}", Prior(0.0, sd), (-50.0, 50.0))])
    return builder.hyperparameters(-6.0)


def parabola(precision):
    return lambda theta: (-0.5 * float(theta @ precision @ theta), -precision @ theta)


def test_draws_have_the_covariance_of_a_normal_density():
    precision = np.array([[30.0, 12.0], [12.0, 20.0]])
    draws = laplace_draws(
        parabola(precision), hyper(1.0, 2.0), np.zeros(2), 4000, np.random.default_rng(0)
    )
    np.testing.assert_allclose(np.cov(np.array(draws).T), np.linalg.inv(precision), atol=0.004)


def test_where_the_density_says_nothing_draws_are_as_wide_as_the_prior():
    draws = laplace_draws(
        parabola(np.zeros((2, 2))), hyper(0.5, np.inf), np.zeros(2), 4000, np.random.default_rng(0)
    )
    np.testing.assert_allclose(np.std(draws, axis=0), [0.5, 1.0], rtol=0.05)


def test_draws_stay_within_the_bounds():
    known = hyper(1.0)
    draws = laplace_draws(parabola(np.eye(1)), known, known.upper, 50, np.random.default_rng(0))
    assert all((known.lower <= draw).all() and (draw <= known.upper).all() for draw in draws)


def test_a_model_without_hyperparameters_has_nothing_to_draw():
    draws = laplace_draws(parabola(np.eye(0)), hyper(), np.zeros(0), 3, np.random.default_rng(0))
    assert [len(draw) for draw in draws] == [0, 0, 0]
