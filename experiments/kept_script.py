"""What scripts share whose runs are kept: options, the runs that are missing, the page.

Runs of `NAME.py` are kept in results/NAME.jsonl.xz, and its page is written from these alone, so
that seeds add up over days and machines.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from bosquet.benchmarks import PROBLEMS, Factory
from bosquet.benchmarks.harness import Job, Run, Strategies, read_runs, run_all
from bosquet.benchmarks.kept import head_commit, keep, read_kept
from bosquet.benchmarks.suite import DATA_VARIABLE

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs" / "results"
KEEP_EVERY = 60.0  # seconds, at the end of a run: an experiment that is stopped has lost little


@dataclass(frozen=True)
class KeptScript:
    """An experiment whose runs are kept."""

    name: str
    """Of its page and of its file of results."""
    page: Callable[[list[Run]], str]
    jobs: Callable[[argparse.Namespace], Iterable[Job]]
    """What the options ask for, the most important first. What is kept is not made again."""
    strategies: Strategies | None = None
    problems: Mapping[str, Factory] = field(default_factory=lambda: PROBLEMS)

    @property
    def kept(self) -> Path:
        return ROOT / "experiments" / "results" / f"{self.name}.jsonl.xz"

    def kept_page(self) -> str:
        return self.page(read_kept(self.kept))

    def main(self, parser: argparse.ArgumentParser) -> None:
        """Makes what is missing, unless told otherwise, and writes the page."""
        parser.add_argument("--jobs", type=int, default=1, help="runs at the same time")
        parser.add_argument("--page", action="store_true", help="make no runs, write the page")
        parser.add_argument("--add", type=Path, metavar="FILE.jsonl", help="keep these runs")
        parser.add_argument("--as", dest="method", help="of the runs that are added (their own)")
        parser.add_argument("--commit", help="of the code that made the runs (the one here)")
        parser.add_argument("--data", type=Path, help="the directory of the data (../shared/data)")
        options = parser.parse_args()
        if options.data is not None:
            os.environ[DATA_VARIABLE] = str(options.data.absolute())
        if options.add is not None:
            added = read_runs(options.add)
            if options.method is not None:
                added = [replace(r, job=replace(r.job, method=options.method)) for r in added]
            keep(added, self.kept, options.commit or head_commit(ROOT))
        elif not options.page:
            self.run(options)
        (PAGES / f"{self.name}.md").write_text(self.kept_page(), encoding="utf-8")

    def run(self, options: argparse.Namespace) -> None:
        """Makes the runs that are missing."""
        commit = options.commit or head_commit(ROOT)
        done: dict[Job, int] = {}
        for run in read_kept(self.kept):
            same = replace(run.job, n_trials=0)
            done[same] = max(run.job.n_trials, done.get(same, 0))
        missing = [
            job
            for job in self.jobs(options)
            if done.get(replace(job, n_trials=0), 0) < job.n_trials
        ]
        ended: list[Run] = []
        last = time.monotonic()

        def end(run: Run) -> None:
            nonlocal last
            print(run.job, f"{run.seconds:.0f} s", flush=True)
            ended.append(run)
            if time.monotonic() - last > KEEP_EVERY:
                keep(ended, self.kept, commit)
                ended.clear()
                last = time.monotonic()

        stop = signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
        out = ROOT / "results" / f"{self.name}.jsonl"
        out.unlink(missing_ok=True)  # what an earlier call has left is kept, or of other code
        try:
            for job, error in run_all(
                missing, out, options.jobs, end, self.problems, self.strategies
            ):
                print(f"failed: {job}: {error!r}", flush=True)
        finally:  # what has ended is kept, also when the script is stopped
            signal.signal(signal.SIGTERM, stop)
            keep(ended, self.kept, commit)


@dataclass(frozen=True)
class KeptSeeds:
    """An experiment that measures something for each seed; kept in results/NAME.json."""

    name: str
    measure: Callable[[int], dict[str, Any]]
    page: Callable[[list[dict[str, Any]]], str]
    seeds: int = 50

    @property
    def kept(self) -> Path:
        return ROOT / "experiments" / "results" / f"{self.name}.json"

    def read(self) -> dict[str, dict[str, Any]]:
        """By seed, with the commit and the version of NumPy."""
        if not self.kept.exists():
            return {}
        return dict(json.loads(self.kept.read_text(encoding="utf-8")))

    def kept_page(self) -> str:
        runs = list(self.read().values())
        commits, versions = (
            ", ".join(sorted({run[key] for run in runs})) for key in ("commit", "numpy")
        )
        return f"{self.page(runs)}\nCommits: {commits}. NumPy {versions}.\n"

    def main(self, doc: str | None) -> None:
        """Measures the seeds that are missing, unless told otherwise, and writes the page."""
        parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
        parser.add_argument("--seeds", type=int, default=self.seeds)
        parser.add_argument("--page", action="store_true", help="write the page from what is kept")
        options = parser.parse_args()
        kept = self.read()
        for seed in range(0 if options.page else options.seeds):
            if str(seed) not in kept:
                made = {"commit": head_commit(ROOT), "numpy": np.__version__}
                kept[str(seed)] = self.measure(seed) | made
                self.kept.write_text(json.dumps(kept, indent=0) + "\n", encoding="utf-8")
        (PAGES / f"{self.name}.md").write_text(self.kept_page(), encoding="utf-8")


DESIGNED = " from a design"  # of methods without first trials at the middle of every range


def named_alike(runs: Iterable[Run]) -> list[Run]:
    """For pictures: a method that begins with a design under its own name."""
    return [
        replace(run, job=replace(run.job, method=run.job.method.removesuffix(DESIGNED)))
        for run in runs
    ]


def longest(runs: Iterable[Run]) -> list[Run]:
    """The longest run of each problem, method and seed: its beginning is the shorter one."""
    found: dict[tuple[str, str, int], Run] = {}
    for run in sorted(runs, key=lambda run: run.job.n_trials):
        found[run.job.problem, run.job.method, run.job.seed] = run
    return sorted(found.values(), key=lambda r: (r.job.problem, r.job.method, r.job.seed))


def every_seed(n_trials: Mapping[str, int]) -> Callable[[argparse.Namespace], Iterable[Job]]:
    """Jobs of the options of `seeded`. Seeds outermost: an interrupted table is a fair one."""

    def jobs(options: argparse.Namespace) -> Iterable[Job]:
        for seed in range(options.first_seed, options.seeds):
            for problem in options.problems:
                for method in options.methods:
                    yield Job(method, problem, seed, n_trials[problem])

    return jobs


def seeded(
    doc: str | None, seeds: range, problems: Iterable[str], methods: Iterable[str]
) -> argparse.ArgumentParser:
    """Options for seeds, problems and methods, with these defaults."""
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=seeds.stop)
    parser.add_argument("--first-seed", type=int, default=seeds.start)
    parser.add_argument("--problems", type=listed, default=tuple(problems))
    parser.add_argument("--methods", type=listed, default=tuple(methods))
    return parser


def listed(text: str) -> tuple[str, ...]:
    """An option that is a list of names."""
    return tuple(text.split(","))
