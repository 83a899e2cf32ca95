"""Dates and commits of the pages of docs/results, in docs/results/index.md.

    python experiments/stamps.py

A page's stamp is that of the last commit that changed it; a commit that only moved it does not
count. Run it after pages have been committed: the index then is one commit behind itself.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INDEX = ROOT / "docs" / "results" / "index.md"
ROW = re.compile(r"^(\| \[[^]]+\]\(([\w-]+\.md)\) \| .* \|)[^|]*\|$", re.MULTILINE)


def stamp(page: str) -> str:
    """``2026-01-31, 1a2b3c4`` of a page; empty while it is not committed."""
    log = ["git", "log", "--follow", "--name-status", "--format=%x00%as, %h", "--", page]
    done = subprocess.run(
        log, cwd=ROOT / "docs" / "results", capture_output=True, text=True, check=True
    )
    for commit in done.stdout.split("\0")[1:]:
        when, _, change = commit.partition("\n")
        if not change.strip().startswith("R"):
            return when
    return ""


def main() -> None:
    text = INDEX.read_text(encoding="utf-8")
    text, found = ROW.subn(lambda row: f"{row[1]} {stamp(row[2])} |", text)
    INDEX.write_text(text, encoding="utf-8")
    print(f"{found} pages of docs/results/index.md")


if __name__ == "__main__":
    main()
