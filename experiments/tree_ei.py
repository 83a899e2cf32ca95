"""`tree-ei` on the functions of Figure 2 of its paper, beside baselines and Add-Tree.

Small and large balanced trees, with and without shared variables; and their shifted versions, whose
optima are nowhere special. Also shared variables that enter quadratically (section 4.3), and what
the offsets of our default do to the published search. SMAC3, random search and the published
version on the same seeds are those of paper_trees.py. Writes docs/results/tree-ei.md and
docs/results/tree-ei.png; runs are kept in results/tree-ei.jsonl.xz.

    python experiments/tree_ei.py [--seeds 20] [--problems a,b] [--jobs 1]
    python experiments/tree_ei.py --page    writes the page from the runs that are kept
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import paper_trees
from kept_script import DESIGNED, PAGES, KeptScript, listed, longest, named_alike

from bosquet.arrays import Array
from bosquet.benchmarks import summary
from bosquet.benchmarks.harness import Job, Run
from bosquet.benchmarks.kept import read_kept
from bosquet.strategies import AddTree, Arc, FlatGP, Independent, Marginal, Strategy, TreeEI
from bosquet.strategies.gp_strategy import GPStrategy

OURS: dict[str, type[GPStrategy[Any]]] = {
    "tree-ei": TreeEI,
    "add-tree": AddTree,
    "independent": Independent,
    "marginal": Marginal,
    "arc": Arc,
    "flat-gp": FlatGP,
}
BESIDE = ("smac", "random")  # those of Figure 2 are of paper_trees.py
# The minimum of a leaf of Figure 2 is the middle of every range, where our defaults begin.
FROM_DESIGN = {name + DESIGNED: cls(defaults_first=False) for name, cls in OURS.items()}
SHIFTED = ("small-shifted", "small-shared-shifted", "large-shared-shifted")
FIGURE_2 = ("small", "small-shared", "large", "large-shared")
N_TRIALS = dict.fromkeys(SHIFTED, 40) | dict.fromkeys(FIGURE_2, 60) | {"small": 40}
BUDGETS = (20, 40, 60)
QUADRATIC = "shared-quadratic"
FEATURES: dict[str, Strategy] = {
    "linear features": TreeEI(features="linear"),
    "Fourier features": TreeEI(),
}
METHODS = {
    problem: (*OURS, *BESIDE) if problem in SHIFTED else tuple(FROM_DESIGN) for problem in N_TRIALS
}
FRESH = range(500, 520)
SEARCHED = ("small-shared", "small-shared-shifted")
SEARCHES: dict[str, Strategy] = {
    "tree-ei.paper": TreeEI.paper(),
    "shrunk and centred": replace(TreeEI.paper(), offsets="normal", features="linear"),
}
# Shared variables enter these linearly: what Fourier features cost where they are not needed.
LINEAR = ("small-shared", "large-shared")
WITH_FOURIER: dict[str, Strategy] = {
    "tree-ei.paper": TreeEI.paper(),
    "with Fourier features": replace(TreeEI.paper(), features="fourier"),
}
AFTER = 40  # evaluations of what is compared outside of Figure 2

HEAD = """\
# Tree-EI, measured

Written by `experiments/tree_ei.py` from the runs in `experiments/results/tree-ei.jsonl.xz`, those
of SMAC3 and random search from `paper-trees.jsonl.xz`: Figure 2 of the paper (`small`,
`small-shared`, `large`, `large-shared`), shifted versions of it, and shared variables that enter
quadratically. log10 distance to the minimum: median, two standard errors of it in brackets (1.25
times those of the mean), worst seed. Baselines explore, and choose kernel and transform by
evidence, as the defaults do. On the paper's own functions the minimum of a leaf is the middle of
every range, where our defaults try first: there all of ours begin with a space-filling design
instead. The published version, and baselines without all that, are in
[paper-trees](paper-trees.md).

![medians with quartile bands](tree-ei.png)

"""

WHY = """\
## The paper's search where variables are shared

`tree-ei.paper` (Eq. 1: offsets b_p that are scalars, shared values r_v as they are) on seeds from
{first} on, which no other table here has; log10 distance after {after} evaluations. Beside it the
same search with two changes that our default model has: offsets shrunk towards a common value,
shared values centred.

"""
FOURIER = """\
## Fourier features where shared variables enter linearly

The published version, and the same with Fourier features, seeds from {first} on.

"""
WHY_AFTER = """

With shrunk offsets maximum likelihood finds that a leaf with a large variance and a long
length-scale needs no offset: their variance goes to its lower bound, and path EI, which looks at
b_p + z' c alone, no longer tells leaves apart. With scalars it does. What is left where the optimum
is shifted is the paper's own: with features that are linear, path EI is highest at a corner of the
shared variables, and step 2 keeps them there. That is right where their best value is at a corner,
as in the paper's functions, and out of reach where it is not.

"""


def jobs(options: argparse.Namespace) -> Iterable[Job]:
    """Seeds outermost, so that an interrupted table is a fair one."""
    for seed in range(options.seeds):
        for problem in options.problems:
            for method in METHODS[problem]:
                if not method.startswith("marginal") or problem in paper_trees.UNSHARED:
                    yield Job(method, problem, seed, N_TRIALS[problem])
        for method in FEATURES:
            yield Job(method, QUADRATIC, seed, AFTER)
        for problems, methods in ((SEARCHED, SEARCHES), (LINEAR, WITH_FOURIER)):
            for problem, method in product(problems, methods):
                yield Job(method, problem, FRESH[seed % len(FRESH)], AFTER)


def page(runs: Sequence[Run]) -> str:
    runs = longest(runs)
    text = HEAD + "".join(tables(comparable(runs)))
    text += f"## {QUADRATIC}: how shared variables enter (section 4.3)\n\n"
    text += f"The default but for `features=`, after 20 and {AFTER} evaluations.\n\n"
    text += table(FEATURES, [run for run in runs if run.job.problem == QUADRATIC], (20, AFTER))
    text += FOURIER.format(first=FRESH[0])
    for problem in LINEAR:
        same = [r for r in runs if r.job.problem == problem and r.job.seed in FRESH]
        text += f"`{problem}`\n\n" + table(WITH_FOURIER, same, (20, AFTER))
    text += WHY.format(first=FRESH[0], after=AFTER) + searched(runs) + "\n" + WHY_AFTER.lstrip()
    return text + f"{len(runs)} runs. Versions: {summary.versions_text(runs)}.\n"


def comparable(runs: Sequence[Run]) -> list[Run]:
    """Runs of Figure 2 and its shifted versions, with those of paper_trees.py on their seeds."""
    mine = [r for r in runs if r.job.problem in N_TRIALS and r.job.seed not in FRESH]
    seeds = {(run.job.problem, run.job.seed) for run in mine}
    others = [
        run
        for run in longest(read_kept(paper_trees.SCRIPT.kept))
        if run.job.method in BESIDE and (run.job.problem, run.job.seed) in seeds
    ]
    order = {problem: i for i, problem in enumerate(N_TRIALS)}
    return sorted([*mine, *others], key=lambda run: order[run.job.problem])


def tables(runs: Sequence[Run]) -> Iterable[str]:
    for problem, by_method in summary.by_problem(runs).items():
        after = [b for b in BUDGETS if b <= N_TRIALS[problem]]
        same = [run for method in by_method for run in by_method[method]]
        yield f"## {problem}\n\n" + table(dict.fromkeys((*METHODS[problem], *BESIDE)), same, after)


def table(methods: Iterable[str], runs: Sequence[Run], after: Sequence[int]) -> str:
    lines = ["| method | seeds | " + " | ".join(f"after {b}" for b in after) + " | ms per ask |"]
    lines.append("|---" * (len(after) + 3) + "|")
    for method in methods:
        same = [run for run in runs if run.job.method == method]
        if same:
            curves = np.array([summary.best_so_far(run)[: after[-1]] for run in same])
            cells = [cell(curves[:, b - 1]) for b in after]
            ask = 1e3 * np.median([np.mean(run.ask_seconds[: after[-1]][-10:]) for run in same])
            row = [method, str(len(same)), *cells, f"{ask:.0f}"]
            lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines) + "\n\n"


def searched(runs: Sequence[Run]) -> str:
    """How far the paper's search gets on shared variables."""
    lines = ["| problem | version | below 1e-2 | median | worst |", "|---" * 5 + "|"]
    for problem in SEARCHED:
        for method in SEARCHES:
            same = [r for r in runs if (r.job.method, r.job.problem) == (method, problem)]
            last = np.array([summary.best_so_far(run)[AFTER - 1] for run in same])
            if len(last):
                lines.append(
                    f"| {problem} | {method} | {np.sum(last < -2)} of {len(last)} | "
                    f"{np.median(last):.2f} | {last.max():.2f} |"
                )
    return "\n".join(lines) + "\n"


def cell(scores: Array) -> str:
    error = 2 * 1.25 * np.std(scores, ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else np.nan
    return f"{np.median(scores):.2f} (±{error:.2f}) {scores.max():.2f}"


SCRIPT = KeptScript("tree-ei", page, jobs, {**FROM_DESIGN, **FEATURES, **SEARCHES, **WITH_FOURIER})
kept_page = SCRIPT.kept_page


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--problems", type=listed, default=tuple(N_TRIALS))
    SCRIPT.main(parser)
    summary.plot(named_alike(comparable(longest(read_kept(SCRIPT.kept)))), PAGES / "tree-ei.png")


if __name__ == "__main__":
    main()
