"""Objectives that other processes cannot import: sent by value, or refused with the cure."""

import importlib
import os
import subprocess
import sys
import threading
from typing import Any

import pytest

import bosquet as bq

SPACE = bq.Space({"x": bq.Float(0, 1)})
OPTIONS: dict[str, Any] = {"n_trials": 4, "seed": 0, "strategy": "random"}
SHIFT = 2.0


def shifted(config):
    return config["x"] + SHIFT


@pytest.fixture
def no_cloudpickle(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)


def closure(shift):
    return lambda config: config["x"] + shift


@pytest.mark.parametrize(
    ("objective", "workers"),
    [
        (lambda config: config["x"] + SHIFT, {"n_jobs": 2}),
        (closure(SHIFT), {"trial_timeout": 60.0}),
    ],
    ids=["lambda", "closure"],
)
def test_functions_without_a_name_are_sent_by_value(objective, workers):
    pytest.importorskip("cloudpickle")
    expected = bq.minimize(shifted, SPACE, **OPTIONS).trials
    assert bq.minimize(objective, SPACE, **workers, **OPTIONS).trials == expected


NOTEBOOK = """\
import sys, os
import bosquet as bq
SHIFT = 2.0
def shifted(config):
    print("evaluated in", os.getpid() != {pid} and "a worker", flush=True)
    return config["x"] + SHIFT

space = bq.Space({{"x": bq.Float(0, 1)}})
result = bq.minimize(shifted, space, n_trials=4, seed=0, strategy="random", trial_timeout=60)
print([trial.value for trial in result.trials])
"""


@pytest.mark.parametrize("how", ["prompt", "stdin", "-c", "-i script.py"])
def test_functions_of_a_session_are_sent_by_value(how, tmp_path):
    """What has no file cannot be imported by a worker, though it can be pickled here."""
    pytest.importorskip("cloudpickle")
    (tmp_path / "script.py").write_text("import os\n")
    done = run_session(how, NOTEBOOK, tmp_path)
    assert done.returncode == 0, done.stderr
    *evaluations, values = done.stdout.splitlines()
    assert evaluations == ["evaluated in a worker"] * 4
    assert values == str([t.value for t in bq.minimize(shifted, SPACE, **OPTIONS).trials])


@pytest.mark.parametrize("how", ["prompt", "stdin", "-c", "-i script.py"])
def test_functions_of_a_session_without_cloudpickle(how, tmp_path):
    """The error comes before anything is stored or started, and names the cures."""
    code = "import sys; sys.modules['cloudpickle'] = None\n" + NOTEBOOK.replace(
        "trial_timeout=60", "trial_timeout=60, storage='r.db'"
    )
    (tmp_path / "script.py").write_text("import os\n")
    done = run_session(how, code, tmp_path)
    assert "TypeError: objective=<function shifted at" in done.stderr
    assert "defined in a notebook or at a prompt, not in a file" in done.stderr
    for cure in ("from my_objective import objective", "'bosquet[notebook]'", "ThreadPoolExecutor"):
        assert cure in done.stderr
    assert "evaluated" not in done.stdout
    assert not (tmp_path / "r.db").exists()


def run_session(how, code, folder):
    code = code.format(pid=os.getpid())
    command = {"prompt": ["-i"], "stdin": ["-"], "-c": ["-c", code]}.get(how, how.split())
    return subprocess.run(
        [sys.executable, *command], input=code, capture_output=True, text=True, cwd=folder
    )


@pytest.mark.usefixtures("no_cloudpickle")
@pytest.mark.parametrize("options", [{"n_jobs": 2}, {"trial_timeout": 1.0}])
def test_functions_without_a_name_without_cloudpickle(options, tmp_path):
    file = tmp_path / "r.db"
    with pytest.raises(TypeError, match=r"cannot be sent to a worker process (.|\n)*pip install"):
        bq.minimize(lambda c: 0.0, SPACE, n_trials=2, storage=file, **options)
    assert not file.exists()


def test_functions_that_use_what_cannot_be_sent():
    pytest.importorskip("cloudpickle")
    lock = threading.Lock()
    with pytest.raises(TypeError, match=r"it uses cannot \(TypeError: cannot pickle '_t") as told:
        bq.minimize(lambda c: lock and 0.0, SPACE, n_trials=2, n_jobs=2)
    assert "pip install" not in str(told.value)
    assert "make that inside the objective" in str(told.value)


def test_what_a_worker_cannot_load_is_told_with_the_cure(tmp_path):
    (tmp_path / "script.py").write_text(
        "import bosquet as bq\n"
        "space = bq.Space({'x': bq.Float(0, 1)})\n"
        "if __name__ == '__main__':\n"
        "    def hidden(config): return config['x']\n"
        "    bq.minimize(hidden, space, n_trials=3, n_jobs=2)\n"
    )
    done = subprocess.run(
        [sys.executable, "script.py"], capture_output=True, text=True, cwd=tmp_path
    )
    assert "RuntimeError: a worker process cannot load the objective: AttributeError: " in (
        done.stderr
    )
    assert "ThreadPoolExecutor" in done.stderr
    assert done.stderr.count("Traceback") == 1


def test_a_module_that_exits_when_it_is_imported_elsewhere(tmp_path, monkeypatch):
    """As one that is a script without a guard; the worker does not just vanish."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("FIRST", str(os.getpid()))
    (tmp_path / "exits.py").write_text(
        "import os, sys\n"
        "def f(config): return 0.0\n"
        "if os.environ['FIRST'] != str(os.getpid()): sys.exit('only here')\n"
    )
    exits = importlib.import_module("exits")

    with pytest.raises(RuntimeError, match="cannot load the objective: SystemExit: only here"):
        bq.minimize(exits.f, SPACE, n_trials=2, n_jobs=2)
