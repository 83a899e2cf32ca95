"""The default and other libraries on the synthetic trees, on the same seeds.

Writes docs/results/peers.md and docs/results/peers.png. Runs are kept in results/peers.jsonl.xz, so
seeds add up over days and machines. Peers need: pip install 'bosquet[peers]'

    python experiments/peers.py [--seeds 32] [--problems a,b] [--methods a,b] [--jobs 1]
    python experiments/peers.py --page    writes the page from the runs that are kept
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from auto import CHOSEN_ON
from kept_script import PAGES, KeptScript, every_seed, seeded
from paper_trees import p_value

from bosquet.benchmarks import GROUPS, summary
from bosquet.benchmarks.harness import Run
from bosquet.benchmarks.kept import read_kept

PEERS = ("optuna-tpe", "optuna-tpe-group", "hyperopt-tpe", "smac", "random")
METHODS = ("auto", *PEERS)
PROBLEMS = tuple(GROUPS["shifted"])
SEEDS = range(CHOSEN_ON, CHOSEN_ON + 20)
N_TRIALS = dict.fromkeys(PROBLEMS, 60)
BUDGETS = (20, 40, 60)

HEAD = """\
# What the peers reach

Written by `experiments/peers.py` from the runs in `experiments/results/peers.jsonl.xz`. Every
method evaluates 60 configurations of each problem, each peer through its own idiom for conditions.
Problems differ from seed to seed, and seeds are the same for all; `auto` was chosen on others.

![medians with quartile bands](peers.png)

## Average rank of the median

{ranks}

## `auto` against the best of the others

The best is the one with the lowest median after so many evaluations. In brackets: on how many seeds
`auto` is ahead, and the one-sided Wilcoxon signed-rank test of that, of pairs of seeds. Then the
worst seed of `auto`, and the best worst seed of the others.

{against}

"""


def page(kept: Sequence[Run]) -> str:
    runs = comparable(kept)
    return HEAD.format(ranks=ranks(runs), against=against(runs)) + summary.markdown(runs, BUDGETS)


def comparable(kept: Sequence[Run]) -> list[Run]:
    """The runs of the problems and seeds that every method has made, in the order of the page."""
    by = {(run.job.problem, run.job.method, run.job.seed): run for run in kept}
    chosen = []
    for problem in PROBLEMS:
        of_methods = [{s for p, m, s in by if (p, m) == (problem, method)} for method in METHODS]
        for method in METHODS:
            chosen += [by[problem, method, s] for s in sorted(set.intersection(*of_methods))]
    return chosen


def ranks(runs: Sequence[Run]) -> str:
    found = {budget: summary.average_ranks(runs, budget) for budget in BUDGETS}
    rows = [[m, *(f"{found[b][m]:.2f}" for b in BUDGETS)] for m in found[BUDGETS[0]]]
    return table(["method", *(f"after {b}" for b in BUDGETS)], rows)


def against(runs: Sequence[Run]) -> str:
    rows = []
    for problem, by_method in summary.by_problem(runs).items():
        curves = {m: np.array([summary.best_so_far(r) for r in s]) for m, s in by_method.items()}
        cells = []
        for after in BUDGETS:
            ours, *theirs = (curves[method][:, after - 1] for method in METHODS)
            best = min(range(len(PEERS)), key=lambda i: float(np.median(theirs[i])))
            gap = ours - theirs[best]
            p = p_value(gap)
            cells.append(
                f"{np.median(ours):.2f}, {np.median(theirs[best]):.2f} by {PEERS[best]} "
                f"({np.sum(gap < 0)} of {len(gap)}, p {p if '<' in p else f'= {p}'}); "
                f"{ours.max():.2f}, {min(one.max() for one in theirs):.2f}"
            )
        rows.append([problem, *cells])
    return table(["problem", *(f"after {b}" for b in BUDGETS)], rows)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


SCRIPT = KeptScript("peers", page, every_seed(N_TRIALS))
kept_page = SCRIPT.kept_page


def main() -> None:
    SCRIPT.main(seeded(__doc__, SEEDS, PROBLEMS, METHODS))
    summary.plot(comparable(read_kept(SCRIPT.kept)), PAGES / "peers.png")


if __name__ == "__main__":
    main()
