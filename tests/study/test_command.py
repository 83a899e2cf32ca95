"""Programs as objectives: what they are given, and what is read from them."""

import json
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path

import pytest

import bosquet as bq
from bosquet.study import Command
from bosquet.study.evaluate import NoValue
from tests.support import present

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the programs are POSIX ones")

NASTY = ["; touch owned", "$(touch owned)", "a b", "`touch owned`", "", "| cat", "> owned", "é'\""]
SPACE = bq.Space({"n": bq.Int(1, 99)})


def program(tmp_path, code):
    """A program with this Python code, run by a Python that starts quickly."""
    file = tmp_path / "program.py"
    file.write_text(f"import sys, os, json, time\n{code}\n")
    return f"{sys.executable} -I -S {file}"


def run(tmp_path, code, read="stdout", arguments="{n}", n=7, trial=0):
    return Command(f"{program(tmp_path, code)} {arguments}", SPACE, read)({"n": n}, trial)


def test_values_reach_a_program_verbatim_as_one_word(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = bq.Space({"c": bq.Choice(NASTY)})
    code = "json.dump(sys.argv[1:], open('seen.json', 'w')); print(1)"
    command = Command(f"{program(tmp_path, code)} --c {{c}} x{{c}}y", space)
    for value in NASTY:
        command({"c": value})
        assert json.loads(Path("seen.json").read_text()) == ["--c", value, f"x{value}y"]
    assert not Path("owned").exists()


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("print('hello'); print(0.25); print(); print('  ')", 0.25),
        ("print(f' {sys.argv[1]}e-1 ', end='')", 0.7),
        ("print('x' * 200_000); print(3)", 3.0),
        ("print('\\x1b[32m4\\x1b[0m')", 4.0),
        ("os.write(1, b'\\xff\\n5\\r\\n')", 5.0),
    ],
)
def test_the_last_line_of_stdout(tmp_path, code, value):
    assert run(tmp_path, code) == value


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("pass", "no value: stdout is empty; it wrote nothing"),
        (
            "print('loss 0.5'); print('no', file=sys.stderr)",
            "no value: the last line of stdout must be a number alone, not 'loss 0.5' "
            "(read 'stdout:TEXT' takes the number after a text); stderr: no",
        ),
        ("print(1); sys.exit('so\\n\\nbad')", "exit code 1; stderr: so | bad"),
        ("print('only here'); sys.exit(3)", "exit code 3; stdout: only here"),
        ("os.kill(os.getpid(), 9)", "killed by SIGKILL; it wrote nothing"),
        ("sys.exit('\\x1b[31mred\\x07\\x1b[0m')", "exit code 1; stderr: red"),
        ("print('at 3'); print('-nan')", "no value: the program gave nan; stdout: at 3 | -nan"),
        ("print('1e999')", "no value: the program gave inf; stdout: 1e999"),
    ],
)
def test_reasons(tmp_path, code, reason):
    with pytest.raises(NoValue) as failed:
        run(tmp_path, code)
    assert str(failed.value) == reason


def test_a_long_stderr_is_shortened(tmp_path):
    with pytest.raises(NoValue) as failed:
        run(tmp_path, "sys.exit('begin ' + 'x' * 100_000 + ' end')")
    assert 300 < len(str(failed.value)) < 400
    assert str(failed.value).endswith("x end")


def test_programs_that_cannot_be_started(tmp_path):
    command = Command("/no/such/program {n}", SPACE)
    with pytest.raises(NoValue, match="'/no/such/program' cannot be started: No such file"):
        command({"n": 1})
    with pytest.raises(ValueError, match="there is no program '/no/such/program'"):
        command.check_program()
    Command("{n} x", SPACE).check_program()  # only known when a trial comes


@pytest.mark.parametrize(
    ("text", "printed", "value"),
    [
        ("objective:", "objective: 9\\nobjective: 543.75\\ntime: 0.1 s\\n", 543.75),
        ("objective", "step 3 objective=-1.5e-3; gap 2\\n", -1.5e-3),
        ("objective", "objective 1, objective : 2%\\n", 2.0),
        ("best ", "best .5\\n", 0.5),
        ("Wert", "\\x1b[1mWert\\x1b[0m +4.\\r\\n", 4.0),
        ("score", "score0.25 lr0.1 3", 0.25),
        ("a:b", "a:b 7\\n" + "x" * 100_000, 7.0),
    ],
)
def test_the_number_after_a_text(tmp_path, text, printed, value):
    assert run(tmp_path, f"print('{printed}')", f"stdout:{text}") == value


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        ("done", "no value: 'cost' is nowhere in stdout; stdout: done"),
        (
            "cost: 1\\ncost: n/a",
            "no value: a number must follow the last 'cost' in stdout, not ': n/a'",
        ),
        ("cost 1,234.5", "a number must follow the last 'cost' in stdout, not '1,234.5'"),
        ("cost 1.5D+03", "a number must follow the last 'cost' in stdout, not '1.5D+03'"),
        ("cost 1.2.3", "a number must follow the last 'cost' in stdout, not '1.2.3'"),
        ("costs: 3", "a number must follow the last 'cost' in stdout, not 's: 3'"),
        ("cost 0.3, cost2 = 0.5", "a number must follow the last 'cost' in stdout, not '2 = 0.5'"),
        ("cost10  -.5", "a number must follow the last 'cost' in stdout, not '10  -.5'"),
        ("cost = inf", "no value: the program gave inf; stdout: cost = inf"),
    ],
)
def test_texts_without_a_number(tmp_path, printed, reason):
    with pytest.raises(NoValue) as failed:
        run(tmp_path, f"print('{printed}')", "stdout:cost")
    assert reason in str(failed.value)


WRITE = "json.dump({}, open(sys.argv[2], 'w'))"


@pytest.mark.parametrize(
    ("read", "written", "value"),
    [
        ("json:out.json", "0.5", 0.5),
        ("json:out.json:loss", "{'loss': 3}", 3.0),
        ("json:out.json:runs.1.loss", "{'runs': [0, {'loss': 0.25}]}", 0.25),
        ("json:{trial}.json:loss", "{'loss': 4}", 4.0),
    ],
)
def test_values_in_json_files(tmp_path, monkeypatch, read, written, value):
    monkeypatch.chdir(tmp_path)
    file = read.split(":")[1]
    arguments = "{n} " + file
    assert run(tmp_path, WRITE.format(written), read, arguments, trial=12) == value
    assert Path(file.replace("{trial}", "12")).exists()


@pytest.mark.parametrize(
    ("read", "code", "reason"),
    [
        ("json:out.json", "pass", "out.json: No such file or directory"),
        ("json:out.json", "open('out.json', 'w').write('{')", "out.json is not JSON"),
        ("json:out.json:a.b", WRITE.format("{'a': {'c': 1}}"), "out.json has no 'b', only c;"),
        ("json:out.json:a.b", WRITE.format("{'a': 1}"), "out.json has no 'b', only int;"),
        ("json:out.json:2", WRITE.format("[1, 2]"), "out.json has no '2', only list;"),
        ("json:out.json:a", WRITE.format("{'a': 'x'}"), "at 'a' must have a number, not 'x'"),
        ("json:out.json", WRITE.format("True"), "out.json must have a number, not 'True'"),
    ],
)
def test_json_files_without_a_value(tmp_path, monkeypatch, read, code, reason):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NoValue) as failed:
        run(tmp_path, code, read, "{n} out.json")
    assert reason in str(failed.value)


def test_a_value_of_an_earlier_trial_is_not_taken(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = "sys.argv[1] == '7' and json.dump(1, open('out.json', 'w'))"
    assert run(tmp_path, code, "json:out.json") == 1.0
    with pytest.raises(NoValue, match=r"out.json was not written anew"):
        run(tmp_path, code, "json:out.json", n=8)
    assert run(tmp_path, code, "json:out.json") == 1.0


@pytest.mark.parametrize("read", ["", "json:", "json", "stderr", "stdout:", "stdout: ", "csv:x"])
def test_where_a_value_can_be(read):
    with pytest.raises(
        ValueError, match=r"must be 'stdout', 'stdout:TEXT', 'json:FILE' or 'json:F"
    ):
        Command("p {n}", SPACE, read)


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    command = Command("echo {n}", SPACE)
    copy = pickle.loads(pickle.dumps(command))
    assert copy({"n": 3}) == 3.0
    (scratch,) = tmp_path.iterdir()
    assert not list(scratch.iterdir())
    del copy
    assert scratch.exists()  # it belongs to the first one
    del command
    assert not scratch.exists()


def test_commands_in_minimize(tmp_path, monkeypatch):
    """In worker processes, with numbers; what hangs is ended with all it has started."""
    monkeypatch.chdir(tmp_path)
    code = (
        "n = int(sys.argv[1])\n"
        "if n % 3 == 0:\n"
        "    print('hanging', file=sys.stderr, flush=True)\n"
        "    if os.fork() == 0: open(f'{os.getpid()}.pid', 'w')\n"
        "    time.sleep(60)\n"
        "if n % 3 == 1: sys.exit('bad')\n"
        "json.dump(n, open(sys.argv[2], 'w'))\n"
    )
    space = bq.Space({"n": bq.Choice([1, 3, 5, 8])})
    command = Command(f"{program(tmp_path, code)} {{n}} {{trial}}.out", space, "json:{trial}.out")
    result = bq.minimize(command, space, n_trials=4, n_jobs=2, trial_timeout=4, strategy="random")
    reasons = {trial.config["n"]: trial.reason for trial in result.trials}
    assert reasons == {
        1: "exit code 1; stderr: bad",
        3: "timeout of 4 s; stderr: hanging",
        5: None,
        8: None,
    }
    assert sorted(present(trial.value) for trial in result.history.complete) == [5, 8]
    (pid,) = (int(file.stem) for file in tmp_path.glob("*.pid"))
    assert_ends(pid)


def test_commands_run_in_a_process_of_their_own():
    result = bq.minimize(Command("sh -c 'echo $PPID # {n}'", SPACE), SPACE, n_trials=1)
    assert result.best_value != os.getpid()


def assert_ends(pid):
    for _ in range(100):
        state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True).stdout
        if not state or state.startswith(b"Z"):
            return
        time.sleep(0.05)
    raise AssertionError(f"process {pid} lives on")
