"""Figures 3 and 4 of the 2018 paper on overlapping groups: a star and a grid of variables.

Algorithm 1 (`Additive.paper`) with the graph and length-scales known (oracle), learned (overlap)
and learned without overlap, on functions drawn from the model; and the default of `additive`.
Writes docs/results/paper-additive.md; runs are kept in results/paper-additive.jsonl.xz.

    python experiments/paper_additive.py [--seeds 10] [--problems star,grid] [--methods a,b]
    python experiments/paper_additive.py --page    writes the page from the runs that are kept
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
from bosquet.benchmarks import Factory, summary
from bosquet.benchmarks.additive import lattice, lattice_edges, star, star_edges
from bosquet.benchmarks.harness import Job, Run
from bosquet.data import Dataset
from bosquet.strategies import Additive, Random, Strategy
from bosquet.strategies.additive import GraphSetting
from bosquet.strategies.base import Task

PROBLEMS: dict[str, Factory] = {"star": star, "grid": lattice}
EDGES = {"star": star_edges(10), "grid": lattice_edges(3)}
INITIAL = 10
ITERATIONS = 60
AFTER = (20, 40, 60, 100, 150, 200)


class Oracle(Additive):
    """Algorithm 1 with the true graph and the true length-scales."""

    def structured(
        self, task: Task, data: Dataset, setting: GraphSetting, rng: np.random.Generator
    ) -> tuple[GraphSetting, dict[str, Any]]:
        del data, rng
        return replace(setting, lengths=(0.2,) * len(task.space), noise=1e-6), {}


def given(problem: str, strategy: Additive) -> Additive:
    """The strategy with the groups of the problem."""
    groups = [(f"x{i + 1}", f"x{j + 1}") for i, j in EDGES[problem]]
    return replace(strategy, groups=groups, graph=None)


METHODS: dict[str, Strategy] = {
    "oracle: star": given("star", Oracle.paper()),
    "oracle: grid": given("grid", Oracle.paper()),
    "overlap": Additive.paper(),
    "no overlap": replace(Additive.paper(), graph="disjoint"),
    "random": Random(),
    "default (true groups): star": given("star", Additive()),
    "default (true groups): grid": given("grid", Additive()),
    "default (learned groups)": Additive(),
    "default (random trees)": Additive(graph="random-tree"),
    "default (one group)": Additive(graph="full"),
}
OF_ONE = tuple(f": {problem}" for problem in PROBLEMS)  # a method that knows the problem

HEAD = """\
# Overlapping groups, as published and by default

Written by `experiments/paper_additive.py` from the runs in
`experiments/results/paper-additive.jsonl.xz` (Figures 3 and 4 of the paper; the sizes of its graphs
are not in its text): functions drawn from the model on a star of 10 variables or a 3 x 3 grid, one
2-D function per edge, squared exponential with length-scale 0.2, variance one in all, no noise. 10
random points, the same for every method, then the iterations that are counted here.

Algorithm 1 on a grid of 31 levels. "oracle": the true graph and length-scales; "overlap" and "no
overlap": Algorithm 3 with p = 1/2 and 200 likelihoods every 30 trials, groups of any size. Mean of
the seeds (worst seed); a cell is empty, or of fewer seeds, where runs are shorter. Simple regret is
that of the best trial so far, average regret the mean over all iterations. "default" is `additive`
as it is by default, expected improvement started from message passing, on the same first points.

"""


def jobs(options: argparse.Namespace) -> Iterable[Job]:
    for seed in range(options.first_seed, options.seeds):
        for problem in options.problems:
            for method in options.methods:
                if not method.endswith(OF_ONE) or method.endswith(f": {problem}"):
                    n_trials = INITIAL + options.iterations
                    yield Job(method, problem, seed, n_trials, initial=INITIAL)


def page(runs: Sequence[Run]) -> str:
    grouped = summary.by_problem(longest(runs))
    text = HEAD
    for problem in PROBLEMS:
        if problem in grouped:
            text += f"## {problem}\n\n{regret_tables(grouped[problem])}\n"
    return text + f"{len(runs)} runs. Versions: {summary.versions_text(runs)}.\n"


def regret_tables(by_method: Mapping[str, Sequence[Run]]) -> str:
    most = max(run.job.n_trials for same in by_method.values() for run in same) - INITIAL
    after = [t for t in AFTER if t <= most]
    text = ""
    for what in ("simple", "average"):
        curves = {
            method: {run.job.seed: regret(run, what) for run in same}
            for method, same in by_method.items()
        }
        header = [f"{what} regret", "seeds", *(f"after {t}" for t in after), "CPU ms an ask"]
        lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
        for method in METHODS:
            if method in curves:
                cells = [
                    cell([c[t - 1] for c in curves[method].values() if len(c) >= t]) for t in after
                ]
                asks = [1e3 * np.mean(run.ask_seconds[-10:]) for run in by_method[method]]
                row = [method, str(len(curves[method])), *cells, f"{np.median(asks):.0f}"]
                lines.append(f"| {' | '.join(row)} |")
        text += "\n".join(lines) + "\n\n" + overlap_ahead(curves, after) + "\n"
    return text


def cell(values: Sequence[float]) -> str:
    return f"{np.mean(values):.2f} ({max(values):.2f})" if values else ""


def regret(run: Run, what: str) -> Array:
    """The regret after each iteration."""
    every = np.array(run.values) - (run.minimum or 0.0)
    if what == "simple":
        return np.asarray(np.minimum.accumulate(every)[INITIAL:])
    counted = every[INITIAL:]
    return np.asarray(counted.cumsum() / np.arange(1, len(counted) + 1))


def overlap_ahead(curves: Mapping[str, Mapping[int, Array]], after: Sequence[int]) -> str:
    """On how many seeds overlap helps, and the one-sided Wilcoxon signed-rank test of it."""
    ours, other = curves.get("overlap", {}), curves.get("no overlap", {})
    texts = []
    for t in after:
        seeds = [s for s in ours.keys() & other.keys() if min(len(ours[s]), len(other[s])) >= t]
        if len(seeds) < 2:
            continue
        gaps = np.array([ours[s][t - 1] - other[s][t - 1] for s in seeds])
        p = wilcoxon(gaps, alternative="less").pvalue
        texts.append(f"after {t} on {np.sum(gaps < 0)} of {len(seeds)} seeds (p = {p:.3f})")
    return "Overlap is ahead of no overlap " + ", ".join(texts) + ".\n"


SCRIPT = KeptScript("paper-additive", page, jobs, METHODS, PROBLEMS)
kept_page = SCRIPT.kept_page


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--iterations", type=int, default=ITERATIONS)
    parser.add_argument("--problems", type=listed, default=tuple(PROBLEMS))
    parser.add_argument("--methods", type=listed, default=tuple(METHODS))
    SCRIPT.main(parser)


if __name__ == "__main__":
    main()
