"""Checks that every strategy passes, ours and third parties'.

In a test file of your own::

    import pytest
    from bosquet.testing import STRATEGY_CHECKS

    @pytest.mark.parametrize("check", STRATEGY_CHECKS, ids=lambda check: check.__name__)
    def test_my_strategy(check):
        check(MyStrategy)
"""

from bosquet.testing.conformance import STRATEGY_CHECKS

__all__ = ["STRATEGY_CHECKS"]
