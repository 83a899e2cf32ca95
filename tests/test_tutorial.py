"""The tutorial works: its files are written, its commands run, and what they print is compared."""

import contextlib
import io
import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from bosquet.cli import main

ROOT = Path(__file__).parent.parent
TUTORIAL = ROOT / "docs" / "tutorial"
STEPS = ["first-study", "failures", "storing", "several-at-once", "any-program"]
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PATIENCE = 300  # seconds for a command; a few on an idle machine


def blocks(step):
    return BLOCK.findall((TUTORIAL / f"{step}.md").read_text(encoding="utf-8"))


def write_files(steps, needs=""):
    """The files of some steps, into the current directory."""
    for step in steps:
        for kind, code in blocks(step):
            language, *more = kind.split()
            if more and language in ("python", "awk", "json") and more[1:] == needs.split():
                Path(more[0]).write_text(code, encoding="utf-8")


def run_commands(step, needs=""):
    """Runs the commands of a step line by line; returns pairs of what was printed and expected.

    A command without an output below it must print nothing but messages.
    """
    printed, compared = "", []
    all_blocks = blocks(step)
    for (kind, code), (after, _) in zip(all_blocks, [*all_blocks[1:], ("", "")], strict=True):
        if kind == "sh" + needs:
            printed = "".join(run(line) for line in code.splitlines())
            if not after.startswith("text output"):
                compared.append((printed, ""))
        elif kind == "text output" + needs:
            compared.append((printed, code))
    return compared


def run(line):
    """What a command prints. Most run in this process, which has all that they import."""
    program, *arguments = shlex.split(line)
    script = Path(arguments[0])
    if program == "python" and script.suffix == ".py" and "__main__" in script.read_text():
        return run_apart(line)  # its workers, or Ray's, import the script
    with contextlib.redirect_stdout(io.StringIO()) as out, pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path.cwd()))
        if program == "bosquet":
            assert main(arguments) == 0, line
        elif script.suffix == ".py":
            patch.setattr(sys, "argv", arguments)
            runpy.run_path(arguments[0], run_name="__main__")
        else:
            assert arguments[0] == "-c"
            exec(arguments[1], {})
    return out.getvalue()


def run_apart(line):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        line,
        shell=True,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=os.environ | {"PATH": path},
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


def is_like(printed, expected):
    """Whether they are the same, where `...` stands for anything, also nothing."""
    pattern = ".*?".join(re.escape(part) for part in expected.rstrip("\n").split("..."))
    return re.fullmatch(pattern, printed.rstrip("\n"), re.DOTALL) is not None


@pytest.mark.parametrize("step", STEPS)
def test_the_step(step, tmp_path, monkeypatch):
    pytest.importorskip("sklearn")
    pytest.importorskip("optuna")
    if step == "several-at-once":
        pytest.importorskip("distributed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delitem(sys.modules, "problem", raising=False)  # of another step, in its folder
    write_files(STEPS[: STEPS.index(step) + 1])
    compared = run_commands(step)
    assert compared
    for printed, expected in compared:
        assert is_like(printed, expected), f"{printed!r} is not like {expected!r}"


def test_every_step_and_every_block_is_run():
    assert {page.stem for page in TUTORIAL.glob("*.md")} == {"index", *STEPS}
    for step in STEPS:
        for kind, _ in blocks(step):
            file = len(kind.split()) > 1 and "." in kind.split()[1]
            assert file or kind.split()[0] == "sh" or kind.startswith("text output"), (step, kind)


def test_wildcards_do_not_hide_a_difference():
    assert is_like("16 trials\n", "16 trials\n")
    assert is_like("error 0.01\n", "error 0.0...\n")
    assert not is_like("15 trials\n", "16 trials\n")
    assert not is_like("16 trials\nand more\n", "16 trials\n")
