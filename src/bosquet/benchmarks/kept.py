"""Runs that are kept in the repository: a compact file that grows over time.

A page is made from it without running anything, and a later day, or another machine, adds the
seeds that are missing.
"""

from __future__ import annotations

import lzma
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from bosquet.benchmarks.harness import Job, Run

_DIGITS = 12  # of values: a distance to the minimum may be small
_MILLISECONDS = 4  # decimal places of seconds


def read_kept(path: Path) -> list[Run]:
    """The runs of a file that `keep` has written; none where there is no file."""
    if not path.exists():
        return []
    try:
        lines = lzma.decompress(path.read_bytes()).decode().splitlines()
        return [Run.from_json(line) for line in lines]
    except (lzma.LZMAError, ValueError, KeyError, TypeError):
        raise ValueError(f"{path} does not hold kept benchmark runs") from None


def keep(runs: Iterable[Run], path: Path, commit: str) -> None:
    """Adds runs to a file; one of a job that is there already takes its place.

    ``commit`` is that of the code which made them.
    """
    known: dict[Job, Run] = {run.job: run for run in read_kept(path)}
    for run in runs:
        known[run.job] = replace(_rounded(run), versions={**run.versions, "commit": commit})
    order = sorted(known.values(), key=lambda r: (r.job.problem, r.job.method, r.job.seed))
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(run.to_json() + "\n" for run in order)
    path.write_bytes(lzma.compress(text.encode(), preset=9))


def _rounded(run: Run) -> Run:
    return replace(
        run,
        values=[float(f"{value:.{_DIGITS}g}") for value in run.values],
        ask_seconds=[round(s, _MILLISECONDS) for s in run.ask_seconds],
        evaluation_seconds=[round(s, _MILLISECONDS) for s in run.evaluation_seconds],
        seconds=round(run.seconds, 1),
    )


def head_commit(root: Path) -> str:
    """The commit that is checked out in a directory, for runs made now."""
    git = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(git, cwd=root, capture_output=True, text=True, check=True).stdout.strip()
