"""Compressing FC3 (Add-Tree, section 5.2): Figure 5 and the second half of Table 1.

Writes docs/results/fc3.md. Runs are kept in experiments/results/fc3.jsonl.xz: what is there is not
made again. Peers need: pip install 'bosquet[peers]'

    python experiments/fc3.py [--data DIR] [--seeds 10] [--methods a,b] [--jobs 2]
    python experiments/fc3.py --page    writes the page from the runs that are kept
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from kept_script import KeptScript, listed
from scipy.stats import wilcoxon

from bosquet.arrays import Array
from bosquet.benchmarks import summary
from bosquet.benchmarks.harness import Job, Run

OURS = ("add-tree", "add-tree.paper", "add-tree.released", "auto")
OTHERS = ("tree-ei.paper", "smac", "optuna-tpe", "random")
N_TRIALS = 80
BUDGETS = (20, 40, 60, 80)
PUBLISHED = {  # Table 1, model compression: p-values of add-tree against
    "smac": (0.101, 0.037, 0.166),
    "optuna-tpe": (0.023, 0.018, 0.005),
    "random": (0.101, 0.011, 0.003),
    "tree-ei.paper": (0.014, 0.008, 0.006),
}

HEAD = """\
# Compressing a network

Written by `experiments/fc3.py` from the runs in `experiments/results/fc3.jsonl.xz`: Figure 5 and
Table 1 of the Add-Tree paper, on a network of the same shape (784-1000-1000-10, trained here on
10,000 images; `bosquet.benchmarks.compression` says what else differs). Each of two layers is
compressed by a singular value decomposition, with its rank, or by pruning, with its threshold.
Lower is better. {n} seeds.

"""


def jobs(options: argparse.Namespace) -> Iterable[Job]:
    for seed in range(options.seeds):
        for method in options.methods:
            yield Job(method, "fc3", seed, N_TRIALS)


def page(runs: Sequence[Run]) -> str:
    by_method = {
        method: {
            r.job.seed: np.minimum.accumulate(r.values) for r in runs if r.job.method == method
        }
        for method in (*OURS, *OTHERS)
    }
    made = {method: traces for method, traces in by_method.items() if traces}
    seeds = sorted(set.intersection(*map(set, made.values())))
    best = {method: np.array([traces[s] for s in seeds]) for method, traces in made.items()}
    text = HEAD.format(n=len(seeds)) + curves(best)
    for ours in OURS:
        if ours in best:
            text += f"\n## Is {ours} ahead?\n\n" + p_values(best, ours)
    return text + f"\n{len(runs)} runs. Versions: {summary.versions_text(runs)}.\n"


def curves(best: Mapping[str, Array]) -> str:
    lines = ["| method | " + " | ".join(f"after {b}" for b in BUDGETS) + " |"]
    lines.append("|---" * (1 + len(BUDGETS)) + "|")
    for method, traces in best.items():
        cells = []
        for budget in BUDGETS:
            low, middle, high, worst = np.quantile(traces[:, budget - 1], (0.25, 0.5, 0.75, 1.0))
            cells.append(f"{middle:.4f} ({low:.4f}, {high:.4f}) {worst:.4f}")
        lines.append(f"| {method} | {' | '.join(cells)} |")
    return "Median (quartiles) worst seed.\n\n" + "\n".join(lines) + "\n"


def p_values(best: Mapping[str, Array], ours: str) -> str:
    """As in Table 1: one-sided Wilcoxon signed-rank tests of pairs of seeds."""
    lines = ["| against | " + " | ".join(f"after {b}" for b in BUDGETS[1:]) + " | published |"]
    lines.append("|---" * (1 + len(BUDGETS)) + "|")
    for other in OTHERS:
        if other in best:
            gaps = best[ours] - best[other]
            cells = [_p(gaps[:, budget - 1]) for budget in BUDGETS[1:]]
            published = ", ".join(f"{p:.3f}" for p in PUBLISHED[other])
            lines.append(f"| {other} | {' | '.join(cells)} | {published} |")
    return (
        "p-values of the one-sided Wilcoxon signed-rank test that it is not; published are those\n"
        "of the authors' method after 40, 60 and 80.\n\n" + "\n".join(lines) + "\n"
    )


def _p(gaps: Array) -> str:
    return f"{wilcoxon(gaps, alternative='less').pvalue:.3f}" if np.any(gaps) else "-"


SCRIPT = KeptScript("fc3", page, jobs)
kept_page = SCRIPT.kept_page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--methods", type=listed, default=(*OURS, *OTHERS))
    SCRIPT.main(parser)


if __name__ == "__main__":
    main()
