"""Variants of the default on the development half of the real suite and on synthetic trees.

Writes docs/results/ablation.md from the runs in experiments/results/ablation.jsonl.xz. A variant
that was not adopted is in no commit: its runs were made with a patched copy of the commit that is
named, by `bosquet bench`, and added under the variant's name.

    python experiments/ablation.py --page    writes the page from the runs that are kept
    python experiments/ablation.py --add FILE.jsonl --as NAME --commit HASH
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bosquet.benchmarks import GROUPS, summary
from bosquet.benchmarks.harness import Run, read_runs
from bosquet.benchmarks.kept import keep, read_kept

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "experiments" / "results" / "ablation.jsonl.xz"
REFERENCE = "default"
VARIANTS = {
    "turns": "the default of ee7f666: two models take turns, twelve trials of a design first, "
    "other priors",
    "compressed": "values above the median are compressed by a logarithm, as strongly as the "
    "evidence wants it, instead of Yeo-Johnson",
    "guided": "a trial that explores has the highest expected improvement among the branches tried "
    "least, instead of being a point of the design",
    "predicted": "improvement is measured from the lowest prediction at a trial instead of the "
    "lowest value: **adopted**",
}
SUITES = {
    "real": (tuple(GROUPS["real-develop"]), (15, 30, 60)),
    "trees": (tuple(GROUPS["shifted"]), (20, 30, 40)),
    "Ackley-10": (("ackley-10-shifted",), (50, 100, 150)),
}
HEAD = """\
# What was tried for the default

Written by `experiments/ablation.py` from the runs in `experiments/results/ablation.jsonl.xz`. A
*pair* is a problem and a seed on which both the variant and the reference (`auto` as of 3258db2)
have run. Shares are those of the pairs in which the variant is better, ties counted half, after so
many evaluations; 0.50 is level, and with n pairs a share is known to about 0.5 / sqrt(n). What the
models alone are worth, without a search: [models.md](models.md).

"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--page", action="store_true", help="write the page, as without arguments")
    parser.add_argument("--add", type=Path, metavar="FILE.jsonl")
    parser.add_argument("--as", dest="variant", choices=[REFERENCE, *VARIANTS])
    parser.add_argument("--commit", default="", help="of the code that made the runs")
    options = parser.parse_args()
    if options.add is not None:
        if options.variant is None:
            parser.error("--add needs --as, the name of the variant")
        named = (
            replace(r, job=replace(r.job, method=options.variant)) for r in read_runs(options.add)
        )
        keep(named, KEPT, options.commit)
    (ROOT / "docs" / "results" / "ablation.md").write_text(kept_page(), encoding="utf-8")


def kept_page() -> str:
    return page(read_kept(KEPT))


def page(runs: Sequence[Run]) -> str:
    text = HEAD + "".join(f"- `{name}`: {what}.\n" for name, what in VARIANTS.items())
    for suite, (problems, budgets) in SUITES.items():
        of_suite = [run for run in runs if run.job.problem in problems]
        by_variant = {
            name: {
                (r.job.problem, r.job.seed): np.minimum.accumulate(r.values)
                for r in of_suite
                if r.job.method == name
            }
            for name in (REFERENCE, *VARIANTS)
        }
        text += f"\n## {suite}\n\n" + table(by_variant, budgets)
    return text + f"\n{len(runs)} runs. Versions: {summary.versions_text(runs)}.\n"


Traces = Mapping[tuple[str, int], np.ndarray]
"""The best value so far, by problem and seed."""


def table(by_variant: Mapping[str, Traces], budgets: Sequence[int]) -> str:
    lines = ["| variant | pairs | " + " | ".join(f"after {b}" for b in budgets) + " |"]
    lines.append("|---" * (2 + len(budgets)) + "|")
    reference = by_variant[REFERENCE]
    for name in VARIANTS:
        made = by_variant[name]
        pairs = sorted(set(made) & set(reference))
        if pairs:
            shares = [share(made, reference, pairs, budget) for budget in budgets]
            texts = " | ".join(f"{s:.2f}" for s in shares)
            lines.append(f"| {name} | {len(pairs)} | {texts} |")
    return "\n".join(lines) + "\n"


def share(a: Traces, b: Traces, pairs: Sequence[tuple[str, int]], budget: int) -> float:
    gaps = np.array([a[pair][budget - 1] - b[pair][budget - 1] for pair in pairs])
    return float(np.mean(gaps < 0) + 0.5 * np.mean(gaps == 0))


if __name__ == "__main__":
    main()
