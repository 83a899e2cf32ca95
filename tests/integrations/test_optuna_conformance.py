"""Optuna's own conformance suites, on the sampler without a space."""

import optuna
import pytest
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)

from bosquet.integrations.optuna import BosquetSampler


@pytest.fixture(autouse=True)
def _quiet():
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(level)


class TestConformance(
    BasicSamplerTestCase,  # type: ignore[misc]
    RelativeSamplerTestCase,  # type: ignore[misc]
    SingleOnlySamplerTestCase,  # type: ignore[misc]
):
    """MultiObjectiveSamplerTestCase does not apply: such studies are refused, as tested here."""

    @pytest.fixture
    def sampler(self):
        return lambda: BosquetSampler(seed=0)
