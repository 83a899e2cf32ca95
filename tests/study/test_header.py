"""Descriptions of studies that were tampered with, come from the future, or are not finished."""

import re
import shutil

import pytest

import bosquet as bq
from bosquet.cli import main
from bosquet.study import load_history, read_study
from tests.support import optuna_study

optuna = pytest.importorskip("optuna")

SPACE = bq.Space({"x": bq.Float(0, 1)})


def objective(config):
    return config["x"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    file = tmp_path_factory.mktemp("made") / "r.db"
    bq.minimize(objective, SPACE, n_trials=2, strategy="random", storage=file)
    return file


@pytest.fixture
def file(made, tmp_path):
    return shutil.copy(made, tmp_path / "r.db")


def tamper(file, change):
    storage = optuna.storages.RDBStorage(f"sqlite:///{file}")
    header = storage.get_study_user_attrs(1)["bosquet"]
    storage.set_study_user_attr(1, "bosquet", change(header))
    storage.engine.dispose()


def without(name):
    return lambda header: {key: header[key] for key in header if key != name}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without("space"), "damaged: 'space' is missing"),
        (lambda h: h | {"space": None}, "damaged: 'space' is None"),
        (lambda h: h | {"space": [1]}, r"damaged: 'space' is \[1\]"),
        (lambda h: h | {"space": {}}, "the space cannot be made"),
        (lambda h: h | {"space": h["space"] | {"constraints": 3}}, "the constraints are 3"),
        (lambda h: h | {"space": h["space"] | {"schema": 9}}, "the space cannot be made"),
        (without("seed"), "damaged: 'seed' is missing"),
        (lambda h: h | {"seed": "0"}, "damaged: 'seed' is '0'"),
        (lambda h: h | {"seed": True}, "damaged: 'seed' is True"),
        (lambda h: h | {"direction": "up"}, "damaged: 'direction' is 'up'"),
        (lambda h: h | {"strategy": None}, "damaged: 'strategy' is None"),
        (lambda h: h | {"objective": "f"}, "damaged: 'objective' is 'f'"),
        (lambda h: h | {"schema": 2}, "written in schema 2, by another version of bosquet"),
        (without("schema"), "written in schema None"),
        (lambda h: list(h), "instead of a dict"),
        (lambda h: "x" * 100, "instead of a dict"),
    ],
)
def test_a_damaged_description_is_named(file, change, message, capsys):
    tamper(file, change)
    for act in (
        lambda: read_study(file),
        lambda: load_history(file),
        lambda: bq.Study(file),
    ):
        with pytest.raises(bq.StorageError, match=message):
            act()
    with pytest.raises((bq.StorageError, ValueError), match=f"{message}|with something else"):
        bq.minimize(objective, SPACE, n_trials=3, storage=file)
    for command in (["show"], ["best"], ["export", "-o", "-"]):
        capsys.readouterr()
        assert main([command[0], str(file), *command[1:]]) == 2
        said = capsys.readouterr().err
        assert re.search(message, said)
        assert "Traceback" not in said


def stored_trials(storage):
    """The trials themselves, which can be damaged."""
    return storage.get_all_trials(storage.get_study_id_from_name("bosquet"), deepcopy=False)


@pytest.mark.parametrize(
    ("attribute", "value", "message"),
    [
        ("info", [1], "attribute 'info' is"),
        ("owner", None, "does not belong"),
        ("owner", {"pid": 1}, "does not belong"),
        ("number", "0", "number='0' must be a non-negative integer"),
        ("number", None, "number=None"),
        ("round", "x", "does not belong"),
        ("round", None, "does not belong"),
        ("noise_variance", -1.0, "noise_variance=-1.0 must be finite"),
    ],
)
def test_a_damaged_trial_is_named(attribute, value, message):
    storage = optuna.storages.InMemoryStorage()
    bq.minimize(objective, SPACE, n_trials=2, strategy="random", storage=storage)
    stored_trials(storage)[1].user_attrs[f"bosquet:{attribute}"] = value
    with pytest.raises(bq.StorageError, match=f"trial 1 .*{message}"):
        read_study(storage)


def test_a_trial_of_a_round_without_the_one_before_does_not_count():
    storage = optuna.storages.InMemoryStorage()
    bq.minimize(objective, SPACE, n_trials=2, strategy="random", storage=storage)
    stored_trials(storage)[1].user_attrs["bosquet:round"] = 3
    assert len(read_study(storage).history) == 1


# -- studies that their process did not finish making ----------------------------------------


def half_made(file, direction="MINIMIZE"):
    """What a kill between making a study and describing it leaves."""
    storage = optuna.storages.RDBStorage(f"sqlite:///{file}")
    storage.create_new_study([optuna.study.StudyDirection[direction]], "bosquet")
    storage.engine.dispose()


@pytest.mark.parametrize("direction", ["MINIMIZE", "MAXIMIZE"])
def test_a_half_made_study_is_finished(tmp_path, direction, monkeypatch):
    monkeypatch.setattr("bosquet.study.optuna_store.HEADER_PATIENCE", 0.05)
    half_made(tmp_path / "r.db", direction)
    for look in (read_study, load_history):
        with pytest.raises(bq.StorageError, match="it is empty; its process ended while it made"):
            look(tmp_path / "r.db")
    result = bq.minimize(objective, SPACE, n_trials=3, storage=tmp_path / "r.db")
    assert load_history(tmp_path / "r.db") == result.history
    with optuna_study(f"sqlite:///{tmp_path}/r.db") as study:
        assert study.direction.name == "MINIMIZE"
