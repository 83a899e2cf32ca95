"""The tutorial works: its files are written, its commands run, and what they print is compared."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

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
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    printed, compared = "", []
    all_blocks = blocks(step)
    for (kind, code), (after, _) in zip(all_blocks, [*all_blocks[1:], ("", "")], strict=True):
        if kind == "sh" + needs:
            printed = ""
            for line in code.splitlines():
                done = subprocess.run(
                    line,
                    shell=True,
                    capture_output=True,
                    text=True,
                    timeout=PATIENCE,
                    env=os.environ | {"PATH": path, "COLUMNS": "100"},
                )
                assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
                printed += done.stdout
            if not after.startswith("text output"):
                compared.append((printed, ""))
        elif kind == "text output" + needs:
            compared.append((printed, code))
    return compared


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
