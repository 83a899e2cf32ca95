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
from itertools import chain

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
    "default of b0796fe": {
        "far longer, about the median, again": "both of these, on other seeds",
        "no exploring": "no trial explores, unless nothing seems left to gain",
        "exploring when stalled": "a trial explores when the last six, or twelve, ... brought no "
        "new best, instead of every sixth",
        "four trials first": "at most four trials come before the first model, unless there are "
        "more branches; eight else",
        "good places for longer": "the density of good places counts in full up to 30 trials "
        "instead of 10",
        "no defaults first": "the first trials are of the space-filling design, the defaults of "
        "branches not among them",
        "the lowest value": "improvement is measured from the lowest value, not the lowest "
        "prediction at a trial",
        "one process throughout, again": "no second belief after 20 trials",
    },
    "default of a32184a": {
        "a glance at more paths": "where there are more than 32 branches, 16 rows on each of up to "
        "256 of them say which 32 are searched, instead of those of good trials and random ones "
        "(problems of 144 branches alone)",
        "a forest as a third belief": "a random forest of 100 trees counts as much as all other "
        "beliefs together, from the first model on",
        "logarithms of positive values": "where all values are positive their logarithm may be "
        "chosen by evidence, beside the transforms there are (tables and boosted trees)",
    },
}
# What the default is made of: versions with a part and without it, or with something in its place.
PARTS = {
    "one process up to 20 trials, instead of two beliefs": (
        ("what is free", "two from the start, again"),
        ("one process first, good places", "two from the start"),
    ),
    "a second belief after that": (
        ("what is free", "one process throughout"),
        ("default of b0796fe", "one process throughout, again"),
    ),
    "and on eight variables or more without conditions": (
        ("two without conditions", "what is free"),
    ),
    "one set of hyper-parameters, instead of five up to 30 trials": (
        ("default of 95b3e69", "averaged hyper-parameters"),
    ),
    "defaults of branches first": (("default of b0796fe", "no defaults first"),),
    "up to eight trials before a model, instead of four": (
        ("default of b0796fe", "four trials first"),
    ),
    "every sixth trial explores": (("default of b0796fe", "no exploring"),),
    "proposals near good places": (("one process first, good places", "no good places"),),
    "improvement from the lowest prediction, instead of the lowest value": (
        ("predicted", "default"),
        ("default of b0796fe", "the lowest value"),
    ),
    "only what is free, on finite branches": (("what is free", "default of 3b355df"),),
}
PARTS_AFTER = {"real": (15, 30, 60), "trees": (20, 40), "without conditions, synthetic": (20, 60)}
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
(3258db2, 93caac9, 8411776, 3b355df, c584cc5, 95b3e69, b0796fe or a32184a), have run. Shares are
those of the pairs in which the variant is better, ties counted half, after so many evaluations;
0.50 is level, and with n pairs a share is known to about 0.5 / sqrt(n). What the models alone are
worth, without a search: [models.md](models.md); what one ask is worth: [one-step.md](one-step.md).

## The parts of the default

Shares of the pairs in which the version *with* the part is better, and the number of pairs. Parts
were tried on different days, so each row has its own reference.

{parts}
## All variants

"""


Traces = Mapping[tuple[str, int], np.ndarray]
"""The best value so far, by problem and seed."""


def page(runs: Sequence[Run]) -> str:
    of_suites = {suite: traces(runs, problems) for suite, (problems, _) in SUITES.items()}
    tried = (item for variants in VARIANTS.values() for item in variants.items())
    text = HEAD.replace("{parts}", parts_table(of_suites))
    text += "".join(f"- `{name}`: {what}.\n" for name, what in tried)
    for suite, (_, budgets) in SUITES.items():
        text += f"\n## {suite}\n\n" + table(of_suites[suite], budgets)
    return text + f"\n{len(runs)} runs. Versions: {summary.versions_text(runs)}.\n"


def traces(runs: Sequence[Run], problems: Sequence[str]) -> dict[str, Traces]:
    """Of each variant."""
    return {
        name: {
            (r.job.problem, r.job.seed): np.minimum.accumulate(r.values)
            for r in runs
            if r.job.method == name and r.job.problem in problems
        }
        for name in NAMES
    }


def parts_table(of_suites: Mapping[str, Mapping[str, Traces]]) -> str:
    columns = [(suite, n) for suite, budgets in PARTS_AFTER.items() for n in budgets]
    lines = ["| part | " + " | ".join(f"{suite}, {n}" for suite, n in columns) + " |"]
    lines.append("|---" * (1 + len(columns)) + "|")
    for part, versions in PARTS.items():
        cells = []
        for suite, n in columns:
            by_name = of_suites[suite]
            found = [gaps(by_name[with_it], by_name[without], n) for with_it, without in versions]
            cells.append(share([*chain.from_iterable(found)]))
        lines.append(f"| {part} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def table(by_name: Mapping[str, Traces], budgets: Sequence[int]) -> str:
    lines = ["| variant | " + " | ".join(f"after {b}, pairs" for b in budgets) + " |"]
    lines.append("|---" * (1 + len(budgets)) + "|")
    for reference, variants in VARIANTS.items():
        for name in variants:
            cells = [share(gaps(by_name[name], by_name[reference], budget)) for budget in budgets]
            if any(cells):
                lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def gaps(variant: Traces, reference: Traces, budget: int) -> list[float]:
    """By how much the variant is worse, in each pair."""
    return [
        float(variant[pair][budget - 1] - reference[pair][budget - 1])
        for pair in set(variant) & set(reference)
        if min(len(variant[pair]), len(reference[pair])) >= budget
    ]


def share(worse: Sequence[float]) -> str:
    """How often one is better, and the number of pairs; empty where there are none."""
    if not worse:
        return ""
    better = float(np.mean([(gap < 0) + 0.5 * (gap == 0) for gap in worse]))
    return f"{better:.2f}, {len(worse)}"


SCRIPT = KeptScript("ablation", page, lambda _: [])  # nothing of it can be run from here
kept_page = SCRIPT.kept_page


def main() -> None:
    SCRIPT.main(argparse.ArgumentParser(description=__doc__.splitlines()[0]))


if __name__ == "__main__":
    main()
