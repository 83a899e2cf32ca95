"""One thread below NumPy while somebody asks, and as many as before afterwards."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy
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
    scipy.linalg.cholesky(np.linalg.cholesky(np.eye(2)))  # the libraries are loaded
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


def test_what_scipy_loads_late_has_one_thread_too():
    """SciPy brings a library of its own, which nothing has loaded before the first ask."""
    code = (
        "import sys\n"
        "import bosquet as bq\n"
        "from threadpoolctl import threadpool_info\n"
        "class Looking(bq.strategies.Strategy):\n"
        "    name = 'looking'\n"
        "    def propose(self, task, n, rng):\n"
        "        import scipy.linalg\n"
        "        print({one['num_threads'] for one in threadpool_info()})\n"
        "        return [bq.strategies.Proposal(config) for config in task.space.sample(rng, n)]\n"
        "assert 'scipy.linalg' not in sys.modules\n"
        "bq.Optimizer(bq.Space({'x': bq.Float(0, 1)}), strategy=Looking(), seed=0).ask()\n"
    )
    two = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "2")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=two)
    assert done.stdout == "{1}\n", done.stderr
