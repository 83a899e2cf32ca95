"""A study killed by SIGKILL at random moments: nothing told is lost, nothing is told twice."""

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

import bosquet as bq
from bosquet.study import load_history
from tests.support import optuna_study, present

optuna = pytest.importorskip("optuna")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")

SPACE = bq.Space({"m": bq.Choice({"a": {"x": bq.Float(0, 1)}, "b": {"n": bq.Int(1, 500)}})})
OPTIONS: dict[str, Any] = {"n_trials": 12, "seed": 0, "strategy": "random", "progress": False}
LONG = OPTIONS | {"n_trials": 30}  # so that it can be killed often


def value(config):
    return config.get("x", 0.5) + 0.01 * config.get("n", 0)


def study(storage, told, ready=None, options=OPTIONS):
    """The process to be killed; notes what it has told. Evaluates nothing before ``ready``."""

    def objective(config):
        time.sleep(0.005)
        while ready is not None and not ready.exists():
            time.sleep(0.01)
        return value(config)

    def note(_, trial):
        with told.open("a") as log:
            log.write(f"{trial.number}\n")

    bq.minimize(objective, SPACE, storage=storage, allow_changed=True, callbacks=note, **options)


def test_twenty_kills(tmp_path):
    file, told = tmp_path / "r.db", tmp_path / "told"
    told.touch()
    study(tmp_path / "warm.db", tmp_path / "other")  # imports what the forks need
    rng = random.Random(0)
    kills = 0
    for attempt in range(200):
        process = multiprocessing.get_context("fork").Process(
            target=study, args=(file, told, None, LONG)
        )
        process.start()
        before = told.stat().st_size
        if attempt >= 5:  # the first ones die while the file is being made
            while told.stat().st_size == before and process.is_alive():
                time.sleep(0.001)
        process.join(rng.uniform(0.0, 0.06))
        if process.exitcode is not None:
            break
        if kills < 20:
            process.kill()
            kills += 1
        process.join()
    assert process.exitcode == 0, "the last run did not end well"
    assert kills > 10
    numbers = [int(line) for line in told.read_text().split()]
    assert len(numbers) == len(set(numbers))  # none twice
    whole = bq.minimize(value, SPACE, **LONG)
    stored = load_history(file)
    assert set(numbers) <= {trial.number for trial in stored.complete}  # none lost
    assert [t.config for t in stored.trials] == [t.config for t in whole.trials]
    for mine, theirs in zip(stored.trials, whole.trials, strict=True):
        assert mine == theirs or mine.reason == "the process that evaluated it died, twice"


def stuck_study(storage, told, ready):
    """Hangs in the evaluation of the first trial after the third that has been told."""

    def objective(config):
        if len(told.read_text().split()) >= 3:
            ready.write_text(json.dumps(config))
            time.sleep(60)
        return value(config)

    def note(_, trial):
        with told.open("a") as log:
            log.write(f"{trial.number}\n")

    bq.minimize(objective, SPACE, storage=storage, allow_changed=True, callbacks=note, **OPTIONS)


def killed_in_an_evaluation(storage, told, ready):
    """Runs `stuck_study` until it hangs, kills it, and returns what it was evaluating."""
    process = multiprocessing.get_context("fork").Process(
        target=stuck_study, args=(storage, told, ready)
    )
    process.start()
    while not ready.exists() or not ready.read_text():
        assert process.is_alive()
        time.sleep(0.01)
    process.kill()
    process.join()
    return json.loads(ready.read_text())


def test_a_process_killed_in_an_evaluation(storage, tmp_path):
    """The trial it left is taken up at once, as the same trial."""
    told = tmp_path / "told"
    told.touch()
    config = killed_in_an_evaluation(storage, told, tmp_path / "ready")
    result = bq.minimize(value, SPACE, storage=storage, allow_changed=True, **OPTIONS)
    assert result.resumed == 3
    assert result.trials[3].config == config
    assert result.trials == bq.minimize(value, SPACE, **OPTIONS).trials


def test_three_processes_on_one_study_one_of_them_killed(storage, tmp_path):
    """Its trial is taken up by the others; all trials are told once, no point comes twice."""
    told, ready = tmp_path / "told", tmp_path / "ready"
    told.touch()
    others = [
        multiprocessing.get_context("fork").Process(target=study, args=(storage, told, ready))
        for _ in range(2)
    ]
    for process in others:
        process.start()
    config = killed_in_an_evaluation(storage, told, ready)
    for process in others:
        process.join()
    assert [process.exitcode for process in others] == [0, 0]
    stored = load_history(storage).trials
    numbers = [int(line) for line in told.read_text().split()]
    assert sorted(numbers) == [trial.number for trial in stored] == list(range(12))
    assert len({trial.key for trial in stored}) == 12
    assert all(trial.value == value(trial.config) for trial in stored)
    assert config in [trial.config for trial in stored]
    with optuna_study(url_of(storage)) as seen:
        lost = [row for row in seen.trials if "bosquet:lost" in row.user_attrs]
    assert [SPACE.unqualify(row.params) for row in lost] == [config]


def url_of(storage):
    return storage if isinstance(storage, str) else f"sqlite:///{storage}"


def test_ctrl_c_ends_a_parallel_run_and_its_workers(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, time\n"
        "import bosquet as bq\n"
        "def f(c):\n"
        "    print('begun', flush=True)\n"
        "    time.sleep(60 if c['x'] < 2 else 0)\n"
        "if __name__ == '__main__':\n"
        "    space = bq.Space({'x': bq.Float(0, 1)})\n"
        "    r = bq.minimize(f, space, n_trials=4, n_jobs=2, storage=sys.argv[1])\n"
        "    print(r.stopped)\n"
    )
    file = tmp_path / "r.db"
    process = subprocess.Popen(
        [sys.executable, script, file], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert [present(process.stdout).readline() for _ in range(2)] == ["begun\n"] * 2
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=20)[0] == "interrupted\n"  # workers hold no pipe open
    assert process.returncode == 0
    result = bq.minimize(
        lambda c: c["x"], bq.Space({"x": bq.Float(0, 1)}), n_trials=4, storage=file
    )
    assert [trial.state for trial in result.trials] == ["complete"] * 4


STARTING = """\
import os, sys, time
import bosquet as bq
def f(c): return c["x"]
if __name__ != "__main__":
    print("begun", flush=True)
    time.sleep(60)
if __name__ == "__main__":
    space = bq.Space({"x": bq.Float(0, 1)})
    r = bq.minimize(f, space, n_trials=4, n_jobs=2, storage=sys.argv[1])
    print(r.stopped, len(r.trials))
"""


def test_ctrl_c_while_workers_start(tmp_path):
    """It ends as any other one; the workers go too, though they have not loaded anything yet."""
    script, file = tmp_path / "script.py", tmp_path / "r.db"
    script.write_text(STARTING)
    process = subprocess.Popen(
        [sys.executable, script, file],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert [present(process.stdout).readline() for _ in range(2)] == ["begun\n"] * 2
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)  # workers hold no pipe open
    assert (out, err, process.returncode) == ("interrupted 0\n", "", 0)
    assert not load_history(file).trials


class Interrupting(os.PathLike[str]):
    def __fspath__(self):
        raise KeyboardInterrupt


def test_ctrl_c_while_a_study_is_opened():
    result = bq.minimize(value, SPACE, storage=Interrupting(), **OPTIONS)
    assert (result.stopped, len(result.trials)) == ("interrupted", 0)
