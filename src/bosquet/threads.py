"""One thread for the linear algebra of an ask.

Its matrices are small. Threads gain little on them, and where other processes want the same cores
they wait for each other: an ask then takes ten times as long, or far more (docs/results/asks.md).
It also makes a run the same on machines with different numbers of cores, since a sum in another
order is another number.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@contextmanager
def one_thread() -> Iterator[None]:
    """The libraries below NumPy and SciPy use one thread inside."""
    with _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> Any:
    """Those that are loaded; looking for them takes longer than setting them."""
    import scipy.linalg  # noqa: F401 - SciPy brings a library of its own, loaded when first used
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
