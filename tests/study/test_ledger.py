"""Both ledgers hand out the trials of a run, and stop where it ends."""

import pytest

import bosquet as bq
from bosquet.study.ledger import InMemory, Stored
from bosquet.study.optuna_store import OptunaStore, Wanted
from tests.support import present

optuna = pytest.importorskip("optuna")
SPACE = bq.Space({"x": bq.Float(0, 1)})


def handed_out(ledger, optimizer):
    """All trials, each ended before the next."""
    trials = []
    while (trial := ledger.next_trial()) is not None:
        ledger.end(optimizer.tell(trial, trial.config["x"]))
        trials.append(trial)
    ledger.settle()
    return trials


def stored_in(storage):
    return OptunaStore(storage, None, Wanted(SPACE, seed=0, strategy="random"))


def test_the_same_trials_and_as_many_as_wanted():
    alone = bq.Optimizer(SPACE, "random", seed=0)
    plain = handed_out(InMemory(alone, 4), alone)
    with stored_in(optuna.storages.InMemoryStorage()) as store:
        kept = bq.Optimizer(SPACE, "random", seed=0)
        assert handed_out(Stored(store, kept, 4), kept) == plain
        assert len(plain) == 4
        again = bq.Optimizer(SPACE, "random", seed=0)
        assert Stored(store, again, 4).next_trial() is None
        assert again.history == kept.history == alone.history


def test_known_trials_do_not_count_in_memory():
    optimizer = bq.Optimizer(SPACE, "random", seed=0)
    optimizer.tell({"x": 0.5}, 1.0)
    assert len(handed_out(InMemory(optimizer, 2), optimizer)) == 2


def test_points_told_to_the_optimizer_are_stored():
    with stored_in(optuna.storages.InMemoryStorage()) as store:
        optimizer = bq.Optimizer(SPACE, "random", seed=0)
        ledger = Stored(store, optimizer, 3)
        first = present(ledger.next_trial())
        optimizer.tell({"x": 0.125}, 7.0)
        ledger.end(optimizer.tell(first, 0.0))
        ledger.settle()
        assert [trial.value for trial in store.read().ended] == [0.0, 7.0]
