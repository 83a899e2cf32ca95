"""Worker processes: they answer, and end when they are killed or their lifeline is cut."""

import pickle

import pytest

import bosquet as bq
from bosquet.study.processes import Lifeline
from bosquet.study.worker import NO_OBJECTIVE, READY


@pytest.fixture
def lifeline():
    lifeline = Lifeline()
    yield lifeline
    lifeline.cut()


def answer(connection):
    assert connection.poll(60)
    return connection.recv()


def value(config):
    return config["x"] + 1.0


def test_a_worker_evaluates_until_it_is_killed(lifeline):
    process, connection = lifeline.start()
    connection.send_bytes(pickle.dumps(value))
    assert answer(connection) == READY
    connection.send(bq.Trial(0, {"x": 0.5}))
    assert answer(connection) == bq.Evaluation(1.5)
    assert process.alive
    assert process.exit_code(0.0) is None
    process.kill()
    assert not process.alive
    assert process.exit_code(0.0) is not None
    connection.close()


def test_a_worker_that_cannot_load_says_why_and_ends(lifeline):
    process, connection = lifeline.start()
    connection.send_bytes(b"no pickle")
    assert answer(connection).startswith(f"{NO_OBJECTIVE}: UnpicklingError: ")
    assert process.exit_code(60) == 0
    connection.close()


def test_workers_end_when_the_lifeline_is_cut():
    lifeline = Lifeline()
    process, connection = lifeline.start()
    lifeline.cut()
    assert process.exit_code(60) is not None
    connection.close()
