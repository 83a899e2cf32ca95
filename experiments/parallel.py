"""What `add-tree` loses when several trials run at once. Writes docs/results/parallel.md.

Asynchronous runs on a simulated clock with random durations: a worker that is free gets a new trial
at once. Runs are kept in results/parallel.jsonl, so it can be interrupted.

    python experiments/parallel.py [--seeds 20] [--jobs 1] [--out results/parallel.jsonl] [--report]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from bosquet.benchmarks.harness import Job, Run, read_runs, run_all
from bosquet.benchmarks.summary import best_so_far, versions_text

ROOT = Path(__file__).parent.parent
STRATEGY = "add-tree"
PROBLEMS = (
    "small-shared",
    "large-shared",
    "small-shared-shifted",
    "large-shared-shifted",
    "interaction-shifted",
    "unbalanced-4-shifted",
    "and-or-3",
    "mixed",
)
WORKERS = (1, 4, 8)
N_TRIALS = 64
EQUAL = -7.0  # log10 distances below it count as equal, as in add_tree.py

HEAD = """\
# Several workers, measured

Written by `experiments/parallel.py`: `{strategy}` on trees of the groups `trees` and `shifted`,
{n} evaluations. The clock is simulated: durations are lognormal (standard deviation
of the logarithm 1, so that a sixth of the trials take 2.7 times the median or longer), a free
worker gets a new trial at once, and the trials still running are told to the strategy.

log10 distance to the minimum: median (quartiles) worst seed. Distances below 1e-7 count as equal.
"Reached" means that the median of 8 workers after {n} evaluations is at most that of one worker
after {half}; a clock of 8 workers then shows a quarter of the time.

"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "parallel.jsonl")
    parser.add_argument("--report", action="store_true", help="make no runs, only write the page")
    options = parser.parse_args()
    jobs = [
        Job(STRATEGY, problem, seed, N_TRIALS, workers=workers)
        for seed in range(options.seeds)
        for problem in PROBLEMS
        for workers in WORKERS
    ]
    if not options.report:
        for job, error in run_all(jobs, options.out, options.jobs, lambda run: print(run.job)):
            print(f"failed: {job}: {error!r}", flush=True)
    wanted = set(jobs)
    runs = [run for run in read_runs(options.out) if run.job in wanted]
    head = HEAD.format(strategy=STRATEGY, n=N_TRIALS, half=N_TRIALS // 2)
    text = head + table(runs) + f"\n{len(runs)} runs. Versions: {versions_text(runs)}.\n"
    (ROOT / "docs" / "results" / "parallel.md").write_text(text, encoding="utf-8")


def table(runs: list[Run]) -> str:
    half = N_TRIALS // 2
    columns = ((1, half), (1, N_TRIALS), (4, N_TRIALS), (8, N_TRIALS))
    titles = [f"{k} worker{'s' * (k > 1)}, {n}" for k, n in columns]
    lines = [f"| problem | {' | '.join(titles)} | 8 at {N_TRIALS} against 1 at {half} |"]
    lines.append("|---" * (len(columns) + 2) + "|")
    for problem in PROBLEMS:
        found = {column: scores(runs, problem, *column) for column in columns}
        cells = [cell(found[column]) for column in columns]
        reached = np.median(found[8, N_TRIALS]) <= np.median(found[1, half])
        verdict = "reached" if reached else "MISSED"
        lines.append(f"| {problem} | {' | '.join(cells)} | {verdict} |")
    return "\n".join(lines) + "\n"


def scores(runs: list[Run], problem: str, workers: int, after: int) -> list[float]:
    """The log10 distances of all seeds."""
    return [
        max(float(best_so_far(run)[after - 1]), EQUAL)
        for run in runs
        if run.job.problem == problem and run.job.workers == workers
    ]


def cell(values: list[float]) -> str:
    if not values:
        return ""
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
    return f"{median:.2f} ({low:.2f}, {high:.2f}) {max(values):.2f}; {len(values)} seeds"


if __name__ == "__main__":
    main()
