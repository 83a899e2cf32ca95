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

import numpy as np
from kept_script import KeptScript

from bosquet.benchmarks import GROUPS, summary
from bosquet.benchmarks.harness import Run

# Each reference with its variants: what the default was when they were tried.
VARIANTS = {
    "default": {
        "turns": "the default of ee7f666: two models take turns, twelve trials of a design first, "
        "other priors",
        "compressed": "values above the median are compressed by a logarithm, as strongly as the "
        "evidence wants it, instead of Yeo-Johnson",
        "guided": "a trial that explores has the highest expected improvement among the branches "
        "tried least, instead of being a point of the design",
        "predicted": "improvement is measured from the lowest prediction at a trial instead of the "
        "lowest value: **adopted**",
    },
    "default of 93caac9": {
        "one strength": "values above the median are compressed by a logarithm of one strength, or "
        "not, by evidence, instead of Yeo-Johnson",
        "one strength, a price": "the same, and compressing costs 3 units of evidence",
        "one strength, no exploring": "the same without a price, and no trial explores",
        "one strength, sharper": "the same with exploring; beliefs count by evidence at "
        "temperature 1.5 instead of 4, and flat spaces have one Gaussian process instead of "
        "`additive`",
        "one strength, sharper, exploring less": "the same, and every twelfth trial explores "
        "instead of every sixth",
        "one process first, good places": "up to 20 trials one process over everything proposes "
        "(`arc`; without conditions one Gaussian process), and while trials are few proposals keep "
        "near good ones and away from the ends of ranges: **adopted**",
        "arc, interior, compressed": "`arc` alone, at half the power of a parabola over every "
        "range; bad values compressed by a logarithm of one of two strengths, by evidence",
        "arc, good places, compressed": "`arc` alone with good places that never fade; compressed "
        "alike",
        "first, good places, compressed, agreed": "the adopted one with values compressed alike, "
        "and beliefs that count by the weighted mean of the logarithms of their improvements (runs "
        "of 60: good places fade from 20 trials on; flat spaces have one Gaussian process)",
    },
    "one process first, good places": {
        "agreed": "that default, and after 20 trials beliefs count by the weighted mean of the "
        "logarithms of their improvements",
        "no good places": "that default without the density of good places",
        "two from the start": "that default, in which both beliefs count from the first model on",
    },
    "default of 3b355df": {
        "what is free": "on paths without continuous coordinates the search looks only at what has "
        "not been tried: **adopted**. Before it, a point of the design took the place of what was "
        "taken. Of the pairs 40 are of tables (0.69 after 60); elsewhere both are the same",
    },
    "what is free": {
        "two without conditions": "and without conditions one process stays beside `additive` as a "
        "second belief: **adopted**",
        "two from the start, again": "and both beliefs count from the first model on",
        "one process throughout": "and `arc` stays alone after 20 trials too",
        "half the uncertainty": "and standard deviations are halved in the expected improvement: "
        "single asks are better by that",
        "exploring half as often": "and every twelfth trial explores instead of every sixth",
        "more noise before": "and the prior of the noise variance is centred on exp(-4) instead of "
        "exp(-6)",
    },
    "default of 95b3e69": {
        "averaged hyper-parameters": "up to 30 trials the expected improvement is averaged over "
        "the best hyper-parameters and four draws from a Laplace approximation",
        "far longer length-scales": "the length-scale of one variable may be far longer than the "
        "common one (standard deviation of its logarithm 2 above, 0.7 below; 0.7 on both sides "
        "else), so that what does not matter can be left out",
        "far longer length-scales, averaged": "both, and averaged up to 100 trials",
        "both kinds of length-scales": "one process with far longer length-scales is a belief "
        "beside the others, from the first model on",
        "transforms about the median": "Yeo-Johnson of distances from the median, in units of the "
        "median minus the best value, instead of standardised values",
        "transforms about the median, averaged": "the same, averaged up to 30 trials",
        "far longer length-scales, transforms about the median": "both of these",
    },
}
NAMES = {name for reference, tried in VARIANTS.items() for name in (reference, *tried)}
SUITES = {
    "real": (tuple(GROUPS["real-develop"]), (15, 30, 60)),
    "trees": (tuple(GROUPS["shifted"]), (10, 20, 30, 40)),
    "without conditions, synthetic": (
        ("ackley-10-shifted", "levy-10-shifted", "rosenbrock-10-shifted", *GROUPS["additive"]),
        (20, 30, 40, 60),
    ),
    "Ackley-10": (("ackley-10-shifted",), (50, 100, 150)),
}
HEAD = """\
# What was tried for the default

Written by `experiments/ablation.py` from the runs in `experiments/results/ablation.jsonl.xz`. A
*pair* is a problem and a seed on which both the variant and its reference, the default of that day
(3258db2, 93caac9, 8411776, 3b355df, c584cc5 or 95b3e69), have run. Shares are those of the pairs in
which the variant is better, ties counted half, after so many evaluations; 0.50 is level, and with n
pairs a share is known to about 0.5 / sqrt(n). What the models alone are worth, without a search:
[models.md](models.md); what one ask is worth: [one-step.md](one-step.md).

"""


def page(runs: Sequence[Run]) -> str:
    tried = (item for variants in VARIANTS.values() for item in variants.items())
    text = HEAD + "".join(f"- `{name}`: {what}.\n" for name, what in tried)
    for suite, (problems, budgets) in SUITES.items():
        of_suite = [run for run in runs if run.job.problem in problems]
        by_name = {
            name: {
                (r.job.problem, r.job.seed): np.minimum.accumulate(r.values)
                for r in of_suite
                if r.job.method == name
            }
            for name in NAMES
        }
        text += f"\n## {suite}\n\n" + table(by_name, budgets)
    return text + f"\n{len(runs)} runs. Versions: {summary.versions_text(runs)}.\n"


Traces = Mapping[tuple[str, int], np.ndarray]
"""The best value so far, by problem and seed."""


def table(by_name: Mapping[str, Traces], budgets: Sequence[int]) -> str:
    lines = ["| variant | " + " | ".join(f"after {b}, pairs" for b in budgets) + " |"]
    lines.append("|---" * (1 + len(budgets)) + "|")
    for reference, variants in VARIANTS.items():
        for name in variants:
            cells = [share(by_name[name], by_name[reference], budget) for budget in budgets]
            if any(cells):
                lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def share(variant: Traces, reference: Traces, budget: int) -> str:
    """How often the variant is better, and the number of pairs; empty where there are none."""
    gaps = [
        variant[pair][budget - 1] - reference[pair][budget - 1]
        for pair in set(variant) & set(reference)
        if min(len(variant[pair]), len(reference[pair])) >= budget
    ]
    if not gaps:
        return ""
    better = float(np.mean([(gap < 0) + 0.5 * (gap == 0) for gap in gaps]))
    return f"{better:.2f}, {len(gaps)}"


SCRIPT = KeptScript("ablation", page, lambda _: [])  # nothing of it can be run from here
kept_page = SCRIPT.kept_page


def main() -> None:
    SCRIPT.main(argparse.ArgumentParser(description=__doc__.splitlines()[0]))


if __name__ == "__main__":
    main()
