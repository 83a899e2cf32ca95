"""One thread below NumPy while somebody asks, and as many as before afterwards."""

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info

import bosquet as bq
from bosquet.strategies import Strategy
from bosquet.strategies.base import Proposal
from bosquet.threads import one_thread


def blas_threads():
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


@pytest.fixture
def two_threads():
    np.linalg.cholesky(np.eye(2))  # the library is loaded
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("the linear algebra of this machine has one thread")
        yield


@pytest.mark.usefixtures("two_threads")
def test_an_ask_has_one_thread_and_an_objective_has_its_own():
    seen = []

    class Looking(Strategy):
        name = "looking"

        def propose(self, task, n, rng):
            seen.append(blas_threads())
            return [Proposal(config) for config in task.space.sample(rng, n)]

    opt = bq.Optimizer(bq.Space({"x": bq.Float(0, 1)}), strategy=Looking(), seed=0)
    opt.ask()
    assert seen == [{1}]
    assert blas_threads() == {2}


@pytest.mark.usefixtures("two_threads")
def test_an_error_lifts_the_limit():
    with pytest.raises(ZeroDivisionError), one_thread():
        _ = 1 / 0
    assert blas_threads() == {2}
