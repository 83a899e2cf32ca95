"""The examples of README.md and docs/ run, and print what they say they print."""

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_examples(page, needs=""):
    """Runs the examples of a page and compares outputs; ``needs`` marks what make test lacks."""
    namespace: dict[str, object] = {"__name__": "example"}
    printed = ""
    for kind, code in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python" + needs:
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(code, "example.py", "exec"), namespace)
            printed = out.getvalue()
        elif kind == "text output" + needs:
            assert printed == code


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_of_the_page(page):
    run_examples(page)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_the_page_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target
