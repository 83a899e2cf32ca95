"""Workers, executors, and evaluations that hang or die."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
import weakref
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import bosquet as bq
from bosquet.study import load_history
from bosquet.study.minimize import slots_of
from tests.support import present

SPACE = bq.Space({"n": bq.Int(0, 99)})


def plain(config):
    return config["n"]


def troubled(config):
    """Different kinds of trouble, by the value."""
    kind = config["n"] % 5
    if kind == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == 1:
        os._exit(3)
    if kind == 2:
        time.sleep(60)
    if kind == 3:
        raise MemoryError
    return config["n"]


def leaves_a_child(config):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    with open(os.environ["CHILD_FILE"], "w") as file:
        file.write(str(child.pid))
    time.sleep(60)


def slow(config):
    time.sleep(0.3)
    return config["n"]


def first_waits(directory, config):
    (directory / str(config["n"])).touch()
    try:
        (directory / "first").touch(exist_ok=False)
    except FileExistsError:
        return config["n"]
    deadline = time.monotonic() + 60
    while len(list(directory.iterdir())) < 6:
        if time.monotonic() > deadline:
            raise TimeoutError("nobody else was evaluated meanwhile")
        time.sleep(0.02)
    return -1.0


REASONS = [
    "its worker process was killed by SIGKILL",
    "its worker process exited with code 3",
    "timeout of 2 s",
    "MemoryError",
]


def test_every_kind_of_trouble_costs_one_trial():
    space = bq.Space({"n": bq.Int(0, 6)})  # two of them come twice
    result = bq.minimize(
        troubled, space, n_trials=7, seed=0, strategy="random", n_jobs=2, trial_timeout=2
    )
    assert sorted(t.config["n"] for t in result.trials) == list(range(7))
    for trial in result.trials:
        kind = trial.config["n"] % 5
        if kind == 4:
            assert trial.value == trial.config["n"]
        else:
            assert present(trial.reason).startswith(REASONS[kind])


class OfItsOwn(BaseException):
    pass


def leaves_in_odd_ways(config):
    if config["n"] % 4 == 0:
        os.kill(os.getpid(), signal.SIGINT)
    if config["n"] % 4 == 1:
        raise KeyboardInterrupt("so")
    if config["n"] % 4 == 2:
        raise OfItsOwn("bye")
    raise GeneratorExit


@pytest.mark.parametrize("where", ["workers", "threads"])
def test_whatever_is_raised_elsewhere_is_the_reason(where, capfd):
    """Only in the study's own thread a KeyboardInterrupt is the user's Ctrl-C."""
    reasons = ["KeyboardInterrupt (", "KeyboardInterrupt: so (", "OfItsOwn: bye (", "GeneratorExit"]
    kinds = [0, 1, 2, 3] if where == "workers" else [1, 2, 3]  # signals are for main threads
    space = bq.Space({"n": bq.Choice(kinds)})
    options: dict[str, Any] = {"n_trials": 4, "n_jobs": 2, "strategy": "random", "progress": False}
    with ThreadPoolExecutor(2) as executor:
        if where == "threads":
            options["executor"] = executor
        result = bq.minimize(leaves_in_odd_ways, space, **options)
    assert len(result.trials) == len(kinds)
    for trial in result.trials:
        assert present(trial.reason).startswith(reasons[trial.config["n"]])
    assert "Traceback" not in capfd.readouterr().err


def test_a_timeout_ends_what_the_objective_started(tmp_path, monkeypatch):
    monkeypatch.setenv("CHILD_FILE", str(tmp_path / "pid"))
    result = bq.minimize(leaves_a_child, SPACE, n_trials=1, trial_timeout=2.0)
    assert result.trials[0].reason == "timeout of 2 s"
    pid = int((tmp_path / "pid").read_text())
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":
            return
        time.sleep(0.02)
    raise AssertionError("the child lives on")


def test_a_free_worker_gets_a_new_trial_at_once(tmp_path):
    """The first trial ends when four others have, which the other worker must have been given."""
    waits = partial(first_waits, tmp_path)
    result = bq.minimize(waits, SPACE, n_trials=5, n_jobs=2, strategy="random", seed=0)
    assert [trial.state for trial in result.trials] == ["complete"] * 5
    assert result.best_value == -1.0


def test_a_script_without_a_guard_is_told_so(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import bosquet as bq\n"
        "def f(c): return c['x']\n"
        "bq.minimize(f, bq.Space({'x': bq.Float(0, 1)}), n_trials=2, n_jobs=1, trial_timeout=5)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 1
    assert "must call minimize under: if __name__ == '__main__'" in done.stderr


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_executors(kind):
    with kind(2) as executor:
        result = bq.minimize(
            plain, SPACE, n_trials=12, seed=0, strategy="sobol", executor=executor, n_jobs=2
        )
    assert len(result.trials) == len(result.history.complete) == 12


def test_a_broken_executor_ends_the_run_with_what_was_found():
    with ProcessPoolExecutor(2) as executor:
        result = bq.minimize(
            troubled, bq.Space({"n": bq.Choice([4, 9, 14, 0])}), n_trials=4, seed=0,
            strategy="random", executor=executor, n_jobs=1,
        )  # fmt: skip
    assert len(result.history.failed) == 1
    assert "BrokenProcessPool" in present(result.history.failed[0].reason)
    assert result.stopped.startswith("the executor takes no more work") or len(result.trials) == 4


class Disconnecting(ThreadPoolExecutor):
    """Raises an error of its own after some calls, as Dask does when its scheduler is gone."""

    def __init__(self, calls):
        super().__init__(1)
        self.calls = calls

    def submit(self, function, /, *args, **kwargs):
        if self.calls == 0:
            raise ConnectionError("gone")
        self.calls -= 1
        return super().submit(function, *args, **kwargs)


def test_an_executor_that_is_disconnected(tmp_path):
    options = {"n_trials": 6, "seed": 0, "strategy": "random", "storage": tmp_path / "r.db"}
    with Disconnecting(3) as executor:
        result = bq.minimize(plain, SPACE, executor=executor, n_jobs=1, **options)
    assert result.stopped == "the executor takes no more work: ConnectionError: gone"
    assert len(result.trials) == 3
    with Disconnecting(0) as executor, pytest.raises(ConnectionError, match="gone"):
        bq.minimize(plain, SPACE, executor=executor, n_jobs=1, **options)
    whole = bq.minimize(plain, SPACE, **options | {"storage": None})
    assert bq.minimize(plain, SPACE, **options).trials == whole.trials


class Remembering(ThreadPoolExecutor):
    """Answers equal calls that run at the same time by one evaluation, as Dask does."""

    def __init__(self):
        super().__init__(2)
        self.calls: weakref.WeakValueDictionary[str, Future[Any]] = weakref.WeakValueDictionary()

    def submit(self, function, /, *args, **kwargs):
        key = repr((function, args, kwargs))
        running = self.calls.get(key)
        if running is None:
            self.calls[key] = running = super().submit(function, *args, **kwargs)
        answer: Future[Any] = Future()
        running.add_done_callback(lambda done: answer.set_result(done.result()))
        return answer


def test_equal_configurations_are_evaluated_each():
    calls = itertools.count()

    def noisy(config):
        time.sleep(0.02)
        return bq.Evaluation(next(calls), 1.0)

    space = bq.Space({"n": bq.Choice([1])})
    known = bq.History(space, [bq.Trial(0, {"n": 1}, "complete", -1.0, noise_variance=1.0)])
    with Remembering() as executor:
        options: dict[str, Any] = {
            "n_trials": 8,
            "strategy": "random",
            "executor": executor,
            "n_jobs": 2,
        }
        result = bq.minimize(noisy, space, history=known, **options)
    assert sorted(present(trial.value) for trial in result.trials) == list(range(-1, 8))


def test_a_dask_worker_that_dies(tmp_path):
    """One failed trial, or none if Dask may try it again; the run is complete."""
    pytest.importorskip("distributed")
    script = Path(__file__).with_name("dask_study.py")
    assert subprocess.run([sys.executable, script, tmp_path]).returncode == 0
    for allowed in (0, 3):
        seen = json.loads((tmp_path / f"{allowed}.json").read_text())
        trials = [tuple(trial) for trial in seen["trials"]]
        stored = load_history(tmp_path / f"{allowed}.db").trials
        assert trials == [(t.config["n"], t.value, t.reason) for t in stored]
        assert seen["gone"] >= 1
        assert len({n for n, _, _ in trials}) == len(trials) == 16
        failed = [(n, reason) for n, value, reason in trials if value != n]
        assert [n for n, _ in failed] == ([] if allowed else [seen["deadly"]])
        assert all("executor lost the evaluation: KilledWorker" in why for _, why in failed)


def test_as_many_jobs_as_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2, 5}, raising=False)
    assert [slots_of(n_jobs) for n_jobs in (None, 1, 4, -1)] == [1, 1, 4, 3]
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert slots_of(-1) == 2
    assert len(bq.minimize(plain, SPACE, n_trials=3, n_jobs=-1, strategy="random").trials) == 3
    with pytest.raises(ValueError, match="n_jobs=-2 must be a positive integer"):
        bq.minimize(plain, SPACE, n_trials=2, n_jobs=-2)


def test_executor_options_are_checked():
    with ThreadPoolExecutor(1) as executor:
        with pytest.raises(ValueError, match="say how many trials the executor"):
            bq.minimize(plain, SPACE, n_trials=2, executor=executor)
        with pytest.raises(ValueError, match="trial_timeout needs processes of our own"):
            bq.minimize(plain, SPACE, n_trials=2, executor=executor, n_jobs=1, trial_timeout=1)
    with pytest.raises(TypeError, match="executor=3"):
        bq.minimize(plain, SPACE, n_trials=2, executor=3, n_jobs=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="n_jobs=0 must be a positive integer"):
        bq.minimize(plain, SPACE, n_trials=2, n_jobs=0)
    with pytest.raises(ValueError, match=r"trial_timeout=-1.0 must be a positive number"):
        bq.minimize(plain, SPACE, n_trials=2, trial_timeout=-1)


def test_parallel_runs_are_stored_and_go_on(tmp_path):
    file = tmp_path / "r.db"

    def stop(optimizer, trial):
        return len(optimizer.history) >= 4

    options = {"n_trials": 9, "seed": 0, "strategy": "sobol", "storage": file, "n_jobs": 2}
    first = bq.minimize(plain, SPACE, callbacks=stop, **options)
    assert 4 <= len(first.trials) <= 5
    result = bq.minimize(plain, SPACE, **options)
    assert result.trials == load_history(file).trials
    assert [t.number for t in result.trials] == list(range(9))
    assert len({t.config["n"] for t in result.trials}) == 9


def test_ctrl_c_in_a_parallel_run(tmp_path):
    """The trials that were running are taken up again, with the same configurations."""

    def stop(optimizer, trial):
        if trial.number == 2:
            raise KeyboardInterrupt

    options = {"n_trials": 8, "seed": 0, "strategy": "random", "storage": tmp_path / "r.db"}
    first = bq.minimize(slow, SPACE, callbacks=stop, n_jobs=2, **options)
    assert first.stopped == "interrupted"
    result = bq.minimize(plain, SPACE, allow_changed=True, **options)
    assert [t.number for t in result.trials] == list(range(8))
    assert all(t in result.trials for t in first.trials)


@pytest.mark.parametrize("limit", [None, 60.0])
def test_a_trial_that_may_hang_is_told_of(limit, monkeypatch, capsys):
    monkeypatch.setattr("bosquet.study.workers.LOOK_EVERY", 0.01)
    monkeypatch.setattr("bosquet.study.progress.LONG_FIRST", 0.0)
    bq.minimize(slow, SPACE, n_trials=1, n_jobs=2, trial_timeout=limit, progress=True, seed=0)
    said = "trial 0 has been running for" in capsys.readouterr().err
    assert said == (limit is None)
