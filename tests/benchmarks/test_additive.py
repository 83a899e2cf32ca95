"""Draws from additive models, and their minima."""

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize

import bosquet as bq
from bosquet.benchmarks import PROBLEMS
from tests.support import present


def unit(x):
    return {f"x{i + 1}": float(v) for i, v in enumerate(x)}


@pytest.mark.parametrize("seed", range(3))
def test_the_minimum_is_that_of_a_fine_grid(seed):
    problem = bq.benchmarks.star(seed, dimension=3)
    line = np.linspace(0, 1, 41)
    grid = np.stack(np.meshgrid(line, line, line, indexing="ij"), -1).reshape(-1, 3)
    starts = grid[np.random.default_rng(0).integers(len(grid), size=3000)]
    values = [problem(unit(x)) for x in starts]
    assert min(values) >= present(problem.minimum)
    polished = [
        scipy_minimize(lambda x: problem(unit(x)), starts[i], bounds=[(0, 1)] * 3).fun
        for i in np.argsort(values)[:10]
    ]
    assert min(polished) == pytest.approx(problem.minimum, abs=1e-5)


def test_values_are_sums_over_edges_of_unit_variance():
    values = []
    for seed in range(30):
        problem = bq.benchmarks.lattice(seed, side=2)
        values.append(problem(unit([0.3, 0.6, 0.1, 0.8])))
    assert np.std(values) == pytest.approx(1.0, abs=0.3)
    problem = bq.benchmarks.star(0, dimension=4)

    def mixed(i, j):
        """Second difference in two coordinates."""
        low, high = [0.2] * 4, [0.2] * 4
        high[i] = high[j] = 0.7
        one, other = list(low), list(low)
        one[i] = other[j] = 0.7
        return problem(unit(high)) - problem(unit(one)) - problem(unit(other)) + problem(unit(low))

    assert mixed(1, 2) == pytest.approx(0.0, abs=1e-12)
    assert abs(mixed(0, 2)) > 1e-3


def test_the_named_ones():
    for name in ("star-10", "lattice-3"):
        problem = PROBLEMS[name](4)
        assert problem.name == name
        configs = problem.space.sample(0, 500)
        assert min(map(problem, configs)) >= present(problem.minimum)
