"""Refuses a built site that would load anything from the network.

    python .ci/offline.py build/docs

Links that a reader may follow are fine; scripts, styles, fonts and pictures must be in the site.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

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


def main() -> None:
    site = Path(sys.argv[1])
    pages = len(list(site.rglob("*.html")))
    if not pages:
        raise SystemExit(f"{site} has no pages")
    if found := loaded(site):
        raise SystemExit("\n".join(["the site would load from the network:", *found]))
    print(f"{pages} pages, which load nothing from the network")


if __name__ == "__main__":
    main()
