import math

import numpy as np
import pytest

import bosquet as bq
from bosquet.acquisition import thompson
from bosquet.data import History, Trial
from bosquet.models.add_tree import add_tree
from bosquet.models.covariance import Covariance, SpaceGP
from bosquet.models.posterior import PartialPosterior
from bosquet.models.repeats import NOISE_FLOOR
from bosquet.search.region import Region
from bosquet.search.tree_path import on_path
from bosquet.strategies import Turbo
from bosquet.strategies.turbo import Trust, current_run, patience, trust_region
from bosquet.testing.conformance import tree_space
from tests.support import present


def line():
    return bq.Space({"x": bq.Float(0, 1)})


def told(values, direction="minimize"):
    """A history with these values; None is a failed trial."""
    trials = [
        Trial(i, {"x": i / 1000}, "failed", reason="no")
        if value is None
        else Trial(i, {"x": i / 1000}, "complete", value)
        for i, value in enumerate(values)
    ]
    return History(line(), trials, direction)


def test_the_length_doubles_with_success_and_halves_without():
    trust = Trust(best=1.0)
    for loss in (0.9, 0.8, 0.7):
        trust = trust.after(loss, 4)
    assert (trust.length, trust.successes, trust.failures) == (1.6, 0, 0)
    for loss in (0.6, 0.5, 0.4):
        trust = trust.after(loss, 4)
    assert trust.length == 1.6  # the longest
    for loss in (0.4, 0.3999, math.inf, 5.0):  # better by a hair is not better
        trust = trust.after(loss, 4)
    assert (trust.length, trust.failures, trust.best) == (0.8, 0, 0.3999)
    assert trust.after(0.3, 4).after(0.9, 4).successes == 0
    assert (patience(2), patience(14)) == (4, 14)


def test_runs_are_counted_from_the_history():
    values = [5.0, 3.0, None, 2.0, 2.0, None, 2.0]
    run = current_run(told(values), 2, 4, 2.0**-7)
    assert (run.start, run.n_complete, run.trust.best) == (0, 5, 2.0)
    assert (run.trust.failures, run.trust.length) == (3, 0.8)
    same = current_run(told([None if v is None else -v for v in values], "maximize"), 2, 4, 2.0**-7)
    assert same == run
    # From 0.8, seven times four failures end below 2^-7; the next trial begins another run.
    worn = [1.0, 1.0] + [1.0] * 28
    assert current_run(told(worn[:-1]), 2, 4, 2.0**-7).trust.length == 0.8 / 2**6
    assert current_run(told(worn), 2, 4, 2.0**-7) == current_run(told([]), 2, 4, 2.0**-7).__class__(
        30, 0, Trust()
    )
    assert current_run(told([*worn, 9.0]), 2, 4, 2.0**-7).trust.best == 9.0


def test_sides_follow_the_length_scales_and_keep_the_volume():
    space = bq.Space({"a": bq.Float(0, 1), "b": bq.Float(0, 1)})
    covariance = Covariance(space, *add_tree(space))
    eta = covariance.hyper.eta(covariance.hyper.mean)
    first, second = covariance.components[0].lengths
    eta[first], eta[second] = np.log(0.2), np.log(0.8)
    centre = np.array([0.5, 0.5])
    region = trust_region(covariance, eta, centre, 0.1)
    np.testing.assert_allclose(region.upper - region.lower, [0.05, 0.2])
    assert region.volume == pytest.approx(0.01)
    within = Region(space, centre, np.array([0.4, 0.0]), np.array([0.6, 0.5]))
    small = trust_region(covariance, eta, centre, 0.1, within)
    np.testing.assert_allclose(small.upper - small.lower, [0.05 * 0.2, 0.2 * 0.5 / 2])
    at_edge = trust_region(covariance, eta, np.array([0.0, 1.0]), 1.6)
    assert at_edge.contains(np.array([[0.0, 1.0]])).all()
    assert (at_edge.lower >= 0).all()
    assert (at_edge.upper <= 1).all()


@pytest.mark.parametrize("make", [Turbo, Turbo.paper], ids=["logei", "thompson"])
def test_it_closes_in(make):
    problem = bq.benchmarks.branin()
    result = bq.minimize(problem, problem.space, n_trials=25, strategy=make(), seed=1)
    assert result.best_value - present(problem.minimum) < 0.2
    late = result.trials[-1]
    assert late.info["length"] <= 1.6
    assert "trust region" in late.info["why"]


def test_thompson_samples_follow_the_joint_posterior():
    """Covariances from what believing one point does to the variance of another."""
    space = tree_space()
    X = space.to_unit(space.sample(0, 12))
    covariance = Covariance(space, *add_tree(space))
    posterior = SpaceGP(covariance, X, np.sin(3 * X.sum(axis=1))).posterior(covariance.hyper.mean)
    path = max(space.tree.paths(), key=len)
    rows = on_path(space, path, np.random.default_rng(0).random((4, len(space))))
    belief = posterior.on_path(path)
    assert isinstance(belief, PartialPosterior)
    mean, joint = belief.joint(rows)
    _, variance = belief.moments(rows)
    np.testing.assert_allclose(mean, belief.moments(rows)[0])
    np.testing.assert_allclose(np.diag(joint), variance)
    noise = np.exp(posterior.eta[-1]) + NOISE_FLOOR
    for b in range(4):
        _, less = posterior.with_pending(rows[[b]]).on_path(path).moments(rows)
        np.testing.assert_allclose(
            variance - less, joint[b] ** 2 / (variance[b] + noise), atol=1e-9
        )
    draws = np.array([thompson.draw(mean, joint, np.random.default_rng(i)) for i in range(4000)])
    np.testing.assert_allclose(np.cov(draws.T), joint, atol=0.1 * joint.max())
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.1)


def test_a_posterior_that_knows_all_but_everything_is_drawn_from():
    """Its joint is the rounding error of a difference, and has negative eigenvalues."""
    rng = np.random.default_rng(0)
    error = 1e-16 * rng.standard_normal((40, 40))
    covariance = np.diag(np.full(40, 1e-13)) + 1e3 * (error + error.T)
    assert np.linalg.eigvalsh(covariance)[0] < -1e-12
    drawn = thompson.draw(np.zeros(40), covariance, rng)
    assert np.abs(drawn).max() < 1e-4
    with pytest.raises(np.linalg.LinAlgError, match="not finite"):
        thompson.draw(np.zeros(2), np.full((2, 2), np.nan), rng)


def test_a_linear_function_does_not_stop_thompson_sampling():
    space = bq.Space({f"x{i}": bq.Float(0, 1) for i in range(3)})
    opt = bq.Optimizer(space, Turbo.paper(), seed=0)
    for _ in range(20):
        trial = opt.ask()
        opt.tell(trial, sum(trial.config.values()))


def test_a_restart_begins_with_a_design():
    space = line()
    opt = bq.Optimizer(space, Turbo(least_length=0.3), seed=0)
    why = []
    for _ in range(24):
        trial = opt.ask()
        why.append("design" in trial.info["why"])
        opt.tell(trial, 1.0 + 1e-9 * trial.number)
    # d = 1: a design of two; from 0.8, two times four failures end below 0.3.
    assert why == ([True] * 2 + [False] * 8) * 2 + [True] * 2 + [False] * 2


def test_published_trust_regions_stay_on_the_path_of_the_best():
    space = tree_space()
    opt = bq.Optimizer(space, Turbo.paper(), seed=0)
    for _ in range(16):
        trial = opt.ask()
        opt.tell(
            trial, abs(math.log10(trial.config["lr"]) + 2) + 5 * (trial.config["model"] != "svm")
        )
    best = opt.best
    for _ in range(3):
        trial = opt.ask()
        assert space.path(trial.config) == space.path(present(best).config)
        opt.tell(trial, 100.0)


def test_bad_arguments_are_said():
    with pytest.raises(ValueError, match="acquisition='ucb' must be one of logei, thompson"):
        Turbo(acquisition="ucb")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="most_points=0 must be a positive integer"):
        Turbo(most_points=0)
    with pytest.raises(ValueError, match="least_length=2 must lie between 0 and"):
        Turbo(least_length=2)
