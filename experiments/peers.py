"""What other libraries reach on the tree problems, beside our strategies.

Writes docs/results/peers.md and docs/results/peers.png. Runs are kept in results/peers.jsonl, so it
can be interrupted. SMAC3 is the slow one: it gets fewer seeds.

    python experiments/peers.py [--seeds 10] [--slow-seeds 5] [--jobs 2] [--methods a,b]
"""

from __future__ import annotations

import argparse
from pathlib import Path

from bosquet.benchmarks import GROUPS, summary
from bosquet.benchmarks.harness import Job, Run, read_runs, run_all

ROOT = Path(__file__).parent.parent
METHODS = ("random", "sobol", "optuna-tpe", "optuna-tpe-group", "hyperopt-tpe", "smac")
SLOW = ("smac", "optuna-gp-flat")
N_TRIALS = 60
BUDGETS = (20, 40, 60)

HEAD = """\
# What the peers reach

Written by `experiments/peers.py`. Every method evaluates {n} configurations of each problem, each
peer through its own idiom for conditions; the `shifted` problems differ from seed to seed.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--slow-seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--methods", default=",".join(METHODS))
    options = parser.parse_args()
    methods = options.methods.split(",")
    jobs = [
        Job(method, problem, seed, N_TRIALS)
        for seed in range(options.seeds)
        for problem in (*GROUPS["shifted"], *GROUPS["trees"])
        for method in methods
        if method not in SLOW or seed < options.slow_seeds
    ]
    out = ROOT / "results" / "peers.jsonl"
    for job, error in run_all(jobs, out, options.jobs, lambda run: print(run.job, flush=True)):
        print(f"failed: {job}: {error!r}", flush=True)
    order = {job: i for i, job in enumerate(jobs)}
    runs = sorted((r for r in read_runs(out) if r.job in order), key=lambda r: order[r.job])
    ranks = "\n".join(
        f"| {group} | "
        + ", ".join(
            f"{method} {rank:.2f}"
            for method, rank in sorted(_ranks(runs, group).items(), key=lambda item: item[1])
        )
        + " |"
        for group in ("shifted", "trees")
    )
    text = (
        HEAD.format(n=N_TRIALS)
        + f"\n![medians with quartile bands](peers.png)\n\n| problems | average rank of the median "
        f"after {N_TRIALS} |\n|---|---|\n{ranks}\n\n" + summary.markdown(runs, BUDGETS)
    )
    (ROOT / "docs" / "results" / "peers.md").write_text(text, encoding="utf-8")
    summary.plot(runs, ROOT / "docs" / "results" / "peers.png")


def _ranks(runs: list[Run], group: str) -> dict[str, float]:
    return summary.average_ranks([r for r in runs if r.job.problem in GROUPS[group]], N_TRIALS)


if __name__ == "__main__":
    main()
