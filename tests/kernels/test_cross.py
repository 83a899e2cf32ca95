import numpy as np
import pytest
from scipy.optimize import approx_fprime

from bosquet.arrays import Index
from bosquet.kernels.components import Component, Kind
from bosquet.kernels.cross import Cross
from tests.kernels.test_gram import ALL, ETA, LINES, SOME
from tests.kernels.test_gram import MEMBERS as SUMS
from tests.kernels.test_gram import rows as rows

KINDS: dict[Kind, Index] = {"se": SOME, "matern52": ALL}
MEMBERS = SUMS | {
    "many of one variable each": [
        (Component(str(i), 0, kind, LINES[i % 2 :][:1], i, (4 - i,)), where)
        for kind, where in KINDS.items()
        for i in range(4)
    ]
}


@pytest.fixture(params=["few", "many"], autouse=True)
def queries_are(request, monkeypatch):
    """Few queries are compared with all features at once, many of them term by term."""
    if request.param == "many":
        monkeypatch.setattr("bosquet.kernels.cross.TOGETHER", 0)


@pytest.mark.parametrize("at_a_time", [1, 1 << 17])
@pytest.mark.parametrize("name", MEMBERS)
def test_cross_is_the_sum_of_its_components(name, rows, at_a_time, monkeypatch):
    monkeypatch.setattr("bosquet.kernels.cross.SUMMED", at_a_time)
    queries = np.random.default_rng(2).random((3, 3))
    queries[:, 2] = 0.5
    expected = np.zeros((3, 7))
    for component, where in MEMBERS[name]:
        expected[:, where] += component.cross(queries, rows[where], ETA)
    cross = Cross(MEMBERS[name], rows, ETA)
    np.testing.assert_allclose(cross(queries), expected, atol=1e-14)
    np.testing.assert_allclose(cross.with_slopes(queries)[0], expected, atol=1e-14)


@pytest.mark.parametrize("name", MEMBERS)
def test_gradient_by_the_coordinates(name, rows):
    rng = np.random.default_rng(3)
    queries = rng.random((2, 3))
    cross = Cross(MEMBERS[name], rows, ETA)
    _, slopes = cross.with_slopes(queries)
    both = rng.normal(size=7), rng.normal(size=(2, 7))
    for weights, found in zip(both, slopes.times(*both), strict=True):
        for i, w in enumerate(np.broadcast_to(weights, (2, 7))):

            def value(x, i=i, w=w):
                return float(cross(np.append(x, queries[i, 2])[None])[0] @ w)

            expected = approx_fprime(queries[i, :2], value, 1e-7)
            np.testing.assert_allclose(found[i], [*expected, 0.0], atol=1e-5)


def test_no_queries_have_no_covariances(rows):
    for members in MEMBERS.values():
        assert Cross(members, rows, ETA)(np.empty((0, 3))).shape == (0, 7)
