"""What the next ask is worth: proposals from the trials of others, evaluated for real.

Writes docs/results/one-step.md from experiments/results/one-step.json. Whole runs differ by luck:
hundreds of them tell two versions apart. Here every version is given the same trials, the first n
of three runs of TPE on each problem of the development half of the real suite, proposes one
configuration, and that is evaluated. It says nothing about what a trial teaches for later ones.

    python experiments/one_step.py NAME [--strategy arc] [--data DIR]    adds a version under a name
    python experiments/one_step.py --page    writes the page from what is kept
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bosquet.benchmarks import GROUPS, PROBLEMS
from bosquet.benchmarks.kept import head_commit
from bosquet.benchmarks.suite import DATA_VARIABLE
from bosquet.data import History, Trial
from bosquet.strategies import Strategy, get
from bosquet.strategies.base import Task, propose

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "experiments" / "results" / "one-step.json"
TRIALS = (9, 11, 13, 16, 20, 24, 30, 40)
EARLY = 16  # trials up to which an ask counts as an early one
_EVERY = 6  # trial numbers of which no version explores

HEAD = """\
# What the next ask is worth

Written by `experiments/one_step.py` from what is kept in `experiments/results/one-step.json`. Each
version is given the first n trials of a run of TPE, n = {trials}, on each of {problems} problems of
the development half of the real suite (three runs each, {asks} asks), and proposes one
configuration, which is evaluated. In the table, for asks with up to {early} trials, with more, and
for all: *beaten*, the share of some 300 known configurations of the problem that are better than
what is proposed (0 is best); *better*, how often it is better than the best trial so far; *gain*,
by how much, as a share of the way from the median of the known ones to the best of them. A share of
{asks} asks is known to about 0.02.

"""


def asked(strategy: Strategy, problem: str, evaluated: Mapping[str, Any]) -> list[list[float]]:
    """For every ask: n, beaten, better, gain."""
    made = PROBLEMS[problem](0)
    known = np.sort([value for run in evaluated.values() for _, value in run])
    rows = []
    for name, run in evaluated.items():
        for n in TRIALS if name != "random" else ():
            trials = [Trial(i, c, state="complete", value=v) for i, (c, v) in enumerate(run[:n])]
            number = n - n % _EVERY + _EVERY
            task = Task(made.space, History(made.space, trials), index=number)
            (proposal,) = propose(strategy, task, 1, np.random.default_rng([int(name[-1]), n]))
            value, best = made(proposal.config), min(v for _, v in run[:n])
            beaten = float(np.searchsorted(known, value)) / len(known)
            gain = max(best - value, 0.0) / (np.median(known) - known[0])
            rows.append([n, round(beaten, 4), float(value < best), round(float(gain), 5)])
    return rows


def table(kept: Mapping[str, Any]) -> str:
    header = ["version", "commit", f"up to {EARLY} trials", "more", "all"]
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for name, version in kept.items():
        rows = np.array([row for rows in version["asks"].values() for row in rows])
        early = rows[:, 0] <= EARLY
        cells = [
            "{1:.3f}, {2:.3f}, {3:.4f}".format(*part.mean(axis=0))
            for part in (rows[early], rows[~early], rows)
        ]
        lines.append(f"| {name} | {version['commit']} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def by_family(kept: Mapping[str, Any]) -> str:
    """Beaten and better, for each family of problems."""
    families = sorted({name.split("-")[0] for name in next(iter(kept.values()))["asks"]})
    lines = ["| version | " + " | ".join(families) + " |", "|---" * (len(families) + 1) + "|"]
    for name, version in kept.items():
        cells = []
        for family in families:
            of = [r for p, rows in version["asks"].items() if p.startswith(family) for r in rows]
            cells.append("{1:.3f}, {2:.2f}".format(*np.mean(of, axis=0)))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def kept_page() -> str:
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    asks = next(iter(kept.values()))["asks"]
    head = HEAD.format(
        trials=", ".join(map(str, TRIALS)),
        problems=len(asks),
        asks=sum(map(len, asks.values())),
        early=EARLY,
    )
    cells = "*beaten*, *better*, *gain*:\n\n"
    return f"{head}{cells}{table(kept)}\nBy family, *beaten*, *better*:\n\n{by_family(kept)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="?", help="of the version")
    parser.add_argument("--strategy", default="auto")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--commit", default="", help="of the code that is measured")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    if options.name and not options.page:
        from models import all_evaluated

        if options.data is not None:
            os.environ[DATA_VARIABLE] = str(options.data.absolute())
        problems = all_evaluated(GROUPS["real-develop"])
        strategy = get(options.strategy)
        asks = {name: asked(strategy, name, runs) for name, runs in problems.items()}
        kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
        kept[options.name] = {"commit": options.commit or head_commit(ROOT), "asks": asks}
        KEPT.write_text(json.dumps(kept, separators=(",", ":")) + "\n", encoding="utf-8")
    (ROOT / "docs" / "results" / "one-step.md").write_text(kept_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
