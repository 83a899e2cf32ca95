"""What pyproject.toml, the documentation and the messages say about installing agrees."""

import re
import tomllib
from pathlib import Path

import pytest

import bosquet

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = set(PROJECT["optional-dependencies"])
INSTALL = (ROOT / "docs" / "guides" / "install.md").read_text(encoding="utf-8")


def files_with_hints():
    places = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    for folder in ("src", "experiments"):
        places += (ROOT / folder).rglob("*.py")
    return sorted(set(places))


def test_the_table_of_extras_is_complete():
    assert set(re.findall(r"^\| `(\w+)` \|", INSTALL, re.MULTILINE)) == EXTRAS


def test_every_hint_names_extras_that_exist():
    hints = [
        (path.name, extra)
        for path in files_with_hints()
        for names in re.findall(r"(?:bosquet|\.)\[([a-z,]+)\]'", path.read_text(encoding="utf-8"))
        for extra in names.split(",")
    ]
    assert len(hints) > 20
    assert [hint for hint in hints if hint[1] not in EXTRAS] == []


@pytest.mark.parametrize("page", ["README.md", "docs/guides/install.md", "CONTRIBUTING.md"])
def test_no_page_for_newcomers_installs_from_an_index_that_has_no_bosquet(page):
    """`pip install bosquet` is true when something is published; then this test changes."""
    shell = re.findall(
        r"^```sh\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.M | re.S
    )
    assert not re.search(r"pip install '?bosquet", "".join(shell))


def test_the_version_is_said_once():
    assert "version" in PROJECT["dynamic"]
    said = f'"{bosquet.__version__}"'
    files = [ROOT / "pyproject.toml", ROOT / "CITATION.cff", *(ROOT / "src").rglob("*.py")]
    found = [path.name for path in files if said in path.read_text(encoding="utf-8")]
    assert found == ["__init__.py"]


def test_the_package_says_that_it_is_typed():
    assert "Typing :: Typed" in PROJECT["classifiers"]
    assert (Path(bosquet.__file__).parent / "py.typed").exists()


def test_the_citation_has_the_papers_of_the_references():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    references = (ROOT / "docs" / "explanation" / "references.md").read_text(encoding="utf-8")
    titles = re.findall(r"^    title: \"(.*)\"$", citation, re.MULTILINE)
    assert len(titles) == 5
    assert [title for title in titles if title not in references] == []
    addresses = re.findall(r"^    url: \"(.*)\"$", citation, re.MULTILINE)
    assert [address for address in addresses if f"({address})" not in references] == []
