"""Add-Tree on the tree problems: our default, the paper's algorithm, and peers in one run.

Writes docs/add-tree.md and docs/add-tree.png; runs are kept in results/add-tree.jsonl.

    python experiments/add_tree.py [--seeds 20] [--jobs 2] [--problems small-shared,...]
"""

from __future__ import annotations

import argparse
from pathlib import Path

from bosquet.benchmarks import summary
from bosquet.benchmarks.harness import Job, read_runs, run_all

ROOT = Path(__file__).parent.parent
METHODS = ("add-tree", "add-tree.paper", "optuna-tpe", "optuna-tpe-group", "sobol")
PROBLEMS = (
    "small-shared",
    "small-shared-shifted",
    "large-shared-shifted",
    "interaction-shifted",
    "unbalanced-8-shifted",
    "and-or-3",
    "mixed",
    "branin",
    "hartmann6",
    "pipeline-breast_cancer",
    "pipeline-diabetes",
)
N_TRIALS = 40
BUDGETS = (20, 40)
STUCK = -1.5  # log10 distance above which a run sits in a wrong branch or basin

HEAD = """\
# Add-Tree, measured

Written by `experiments/add_tree.py`: {seeds} seeds, {n} evaluations each. "Stuck" counts the seeds
that are still above 10^{stuck} from the minimum at the end.

"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--methods", default=",".join(METHODS))
    options = parser.parse_args()
    jobs = [
        Job(method, problem, seed, N_TRIALS)
        for seed in range(options.seeds)
        for problem in options.problems.split(",")
        for method in options.methods.split(",")
    ]
    out = ROOT / "results" / "add-tree.jsonl"
    for job, error in run_all(jobs, out, options.jobs, lambda run: print(run.job, flush=True)):
        print(f"failed: {job}: {error!r}", flush=True)
    order = {job: i for i, job in enumerate(jobs)}
    runs = sorted((r for r in read_runs(out) if r.job in order), key=lambda r: order[r.job])
    lines = ["| problem | " + " | ".join(METHODS) + " |", "|---" * (len(METHODS) + 1) + "|"]
    for problem, by_method in summary.by_problem(runs).items():
        if any(run.minimum is None for same in by_method.values() for run in same):
            continue
        counts = []
        for method in METHODS:
            last = [summary.best_so_far(run)[-1] for run in by_method.get(method, [])]
            counts.append(f"{sum(value > STUCK for value in last)} of {len(last)}")
        lines.append(f"| {problem} | " + " | ".join(counts) + " |")
    ranks = sorted(summary.average_ranks(runs, N_TRIALS).items(), key=lambda item: item[1])
    head = HEAD.format(seeds=options.seeds, n=N_TRIALS, stuck=STUCK)
    head += f"Average rank of the median after {N_TRIALS}: "
    head += ", ".join(f"{method} {rank:.2f}" for method, rank in ranks) + ".\n\n"
    text = head + "![medians with quartile bands](add-tree.png)\n\n## Stuck seeds\n\n"
    text += "\n".join(lines) + "\n\n## Distances\n\n" + summary.markdown(runs, BUDGETS)
    (ROOT / "docs" / "add-tree.md").write_text(text, encoding="utf-8")
    summary.plot(runs, ROOT / "docs" / "add-tree.png")


if __name__ == "__main__":
    main()
