"""Both tree papers on the same seeds: Figure 2 of 2017; Figure 3 and Table 1 (synthetic) of 2020.

The published methods, baselines without anything of ours but the fit and the search, and peers. Our
defaults are not here. Writes docs/results/paper-trees.md; runs are kept in
results/paper-trees.jsonl.xz. Peers need: pip install 'bosquet[peers]'

    python experiments/paper_trees.py [--seeds 10] [--problems a,b] [--methods a,b] [--jobs 1]
    python experiments/paper_trees.py --page    writes the page from the runs that are kept
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from kept_script import KeptScript, listed, longest
from scipy.stats import wilcoxon

from bosquet.arrays import Array
from bosquet.benchmarks import summary
from bosquet.benchmarks.harness import Job, Run
from bosquet.strategies import Arc, FlatGP, Independent, Marginal, Strategy, TreeEI

# As `tree-ei.paper` has it: no exploration, transforms, good places or defaults (the middle of a
# range, which is the minimum of a leaf of the paper's functions) as first trials.
PLAIN: dict[str, Any] = {
    "kernel": "matern52",
    "transforms": False,
    "explore_every": None,
    "defaults_first": False,
    "near_good": False,
    "incumbent": "observed",
}
BASELINES: dict[str, Strategy] = {
    "plain independent": Independent(**PLAIN),
    "plain marginal": Marginal(**PLAIN),
    "plain arc": Arc(**PLAIN),
    "plain flat-gp": FlatGP(**PLAIN),
}
# The `tree` of the Add-Tree paper has a squared exponential; and section 3 of 2017 may be read so
# that Eq. 6 is looked at in Sobol points, not maximised.
READINGS: dict[str, Strategy] = {
    "tree-ei.paper with SE": replace(TreeEI.paper(), kernel="se"),
    "tree-ei.paper with anchors": replace(TreeEI.paper(), anchors=200),
}
PUBLISHED = ("tree-ei.paper", "add-tree.paper", "add-tree.released")
OTHERS = ("smac", "hyperopt-tpe", "optuna-tpe", "random")
METHODS = (*PUBLISHED, *READINGS, *BASELINES, *OTHERS)
FIGURE_2 = ("small-shared", "large-shared", "small", "large")
SHIFTED = ("small-shared-shifted", "large-shared-shifted", "small-shifted")
UNBALANCED = ("unbalanced-4", "unbalanced-8-shifted")
N_TRIALS = {"small-shared": 80, "large-shared": 60, "small": 40, "large": 60}
N_TRIALS |= dict.fromkeys((*SHIFTED, *UNBALANCED), 40)
ADD_TREE_ON = ("small-shared", *SHIFTED)  # Figure 3, and what the 2020 paper does not have
READ_ON = ("small-shared", "large-shared")
UNSHARED = ("small", "large", "small-shifted", *UNBALANCED)  # where `marginal` can work
BUDGETS = (20, 40, 60, 80)
FOUND = -2.0  # log10 distance below which a run counts as having found the minimum
TABLE_1 = {  # of 2020, synthetic function: p-values of Add-Tree after 40, 60 and 80 against
    "smac": "0.003, 0.003, 0.003",
    "hyperopt-tpe": "0.030, 0.003, 0.003",
    "random": "0.005, 0.003, 0.003",
    "tree-ei.paper": "0.018, 0.003, 0.003",
    "tree-ei.paper with SE": "the same",
    "plain flat-gp": "0.003, 0.003, 0.003 (gpyopt)",
}

HEAD = """\
# The tree papers' functions

Written by `experiments/paper_trees.py` from the runs in `experiments/results/paper-trees.jsonl.xz`:
Figure 2 of the 2017 paper (`small-shared`, `large-shared`, `small`, `large`) and, on
`small-shared`, Figure 3 and Table 1 of the Add-Tree paper; then shifted and unbalanced trees, which
are not the papers'. Our defaults are not on this page. `tree-ei.paper` is Eq. 1 of 2017,
`add-tree.paper` Algorithm 2 of 2020, `add-tree.released` what its authors' code runs. The `tree` of
the Add-Tree paper has a squared exponential; with "anchors" Eq. 6 of 2017 is looked at in Sobol
points instead of at its maximum ([why](../strategies/tree-ei.md)).

"plain" are the baselines of this package with Matern-5/2 and none of what its defaults add:
exploration, transforms, and first trials at the middle of every range, which is the minimum of a
leaf on the papers' own functions. What is left of ours are priors of the hyper-parameters, the
search, and 4 to 12 space-filling trials first. `gpyopt` and pySMAC were not run: `plain flat-gp`
and SMAC3 stand for them.

log10 distance to the minimum: median (quartiles) worst seed. "found": seeds below 10^{found:g} at
the end of the run.

Figure 2 has its 25 seeds, shifted and unbalanced trees have 20.

"""


def jobs(options: argparse.Namespace) -> Iterable[Job]:
    """Seeds outermost, so that an interrupted table is a fair one."""
    for seed in range(options.first_seed, options.seeds):
        for problem in options.problems:
            for method in options.methods:
                if possible(method, problem):
                    yield Job(method, problem, seed, N_TRIALS[problem])


def possible(method: str, problem: str) -> bool:
    if method.startswith("add-tree"):
        return problem in ADD_TREE_ON
    if method in READINGS:
        return problem in READ_ON
    return method != "plain marginal" or problem in UNSHARED


def page(runs: Sequence[Run]) -> str:
    grouped = summary.by_problem(longest(runs))
    text = HEAD.format(found=FOUND)
    for problem in N_TRIALS:
        if problem in grouped:
            text += f"## {problem}\n\n{table(grouped[problem], N_TRIALS[problem])}\n"
            text += ahead(grouped[problem], N_TRIALS[problem])
    return text + f"{len(runs)} runs. Versions: {summary.versions_text(runs)}.\n"


def table(by_method: Mapping[str, Sequence[Run]], n_trials: int) -> str:
    after = [b for b in BUDGETS if b <= n_trials]
    header = ["method", "seeds", *(f"after {b}" for b in after), "found", "ms per ask"]
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for method in METHODS:
        if method in by_method:
            same = by_method[method]
            curves = np.array([summary.best_so_far(run)[:n_trials] for run in same])
            cells = []
            for budget in after:
                low, mid, high, worst = np.quantile(curves[:, budget - 1], (0.25, 0.5, 0.75, 1))
                cells.append(f"{mid:.2f} ({low:.2f}, {high:.2f}) {worst:.2f}")
            ask = 1e3 * np.median([np.mean(run.ask_seconds[-10:]) for run in same])
            cells += [f"{np.sum(curves[:, -1] < FOUND)}", f"{ask:.0f}"]
            lines.append(f"| {method} | {len(same)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def ahead(by_method: Mapping[str, Sequence[Run]], n_trials: int) -> str:
    """As in Table 1 of 2020: one-sided Wilcoxon signed-rank tests of pairs of seeds."""
    curves = {
        method: {run.job.seed: summary.best_so_far(run)[:n_trials] for run in same}
        for method, same in by_method.items()
    }
    after = [b for b in BUDGETS if b <= n_trials]
    is_table_1 = next(iter(by_method.values()))[0].job.problem == "small-shared"
    text = ""
    for ours in PUBLISHED:
        published = TABLE_1 if is_table_1 and ours.startswith("add-tree") else {}
        header = ["against", "pairs", *(f"after {b}" for b in after)]
        header += ["published, after 40, 60 and 80"] if published else []
        lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
        for other in METHODS:
            seeds = sorted(curves.get(ours, {}).keys() & curves.get(other, {}).keys())
            if other != ours and len(seeds) >= 5:
                gaps = np.array([curves[ours][s] - curves[other][s] for s in seeds])
                cells = [p_value(gaps[:, budget - 1]) for budget in after]
                cells += [published.get(other, "")] if published else []
                lines.append(f"| {other} | {len(seeds)} | {' | '.join(cells)} |")
        if len(lines) > 2:
            text += f"Is `{ours}` ahead? p-values of the one-sided Wilcoxon signed-rank test.\n\n"
            text += "\n".join(lines) + "\n\n"
    return text


def p_value(gaps: Array) -> str:
    if not np.any(gaps):
        return "-"
    p = wilcoxon(gaps, alternative="less").pvalue
    return f"{p:.3f}" if p >= 0.0005 else "< 0.001"


SCRIPT = KeptScript("paper-trees", page, jobs, {**BASELINES, **READINGS})
kept_page = SCRIPT.kept_page


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--problems", type=listed, default=FIGURE_2)
    parser.add_argument("--methods", type=listed, default=METHODS)
    SCRIPT.main(parser)


if __name__ == "__main__":
    main()
