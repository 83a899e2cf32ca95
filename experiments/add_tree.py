"""Add-Tree beside the paper's version of it and the peers: trees, flat problems, real pipelines.

Peers on the trees are those that peers.py and paper_trees.py have kept, of the same problems and
seeds where both have them. Writes docs/results/add-tree.md and docs/results/add-tree.png; runs are
kept in results/add-tree.jsonl.xz.

    python experiments/add_tree.py [--seeds 20] [--real-seeds 10] [--groups trees,...] [--jobs 1]
    python experiments/add_tree.py --page    writes the page from the runs that are kept
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

import numpy as np
import paper_trees
import peers
from kept_script import DESIGNED, PAGES, KeptScript, listed, longest, named_alike

from bosquet.benchmarks import GROUPS, summary
from bosquet.benchmarks.harness import Job, Run
from bosquet.benchmarks.kept import read_kept
from bosquet.strategies import AddTree

PUBLISHED = ("add-tree.paper", "add-tree.released")
PEERS = ("optuna-tpe", "optuna-tpe-group", "hyperopt-tpe", "smac", "random")
# Where the minimum of a leaf is the middle of every range, our default would begin at it.
FROM_DESIGN = "add-tree" + DESIGNED
MOVED, CENTRED = tuple(GROUPS["shifted"]), tuple(GROUPS["trees"])
TREES = (*MOVED, *CENTRED)
METHODS = {
    "trees": ("add-tree", FROM_DESIGN, *PEERS),
    "published": PUBLISHED,
    "flat": ("add-tree", "optuna-gp-flat", "optuna-tpe"),
    "real": ("add-tree", "optuna-tpe", "smac"),
}
PROBLEMS = {
    "trees": TREES,
    "published": ("small-shared", "small-shared-shifted"),
    "flat": ("branin", "hartmann6", "ackley-10-shifted"),
    "real": ("pipeline-breast_cancer", "pipeline-digits", "pipeline-diabetes"),
}
BUDGETS = {"trees": (20, 40), "published": (20, 40), "flat": (20, 40), "real": (15, 30)}
FRESH = range(500, 520)  # of what is published
SLOW_SEEDS = 5  # of SMAC3 on trees, where nothing is kept elsewhere
STUCK = -1.5  # log10 distance above which a run sits in a wrong branch or basin
EQUAL = -7.0  # log10 distances below it count as equal
# The best line of a survey of peers at 60 evaluations (median of log10 distances).
BEST_AT_60 = {
    "small": -9.8,
    "small-shared": -8.2,
    "large-shared": -6.5,
    "shared-quadratic": -4.7,
    "interaction": -5.3,
    "off-centre": -5.8,
}

HEAD = """\
# Add-Tree, measured

Written by `experiments/add_tree.py` from the runs in `experiments/results/add-tree.jsonl.xz`; peers
on the trees are also those of [peers](peers.md) and [paper-trees](paper-trees.md), on the same
seeds.

![medians with quartile bands](add-tree.png)

"""
VERDICTS = """\
## Trees: ahead or behind after 40 evaluations

log10 distance to the minimum: median / worst seed of `add-tree`, and the best median and the best
worst seed of any peer (TPE, TPE group, Hyperopt, SMAC3, random). Distances below 1e-7 count as
equal. On trees that are not shifted the minimum of a leaf is the middle of every range, where
`add-tree` would begin: there it begins with a space-filling design instead. The last column is the
best line of a survey of peers at *60* evaluations, the published Add-Tree code included, where
there is one.

"""
WHY = """\
## Why Algorithm 2 gets stuck in our runs

Of commit 892b2a5, whose fits had one warm start instead of the paper's several; not kept. The stuck
seeds (0 to 19) of its `add-tree.paper` on `small-shared`. `visits`: trials in the right leaf (x1=0,
x2=0), `lowest`: the best value seen there, `variance`: the fitted one of its own variable (bounded
below by 0.001), `hope`: the lowest mean minus two standard deviations that the model has anywhere
in that leaf, beside the best standardised value seen.

| seed | ended in | visits | lowest | variance | hope | best seen |
|---|---|---|---|---|---|---|
| 0 | x1=0, x2=1 | 2 | 1.47 | 0.001 | 1.50 | -0.47 |
| 2 | x1=1, x3=0 | 2 | 1.12 | 0.001 | 1.20 | -0.51 |
| 4 | x1=1, x3=0 | 1 | 1.29 | 1.361 | -0.79 | -0.39 |
| 6 | x1=1, x3=0 | 1 | 1.42 | 0.468 | 0.79 | -0.43 |
| 7 | x1=1, x3=0 | 1 | 0.95 | 0.001 | 1.63 | -0.45 |
| 8 | x1=0, x2=1 | 1 | 1.48 | 0.005 | 0.95 | -0.52 |
| 9 | x1=1, x3=1 | 1 | 1.47 | 0.001 | 2.82 | -0.38 |
| 11 | x1=0, x2=1 | 1 | 1.01 | 0.001 | -0.11 | -0.41 |
| 12 | x1=1, x3=1 | 1 | 1.19 | 0.001 | 2.24 | -0.51 |
| 15 | x1=0, x2=1 | 1 | 0.65 | 0.101 | -0.71 | -0.48 |
| 17 | x1=1, x3=0 | 1 | 1.11 | 0.461 | 2.25 | -0.54 |
| 19 | x1=0, x2=1 | 1 | 1.08 | 0.001 | -0.50 | -0.44 |

"""
RELEASED = """\
## Algorithm 2 and the authors' code

The code that the authors released does not run Algorithm 2: `add-tree.released` takes a lower
confidence bound of each path's own posterior, with variances fixed at one. Stuck seeds and log10
distances (median, worst) after 40 evaluations on seeds {first} to {last}, which no other table here
has. More seeds and functions: [paper-trees](paper-trees.md).

"""


def jobs(options: argparse.Namespace) -> Iterable[Job]:
    """Seeds outermost, so that an interrupted table is a fair one."""
    kept = {(r.job.method, r.job.problem, r.job.seed) for r in of_peers()}
    for seed in range(max(options.seeds, options.real_seeds)):
        for group in options.groups:
            if seed < (options.real_seeds if group == "real" else options.seeds):
                for problem in PROBLEMS[group]:
                    for method in methods_on(group, problem):
                        own = seeds_of(group, problem)[seed]
                        slow = method == "smac" and group == "trees" and seed >= SLOW_SEEDS
                        if not slow and (method, problem, own) not in kept:
                            yield Job(method, problem, own, max(BUDGETS[group]))


def methods_on(group: str, problem: str) -> list[str]:
    other = "add-tree" if problem in CENTRED else FROM_DESIGN
    return [method for method in METHODS[group] if method != other]


def seeds_of(group: str, problem: str) -> range:
    """Those of the peers' runs that are kept, where there are some."""
    if group == "published":
        return FRESH
    start = peers.SEEDS.start if group == "trees" and problem in peers.PROBLEMS else 0
    return range(start, start + 100)


def of_peers() -> list[Run]:
    """What other scripts have kept of peers on the trees."""
    runs = [*read_kept(peers.SCRIPT.kept), *read_kept(paper_trees.SCRIPT.kept)]
    return [r for r in longest(runs) if r.job.method in PEERS and r.job.problem in TREES]


def page(runs: Sequence[Run]) -> str:
    text = HEAD
    trees = on_trees(runs)
    if trees:
        text += VERDICTS + verdicts(trees) + f"\n\n## Stuck seeds\n\nStill above 10^{STUCK} after "
        text += f"40 evaluations.\n\n{stuck(trees)}\n\n"
    text += WHY + RELEASED.format(first=FRESH[0], last=FRESH[-1]) + published(runs) + "\n\n"
    flat, real = (of_group(runs, group) for group in ("flat", "real"))
    text += "## Flat problems, against a GP\n\n" + summary.markdown(flat, BUDGETS["flat"])
    text += f"\n## Real pipelines\n\nAverage rank of the median after 30: {ranks(real)}.\n\n"
    return text + summary.markdown(real, BUDGETS["real"])


def of_group(runs: Sequence[Run], group: str) -> list[Run]:
    fresh = group == "published"
    return [
        run
        for run in longest(runs)
        if run.job.problem in PROBLEMS[group]
        and run.job.method in methods_on(group, run.job.problem)
        and (run.job.seed in FRESH) == fresh
    ]


def on_trees(runs: Sequence[Run]) -> list[Run]:
    """Ours and the peers', on the seeds of ours."""
    mine = of_group(runs, "trees")
    seeds = {(r.job.problem, r.job.seed) for r in mine if r.job.method.startswith("add-tree")}
    both = [r for r in [*mine, *of_peers()] if (r.job.problem, r.job.seed) in seeds]
    order = {name: i for i, name in enumerate((*TREES, *METHODS["trees"]))}
    return sorted(both, key=lambda r: (order[r.job.problem], order[r.job.method], r.job.seed))


def verdicts(runs: Sequence[Run]) -> str:
    lines = ["| problem | add-tree | best peer median | best peer worst | verdict | best at 60 |"]
    lines.append("|---" * 6 + "|")
    for problem, by_method in summary.by_problem(runs).items():
        medians, worst = {}, {}
        for method, same in by_method.items():
            last = np.maximum([summary.best_so_far(run)[39] for run in same], EQUAL)
            medians[method], worst[method] = float(np.median(last)), float(max(last))
        name = FROM_DESIGN if problem in CENTRED else "add-tree"
        ours = medians.pop(name), worst.pop(name)
        if not medians:
            continue
        best, safest = min(medians, key=medians.__getitem__), min(worst, key=worst.__getitem__)
        verdict = ", ".join(
            f"{what} {'ahead' if mine < theirs else 'level' if mine == theirs else 'BEHIND'}"
            for what, mine, theirs in (
                ("median", ours[0], medians[best]),
                ("worst", ours[1], worst[safest]),
            )
        )
        at_60 = ""
        if problem in BEST_AT_60:
            reached = ours[0] <= max(BEST_AT_60[problem], -6.0)
            at_60 = f"{BEST_AT_60[problem]}: {'reached' if reached else 'NOT reached'}"
        lines.append(
            f"| {problem} | {ours[0]:.2f} / {ours[1]:.2f} | {medians[best]:.2f} {best} | "
            f"{worst[safest]:.2f} {safest} | {verdict} | {at_60} |"
        )
    return "\n".join(lines)


def stuck(runs: Sequence[Run]) -> str:
    """How many seeds of each method end far from the minimum."""
    methods = list(dict.fromkeys(run.job.method for run in runs))
    lines = ["| problem | " + " | ".join(methods) + " |", "|---" * (len(methods) + 1) + "|"]
    for problem, by_method in summary.by_problem(runs).items():
        counts = []
        for method in methods:
            last = [summary.best_so_far(run)[39] for run in by_method.get(method, [])]
            counts.append(f"{sum(value > STUCK for value in last)} of {len(last)}" if last else "")
        lines.append(f"| {problem} | " + " | ".join(counts) + " |")
    return "\n".join(lines)


def published(runs: Sequence[Run]) -> str:
    """Algorithm 2 beside the authors' released code, on seeds of their own."""
    lines = ["| problem | method | stuck | median | worst |", "|---" * 5 + "|"]
    for problem, by_method in summary.by_problem(of_group(runs, "published")).items():
        for method, same in by_method.items():
            last = [summary.best_so_far(run)[39] for run in same]
            lines.append(
                f"| {problem} | {method} | {sum(one > STUCK for one in last)} of {len(last)} | "
                f"{np.median(last):.2f} | {max(last):.2f} |"
            )
    return "\n".join(lines)


def ranks(runs: Sequence[Run]) -> str:
    found = sorted(summary.average_ranks(runs, 30).items(), key=lambda item: item[1])
    return ", ".join(f"{method} {rank:.2f}" for method, rank in found)


SCRIPT = KeptScript("add-tree", page, jobs, {FROM_DESIGN: AddTree(defaults_first=False)})
kept_page = SCRIPT.kept_page


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--real-seeds", type=int, default=10)
    parser.add_argument("--groups", type=listed, default=tuple(METHODS))
    SCRIPT.main(parser)
    summary.plot(named_alike(on_trees(read_kept(SCRIPT.kept))), PAGES / "add-tree.png")


if __name__ == "__main__":
    main()
