"""HEBO's server with a HEBO that draws at random; tests of all peers are in test_peers.py."""

from __future__ import annotations

import random
import time

import pytest

import bosquet as bq
from bosquet.benchmarks import hebo
from bosquet.benchmarks.harness import Job, run
from bosquet.benchmarks.problem import Problem
from tests.benchmarks.fake_hebo import use_fake_hebo

SEED = 4790  # of random numbers that begin as a test wants them


@pytest.fixture
def told(tmp_path, monkeypatch):
    path = tmp_path / "told"
    use_fake_hebo(monkeypatch, path)
    return lambda: [float(line) for line in path.read_text().split()]


def test_hebo_has_every_parameter_and_is_told_every_value(told):
    space = bq.Space(
        {
            "a": bq.Choice({"x": {"k": bq.Int(0, 12, step=3)}, "y": {}}),
            "o": bq.Choice([1, 2, 4], ordered=True),
            "n": bq.Int(1, 64, log=True),
            "lr": bq.Float(1e-4, 1e-1, log=True),
            "m": bq.Float(0, 1),
        }
    )
    kinds = {d.qualified_name: hebo.to_hebo(d)["type"] for d in space.dimensions}
    assert sorted(kinds.values()) == ["cat", "int", "int", "num", "pow", "pow_int"]
    values = []

    def evaluate(config):
        values.append(config["m"])
        return config["m"]

    used = hebo.minimize(space, evaluate, 5, seed=0)
    assert told() == values[:-1]  # after the last value nothing is asked
    assert len(used.seconds) == 5
    assert used.versions["HEBO"] == "HEBO 1.0"


def test_infeasible_is_as_bad_as_the_worst_and_not_told_before_there_is_one(told):
    space = bq.Space({"n": bq.Int(0, 3)}, [bq.Forbid({"n": 1})])
    rng = random.Random(SEED)
    drawn = [rng.randint(0, 3) for _ in range(6)]
    assert drawn == [1, 0, 2, 1, 3, 1]
    evaluated = []

    def evaluate(config):
        evaluated.append(config["n"])
        return float(config["n"])

    used = hebo.minimize(space, evaluate, 4, SEED)
    assert evaluated[:3] == [0, 2, 3]
    assert told()[:5] == [0, 2, 2, 3, 3]
    assert len(used.seconds) == 4


def test_cpu_time_and_versions_of_the_other_process_belong_to_the_run(told, monkeypatch):
    problem = Problem("plain", bq.Space({"x": bq.Float(0, 1)}), lambda c: c["x"], None)
    monkeypatch.setattr(time, "process_time", lambda: 0.0)
    made = run(Job("hebo", "plain", 0, 3), lambda seed: problem)
    assert len(made.ask_seconds) == 3
    assert all(seconds > 0 for seconds in made.ask_seconds)  # of the server's clock alone
    assert made.versions["pymoo"] == "pymoo 1.0"


@pytest.mark.usefixtures("told")
def test_an_error_of_hebo_is_told():
    with pytest.raises(RuntimeError, match=r"(?s)HEBO failed.*ZeroDivisionError: bad luck"):
        hebo.minimize(bq.Space({"x": bq.Float(0, 1)}), lambda _: 13.0, 2, seed=0)


@pytest.mark.usefixtures("told")
def test_a_process_that_ends_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(hebo, "SERVER", tmp_path / "nowhere.py")
    with pytest.raises(RuntimeError, match="ended without an answer"):
        hebo.minimize(bq.Space({"x": bq.Float(0, 1)}), lambda _: 0.0, 2, seed=0)


def test_without_an_environment_it_says_what_to_set(monkeypatch):
    monkeypatch.delenv(hebo.VARIABLE, raising=False)
    with pytest.raises(ImportError, match="set BOSQUET_HEBO to the Python"):
        hebo.python()
