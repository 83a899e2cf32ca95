"""A fitted model is made once for all tests of a process."""

import pytest

from bosquet.explain import Model
from tests.explain.studies import studied, tree_space, tree_value


@pytest.fixture(scope="session")
def tree_model():
    return Model(studied(tree_space(), tree_value, failed=[3]))
