"""Refuses a built site that would load anything from the network, or lacks its reference.

    python .ci/site.py build/docs

Links that a reader may follow are fine; scripts, styles, fonts and pictures must be in the site.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import bosquet

LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc=["']?(?:https?:)?//[^"'\s>]+"""
    r"""|<link\b(?=[^>]*rel=["']?(?:stylesheet|preload|prefetch|icon|preconnect|dns-prefetch))"""
    r"""[^>]*href=["']?(?:https?:)?//[^"'\s>]+""",
    re.IGNORECASE,
)
STYLED = re.compile(r"(?:@import\s+|url\()\s*[\"']?(?:https?:)?//[^)\"'\s]+", re.IGNORECASE)


def loaded(site: Path) -> list[str]:
    """What the pages and styles of a site would load from elsewhere, by file."""
    found = []
    for kind, pattern in (("*.html", LOADED), ("*.css", STYLED)):
        for file in sorted(site.rglob(kind)):
            text = file.read_text(encoding="utf-8")
            found += [f"{file.relative_to(site)}: {hit[0]}" for hit in pattern.finditer(text)]
    return found


def undescribed(site: Path) -> list[str]:
    """Public names without an entry; a directive that Sphinx took for text makes none."""
    pages = "".join(page.read_text(encoding="utf-8") for page in site.glob("reference/*.html"))
    names = [name for name in bosquet.__all__ if name not in ("benchmarks", "plots", "strategies")]
    return [name for name in names if f'id="bosquet.{name}"' not in pages]


def main() -> None:
    site = Path(sys.argv[1])
    pages = len(list(site.rglob("*.html")))
    if not pages:
        raise SystemExit(f"{site} has no pages")
    if found := loaded(site):
        raise SystemExit("\n".join(["the site would load from the network:", *found]))
    if names := undescribed(site):
        raise SystemExit(f"the reference has no entry for {', '.join(names)}")
    print(f"{pages} pages, which load nothing from the network")


if __name__ == "__main__":
    main()
