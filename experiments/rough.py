"""Rough functions, which a model takes for noise: is any seed left on the plateau after 150 trials?

Ackley's function in ten dimensions and Lunar Lander (needs 'bosquet[lander]'), without conditions.
Writes docs/results/rough.md; runs are kept in results/rough.jsonl.xz.

    python experiments/rough.py [--seeds 110] [--first-seed 100] [--problems a,b] [--methods a,b]
    python experiments/rough.py --page    writes the page from the runs that are kept

Methods whose name ends in "before" are of commit a9c84c1: make their runs there, and add them with
--add FILE.jsonl --as "boing before" --commit a9c84c1.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

from kept_script import KeptScript, listed, longest
from lander import lunar

from bosquet.benchmarks import PROBLEMS, summary
from bosquet.benchmarks.harness import Job, Run

METHODS = ("boing", "boing+", "turbo", "auto")
N_TRIALS = {"ackley-10-shifted": 150, "lunar": 150}
AFTER = (50, 100, 150)

HEAD = """\
# Rough functions

Written by `experiments/rough.py` from the runs in `experiments/results/rough.jsonl.xz`.

"""
NOTES = """\
## What it shows
"""


def jobs(options: argparse.Namespace) -> Iterable[Job]:
    """Seeds outermost, so that an interrupted table is a fair one."""
    for seed in range(options.first_seed, options.seeds):
        for problem in options.problems:
            for method in options.methods:
                yield Job(method, problem, seed, N_TRIALS[problem])


def page(runs: Sequence[Run]) -> str:
    return f"{HEAD}{NOTES}\n{summary.markdown(longest(runs), AFTER)}"


SCRIPT = KeptScript("rough", page, jobs, problems={**PROBLEMS, "lunar": lunar})
kept_page = SCRIPT.kept_page


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=110)
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument("--problems", type=listed, default=tuple(N_TRIALS))
    parser.add_argument("--methods", type=listed, default=METHODS)
    SCRIPT.main(parser)


if __name__ == "__main__":
    main()
