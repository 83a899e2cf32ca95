"""Measured systems: the space of a description, and values looked up in its table."""

import json
from typing import Any

import numpy as np
import pytest

import bosquet as bq
from bosquet.benchmarks.systems import system, system_names, table_space

DESCRIPTION: dict[str, Any] = {
    "parameters": [
        {"name": "cache", "type": "categorical", "levels": ["off", "on"], "conditions": []},
        {"name": "size", "type": "ordinal", "levels": [1, 2], "conditions": [["cache", ["on"]]]},
        {"name": "jobs", "type": "ordinal", "levels": [1, 8], "conditions": []},
    ],
    "forbidden": [{"cache": "off", "jobs": 8}],
    "missing": [{"size": 2, "jobs": 8}],
}
ROWS = {(0, -1, 0): 5.0, (1, 0, 0): 3.0, (1, 1, 0): 2.0, (1, 0, 1): 4.0}


@pytest.fixture
def data(tmp_path):
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems" / "toy.json").write_text(json.dumps(DESCRIPTION))
    levels = np.array(list(ROWS), dtype=np.int8)
    np.savez(tmp_path / "systems" / "toy.npz", config=levels, y=np.array(list(ROWS.values())))
    return tmp_path


def test_every_configuration_has_its_value(data):
    problem = system(data, "toy")
    values = {tuple(config.values()): problem(config) for config in problem.space.configs()}
    assert values == {("off", 1): 5.0, ("on", 1, 1): 3.0, ("on", 2, 1): 2.0, ("on", 1, 8): 4.0}
    assert problem.minimum == 2.0
    assert problem.name == "system-toy"


def test_levels_with_an_order_are_ordered():
    cache, jobs = (parameter for _, parameter in table_space(DESCRIPTION).parameters)
    assert isinstance(cache, bq.Choice)
    assert not cache.ordered
    assert jobs == bq.Choice([1, 8], ordered=True)


def test_what_is_not_there_is_named(data, tmp_path):
    assert system_names(data) == ["toy"]
    with pytest.raises(ValueError, match=r"system='other' must be .*toy"):
        system(data, "other")
    with pytest.raises(FileNotFoundError, match=r"no NAME\.json in "):
        system_names(tmp_path / "empty")
    twice = DESCRIPTION["parameters"][1] | {"conditions": [["a", [1]], ["b", [2]]]}
    with pytest.raises(ValueError, match="size: one condition at most"):
        table_space({"parameters": [twice], "forbidden": []})
