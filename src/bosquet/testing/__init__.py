"""Checks for strategies and kernels, ours and third parties'.

In a test file of your own::

    import pytest
    from bosquet.testing import STRATEGY_CHECKS, check_shape

    @pytest.mark.parametrize("check", STRATEGY_CHECKS, ids=lambda check: check.__name__)
    def test_my_strategy(check):
        check(MyStrategy)

    def test_my_kernel():
        check_shape(my_kernel)
"""

from bosquet.testing import conformance
from bosquet.testing.shapes import check_shape

__all__ = ["STRATEGY_CHECKS", "check_shape"]

STRATEGY_CHECKS = conformance.STRATEGY_CHECKS
"""The conformance suite: functions that take a class of strategies, or anything that makes one when
called, and raise AssertionError where it does something that users do not expect."""
