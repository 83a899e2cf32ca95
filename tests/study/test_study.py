"""Ask and tell on a stored study."""

import threading
from typing import Any

import pytest

import bosquet as bq
from bosquet.study import load_history, read_study
from bosquet.study.optuna_store import OptunaStore
from tests.support import present

pytest.importorskip("optuna")

SPACE = bq.Space({"m": bq.Choice({"a": {"x": bq.Float(0, 1)}, "b": {"n": bq.Int(1, 50)}})})


def value(config):
    return (config.get("x", 0.2) - 0.4) ** 2 + config.get("n", 0) / 50


def test_asking_and_telling_is_minimize_by_hand(storage):
    whole = bq.minimize(value, SPACE, n_trials=8, seed=3, strategy="add-tree")
    for _ in range(8):  # another process every time
        with bq.Study(storage, space=SPACE, seed=3, strategy="add-tree") as study:
            trial = study.ask()
            study.tell(trial, value(trial.config))
    assert load_history(storage).trials == whole.trials


def test_pending_trials_survive_and_are_told_by_number(tmp_path):
    file = tmp_path / "r.db"
    with bq.Study(file, space=SPACE, seed=0, strategy="sobol") as study:
        trials = study.ask(3)
        assert [trial.number for trial in trials] == [0, 1, 2]
    with bq.Study(file) as study:
        assert study.pending == tuple(trials)
        assert study.best is None
        told = study.tell(1, 0.31, noise_variance=0.01)
        assert (told.state, told.value, told.noise_variance) == ("complete", 0.31, 0.01)
        assert study.tell_failure(2, "the sample broke").reason == "the sample broke"
        assert [trial.number for trial in study.pending] == [0]
        assert study.best == told
        assert study.tell(0, float("nan")).state == "failed"
    assert [t.state for t in load_history(file).trials] == ["failed", "complete", "failed"]


def test_a_released_trial_is_asked_for_again(tmp_path):
    with bq.Study(tmp_path / "r.db", space=SPACE, seed=0, strategy="random") as study:
        first, second = study.ask(2)
        study.release(first)
        assert study.pending == (second,)
        assert read_study(tmp_path / "r.db").left == (first,)
        with pytest.raises(ValueError, match="trial 0 is not waiting to be told: it was released"):
            study.tell(0, 1.0)
        assert study.ask() == first
        study.release(0)  # as often as one likes
        assert study.ask() == first
        assert study.tell(first, 1.0).value == 1.0


def test_a_study_that_is_not_there_is_told_with_those_that_are(tmp_path):
    for name in ("one", "two"):
        bq.Study(tmp_path / "r.db", name, space=SPACE).close()
    for given in (None, "tow"):
        with pytest.raises(
            bq.StorageError, match=r"to make it \(space=, --space FILE\); stored are 'one', 'two'"
        ):
            bq.Study(tmp_path / "r.db", given)


def test_known_points_are_added(tmp_path):
    with bq.Study(tmp_path / "r.db", space=SPACE, seed=0) as study:
        added = study.tell({"m": "b", "n": 7}, 0.5)
        assert (added.number, added.value) == (0, 0.5)
        assert study.best == added
        with pytest.raises(bq.ConfigError, match="'n': 99 is not allowed"):
            study.tell({"m": "b", "n": 99}, 0.5)
        assert study.ask().number == 1


def test_minimize_and_people_share_a_study(tmp_path):
    file = tmp_path / "r.db"
    with bq.Study(file, space=SPACE, seed=0, strategy="random") as study:
        waiting = study.ask()
        result = bq.minimize(
            value, SPACE, n_trials=5, seed=0, strategy="random", storage=file, progress=False
        )
        assert [trial.number for trial in result.trials] == [1, 2, 3, 4]
        seen = read_study(file)
        assert (seen.asked, seen.running, seen.left) == ((waiting,), (), ())
        study.tell(waiting, 0.0)
        assert present(study.best).number == 0
    whole = bq.minimize(value, SPACE, n_trials=5, seed=0, strategy="random")
    assert [t.config for t in load_history(file).trials] == [t.config for t in whole.trials]


def test_two_people_never_get_the_same_trial(storage):
    bq.Study(storage, space=SPACE, seed=0, strategy="random").close()
    seen: list[Any] = []

    def work():
        with bq.Study(storage) as study:
            seen.extend(study.ask() for _ in range(4))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(trial.number for trial in seen) == list(range(12))
    assert len({trial.key for trial in seen}) == 12


@pytest.mark.parametrize(
    ("trial", "error", "message"),
    [
        (7, ValueError, "trial 7 is not waiting to be told: there is no such trial; pending are 1"),
        (0, ValueError, "it has been told already, with the value 0.5"),
        ("0", TypeError, "trial='0' must be a Trial or the number of one"),
        (True, TypeError, "must be a Trial"),
        (bq.Trial(1, {"m": "b", "n": 1}), ValueError, "the one stored has the configuration"),
    ],
)
def test_what_cannot_be_told_says_why(tmp_path, trial, error, message):
    with bq.Study(tmp_path / "r.db", space=SPACE, seed=0, strategy="random") as study:
        study.tell(study.ask(), 0.5)
        study.ask()
        for act in (lambda: study.tell(trial, 1.0), lambda: study.release(trial)):
            with pytest.raises(error, match=message):
                act()
        study.tell_failure(1, "broken")
        with pytest.raises(ValueError, match="it has failed already: broken"):
            study.tell(1, 1.0)
        with pytest.raises(TypeError, match="the value must be a number"):
            study.tell(study.ask(), None)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="noise_variance in the Evaluation or beside it"):
            study.tell(2, bq.Evaluation(1.0), noise_variance=1.0)


def test_a_trial_that_a_process_evaluates_is_not_told_by_people(tmp_path):
    file = tmp_path / "r.db"

    def objective(config):
        with bq.Study(file) as study, pytest.raises(ValueError, match=r"process \d+ on .*evaluat"):
            study.tell(0, 1.0)
        return 0.0

    assert bq.minimize(objective, SPACE, n_trials=1, storage=file).best_value == 0.0


def test_a_study_that_is_not_there_needs_a_space(tmp_path):
    with pytest.raises(bq.StorageError, match="no such study; give its space to make it"):
        bq.Study(tmp_path / "r.db")
    assert not list(tmp_path.iterdir())
    with bq.Study(tmp_path / "r.db", space=SPACE, direction="maximize", strategy="sobol") as study:
        study.tell(study.ask(), 1.0)
    with bq.Study(tmp_path / "r.db") as study:
        assert study.history.direction == "maximize"
        assert study.space == SPACE
        assert repr(study).endswith("r.db, study 'bosquet'>")
    assert read_study(tmp_path / "r.db").strategy == "sobol"
    with pytest.raises(ValueError, match="direction: stored 'maximize', 'minimize' now"):
        bq.Study(tmp_path / "r.db", direction="minimize")
    with pytest.raises(ValueError, match="strategy='nothing'"):
        bq.Study(tmp_path / "new.db", space=SPACE, strategy="nothing")
    assert not (tmp_path / "new.db").exists()


def test_asking_beyond_the_space(tmp_path):
    space = bq.Space({"n": bq.Int(1, 3)})
    with bq.Study(tmp_path / "r.db", space=space, strategy="random") as study:
        assert len(study.ask(5)) == 3
        with pytest.raises(bq.SpaceExhausted):
            study.ask()
        with pytest.raises(ValueError, match="n=0 must be a positive integer"):
            study.ask(0)


def test_a_trial_told_by_two_people_at_once(tmp_path, monkeypatch):
    with bq.Study(tmp_path / "r.db", space=SPACE, strategy="random") as study:
        trial = study.ask()
        monkeypatch.setattr(OptunaStore, "end", lambda *_: False)
        monkeypatch.setattr(OptunaStore, "release_row", lambda *_: False)
        for act in (lambda: study.tell(trial, 1.0), lambda: study.release(trial)):
            with pytest.raises(ValueError, match="trial 0 has just been told"):
                act()


def test_the_history_of_the_only_study_needs_no_name(tmp_path):
    bq.Study(tmp_path / "r.db", "one", space=SPACE).close()
    assert len(load_history(tmp_path / "r.db")) == 0
    bq.Study(tmp_path / "r.db", "two", space=SPACE).close()
    with pytest.raises(bq.StorageError, match="'bosquet': not there; stored are 'one', 'two'"):
        load_history(tmp_path / "r.db")


def test_another_strategy_is_told(tmp_path, capsys):
    for strategy in ("random", None, "sobol"):
        bq.Study(tmp_path / "r.db", space=SPACE, strategy=strategy).close()
    told = capsys.readouterr().err.splitlines()
    assert [line.partition("'bosquet': ")[2] for line in told] == [
        "with the strategy 'sobol' (before: 'random')"
    ]
