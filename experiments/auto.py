"""The default strategy beside the one it replaces, on the synthetic problems.

Writes docs/results/auto.md. Runs are kept in experiments/results/auto.jsonl.xz; what is there is
not made again. The default it replaces cannot be run from here: its runs were made with `bosquet
bench` at the commit that the page names, and added by ``--add``.

    python experiments/auto.py [--seeds 20] [--flat-seeds 6] [--jobs 2]
    python experiments/auto.py --page    writes the page from the runs that are kept
    python experiments/auto.py --add FILE.jsonl --commit HASH [--as before]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

import numpy as np
from kept_script import KeptScript

from bosquet.benchmarks import GROUPS, summary
from bosquet.benchmarks.harness import Job, Run

METHODS = ("auto", "before")
TREES, TREE_TRIALS = tuple(GROUPS["shifted"]), 40
FLAT, FLAT_TRIALS = (*GROUPS["flat"], *GROUPS["additive"]), 60
CHOSEN_ON = 12  # seeds of the trees that defaults were chosen on, the first ones

HEAD = """\
# The default on synthetic problems

Written by `experiments/auto.py` from the runs in `experiments/results/auto.jsonl.xz`. `before` is
the default that it replaces: two beliefs averaged from the first model on, and no density of good
places. On real problems: [real.md](real.md). log10 distance to the minimum, median / worst seed. Of
the trees, seeds 0 to 11 were used for choosing and are left out.

"""


def jobs(options: argparse.Namespace) -> Iterable[Job]:
    for seed in range(CHOSEN_ON, CHOSEN_ON + options.seeds):
        yield from (Job("auto", problem, seed, TREE_TRIALS) for problem in TREES)
    for seed in range(options.flat_seeds):
        yield from (Job("auto", problem, seed, FLAT_TRIALS) for problem in FLAT)


def page(runs: Sequence[Run]) -> str:
    trees = [r for r in runs if r.job.problem in TREES and r.job.seed >= CHOSEN_ON]
    flat = [r for r in runs if r.job.problem in FLAT]
    text = HEAD + "## Trees\n\n" + alone(trees, (10, 20, 40))
    text += "\nOn the seeds that both have run:\n\n" + table(trees, TREES, (10, 20, 40))
    if flat:
        text += "\n## Without conditions\n\n" + table(flat, FLAT, (20, 40, 60))
    made = trees + flat
    return text + f"\n{len(made)} runs. Versions: {summary.versions_text(made)}.\n"


def alone(runs: Sequence[Run], budgets: Sequence[int]) -> str:
    """All seeds of the default."""
    lines = [f"| auto | seeds | {' | '.join(f'after {b}' for b in budgets)} |"]
    lines.append("|---" * (2 + len(budgets)) + "|")
    for problem, methods in summary.by_problem(runs).items():
        best = np.array([summary.best_so_far(run) for run in methods["auto"]])
        cells = []
        for budget in budgets:
            low, middle, high, worst = np.quantile(best[:, budget - 1], (0.25, 0.5, 0.75, 1.0))
            cells.append(f"{middle:.2f} ({low:.2f}, {high:.2f}) {worst:.2f}")
        lines.append(f"| {problem} | {len(best)} | {' | '.join(cells)} |")
    return "Median (quartiles) worst seed.\n\n" + "\n".join(lines) + "\n"


def table(runs: Sequence[Run], problems: Sequence[str], budgets: Sequence[int]) -> str:
    """A line for each problem; seeds are those that both have run."""
    cells = [f"{method} @{after}" for after in budgets for method in METHODS]
    lines = [f"| problem | seeds | {' | '.join(cells)} |", "|---" * (2 + len(cells)) + "|"]
    asks: dict[str, list[float]] = {method: [] for method in METHODS}
    grouped = summary.by_problem(runs)
    for problem in problems:
        by_method = {method: grouped[problem].get(method, []) for method in METHODS}
        common = set.intersection(*({run.job.seed for run in s} for s in by_method.values()))
        if not common:
            continue
        same = {m: [run for run in s if run.job.seed in common] for m, s in by_method.items()}
        scores = [
            [summary.best_so_far(run)[after - 1] for run in same[method]]
            for after in budgets
            for method in METHODS
        ]
        texts = [f"{np.median(one):.2f} / {max(one):.2f}" for one in scores]
        lines.append(f"| {problem} | {len(common)} | {' | '.join(texts)} |")
        for method in METHODS:
            asks[method] += [s for run in same[method] for s in run.ask_seconds[-10:]]
    times = ", ".join(f"{m} {1e3 * np.median(t):.0f}" for m, t in asks.items() if t)
    return "\n".join(lines) + f"\n\nCPU milliseconds of the last ten asks, median: {times}.\n"


SCRIPT = KeptScript("auto", page, jobs)
kept_page = SCRIPT.kept_page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--flat-seeds", type=int, default=6)
    SCRIPT.main(parser)


if __name__ == "__main__":
    main()
