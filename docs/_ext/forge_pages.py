"""Lets Sphinx read Markdown that was written to be read on a code forge as well.

- A section's pages are those that its ``index.md`` links to, in that order: the table of contents
  is added while the index is read, so a page that no index names fails the strict build.
- A block that is a file, ```` ```python tune.py ````, has the name of the file above it.
- The pages at the root of the repository (contributing, security, changes) are copied into
  ``docs/project/`` for the build, and links between them and ``docs/`` follow.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT_PAGES = {
    "CONTRIBUTING.md": "contributing",
    "SECURITY.md": "security",
    "CHANGELOG.md": "changes",
}
FOLDER = "project"
LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
FILE = re.compile(r"^```(\w+) (\S+\.\w+)(?: needs-\w+)?$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", copy_root_pages)
    app.connect("source-read", complete)
    return {"parallel_read_safe": True}


def copy_root_pages(app: Sphinx) -> None:
    """Writes them where Sphinx looks for pages; one that has not changed is left alone."""
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(exist_ok=True)
    for name, page in ROOT_PAGES.items():
        text = (Path(app.srcdir).parent / name).read_text(encoding="utf-8")
        text = LINK.sub(lambda link: link[1] + _from_root(link[2]) + link[3], text)
        target = folder / f"{page}.md"
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")


def _from_root(address: str) -> str:
    """A link of a page at the root, seen from ``docs/project/``."""
    if ":" in address:
        return address
    if address in ROOT_PAGES:
        return f"{ROOT_PAGES[address]}.md"
    return posixpath.relpath(address, f"docs/{FOLDER}")


def complete(app: Sphinx, docname: str, source: list[str]) -> None:
    text = LINK.sub(lambda link: link[1] + _to_copy(docname, link[2]) + link[3], source[0])
    text = FILE.sub(r"```{code-block} \1\n:caption: \2\n", text)
    if posixpath.basename(docname) == "index":
        pages = "\n".join(children(docname, text, set(app.env.found_docs)))
        text += f"\n```{{toctree}}\n:hidden:\n\n{pages}\n```\n"
    source[0] = text


def _to_copy(docname: str, address: str) -> str:
    """A link to a page at the root leads to its copy."""
    folder = posixpath.dirname(docname)
    name = posixpath.relpath(posixpath.join("docs", folder, address), ".")
    if name not in ROOT_PAGES:
        return address
    return posixpath.relpath(f"{FOLDER}/{ROOT_PAGES[name]}.md", folder or ".")


def children(docname: str, text: str, found: set[str]) -> list[str]:
    """The pages that belong to an index: those it links to, unless another index has them."""
    folder = posixpath.dirname(docname)
    below: dict[str, None] = {}  # a set that keeps its order
    for _, address, _ in LINK.findall(FENCE.sub("", text)):
        page = posixpath.normpath(posixpath.join(folder, address)).removesuffix(".md")
        if page in found and page != docname and _index_of(page, found) == docname:
            below.setdefault(page)
    return [f"/{page}" for page in below]


def _index_of(page: str, found: set[str]) -> str:
    """The nearest index above a page."""
    folder = posixpath.dirname(page)
    if posixpath.basename(page) == "index":
        folder = posixpath.dirname(folder)
    while folder and f"{folder}/index" not in found:
        folder = posixpath.dirname(folder)
    return f"{folder}/index" if folder else "index"
