"""The default strategy beside those it chooses from, and Optuna's TPE on the real pipelines.

Runs are kept in results/auto.jsonl; --report makes none and writes what is there. Writes
docs/auto.md.

    python experiments/auto.py [--seeds 10] [--real-seeds 5] [--flat-seeds 10] [--jobs 2]
        [--only trees,real,flat] [--report]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bosquet.benchmarks import GROUPS, summary
from bosquet.benchmarks.bench import make_runs
from bosquet.benchmarks.harness import Job, Run, read_runs

ROOT = Path(__file__).parent.parent
OUT = ROOT / "results" / "auto.jsonl"
METHODS = ("auto", "add-tree", "arc")
TREES = (*GROUPS["shifted"], *GROUPS["trees"])
REAL = tuple(GROUPS["real"])
FLAT_METHODS = ("add-tree", "additive")
FLAT = (
    "star-10",
    "lattice-3",
    "rosenbrock-10-shifted",
    "ackley-10-shifted",
    "levy-10-shifted",
)

HEAD = """\
# The default, measured

Written by `experiments/auto.py`: `auto` beside `add-tree` and `arc`, the two it chooses from by
evidence, on the same seeds. Trees: log10 distance to the minimum, median and worst seed.

"""

FLAT_HEAD = """\
Nine or ten variables: `additive`, which learns groups and is what `auto` then uses, beside
`add-tree`, which is then one GP over all variables. The first three problems are sums of functions
of two variables.

"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--real-seeds", type=int, default=5)
    parser.add_argument("--flat-seeds", type=int, default=10)
    parser.add_argument("--only", default="trees,real,flat", help="which runs to make")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--report", action="store_true", help="make no runs, only write the page")
    options = parser.parse_args()
    trees = [
        Job(method, problem, seed, 40)
        for seed in range(options.seeds)
        for problem in TREES
        for method in METHODS
    ]
    real = [
        Job(method, problem, seed, 30)
        for seed in range(options.real_seeds)
        for problem in REAL
        for method in (*METHODS, "optuna-tpe")
    ]
    flat = [
        Job(method, problem, seed, 60)
        for seed in range(options.flat_seeds)
        for problem in FLAT
        for method in FLAT_METHODS
    ]
    parts = {"trees": trees, "real": real, "flat": flat}
    if not options.report:
        make_runs([job for p in options.only.split(",") for job in parts[p]], OUT, options.jobs)
    found = {run.job: run for run in read_runs(OUT)}
    on_trees = [found[job] for job in trees if job in found]
    on_real = [found[job] for job in real if job in found]
    text = HEAD + table(on_trees)
    if on_real:
        text += "\n## Real pipelines\n\n" + summary.markdown(on_real, (15, 30))
    on_flat = [found[job] for job in flat if job in found]
    if on_flat:
        text += "\n## Without conditions\n\n" + FLAT_HEAD + summary.markdown(on_flat, (20, 40, 60))
    runs = on_trees + on_real + on_flat
    text += f"\n{len(runs)} runs. Versions: {summary.versions_text(runs)}.\n"
    (ROOT / "docs" / "auto.md").write_text(text, encoding="utf-8")


def table(runs: Sequence[Run]) -> str:
    lines = ["| problem | seeds | " + " | ".join(f"{m} @20" for m in METHODS) + " | "]
    lines[0] += " | ".join(f"{m} @40" for m in METHODS) + " |"
    lines.append("|---" * 8 + "|")
    asks = {method: [] for method in METHODS}  # type: dict[str, list[float]]
    for problem, by_method in summary.by_problem(runs).items():
        common = set.intersection(*({run.job.seed for run in s} for s in by_method.values()))
        cells = []
        for after in (20, 40):
            for method in METHODS:
                same = [run for run in by_method[method] if run.job.seed in common]
                scores = [summary.best_so_far(run)[after - 1] for run in same]
                cells.append(f"{np.median(scores):.2f} / {max(scores):.2f}")
        for method in METHODS:
            asks[method] += [s for run in by_method[method] for s in run.ask_seconds[-10:]]
        lines.append(f"| {problem} | {len(common)} | {' | '.join(cells)} |")
    times = ", ".join(f"{method} {1e3 * np.median(times):.0f}" for method, times in asks.items())
    return "\n".join(lines) + f"\n\nCPU milliseconds of an ask after 30 to 40: {times}.\n"


if __name__ == "__main__":
    main()
