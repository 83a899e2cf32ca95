"""Stored studies: what goes in comes out, and what does not fit is refused."""

import json
import sqlite3
import sys
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import bosquet as bq
from bosquet.study import load_history
from bosquet.study.optuna_store import OptunaStore, Wanted
from bosquet.study.owner import Owner
from tests.support import optuna_study, present, told_before

optuna = pytest.importorskip("optuna")


@pytest.fixture
def space():
    return bq.Space(
        {
            "flag": bq.Choice([True, False, None, 0.1, "text"]),
            "step": bq.Float(0, 1, step=0.1),
            "third": bq.Float(0, 1, step=1 / 3),
            "m": bq.Choice(
                {
                    "a": {"x": bq.Float(1e-5, 1, log=True)},
                    "b": {"x": bq.Int(1, 2**40, log=True), "n": bq.Int(0, 10, step=5)},
                }
            ),
        },
        constraints=[bq.Forbid({"flag": "text", "m": "a"})],
    )


def value(config):
    return config["step"] + config["x"] ** 0.1


def opened(file, space, direction="minimize", seed=0, name=None):
    return OptunaStore(file, name, Wanted(space, direction, seed, "random"))


def test_trials_survive_exactly(storage, space):
    def objective(config):
        if config["m"] == "b" and config["n"] == 5:
            raise ValueError("bad n")
        return bq.Evaluation(value(config), 0.1 / 3)

    kept = bq.maximize(objective, space, n_trials=14, seed=1, strategy="random", storage=storage)
    plain = bq.maximize(objective, space, n_trials=14, seed=1, strategy="random")
    assert kept.history == plain.history == load_history(storage) == load_history(str(storage))
    assert kept.history.failed
    assert load_history(storage, space=space).direction == "maximize"


def test_optuna_reads_the_same_file(tmp_path, space, capsys):
    file = tmp_path / "runs.db"
    result = bq.maximize(value, space, n_trials=10, seed=0, storage=file, strategy="random")
    with optuna_study(f"sqlite:///{file}") as study:
        assert capsys.readouterr() == ("", "")
        assert study.direction.name == "MAXIMIZE"
        assert study.best_value == result.best_value
        assert study.best_params == space.qualify(result.best_config)
        assert [t.state.name for t in study.trials] == ["COMPLETE"] * 10
        assert study.user_attrs["bosquet"]["seed"] == 0


@pytest.mark.parametrize("kind", ["memory", "journal", "rdb"])
def test_storage_objects(tmp_path, space, kind):
    if kind == "memory":
        storage = optuna.storages.InMemoryStorage()
    elif kind == "journal":
        backend = optuna.storages.journal.JournalFileBackend(str(tmp_path / "log"))
        storage = optuna.storages.JournalStorage(backend)
    else:
        storage = optuna.storages.RDBStorage(f"sqlite:///{tmp_path}/x.db")
    options: dict[str, Any] = {"seed": 0, "strategy": "random"}
    bq.minimize(value, space, n_trials=3, storage=storage, **options)
    result = bq.minimize(value, space, n_trials=6, storage=storage, **options)
    assert result.resumed == 3
    assert result.history == bq.minimize(value, space, n_trials=6, **options).history
    if kind == "rdb":
        storage.engine.dispose()


@pytest.mark.parametrize("strategy", ["random", "sobol", "add-tree", "tree-ei"])
def test_a_resumed_run_ends_as_the_uninterrupted_one(tmp_path, strategy, capsys):
    space = bq.Space({"m": bq.Choice({"a": {"x": bq.Float(0, 1)}, "b": {"n": bq.Int(1, 50)}})})

    def objective(config):
        return (config.get("x", 0.2) - 0.4) ** 2 + config.get("n", 0) / 50

    whole = bq.minimize(objective, space, n_trials=9, seed=3, strategy=strategy)
    for total in (5, 6, 8, 9):
        part = bq.minimize(
            objective, space, n_trials=total, strategy=strategy, storage=tmp_path / "r.db", seed=3
        )
    assert part.trials == whole.trials
    assert part.resumed == 8
    assert "8 of them from before" in str(part)
    assert "r.db, study 'bosquet': goes on after 8 trials\n" in capsys.readouterr().err
    bq.minimize(objective, space, n_trials=7, strategy=strategy, storage=tmp_path / "r.db", seed=3)
    assert "has 9 trials already; 7 are wanted in all, so nothing is left to run\n" in (
        capsys.readouterr().err
    )


def test_a_study_that_is_done_is_not_run_again(tmp_path, space, capsys):
    options = {"storage": tmp_path / "r.db", "n_trials": 4, "strategy": "random"}
    first = bq.minimize(value, space, **options)
    again = bq.minimize(value, space, **options | {"strategy": "sobol"})
    assert "has 4 trials already; 4 are wanted in all" in capsys.readouterr().err
    assert again.trials == first.trials
    assert again.seed == first.seed
    assert again.stopped == "all 4 trials done"


def test_other_studies_in_the_same_file(space):
    file = optuna.storages.InMemoryStorage()
    for name in ("one", "two"):
        bq.minimize(value, space, n_trials=2, storage=file, study_name=name, strategy="random")
    assert len(load_history(file, "two")) == 2
    with pytest.raises(
        bq.StorageError, match="study 'bosquet': not there; stored are 'one', 'two'"
    ):
        load_history(file)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"x": bq.Float(0, 2)}, r"space.parameters.x.high: stored 1.0, 2.0 now"),
        ({"x": bq.Float(0, 1), "y": bq.Int(0, 1)}, "space.parameters.y: given now, but not stored"),
        ({"z": bq.Float(0, 1)}, "space.parameters.x: stored, but not given now"),
        ({"x": bq.Int(0, 1)}, "space.parameters.x.type: stored 'float', 'int' now"),
    ],
)
def test_another_space_is_refused_with_the_difference(other, message):
    file = optuna.storages.InMemoryStorage()
    bq.minimize(lambda c: c["x"], bq.Space({"x": bq.Float(0, 1)}), n_trials=2, storage=file)
    with pytest.raises(ValueError, match=message):
        bq.minimize(lambda c: 0.0, bq.Space(other), n_trials=3, storage=file)
    assert len(load_history(file)) == 2


def test_another_direction_or_seed_is_refused(space):
    file = optuna.storages.InMemoryStorage()
    bq.minimize(value, space, n_trials=2, storage=file, strategy="random", seed=1)
    with pytest.raises(ValueError, match="direction: stored 'minimize', 'maximize' now"):
        bq.maximize(value, space, n_trials=2, storage=file)
    with pytest.raises(ValueError, match="seed: stored 1, 2 now"):
        bq.minimize(value, space, n_trials=2, storage=file, seed=2)
    with pytest.raises(ValueError, match="a storage or a history, not both"):
        bq.minimize(value, space, n_trials=2, storage=file, history=load_history(file))
    with pytest.raises(ValueError, match="study_name='x' needs a storage"):
        bq.minimize(value, space, n_trials=2, study_name="x")
    with pytest.raises(TypeError, match="storage=3 must be a file name"):
        bq.minimize(value, space, n_trials=2, storage=3)


def test_the_order_of_parameters_counts():
    first = {"x": bq.Float(0, 1), "y": bq.Float(0, 1)}
    second = {"y": bq.Float(0, 1), "x": bq.Float(0, 1)}
    file = optuna.storages.InMemoryStorage()
    bq.minimize(lambda c: 0.0, bq.Space(first), n_trials=1, storage=file)
    with pytest.raises(ValueError, match="in the order"):
        bq.minimize(lambda c: 0.0, bq.Space(second), n_trials=1, storage=file)


def test_constraint_functions_are_named_and_not_stored():
    def small(config):
        return config["x"] < 0.5

    space = bq.Space({"x": bq.Float(0, 1)}, constraints=[small])
    file = optuna.storages.InMemoryStorage()
    for total in (2, 4):
        bq.minimize(lambda c: c["x"], space, n_trials=total, storage=file, strategy="random")
    assert len(load_history(file, space=space)) == 4
    with pytest.raises(ValueError, match="the constraint function 'small' is not stored"):
        load_history(file)


def test_points_that_callbacks_add_are_kept():
    space = bq.Space({"x": bq.Float(0, 1)})

    def add(optimizer, trial):
        if trial.number == 2:
            optimizer.tell({"x": 0.123}, 7.0)

    file = optuna.storages.InMemoryStorage()
    result = bq.minimize(lambda c: c["x"], space, n_trials=5, storage=file, callbacks=add)
    assert result.history == load_history(file)
    assert result.trials[3].config == {"x": 0.123}


# -- processes that die or meet --------------------------------------------------------------


def row_id(storage, number):
    """Of a row, by its number in the study."""
    study_id = storage.get_study_id_from_name("bosquet")
    return storage.get_trial_id_from_study_id_trial_number(study_id, number)


def lose(storage, row):
    """As if the process of a row had been killed: its pid is another one's."""
    owner = Owner.from_dict(storage.get_trial(row).user_attrs["bosquet:owner"])
    dead = replace(owner, started="long ago")
    storage.set_trial_user_attr(row, "bosquet:owner", dead.to_dict())


def test_a_lost_trial_is_queued_again_once_and_then_fails():
    space = bq.Space({"x": bq.Float(0, 1)})
    trial = bq.Optimizer(space, "random", seed=0).ask()
    file = optuna.storages.InMemoryStorage()
    with opened(file, space) as store:
        assert store.register(trial)
        lose(file, row_id(file, 0))
        seen = store.read()
        assert seen.lost == ((trial, 1),)
        assert not seen.running
        assert not store.end(trial.completed(bq.Evaluation(1.0)))  # taken from it
        assert store.register(trial, 1)
        lose(file, row_id(file, 1))
        seen = store.read()
        assert [t.reason for t in seen.ended] == ["the process that evaluated it died, twice"]
        assert not seen.lost
    whole = bq.minimize(lambda c: c["x"], space, n_trials=4, seed=0, strategy="random")
    rest = bq.minimize(lambda c: c["x"], space, n_trials=4, seed=0, strategy="random", storage=file)
    assert [t.state for t in rest.trials] == ["failed"] + ["complete"] * 3
    assert [t.config for t in rest.trials] == [t.config for t in whole.trials]


def test_a_value_brought_while_its_process_is_taken_for_dead_counts():
    """The mark and the state are written one after the other: the value may come between."""
    space = bq.Space({"x": bq.Float(0, 1)})
    trial = bq.Optimizer(space, "random", seed=0).ask()
    file = optuna.storages.InMemoryStorage()
    with opened(file, space) as store:
        assert store.register(trial)
        file.set_trial_user_attr(row_id(file, 0), "bosquet:lost", "died")
        assert store.end(trial.completed(bq.Evaluation(1.0)))
        assert [t.value for t in store.read().ended] == [1.0]


def test_the_lower_number_wins():
    space = bq.Space({"x": bq.Float(0, 1)})
    trial = bq.Optimizer(space, "random", seed=0).ask()
    file = optuna.storages.InMemoryStorage()
    with opened(file, space) as one, opened(file, space) as two:
        assert one.register(trial)
        assert not two.register(trial)
        assert two.read().running == one.read().running == (trial,)
        assert one.end(trial.completed(bq.Evaluation(1.0)))
        assert [t.value for t in two.read().ended] == [1.0]
        assert not two.register(trial)


def test_two_runs_on_one_study_propose_no_point_twice(tmp_path):
    space = bq.Space({"x": bq.Float(0, 1), "y": bq.Float(0, 1)})
    file = tmp_path / "r.db"
    seen = []

    def objective(config):
        seen.append(config["x"])
        return config["x"]

    def work():
        bq.minimize(objective, space, n_trials=18, seed=0, strategy="sobol", storage=file)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == len(set(seen)) == 18
    assert [t.number for t in load_history(file).trials] == list(range(18))
    assert sorted(seen) == sorted(t.config["x"] for t in load_history(file).trials)


def test_ctrl_c_leaves_a_study_that_goes_on_as_if_nothing_happened(tmp_path):
    space = bq.Space({"x": bq.Float(0, 1)})
    options: dict[str, Any] = {"n_trials": 8, "seed": 0, "strategy": "random"}
    whole = bq.minimize(lambda c: c["x"], space, **options)
    calls = []

    def objective(config):
        calls.append(config)
        if len(calls) in (3, 4, 5, 6):
            raise KeyboardInterrupt
        return config["x"]

    runs = [bq.minimize(objective, space, **options, storage=tmp_path / "r.db") for _ in range(5)]
    assert [r.stopped for r in runs] == ["interrupted"] * 4 + ["all 8 trials done"]
    assert runs[-1].trials == whole.trials


def test_liveness():
    here = Owner.of_run("r")
    assert not here.alive  # the run is not active
    away = Owner("elsewhere", 1, "", "r", here.beat)
    assert away.alive
    assert not Owner("elsewhere", 1, "", "r", here.beat - 1000).alive
    assert not Owner(here.host, here.pid, "other start", "r", here.beat).alive
    assert not Owner(here.host, 2**30, here.started, "r", here.beat).alive
    assert Owner.from_dict(json.loads(json.dumps(here.to_dict()))) == here


# -- files that are not right ----------------------------------------------------------------


def run(storage, space):
    return bq.minimize(value, space, n_trials=2, storage=storage, strategy="random")


def test_files_that_are_no_database_are_left_alone(tmp_path, space):
    text = tmp_path / "notes.txt"
    text.write_text("not a database, but somebody's notes\n" * 50)
    with pytest.raises(bq.StorageError, match=r"notes.txt.*file is not a database"):
        run(text, space)
    assert text.read_text().startswith("not a database")
    with pytest.raises(bq.StorageError, match="there is no directory"):
        run(tmp_path / "no" / "runs.db", space)
    with pytest.raises(bq.StorageError, match="is a directory"):
        run(tmp_path, space)
    with pytest.raises(bq.StorageError, match="there is no such file"):
        load_history(tmp_path / "missing.db")
    assert not (tmp_path / "missing.db").exists()


def test_databases_of_others_are_left_alone(tmp_path, space):
    file = tmp_path / "shop.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE customers (name TEXT)")
    connection.close()
    before = file.read_bytes()
    with pytest.raises(bq.StorageError, match="not of an Optuna study"):
        run(file, space)
    assert file.read_bytes() == before


def test_studies_of_optuna_itself_are_left_alone(tmp_path, space):
    storage = optuna.storages.InMemoryStorage()
    study = optuna.create_study(storage=storage, study_name="bosquet")
    study.add_trial(optuna.trial.create_trial(value=1.0))
    with pytest.raises(bq.StorageError, match="not made by bosquet"):
        run(storage, space)


def test_a_corrupt_file(tmp_path, space):
    file = tmp_path / "runs.db"
    run(file, space)
    data = bytearray(file.read_bytes())
    data[1024:] = np.random.default_rng(0).bytes(len(data) - 1024)
    file.write_bytes(data)
    with pytest.raises(bq.StorageError, match=r"runs.db"):
        run(file, space)
    assert file.read_bytes() == bytes(data)


def test_a_locked_file(tmp_path, space, monkeypatch):
    file = tmp_path / "runs.db"
    run(file, space)
    monkeypatch.setattr("bosquet.study.storages.LOCK_PATIENCE", 0.01)
    monkeypatch.setattr("optuna.storages._rdb.storage.time.sleep", lambda _: None)
    blocker = sqlite3.connect(file, isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    with pytest.raises(bq.StorageError, match=r"runs.db.*database is locked \(another process"):
        bq.minimize(value, space, n_trials=4, storage=file, strategy="random")
    blocker.execute("ROLLBACK")
    blocker.close()
    assert len(bq.minimize(value, space, n_trials=4, storage=file).trials) == 4


def test_a_file_that_cannot_be_written(tmp_path, space, monkeypatch):
    file = tmp_path / "runs.db"
    run(file, space)
    monkeypatch.setattr("optuna.storages._rdb.storage.time.sleep", lambda _: None)
    url = f"sqlite:///file:{file}?mode=ro&uri=true"
    with pytest.raises(bq.StorageError, match=r"readonly database \(make it writable"):
        bq.minimize(value, space, n_trials=4, storage=url, strategy="random")
    assert len(load_history(url)) == 2


def test_a_full_disk_loses_nothing(tmp_path, space, monkeypatch):
    file = tmp_path / "runs.db"
    run(file, space)
    monkeypatch.setattr("optuna.storages._rdb.storage.time.sleep", lambda _: None)
    storage = optuna.storages.RDBStorage(f"sqlite:///{file}")

    def cap(connection, _record):
        connection.execute("PRAGMA max_page_count = 1")  # what a full disk looks like to SQLite

    import sqlalchemy

    sqlalchemy.event.listen(storage.engine, "checkout", lambda c, r, p: cap(c, r))
    with pytest.raises(bq.StorageError, match=r"database or disk is full \(make room") as caught:
        bq.minimize(value, space, n_trials=200, storage=storage, strategy="random")
    storage.engine.dispose()
    told = told_before(caught.value).trials
    stored = load_history(file).trials
    assert told[: len(stored)] == stored
    assert len(stored) >= 2


def test_passwords_stay_out_of_messages(space):
    with pytest.raises((bq.StorageError, ImportError)) as caught:
        run("postgresql://me:secret@localhost:1/db", space)
    assert "secret" not in str(caught.value)


def test_without_optuna_the_extra_is_named(space, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ImportError, match=r"pip install 'bosquet\[study\]'"):
        run(tmp_path / "runs.db", space)


@pytest.mark.parametrize("strategy", ["add-tree", "turbo"])
def test_a_study_whose_memory_is_in_its_info_goes_on(tmp_path, strategy):
    """As version 0.1 stored it."""
    space = bq.Space({"x": bq.Float(0, 1), "y": bq.Float(0, 1)})

    def objective(config):
        return (config["x"] - 0.3) ** 2 + config["y"]

    whole = bq.minimize(objective, space, n_trials=9, strategy=strategy, seed=0, progress=False)
    file = tmp_path / "old.db"
    bq.minimize(
        objective, space, n_trials=7, strategy=strategy, seed=0, storage=file, progress=False
    )
    with sqlite3.connect(file) as database:
        select = "SELECT trial_id, value_json FROM trial_user_attributes WHERE key = ?"
        memories = dict(database.execute(select, ["bosquet:memory"]).fetchall())
        infos = database.execute(select, ["bosquet:info"]).fetchall()
        assert any("fits" in memory for memory in memories.values())
        for trial_id, info in infos:
            both = json.loads(info) | json.loads(memories[trial_id])
            update = (
                "UPDATE trial_user_attributes SET value_json = ? WHERE trial_id = ? AND key = ?"
            )
            database.execute(update, [json.dumps(both), trial_id, "bosquet:info"])
        database.execute("DELETE FROM trial_user_attributes WHERE key = 'bosquet:memory'")
    database.close()
    resumed = bq.minimize(
        objective, space, n_trials=9, strategy=strategy, seed=0, storage=file, progress=False
    )
    assert [t.config for t in resumed.trials] == [t.config for t in whole.trials]
    assert all("fits" not in trial.info for trial in resumed.trials)


# -- times -----------------------------------------------------------------------------------


def times(trial):
    return trial.started, trial.ended


def test_times_are_stored(storage):
    space = bq.Space({"x": bq.Float(0, 1)})

    def objective(config):
        if config["x"] > 0.5:
            raise ValueError("too large")
        return config["x"]

    def add(optimizer, trial):
        if trial.number == 2:
            optimizer.tell({"x": 0.125}, 3.0)

    result = bq.minimize(
        objective, space, n_trials=9, seed=0, strategy="random", storage=storage, callbacks=add
    )
    stored = load_history(storage).trials
    assert {trial.state for trial in stored} == {"complete", "failed"}
    assert list(map(times, stored)) == list(map(times, result.trials))
    for trial in stored:
        assert present(trial.ended) > present(result.trials[0].started)
        assert (trial.started is None) == (trial.config == {"x": 0.125})


def test_a_trial_that_is_queued_again_starts_again(tmp_path):
    space = bq.Space({"x": bq.Float(0, 1)})
    file = tmp_path / "r.db"
    with bq.Study(file, space=space, seed=0) as study:
        first = study.ask()
        study.release(first)
        again = study.ask()
        assert again == first
        assert present(again.started) > present(first.started)
        assert study.pending[0].started == again.started
        assert present(study.tell(again, 1.0).ended) > present(again.started)
        assert study.tell({"x": 0.5}, 2.0).started is None
    assert [trial.started for trial in load_history(file).trials] == [again.started, None]


def test_studies_without_times_have_those_of_optuna(tmp_path):
    """As versions stored them whose trials had no times."""
    space = bq.Space({"x": bq.Float(0, 1)})
    file = tmp_path / "r.db"
    bq.minimize(lambda c: c["x"], space, n_trials=2, storage=file, strategy="random")
    before = load_history(file).trials
    with sqlite3.connect(file) as database:
        database.execute(
            "DELETE FROM trial_user_attributes WHERE key IN ('bosquet:started', 'bosquet:ended')"
        )
    database.close()
    for old, new in zip(load_history(file).trials, before, strict=True):
        assert old == new
        assert abs(present(old.started) - present(new.started)).total_seconds() < 5
        assert abs(present(old.ended) - present(new.ended)).total_seconds() < 5
