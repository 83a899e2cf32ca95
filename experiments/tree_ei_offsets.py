"""Would the default of `tree-ei` gain from what its paper has for offsets and shared values?

Eq. 1 of the 2017 paper has scalar offsets b_p by maximum likelihood and shared values as they are;
our default shrinks the offsets and has Fourier features of the shared values. Writes
docs/results/tree-ei-offsets.md; runs are kept in results/tree-ei-offsets.jsonl.xz.

    python experiments/tree_ei_offsets.py [--seeds 15] [--problems a,b] [--methods a,b]
    python experiments/tree_ei_offsets.py --page    writes the page from the runs that are kept
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from kept_script import KeptScript, listed, longest
from scipy.stats import wilcoxon

from bosquet.benchmarks import summary
from bosquet.benchmarks.harness import Job, Run
from bosquet.strategies import Strategy, TreeEI

METHODS: dict[str, Strategy] = {
    "default": TreeEI(),
    "scalar": TreeEI(offsets="scalar"),
    "scalar, raw": TreeEI(offsets="scalar", features="raw"),
}
PROBLEMS = ("small-shared-shifted", "large-shared-shifted", "small-shifted", "small-shared")
N_TRIALS = 40
AFTER = (15, 20, 30, 40)
WANTED = 15
SHORT = f"""\
**Still short**: fewer than {WANTED} seeds of some rows, which decide nothing.

"""

HEAD = """\
# Offsets of `tree-ei`

Written by `experiments/tree_ei_offsets.py` from the runs in
`experiments/results/tree-ei-offsets.jsonl.xz`. "default" is `TreeEI()`, whose offsets are normal
around a common value and whose shared variables have Fourier features; "scalar" has the paper's
offsets by maximum likelihood and all else as the default; "scalar, raw" has the paper's shared
values as they are too. The same seeds for each.

log10 distance to the minimum: median, worst seed; then on how many seeds the variant is ahead of
the default and behind it, and the p-value of the two-sided Wilcoxon signed-rank test.

"""


def jobs(options: argparse.Namespace) -> Iterable[Job]:
    for seed in range(options.first_seed, options.seeds):
        for problem in options.problems:
            for method in options.methods:
                yield Job(method, problem, seed, N_TRIALS)


def page(runs: Sequence[Run]) -> str:
    grouped = summary.by_problem(longest(runs))
    fewest = min((len(s) for methods in grouped.values() for s in methods.values()), default=0)
    text = HEAD + (SHORT if fewest < WANTED else "")
    for problem in PROBLEMS:
        if problem in grouped:
            text += f"## {problem}\n\n{table(grouped[problem])}\n"
    return text + f"{len(runs)} runs. Versions: {summary.versions_text(runs)}.\n"


def table(by_method: Mapping[str, Sequence[Run]]) -> str:
    curves = {m: {r.job.seed: summary.best_so_far(r) for r in s} for m, s in by_method.items()}
    header = ["", "seeds", *(f"after {n}" for n in AFTER), "ms per ask"]
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for method in METHODS:
        if method in curves:
            cells = [cell(curves[method], curves.get("default", {}), n) for n in AFTER]
            ask = 1e3 * np.median([np.mean(run.ask_seconds[-10:]) for run in by_method[method]])
            row = [method, str(len(curves[method])), *cells, f"{ask:.0f}"]
            lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines) + "\n"


def cell(curves: Mapping[int, np.ndarray], default: Mapping[int, np.ndarray], n: int) -> str:
    ends = [curve[n - 1] for curve in curves.values()]
    text = f"{np.median(ends):.2f}, {max(ends):.2f}"
    gaps = np.array([curves[s][n - 1] - default[s][n - 1] for s in curves.keys() & default.keys()])
    if not np.any(gaps):
        return text
    ahead, behind = np.sum(gaps < 0), np.sum(gaps > 0)
    return f"{text}; {ahead} : {behind} (p = {wilcoxon(gaps).pvalue:.2f})"


SCRIPT = KeptScript("tree-ei-offsets", page, jobs, METHODS)
kept_page = SCRIPT.kept_page


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=WANTED)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--problems", type=listed, default=PROBLEMS)
    parser.add_argument("--methods", type=listed, default=tuple(METHODS))
    SCRIPT.main(parser)


if __name__ == "__main__":
    main()
