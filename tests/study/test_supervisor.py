"""No process of an evaluation outlives its trial or its study, however these end."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import bosquet as bq
from bosquet.study import supervisor

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

SPACE = bq.Space({"n": bq.Int(0, 99)})
SLEEP = "import time; time.sleep(600)"


def living(mark):
    """The processes that have inherited a mark in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            state = (process / "stat").read_bytes().rpartition(b")")[2].split()[0]
            if state not in b"ZX" and mark in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
        except OSError:  # it has just ended
            continue
    return found


def assert_all_end(mark):
    deadline = time.monotonic() + 20
    while living(mark) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert living(mark) == []


@pytest.fixture
def mark(tmp_path, monkeypatch):
    """A mark that all processes of the test inherit; none is left afterwards."""
    monkeypatch.setenv("MARK", str(tmp_path))
    yield f"MARK={tmp_path}".encode()
    for pid in living(f"MARK={tmp_path}".encode()):
        os.kill(pid, signal.SIGKILL)


def leave_processes():
    """What an evaluation may leave running: four of them."""
    python = [sys.executable, "-S", "-c"]
    sleep, daemon = [*python, SLEEP], "import os, time; os.fork() or time.sleep(600)"
    subprocess.Popen(sleep)
    subprocess.Popen(sleep, start_new_session=True)
    subprocess.Popen(sleep, start_new_session=True, env={"MARK": os.environ["MARK"]})
    subprocess.run([*python, daemon], start_new_session=True)


def hangs(config):
    leave_processes()
    Path(os.environ["MARK"], f"begun-{os.getpid()}").touch()
    time.sleep(600)


def hangs_in_c(config):
    """No Python code of this process can run any more."""
    leave_processes()
    Path(os.environ["MARK"], f"begun-{os.getpid()}").touch()
    ctypes.PyDLL(None).sleep(600)


def ends_at_once(config):
    leave_processes()
    os._exit(3)


def returns(config):
    leave_processes()
    return 0.0


@pytest.mark.parametrize("objective", ["hangs", "hangs_in_c"])
def test_after_a_kill_of_the_study(objective, mark, tmp_path):
    code = (
        "import bosquet as bq\n"
        f"from tests.study.test_supervisor import SPACE, {objective}\n"
        f"bq.minimize({objective}, SPACE, n_trials=4, n_jobs=2, strategy='random')\n"
    )
    study = subprocess.Popen([sys.executable, "-c", code])
    while len(list(tmp_path.glob("begun-*"))) < 2:
        assert study.poll() is None
        time.sleep(0.02)
    assert len(living(mark)) == 1 + 2 * (2 + 4)  # the study; supervisor, worker and what is left
    study.kill()
    study.wait()
    assert_all_end(mark)


@pytest.mark.parametrize(
    ("objective", "timeout", "reason"),
    [
        (hangs, 1.0, "timeout of 1 s"),
        (hangs_in_c, 1.0, "timeout of 1 s"),
        (ends_at_once, 60.0, "its worker process exited with code 3"),
        # What a trial leaves may serve the next one; the end of the run ends it.
        (returns, 60.0, None),
    ],
)
def test_after_a_trial_or_a_run(objective, timeout, reason, mark):
    result = bq.minimize(objective, SPACE, n_trials=1, trial_timeout=timeout, progress=False)
    assert result.trials[0].reason == reason
    assert_all_end(mark)


def test_after_a_kill_while_workers_start(mark, tmp_path):
    """Before a worker has imported anything of bosquet."""
    script = tmp_path / "script.py"
    script.write_text(
        "import os, time\n"
        "import bosquet as bq\n"
        "def f(config): return 0.0\n"
        "if __name__ != '__main__':\n"
        "    open(f'{os.environ[\"MARK\"]}/begun-{os.getpid()}', 'w').close()\n"
        "    time.sleep(600)\n"
        "if __name__ == '__main__':\n"
        "    bq.minimize(f, bq.Space({'x': bq.Float(0, 1)}), n_trials=4, n_jobs=2)\n"
    )
    study = subprocess.Popen([sys.executable, script])
    while len(list(tmp_path.glob("begun-*"))) < 2:
        assert study.poll() is None
        time.sleep(0.02)
    study.kill()
    study.wait()
    assert_all_end(mark)


# -- the supervisor by itself ----------------------------------------------------------------


def supervised(code, parent=None, program=sys.executable, **options):
    """A supervisor of a Python program, which gets a file descriptor of no use."""
    spare = os.open(os.devnull, os.O_RDONLY)
    command = [sys.executable, "-S", "-P", supervisor.__file__, str(parent or os.getpid())]
    try:
        return subprocess.Popen(
            [*command, str(spare), program, "-S", "-c", code],
            stdin=subprocess.PIPE, pass_fds=[spare], start_new_session=True, text=True, **options,
        )  # fmt: skip
    finally:
        os.close(spare)


HANGS = f"print('begun', flush=True); {SLEEP}"


def begun(**options):
    process = supervised(HANGS, stdout=subprocess.PIPE, **options)
    assert process.stdout.readline() == "begun\n"
    return process


def finished(process):
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    return process.wait(20)


@pytest.mark.parametrize(
    ("code", "ending"),
    [
        ("pass", 0),
        ("import sys; sys.exit(3)", 3),
        ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL),
        ("import os; os.kill(os.getpid(), 15)", -signal.SIGTERM),
        ("import os; os.kill(os.getpid(), 11)", -signal.SIGSEGV),
    ],
)
def test_it_ends_as_its_command_ends(code, ending):
    process = supervised(code)
    assert process.wait(20) == ending
    process.stdin.close()


def test_a_command_that_cannot_be_run():
    process = supervised("pass", program="/no/such/program")
    assert process.wait(20) == 127
    process.stdin.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_end_everything(mark, number):
    process = begun()
    os.kill(process.pid, number)
    assert process.wait(20) == 0
    assert_all_end(mark)
    finished(process)


def test_the_end_of_stdin_ends_everything(mark):
    assert finished(begun()) == 0
    assert_all_end(mark)


def test_should_it_be_killed_its_command_dies_too(mark):
    process = begun()
    process.kill()
    assert process.wait(20) == -signal.SIGKILL
    assert_all_end(mark)
    finished(process)


def test_nothing_is_started_for_a_parent_that_is_gone(tmp_path):
    process = supervised(f"open({str(tmp_path / 'run')!r}, 'w')", parent=1)
    assert finished(process) == 0
    assert not (tmp_path / "run").exists()


def test_processes_are_found_with_and_without_proc(monkeypatch):
    child = subprocess.Popen([sys.executable, "-S", "-c", SLEEP])
    for linux in (True, False):
        monkeypatch.setattr(supervisor, "LINUX", linux)
        assert dict(supervisor.processes())[child.pid] == os.getpid()
        assert child.pid in supervisor.descendants()
    child.kill()
    child.wait()
