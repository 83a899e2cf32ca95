import numpy as np
import pytest
from scipy.optimize import approx_fprime

import bosquet as bq
from bosquet.models.add_tree import add_tree, paper_add_tree, released_add_tree
from bosquet.models.gp import AdditiveGP
from bosquet.models.transform import transform, yeo_johnson


def covariance(components, eta, space, a, b):
    """Definition 4: the sum over nodes that both configurations activate."""
    X = space.to_unit([a, b])
    Z = space.tree.node_activity(X)
    return sum(
        c.cross(X[:1], X[1:], eta)[0, 0] for c in components if Z[0, c.node] and Z[1, c.node]
    )


def test_definition_4_on_the_papers_tree():
    """The covariance is that of the shared part of two paths."""
    space = bq.benchmarks.small_balanced(shared=True).space
    components, hyper = paper_add_tree(space)
    assert len(components) == 6  # r8, r9 and four leaves; the root has no variable
    eta = hyper.eta(hyper.mean)
    a = {"x1": 0, "r8": 0.2, "x2": 0, "x4": 0.5}
    same_half = {"x1": 0, "r8": 0.7, "x2": 1, "x5": 0.5}
    other_half = {"x1": 1, "r9": 0.2, "x3": 0, "x6": 0.5}
    length, variance = 0.5, 1.0
    shared = variance * np.exp(-((0.2 - 0.7) ** 2) / (2 * length**2))
    assert covariance(components, eta, space, a, same_half) == pytest.approx(shared)
    assert covariance(components, eta, space, a, other_half) == 0.0
    assert covariance(components, eta, space, a, a) == pytest.approx(2 * variance)


def test_one_length_scale_per_vertex():
    """Section 5: sigma exp(-r^2 / 2 l^2), however many variables a vertex has."""
    space = bq.Space({"a": bq.Float(0, 1), "b": bq.Float(0, 1)})
    components, hyper = paper_add_tree(space)
    assert hyper.names == ("variance own 0", "length own 0", "noise")
    rng = np.random.default_rng(0)
    X = space.to_unit(space.sample(rng, 12))
    gp = AdditiveGP(components, hyper, X, space.tree.node_activity(X), rng.normal(size=12))
    theta = np.array([0.3, -0.7, -3.0])
    r2 = np.sum((X[0] - X[1]) ** 2)
    expected = np.exp(0.3) * np.exp(-r2 / (2 * np.exp(-1.4)))
    assert components[0].cross(X[:1], X[1:2], hyper.eta(theta))[0, 0] == pytest.approx(expected)
    slope = approx_fprime(theta, lambda t: gp.log_posterior(t)[0], 1e-6)
    np.testing.assert_allclose(gp.log_posterior(theta)[1], slope, rtol=1e-4, atol=1e-5)


def test_the_released_covariance_has_unit_variances_and_takes_values_to_be_exact():
    space = bq.benchmarks.small_balanced(shared=True).space
    components, hyper = released_add_tree(space)
    assert [c.kind for c in components] == ["constant"] + ["se"] * 6
    assert all(name.startswith("length") for name in hyper.names)
    eta = hyper.eta(hyper.mean)
    assert {float(eta[c.variance]) for c in components} == {0.0}
    assert np.exp(eta[-1]) == pytest.approx(1e-10)


def test_components_of_the_default_model():
    space = bq.Space(
        {
            "lr": bq.Float(0, 1),
            "model": bq.Choice(
                {
                    "svm": {
                        "C": bq.Float(0, 1),
                        "kernel": bq.Choice({"linear": {}, "rbf": {"g": bq.Float(0, 1)}}),
                    },
                    "forest": {"depth": bq.Int(1, 9)},
                    "boosting": {},
                    ("forest", "boosting"): {"trees": bq.Int(1, 100)},
                }
            ),
        }
    )
    components, _ = add_tree(space)
    names = {
        (c.name.split()[0], space.nodes[c.node].label): {
            space.dimensions[f.dimension].name for f in c.features
        }
        for c in components
    }
    assert names["own", "root"] == {"lr"}
    assert names["chain", "kernel=rbf"] == {"lr", "C", "g"}
    assert names["chain", "kernel=linear"] == {"lr", "C"}
    # A tuple key's variables are certainly there with each of its options.
    assert names["chain", "model=forest"] == {"lr", "depth", "trees"}
    assert names["chain", "model=boosting"] == {"lr", "trees"}
    assert names["chain", "model=forest|boosting"] == {"lr", "trees"}
    constants = {label for kind, label in names if kind == "constant"}
    assert constants == {"model=svm", "model=forest", "model=boosting"} | {
        "kernel=linear",
        "kernel=rbf",
    }
    assert not any("model" in dims or "kernel" in dims for dims in names.values())


def test_hierarchy_moves_all_components_together():
    space = bq.benchmarks.small_balanced(shared=True).space
    components, hyper = add_tree(space)
    before = hyper.eta(hyper.mean)
    raised = hyper.mean.copy()
    raised[0] += 1.0  # the common log variance of the nodes' own components
    after = hyper.eta(raised)
    for component in components:
        change = after[component.variance] - before[component.variance]
        assert change == pytest.approx(1.0 if component.name.startswith("own") else 0.0)


@pytest.mark.parametrize("lam", [-1.0, 0.0, 0.5, 1.0, 2.0, 2.5])
def test_yeo_johnson(lam):
    from scipy.stats import yeojohnson

    y = np.array([-3.0, -0.5, 0.0, 0.2, 4.0])
    t, log_slope = yeo_johnson(y, lam)
    np.testing.assert_allclose(t, yeojohnson(y, lam), atol=1e-12)
    numeric = (yeo_johnson(y + 1e-6, lam)[0] - yeo_johnson(y - 1e-6, lam)[0]) / 2e-6
    np.testing.assert_allclose(np.exp(log_slope), numeric, rtol=1e-5)


@pytest.mark.parametrize("lam", [1.0, 0.3])
def test_targets_are_standardised_with_their_jacobian(lam):
    rng = np.random.default_rng(0)
    y = rng.gamma(2.0, size=30) * 50
    noise = np.where(rng.random(30) < 0.5, 1.0, np.nan)
    targets = transform(y, noise, lam)
    assert targets.z.mean() == pytest.approx(0.0, abs=1e-12)
    assert targets.z.std() == pytest.approx(1.0)
    order = np.argsort(y)
    slopes = np.exp(yeo_johnson((y - y.mean()) / y.std(), lam)[1])
    width = np.std(yeo_johnson((y - y.mean()) / y.std(), lam)[0])
    assert np.all(np.diff(targets.z[order]) > 0)
    expected = (slopes / (y.std() * width)) ** 2
    known = ~np.isnan(noise)
    np.testing.assert_allclose(targets.noise[known], expected[known])
    assert targets.log_jacobian == pytest.approx(0.5 * np.log(expected).sum())


def test_targets_of_odd_values():
    for y in ([1.0, 1.0], [0.0, 0.0], [1e300, -1e300], [1e-300, 0.0], [5.0, 5.0 + 1e-15]):
        targets = transform(np.array(y), np.array([np.nan, 0.1]))
        assert np.all(np.isfinite(targets.z))
        assert np.isfinite(targets.noise[1])


@pytest.mark.parametrize("lam", [1.0, 0.0, 2.0])
@pytest.mark.parametrize("e", [-1060, -1000, 900, 1021])
def test_targets_near_the_ends_of_the_floats(e, lam):
    """A power of two changes nothing but the Jacobian, which says how much."""
    y = np.array([-1.0, 0.25, 0.5, 1.5, 1.75])
    noise = np.array([np.nan, 0.0, np.nan, 0.0, np.nan])
    plain, odd = (transform(values, noise, lam) for values in (y, np.ldexp(y, e)))
    np.testing.assert_allclose(odd.z, plain.z, rtol=1e-12)
    np.testing.assert_array_equal(odd.noise, plain.noise)
    assert odd.log_jacobian == pytest.approx(plain.log_jacobian - 5 * e * np.log(2.0))


def test_much_noise_is_less_likely_than_hardly_any():
    """The prior of the log noise variance has two sides; its gradient is that of its value."""
    hyper = add_tree(bq.Space({"x": bq.Float(0, 1)}))[1]
    at = hyper.names.index("noise")

    def log_prior(away):
        theta = hyper.mean.copy()
        theta[at] += away
        return hyper.log_prior(theta)

    assert log_prior(4.0)[0] == pytest.approx(-0.5 * (4.0 / 2.0) ** 2)
    assert log_prior(-4.0)[0] == pytest.approx(-0.5 * (4.0 / 4.0) ** 2)
    for away in (-3.0, 3.0):
        slope = (log_prior(away + 1e-6)[0] - log_prior(away - 1e-6)[0]) / 2e-6
        assert log_prior(away)[1][at] == pytest.approx(slope)
