"""The problems of the 2014 paper on treed Gaussian processes that are at hand, and how they count:
by the evaluations that it takes to solve one."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from scipy.stats import binomtest

import bosquet as bq
from bosquet.benchmarks import PROBLEMS, Factory, Problem
from bosquet.benchmarks.harness import Run
from bosquet.benchmarks.suite import data_directory

TITLES = {
    "rkhs-1d": "RKHS-1D",
    "gramacy-exp": "2-D Exp (Gramacy's exponential)",
    "lda": "Online LDA, a table of 288 candidates",
    "svm": "Structured SVM, a table of 1,400 candidates",
    "branin": "Branin (stationary)",
    "hartmann6": "Hartmann-6 (stationary)",
}
SHARE = 0.01  # of the size of the minimum, from which solutions may be away
SHARES = {"lda": 0.001}


def rkhs_1d(seed: int = 0) -> Problem:
    """Smooth on the left, rough on the right; turned round, to be minimised."""
    del seed  # one problem, whatever the seed of a run
    numbers = json.loads((data_directory() / "rkhs_1d.json").read_text())["rkhs_1d"]
    parts = [
        tuple(np.array(numbers[f"{name}_{i}"]) for name in ("centres", "weights", "lengthscale"))
        for i in (1, 2)
    ]

    def function(config: dict[str, Any]) -> float:
        return -float(
            sum(w @ np.exp(-0.5 * ((config["x"] - c) / scale) ** 2) for c, w, scale in parts)
        )

    space = bq.Space({"x": bq.Float(0, 1)})
    return Problem("rkhs-1d", space, function, -numbers["recomputed_maximum"]["f"])


def grid(name: str, columns: tuple[str, ...], logs: tuple[bool, ...], seed: int) -> Problem:
    """A recorded grid: a box of which the configurations that have a value are candidates."""
    del seed
    grids = np.load(data_directory() / "htbo_grids.npz")
    X, y = grids[f"{name}_x"], grids[f"{name}_y"]
    configs = tuple({c: float(v) for c, v in zip(columns, row, strict=True)} for row in X)
    values = {tuple(c.values()): float(v) for c, v in zip(configs, y, strict=True)}
    space = bq.Space(
        {
            c: bq.Float(float(X[:, i].min()), float(X[:, i].max()), log=log)
            for i, (c, log) in enumerate(zip(columns, logs, strict=True))
        }
    )
    return Problem(
        name,
        space,
        lambda config: values[tuple(config.values())],
        float(y.min()),
        candidates=configs,
    )


FACTORIES: dict[str, Factory] = {
    "rkhs-1d": rkhs_1d,
    "lda": partial(grid, "lda", ("kappa", "tau0", "batch"), (False, True, True)),
    "svm": partial(grid, "svm", ("C", "alpha", "epsilon"), (True, True, True)),
    **{name: PROBLEMS[name] for name in ("gramacy-exp", "branin", "hartmann6")},
}


def section(
    problem: str,
    by_method: Mapping[str, Sequence[Run]],
    methods: Sequence[str],
    comparisons: Mapping[str, Mapping[str, str]],
) -> str:
    """A table of one problem. A comparison, the title of a column, pairs a method with another."""
    took = {m: {r.job.seed: evaluations(r) for r in same} for m, same in by_method.items()}
    n_trials = max(run.job.n_trials for same in by_method.values() for run in same)

    def number(value: float) -> str:
        return f"{value:g}" if np.isfinite(value) else f"> {n_trials}"

    header = ["", "seeds", "solved", "median", "quartiles", "worst", *comparisons, "gap"]
    header += ["CPU ms an ask"]
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for method in methods:
        if method in took:
            n = np.array(list(took[method].values()))
            low, high = np.quantile(n, (0.25, 0.75), method="higher")
            asks = [1e3 * np.mean(run.ask_seconds[-10:]) for run in by_method[method]]
            cells = [
                method,
                f"{len(n)}",
                f"{np.isfinite(n).sum()}",
                number(median(n)),
                f"{number(low)} to {number(high)}",
                number(n.max()),
                *(_compared(took, method, pairs) for pairs in comparisons.values()),
                f"{np.mean([gap(run) for run in by_method[method]]):.4f}",
                f"{np.median(asks):.0f}",
            ]
            lines.append(f"| {' | '.join(cells)} |")
    table = "\n".join(lines)
    return f"## {TITLES[problem]}\n\n{n_trials} evaluations.\n\n{table}\n\n"


def _compared(
    took: Mapping[str, Mapping[int, float]], method: str, pairs: Mapping[str, str]
) -> str:
    if method not in pairs:
        return ""
    mine, beside = took[method], took.get(pairs[method], {})
    seeds = mine.keys() & beside.keys()
    if not seeds:
        return ""
    fewer = sum(mine[seed] < beside[seed] for seed in seeds)
    more = sum(mine[seed] > beside[seed] for seed in seeds)
    p = binomtest(fewer, fewer + more).pvalue if fewer + more else 1.0
    p_text = f"p = {p:.2f}" if p >= 0.005 else "p < 0.01"
    return f"{fewer}, {more} of {len(seeds)} ({p_text})"


def gap(run: Run) -> float:
    """The distance of the best value to the minimum, as a share of the minimum's size."""
    assert run.minimum is not None
    return (min(run.values) - run.minimum) / abs(run.minimum)


def evaluations(run: Run) -> float:
    """How many it took to solve the problem; infinite if it was not."""
    assert run.minimum is not None
    target = run.minimum + SHARES.get(run.job.problem, SHARE) * abs(run.minimum)
    solved = np.flatnonzero(np.array(run.values) <= target)
    return float(solved[0] + 1) if len(solved) else math.inf
