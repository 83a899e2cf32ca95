"""The examples of README.md and docs/ run, and print what they say they print."""

import contextlib
import io
import re
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# Without the copies that a build of the site makes of pages at the root.
PAGES = sorted(
    page
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    if page.parent.name not in {"project", "tutorial"}  # the latter: test_tutorial.py
)
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_examples(page, needs="", known=()):
    """Runs the examples of a page and compares outputs; ``needs`` marks what make test lacks."""
    namespace: dict[str, object] = {"__name__": "example", **dict(known)}
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


@pytest.mark.filterwarnings("ignore")  # of the other libraries
def test_examples_of_other_libraries(tmp_path, monkeypatch):
    pytest.importorskip("smac", reason="the extra 'peers' is not installed")
    pytest.importorskip("hyperopt")
    monkeypatch.chdir(tmp_path)  # SMAC3 writes there
    page = ROOT / "docs" / "guides" / "coming-from.md"
    namespace: dict[str, object] = {}
    exec(next(code for _, code in BLOCK.findall(page.read_text(encoding="utf-8"))), namespace)
    run_examples(page, " needs-peers", namespace)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_an_example_prints_is_compared(page):
    kinds = [kind for kind, _ in BLOCK.findall(page.read_text(encoding="utf-8"))]
    after = [kind for before, kind in pairwise(kinds) if before == "python"]
    assert "text" not in after, "an output is compared if its block is called 'text output'"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_the_page_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", text)
    for target in [*links, *re.findall(r'<img src="([^"]+)"', text)]:
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_the_readme_is_short_and_its_figures_are_those_of_the_measurement():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 120
    measured = (ROOT / "docs" / "results" / "real.md").read_text(encoding="utf-8").splitlines()
    ranks = re.findall(r"^\| .*\d.* \|$", text, re.MULTILINE)
    assert len(ranks) > 3
    assert [row for row in ranks if row not in measured] == []
