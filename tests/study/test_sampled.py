"""Studies that an Optuna sampler ran, as `show`, `best` and `export` read them."""

import csv
import json
from pathlib import Path

import pytest

import bosquet as bq
from bosquet.cli import main
from bosquet.study import read_study
from tests.support import present

optuna = pytest.importorskip("optuna")
from bosquet.integrations.optuna import BosquetSampler, suggest_config  # noqa: E402

FILE = "runs.db"
URL = f"sqlite:///{FILE}"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield
    optuna.logging.set_verbosity(level)


@pytest.fixture
def space():
    return bq.Space(
        {
            "lr": bq.Float(1e-4, 1e-1, log=True),
            "model": bq.Choice(
                {
                    "svm": {"C": bq.Float(1e-3, 1e3, log=True)},
                    "forest": {"depth": bq.Int(1, 20), "C": bq.Float(0, 1)},
                }
            ),
        },
        constraints=[lambda config: config["lr"] < 0.09],
    )


def define_by_run(trial):
    value = trial.suggest_float("lr", 1e-4, 1e-1, log=True)
    trial.suggest_categorical("fixed", ["adam"])
    if trial.suggest_categorical("model", ["svm", "forest"]) == "svm":
        return value + trial.suggest_float("C", 1e-3, 1e3, log=True) / 1e3
    return value + 1 / trial.suggest_int("depth", 1, 20)


def made(sampler=None, name="mine", **settings):
    return optuna.create_study(storage=URL, study_name=name, sampler=sampler, **settings)


def exported():
    assert main(["export", FILE, "-o", "trials.csv"]) == 0
    with open("trials.csv", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("sampler", "how"),
    [
        (BosquetSampler(strategy="random", seed=7), "strategy random, seed 7"),
        (optuna.samplers.RandomSampler(seed=0), "run by an Optuna sampler"),
    ],
)
def test_a_study_without_a_space(capsys, sampler, how):
    study = made(sampler, direction="maximize")
    study.optimize(define_by_run, n_trials=12)
    before = Path(FILE).read_bytes()
    assert main(["show", FILE]) == 0
    shown = capsys.readouterr().out
    assert f"runs.db, study 'mine' (maximize, {how})" in shown
    assert "12 trials: 12 complete, 0 failed" in shown
    assert "The space is inferred from 12 trials; --space gives another." in shown
    assert "model=svm" in shown
    assert "model=forest" in shown
    assert main(["best", FILE, "--as", "json"]) == 0
    best = json.loads(capsys.readouterr().out)
    assert best["number"] == study.best_trial.number
    assert best["value"] == study.best_value
    assert best["config"] == study.best_params  # the parameter of one value is among them
    for row, trial in zip(exported(), study.trials, strict=True):
        assert float(row["value"]) == trial.value
        assert row["fixed"] == "adam"
        assert float(row["lr"]) == trial.params["lr"]
        assert row["C"] == str(trial.params.get("C", ""))
    assert Path(FILE).read_bytes() == before
    assert main(["best", FILE, "--as", "command"]) == 2
    assert "its objective is not stored, so there is no command" in capsys.readouterr().err


def test_a_study_of_a_sampler_with_a_space(space, capsys):
    study = made(BosquetSampler(space, "sobol", seed=3))
    study.optimize(lambda trial: suggest_config(trial, space)["lr"], n_trials=6)
    found = read_study(FILE)
    assert (found.strategy, found.seed) == ("sobol", 3)
    assert found.history.space == bq.Space(dict(space.parameters))  # functions are not stored
    assert found.notes == ("The space is the one that its sampler was given.",)
    assert [trial.value for trial in found.history.trials] == [t.value for t in study.trials]
    for trial, stored in zip(found.history.trials, study.trials, strict=True):
        assert space.qualify(trial.config) == stored.params
        assert trial.info
    assert main(["show", FILE]) == 0
    assert "(minimize, strategy sobol, seed 3)" in capsys.readouterr().out


def test_the_space_may_be_given(space, capsys):
    study = made(optuna.samplers.RandomSampler(seed=0))
    study.optimize(define_by_run, n_trials=10)
    Path("space.json").write_text(
        json.dumps(bq.Space({"lr": bq.Float(1e-4, 1e-1, log=True)}).to_dict())
    )
    given = read_study(FILE, space=bq.Space({"lr": bq.Float(1e-4, 1e-1, log=True)}))
    assert given.notes == ("The space is the one given now.",)
    assert [trial.config for trial in given.history.trials] == [
        {"lr": trial.params["lr"]} for trial in study.trials
    ]
    found = read_study(FILE, space=space)  # which has another C in the forest
    forests = [str(trial.number) for trial in study.trials if trial.params["model"] == "forest"]
    assert len(found.history) == 10 - len(forests) > 0
    dots = ", ..." if len(forests) > 5 else ""
    assert found.notes[1] == (
        f"{len(forests)} trials are not configurations of the space and are left out: "
        f"{', '.join(forests[:5])}{dots}."
    )
    assert main(["best", FILE, "--space", "space.json", "--as", "python"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("{'lr': ")
    assert "bosquet: The space is the one given now." in shown.err
    bq.minimize(lambda c: c["lr"], space, n_trials=1, storage="other.db", progress=False)
    assert main(["show", "other.db", "--space", "space.json"]) == 2
    assert "its space is stored with it; leave out the space given" in capsys.readouterr().err


def test_trials_of_every_state(capsys):
    study = made(BosquetSampler(strategy="random", seed=0))

    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        if trial.number == 1:
            raise ValueError("no luck")
        if trial.number == 2:
            trial.report(0.5, step=4)
            raise optuna.TrialPruned
        if trial.number == 3:
            raise optuna.TrialPruned
        if trial.number == 4:
            trial.set_constraint("c", 1.0)
        if trial.number == 5:
            trial.set_user_attr("bosquet:noise_variance", 0.25)
        return float("inf") if trial.number == 6 else x

    study.optimize(objective, n_trials=7, catch=ValueError)
    begun = study.ask()
    x = begun.suggest_float("x", 0, 1)
    study.enqueue_trial({"x": 0.5})
    found = read_study(FILE)
    assert [(trial.number, trial.state, trial.reason) for trial in found.history.trials] == [
        (0, "complete", None),
        (1, "failed", "state FAIL; Optuna keeps no reason"),
        (2, "failed", "pruned at step 4"),
        (3, "failed", "pruned"),
        (4, "failed", "a constraint is above zero"),
        (5, "complete", None),
        (6, "failed", "the objective returned inf"),
    ]
    assert found.history.trials[5].noise_variance == 0.25
    assert all(present(trial.duration) >= 0.0 for trial in found.history.trials)
    assert (found.running[0].started is None, found.running[0].ended) == (False, None)
    assert [(trial.number, trial.config) for trial in found.running] == [(7, {"x": x})]
    assert main(["show", FILE]) == 0
    assert "8 trials: 2 complete, 5 failed, 1 running" in capsys.readouterr().out


def test_what_no_choice_explains_is_said():
    study = made(optuna.samplers.RandomSampler(seed=0))

    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        return x + (trial.suggest_float("y", 0, 1) if x > 0.5 else 0)

    study.optimize(objective, n_trials=10)
    notes = read_study(FILE).notes
    assert len(notes) == 2
    assert notes[1].startswith("Where a trial did not ask for y a middle value is shown")


def test_ranges_that_vary_down_to_one_value():
    study = made(optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda t: t.suggest_int("n", 1, 1 + t.number) + t.suggest_int("one", 3, 3), 4)
    found = read_study(FILE)
    assert [trial.config for trial in found.history.trials] == [t.params for t in study.trials]
    assert found.notes == ("The space is inferred from 4 trials; --space gives another.",)


def test_what_cannot_be_read(capsys):
    two = made(name="two", directions=["minimize", "maximize"])
    two.optimize(lambda t: (t.suggest_float("x", 0, 1), 1.0), n_trials=1)
    nothing = made(name="nothing")
    nothing.optimize(lambda t: 1.0, n_trials=1)
    unnamed = made(name="unnamed", sampler=optuna.samplers.RandomSampler())
    unnamed.optimize(lambda t: t.suggest_float("", 0, 1), n_trials=1)
    tampered = made(name="tampered", sampler=optuna.samplers.RandomSampler())
    tampered.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=1)
    storage = optuna.storages.RDBStorage(URL)
    study_id = storage.get_study_id_from_name("tampered")
    asked = storage.get_trial_id_from_study_id_trial_number(study_id, tampered.ask().number)
    storage.set_trial_system_attr(asked, "bosquet:proposal", [3])
    damaged = made(BosquetSampler(bq.Space({"x": bq.Float(0, 1)})), "damaged")
    damaged.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=1)
    study_id = storage.get_study_id_from_name("damaged")
    storage.set_study_system_attr(study_id, "bosquet:space", {"schema": 77})
    storage.engine.dispose()
    for name, message in {
        "two": "it has 2 objectives; bosquet reads studies with one",
        "nothing": "no trial has asked for a parameter yet",
        "unnamed": "no space explains its trials: a space: the name '' must be a non-empty",
        "tampered": "trial 1 has attributes that cannot be read: ",
        "damaged": "its system attribute 'bosquet:space' is damaged. Give the space (--space)",
    }.items():
        assert main(["show", FILE, "--study", name]) == 2
        assert f"bosquet: runs.db, study {name!r}: " in (said := capsys.readouterr().err)
        assert message in said


def test_a_search_does_not_go_on_with_it(space):
    made(BosquetSampler(space, "random"), "bosquet").optimize(
        lambda trial: suggest_config(trial, space)["lr"], n_trials=1
    )
    with pytest.raises(bq.StorageError, match="not made by bosquet"):
        bq.minimize(lambda c: c["lr"], space, n_trials=2, storage=FILE)
