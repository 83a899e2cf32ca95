"""Every strategy, and the paper's version of it, passes the shipped conformance suite."""

import pytest

from bosquet.strategies import STRATEGIES
from bosquet.testing import STRATEGY_CHECKS

PAPERS = {
    f"{name}.{version}": getattr(cls, version)
    for name, cls in STRATEGIES.items()
    for version in cls.versions
    if version in vars(cls)
}
MAKERS = STRATEGIES | PAPERS


@pytest.mark.parametrize("check", STRATEGY_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", MAKERS)
def test_strategy_conforms(name, check):
    check(MAKERS[name])
