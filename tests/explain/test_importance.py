"""Importance against functions where it is known; `experiments/importance.py` has more seeds."""

import numpy as np
import pytest

import bosquet as bq
from bosquet.explain import Model
from bosquet.explain.importance import variances
from tests.explain.studies import studied


@pytest.mark.parametrize("seed", [0, 1])
def test_the_one_variable_that_matters_is_named_first(seed):
    names = ("a", "b", "c")
    space = bq.Space(
        {
            "shared": bq.Float(0, 1),
            "branch": bq.Choice({o: {f"{o}{i}": bq.Float(0, 1) for i in range(2)} for o in names}),
        }
    )
    history = studied(space, lambda c: (c["b1"] - 0.3) ** 2 if "b1" in c else 0.2, 40, seed=seed)
    found = {one.parameter: one for one in Model(history).importance()}
    parameters = [name for name, one in found.items() if one.kind == "parameter"]
    assert parameters[0] == "branch=b/b1"
    first = found["branch=b/b1"]
    assert first.condition == "branch=b"
    assert first.share > 0.8
    u = np.linspace(0, 1, 1001)
    assert first.sd == pytest.approx(np.std((u - 0.3) ** 2), rel=0.25)
    assert first.low <= first.sd <= first.high
    assert found["branch=a/a0"].sd < 0.2 * first.sd
    assert found["branch"].kind == "choice"


def test_the_middle_of_the_star_is_named_first():
    problem = bq.benchmarks.star(3)
    found = Model(studied(problem.space, problem.function, 40, seed=3)).importance()
    assert found[0].parameter == "x1"
    assert found[0].share > found[0].alone  # it acts together with all others


def test_a_choice_counts_what_its_options_differ_in(tree_model):
    found = {one.parameter: one for one in tree_model.importance()}
    # 2 for the forest, on average 1 + 4 E (u - 0.3)^2 for the svm.
    svm = 1 + 4 * np.mean((np.linspace(0, 1, 1001) - 0.3) ** 2)
    assert found["model"].sd == pytest.approx(abs(2 - svm) / 2, rel=0.25)
    assert found["lr"].share < 0.1
    assert found["model=svm/C"].alone <= found["model=svm/C"].share + 1e-9
    assert list(found) == [one.parameter for one in tree_model.importance(level=0.5)]


def test_variances_of_known_functions():
    a, b = np.linspace(-1, 1, 7), np.linspace(-1, 1, 9)
    alone, total, everything = variances((a[:, None] * b)[None, :, :, None])
    assert alone[0] == pytest.approx(0.0, abs=1e-12)
    assert total[0] == pytest.approx(everything[0])
    alone, total, everything = variances((a[:, None] + b)[None, :, :, None])
    assert alone[0] == pytest.approx(total[0])
    assert total[0] == pytest.approx(np.var(a))
    assert everything[0] == pytest.approx(np.var(a) + np.var(b))


def test_parameters_that_constraints_fix_are_left_out():
    space = bq.Space(
        {"x": bq.Float(0, 1), "c": bq.Choice(["a", "b"])}, constraints=[bq.Forbid({"c": "b"})]
    )
    model = Model(studied(space, lambda c: c["x"] ** 2, 8))
    assert [one.parameter for one in model.importance()] == ["x"]
