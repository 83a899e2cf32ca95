"""The lease: one holder at a time, and none that is dead for long."""

import json
import threading
import time

import pytest

import bosquet as bq
from bosquet.study import lease as lease_module
from bosquet.study import load_history
from bosquet.study.lease import Lease
from bosquet.study.optuna_store import OptunaStore, Wanted
from bosquet.study.owner import Owner, begin_run, end_run
from bosquet.study.storages import open_storage
from tests.support import optuna_study

optuna = pytest.importorskip("optuna")


@pytest.fixture
def owner():
    begin_run("run")
    yield Owner.of_run("run")
    end_run("run")


@pytest.fixture(params=["sqlite", "postgresql", "memory", "journal"])
def opened(request, tmp_path):
    if request.param == "memory":
        storage = optuna.storages.InMemoryStorage()
    elif request.param == "journal":
        backend = optuna.storages.journal.JournalFileBackend(str(tmp_path / "log"))
        storage = optuna.storages.JournalStorage(backend)
    elif request.param == "sqlite":
        storage = tmp_path / "r.db"
    else:
        storage = request.getfixturevalue("postgres_url")
    opened, close = open_storage(storage)
    direction = optuna.study.StudyDirection.MINIMIZE
    yield opened, opened.create_new_study([direction], "s")
    close()


def holder(opened):
    """Who holds the lease, as any user of the storage reads it."""
    storage, study_id = opened
    return storage.get_study_system_attrs(study_id).get("bosquet:lease")


def lease(opened, owner):
    storage, study_id = opened
    return Lease(storage, study_id, owner)


def put(opened, owner):
    """As if a process held the lease."""
    storage, study_id = opened
    data = {"owner": owner.to_dict(), "token": "t", "rows": 0}
    storage.set_study_system_attr(study_id, "bosquet:lease", data)


def test_threads_hold_it_one_after_the_other(opened, owner):
    inside: list[int] = []
    overlaps, done = [], []

    def work():
        mine = lease(opened, owner)
        for _ in range(5):
            term = mine.acquire()
            overlaps.append(len(inside))
            inside.append(1)
            time.sleep(0.002)
            inside.pop()
            done.append(1)
            term.end()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 20
    assert set(overlaps) == {0}
    assert holder(opened) is None


def test_a_living_holder_is_waited_for(opened, owner):
    term = lease(opened, owner).acquire()
    waiting = threading.Thread(target=lambda: lease(opened, owner).acquire().end())
    waiting.start()
    waiting.join(0.3)
    assert waiting.is_alive()
    term.end()
    waiting.join(10)
    assert not waiting.is_alive()


def test_a_holder_that_died_here_is_replaced_at_once(opened, owner):
    put(opened, Owner(owner.host, 2**30, "long ago", "r", owner.beat))
    began = time.monotonic()
    lease(opened, owner).acquire().end()
    assert time.monotonic() - began < lease_module.PATIENCE / 2


def test_a_holder_elsewhere_is_replaced_when_it_stops_renewing(opened, owner, monkeypatch):
    monkeypatch.setattr(lease_module, "PATIENCE", 0.5)
    put(opened, Owner("elsewhere", 1, "", "r", owner.beat + 1e6))  # its clock does not matter
    began = time.monotonic()
    lease(opened, owner).acquire().end()
    assert 0.5 <= time.monotonic() - began < 5


def test_a_long_holder_renews_it(opened, owner, monkeypatch):
    monkeypatch.setattr(lease_module, "RENEW_EVERY", 0.02)
    term = lease(opened, owner).acquire()
    first = holder(opened)["owner"]["beat"]
    give_up = time.monotonic() + 10
    while holder(opened)["owner"]["beat"] == first and time.monotonic() < give_up:
        time.sleep(0.01)
    assert holder(opened)["owner"]["beat"] > first
    term.end()
    assert holder(opened) is None


def test_a_lease_that_was_taken_is_not_released_for_its_new_holder(opened, owner):
    term = lease(opened, owner).acquire()
    put(opened, Owner("elsewhere", 1, "", "r", owner.beat))
    term.end()
    assert holder(opened)["owner"]["host"] == "elsewhere"


def test_a_new_row_ends_it(opened, owner):
    storage, study_id = opened
    term = lease(opened, owner).acquire()
    storage.create_new_trial(study_id)
    term.spend()
    token = holder(opened)["token"]
    term.end()
    assert holder(opened)["token"] == token  # nothing is written to let go
    next_term = lease(opened, owner).acquire()
    assert holder(opened)["token"] != token
    next_term.end()


def test_what_nobody_understands_is_replaced(opened, owner):
    storage, study_id = opened
    storage.set_study_system_attr(study_id, "bosquet:lease", ["not", "a", "lease"])
    lease(opened, owner).acquire().end()
    assert holder(opened) is None


# -- what it is for --------------------------------------------------------------------------


def test_each_trial_is_proposed_once_and_leaves_one_row(storage, monkeypatch):
    space = bq.Space({"x": bq.Float(0, 1), "y": bq.Float(0, 1)})
    asked = []
    ask = bq.Optimizer.ask

    def counted(optimizer):
        time.sleep(0.05)  # long enough for the others to come in between
        asked.append(1)
        return ask(optimizer)

    bq.Study(storage, space=space, seed=0, strategy="random").close()
    monkeypatch.setattr(bq.Optimizer, "ask", counted)

    def objective(config):
        return config["x"]

    def work():
        bq.minimize(objective, space, n_trials=16, seed=0, strategy="random", storage=storage)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(asked) == 16
    opened, close = open_storage(storage)
    rows = opened.get_all_trials(opened.get_study_id_from_name("bosquet"))
    close()
    assert [row.state.name for row in rows] == ["COMPLETE"] * 16
    assert len({t.key for t in load_history(storage).trials}) == 16


def test_an_error_while_proposing_releases_the_lease(tmp_path):
    space = bq.Space({"x": bq.Float(0, 1)})
    with OptunaStore(tmp_path / "r.db", None, Wanted(space)) as store:
        with pytest.raises(RuntimeError, match="broken strategy"), store.lease():
            raise RuntimeError("broken strategy")
        with store.lease():
            pass


def test_the_lease_is_hidden_from_the_users_attributes(tmp_path):
    bq.minimize(
        lambda c: c["x"], bq.Space({"x": bq.Float(0, 1)}), n_trials=2, storage=tmp_path / "r.db"
    )
    with optuna_study(f"sqlite:///{tmp_path}/r.db") as study:
        assert set(study.user_attrs) == {"bosquet"}
        json.dumps(study.user_attrs)
