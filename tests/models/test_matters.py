import numpy as np
import pytest

import bosquet as bq
from bosquet.kernels.components import Component
from bosquet.kernels.features import Feature
from bosquet.models.add_tree import add_tree
from bosquet.models.baselines import ArcCovariance, independent
from bosquet.models.covariance import Covariance
from bosquet.models.matters import Matter, matters
from bosquet.models.priors import Hyperparameters
from bosquet.space import Space

SPACE = Space(
    {
        "lr": bq.Float(0, 1),
        "c": bq.Choice(["a", "b", "d", "e"]),
        "model": bq.Choice({"svm": {"C": bq.Float(0, 1), "g": bq.Float(0, 1)}, "net": {}}),
    }
)
LR, C, G = 0, 3, 4  # columns


def covariance_of(*components: Component) -> Covariance:
    nothing = np.zeros(0)
    hyper = Hyperparameters(nothing, np.zeros((0, 0)), nothing, nothing, nothing, nothing, ())
    return Covariance(SPACE, components, hyper)


def se(name: str, node: int, slots: range, *features: Feature) -> Component:
    """The first slot is that of the variance, the others are those of length-scales."""
    return Component(name, node, "se", features, slots[0], tuple(slots[1:]))


def difference(column: int) -> Feature:
    return Feature(column, "difference")


def varies(*squared: float) -> float:
    return 1.0 - float(np.exp(-0.5 * sum(squared)))


def test_shares_are_what_two_random_points_differ_by():
    svm = 1
    covariance = covariance_of(
        se("own", 0, range(3), difference(LR), Feature(1, "overlap")),
        se("branch", svm, range(3, 5), difference(C)),
        Component("level", svm, "constant", (), 5, ()),
    )
    eta = np.log([2.0, 0.5, 1.0, 3.0, 0.25, 0.1])
    # Uniform values differ by 1/6 in the square, one of four options from another by 3/4.
    own = 2.0 * varies(1 / 6 / 0.5**2, 0.75)
    branch = 3.0 * varies(1 / 6 / 0.25**2)
    total = own + branch + 0.1
    found = matters(covariance, eta)
    assert [(part.branch, part.variables) for part in found] == [
        ("model=svm", ("C",)),
        ("", ("c", "lr")),
        ("model=svm", ()),
    ]
    assert [part.share * total for part in found] == pytest.approx([branch, own, 0.1])


def test_variables_with_long_length_scales_do_not_matter():
    covariance = covariance_of(se("svm", 1, range(3), difference(C), difference(G)))
    assert matters(covariance, np.log([1.0, 20.0, 0.5])) == [Matter("model=svm", ("g",), 1.0)]
    together = matters(covariance, np.log([1.0, 0.6, 0.5]))
    assert together == [Matter("model=svm", ("g", "C"), 1.0)]


def test_the_same_variables_are_one_part():
    own = se("own", 1, range(2), difference(C))
    chain = se("chain", 1, range(2, 5), difference(LR), difference(C))
    (part,) = matters(covariance_of(own, chain), np.log([1.0, 0.5, 1.0, 20.0, 0.5]))
    assert part == Matter("model=svm", ("C",), 1.0)


def test_no_variance_has_no_shares():
    covariance = covariance_of(se("own", 0, range(2), difference(LR)))
    (part,) = matters(covariance, np.array([-2000.0, 0.0]))
    assert part.share == 0.0


def test_arcs_are_those_of_their_variables():
    covariance = ArcCovariance(SPACE, "matern52", 0.5)
    (part,) = matters(covariance, covariance.hyper.eta(covariance.hyper.mean))
    assert part.branch == ""
    assert sorted(part.variables) == ["C", "c", "g", "lr", "model"]


def test_names_that_branches_have_in_common_are_qualified():
    options = {"svm": {"C": bq.Float(0, 1)}, "net": {"C": bq.Float(0, 1), "w": bq.Float(0, 1)}}
    covariance = ArcCovariance(Space({"model": bq.Choice(options)}), "matern52", 0.5)
    (part,) = matters(covariance, covariance.hyper.eta(covariance.hyper.mean))
    assert sorted(part.variables) == ["model", "model=net/C", "model=svm/C", "w"]


def test_components_of_paths_are_named_by_them():
    covariance = independent(SPACE, "matern52")
    found = matters(covariance, covariance.hyper.eta(covariance.hyper.mean))
    assert {part.branch for part in found} == {"model=svm", "model=net"}


def test_nodes_below_nodes_are_named_from_the_top():
    space = bq.benchmarks.small_balanced().space
    covariance = Covariance(space, *add_tree(space))
    found = matters(covariance, covariance.hyper.eta(covariance.hyper.mean))
    assert ("x1=0, x2=0", ("x4",)) in {(part.branch, part.variables) for part in found}


@pytest.mark.parametrize("strategy", ["auto", "add-tree", "arc", "additive", "flat-gp"])
def test_trials_say_what_matters(strategy):
    space = Space({"strong": bq.Float(0, 1), "idle": bq.Float(0, 1), "none": bq.Float(0, 1)})
    result = bq.minimize(
        lambda c: (c["strong"] - 0.3) ** 2,
        space,
        n_trials=14,
        strategy=strategy,
        seed=0,
        progress=False,
    )
    told = result.trials[-1].info["matters"]
    assert told[0]["variables"][0] == "strong"
    assert 0.5 < told[0]["share"] <= 1.0 + 1e-9
    assert len(told) <= 5
    assert sum(part["share"] for part in told) < 1.01


def test_auto_says_what_the_belief_that_counts_most_has():
    """`arc` has one part, everywhere; `add-tree` has parts in branches."""
    problem = bq.benchmarks.small_balanced(shared=True, shift=1)
    result = bq.minimize(problem, problem.space, n_trials=27, seed=0, progress=False)
    seen = set()
    for trial in result.trials[21:]:
        weights, told = trial.info["weights"], trial.info["matters"]
        first = max(weights, key=weights.__getitem__)
        assert ([part["branch"] for part in told] == [""]) == (first == "arc")
        seen.add(len(weights))
    assert 2 in seen


def test_warped_models_say_it_too():
    result = bq.minimize(
        lambda c: c["x"] ** 3,
        {"x": bq.Float(0, 1)},
        n_trials=7,
        strategy=bq.strategies.AddTree(warp=True),
        seed=0,
        progress=False,
    )
    assert result.trials[-1].info["matters"] == [{"branch": "", "variables": ["x"], "share": 1.0}]


def test_of_a_branch_that_always_fails_nothing_is_said():
    def objective(config):
        if config["m"] == "broken":
            raise RuntimeError("no licence")
        return config["x"]

    space = {
        "m": bq.Choice({"works": {"x": bq.Float(0, 1)}, "broken": {"y": bq.Float(0, 1)}}),
        "one": bq.Choice(["value"]),
    }
    result = bq.minimize(objective, space, n_trials=14, strategy="add-tree", seed=0, progress=False)
    assert len(result.history.failed) > 2
    told = result.trials[-1].info["matters"]
    assert ("m=works", ["x"]) in [(part["branch"], part["variables"]) for part in told]
    assert not [part for part in told if part["branch"] == "m=broken"]
    assert not [part for part in told if "one" in part["variables"]]
