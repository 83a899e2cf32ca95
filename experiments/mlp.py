"""Tuning of scikit-learn's MLPClassifier, as in Figure 4 of the paper on tree-structured
dependencies: parameters shared between depths, or duplicated for each.

Reads DATA/binary/NAME.npz (arrays X and y, y of 0 and 1). Runs are kept in results/mlp.jsonl, so it
can be interrupted; --report shows what is there. Writes docs/results/mlp.md and
docs/results/mlp.png.

    python experiments/mlp.py [--data DIR] [--datasets a,b] [--methods a,b] [--topologies a,b]
                              [--iterations 40] [--seeds 2] [--jobs 2] [--report]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bosquet.benchmarks import Factory, summary
from bosquet.benchmarks.bench import make_runs
from bosquet.benchmarks.harness import Job, Run, read_runs
from bosquet.benchmarks.mlp import binary_sets, problem_name, seeded_problem

Array = NDArray[np.float64]

ROOT = Path(__file__).parent.parent
DATA = ROOT.parent / "shared" / "data"
METHODS = {
    "shared": ("tree-ei", "independent", "add-tree", "smac", "random"),
    "duplicated": ("tree-ei", "independent"),
}
# Of the sets with more than 130 rows to test on, ten on which no network is near to perfect.
DATASETS = (
    "australian",
    "diabetes",
    "eeg_eye_state",
    "german_numer",
    "magic_gamma",
    "phoneme",
    "retinopathy",
    "ringnorm",
    "svmguide3",
    "transfusion",
)

HEAD = """\
# Tuning a multi-layer perceptron

Written by `experiments/mlp.py`. Section 4.2 of the paper on tree-structured dependencies: the
number of hidden layers (0 to 4) decides which other parameters of `MLPClassifier` there are.
*shared* declares once what several depths have, *duplicated* gives each depth its own copy; the
amount of regularisation belongs to its depth in both. The value is the error on a fixed fifth of
the rows. At most 1,000 rows are trained on, for at most 200 epochs; a network that needs more than
10 seconds of CPU, or diverges, has error 1.

![average rank against evaluations](mlp.png)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    problems: dict[str, Factory] = {
        problem_name(dataset, topology == "shared"): partial(
            seeded_problem, options.data, dataset, topology == "shared"
        )
        for topology in options.topologies
        for dataset in options.datasets
    }
    # Seeds and data sets outermost: every method has run on what an interrupted experiment shows.
    jobs = [
        Job(method, problem_name(dataset, topology == "shared"), seed, options.iterations)
        for seed in range(options.seeds)
        for dataset in options.datasets
        for topology in options.topologies
        for method in options.methods or METHODS[topology]
    ]
    out = ROOT / "results" / "mlp.jsonl"
    failures = [] if options.report else make_runs(jobs, out, options.jobs, problems)
    for job, error in failures:
        print(f"failed: {job}: {error!r}", file=sys.stderr)
    order = {job: i for i, job in enumerate(jobs)}
    runs = sorted((r for r in read_runs(out) if r.job in order), key=lambda r: order[r.job])
    if runs:
        (ROOT / "docs" / "results" / "mlp.md").write_text(report(runs), encoding="utf-8")
        plot(runs, ROOT / "docs" / "results" / "mlp.png")
    return 1 if failures or not runs else 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    def names(text: str) -> list[str]:
        return text.split(",")

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA, help="the directory that has binary/")
    parser.add_argument("--datasets", type=names, default=list(DATASETS))
    parser.add_argument("--methods", type=names, help="by default, those of each topology")
    parser.add_argument("--topologies", type=names, default=list(METHODS))
    parser.add_argument("--iterations", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--report", action="store_true", help="make no runs, write what there is")
    options = parser.parse_args(arguments)
    for topology in options.topologies:
        if topology not in METHODS:
            parser.error(f"--topologies: {topology!r} is not one of {', '.join(METHODS)}")
    if not options.report:
        try:
            known = binary_sets(options.data)
        except FileNotFoundError as error:
            parser.error(f"{error}; say where the data are with --data DIR")
        for dataset in options.datasets:
            if dataset not in known:
                parser.error(f"--datasets: {dataset!r} is not one of {', '.join(known)}")
    return options


def topology_of(run: Run) -> str:
    return run.job.problem.split(":")[1]


def by_topology(runs: Sequence[Run]) -> dict[str, list[Run]]:
    return {
        topology: same
        for topology in METHODS
        if (same := [run for run in runs if topology_of(run) == topology])
    }


def report(runs: Sequence[Run]) -> str:
    evaluations = runs[0].job.n_trials
    after = sorted({max(1, evaluations * k // 4) for k in (1, 2, 3, 4)})
    parts = [HEAD]
    for topology, same in by_topology(runs).items():
        curves = summary.rank_curves(same)
        n_sets = max((len(ranks) for ranks in curves.values()), default=0)
        seeds = len({run.job.seed for run in same})
        parts.append(
            f"## Average rank, {topology}\n\nMethods: {len(curves)}; data sets: {n_sets}; seeds: "
            f"{seeds}. Ranks among runs with the same data set and seed,\nties sharing theirs, are "
            "averaged over the seeds; ± two standard errors over the data sets.\n"
        )
        rows = [
            [method, *(rank_text(ranks[:, budget - 1]) for budget in after)]
            for method, ranks in curves.items()
        ]
        parts.append(table(["method", *(f"after {budget}" for budget in after)], rows))
    parts.append(f"## Error after {evaluations} evaluations\n\nMedian over the seeds.\n")
    parts.append(errors(runs))
    parts.append("## Cost\n")
    parts.append(costs(runs))
    parts.append(f"{len(runs)} runs, one thread each. Versions: {summary.versions_text(runs)}.\n")
    return "\n".join(parts)


def rank_text(ranks: Array) -> str:
    return f"{ranks.mean():.2f} ± {two_standard_errors(ranks):.2f}"


def two_standard_errors(ranks: Array) -> Array:
    """Over the first axis, the data sets; zero when there is only one."""
    n = len(ranks)
    return np.asarray(2 * ranks.std(axis=0, ddof=min(1, n - 1)) / np.sqrt(n))


def errors(runs: Sequence[Run]) -> str:
    """A line for each data set, a column for each topology and method."""
    found: dict[str, dict[str, list[float]]] = {}
    for run in runs:
        column = f"{topology_of(run)} {run.job.method}"
        line = found.setdefault(run.job.problem.split(":")[2], {})
        line.setdefault(column, []).append(min(run.values))
    columns = [
        f"{topology} {method}"
        for topology, same in by_topology(runs).items()
        for method in dict.fromkeys(run.job.method for run in same)
    ]
    return table(
        ["data set", *columns],
        [
            [name, *(f"{np.median(line[c]):.4f}" if c in line else "" for c in columns)]
            for name, line in found.items()
        ],
    )


def costs(runs: Sequence[Run]) -> str:
    head = ["topology", "method", "runs", "CPU s in all", "CPU s per evaluation", "CPU s per ask"]
    rows = []
    total = 0.0
    for topology, same in by_topology(runs).items():
        for method in dict.fromkeys(run.job.method for run in same):
            mine = [run for run in same if run.job.method == method]
            evaluating = [s for run in mine for s in run.evaluation_seconds]
            asking = [s for run in mine for s in run.ask_seconds]
            total += sum(evaluating) + sum(asking)
            rows.append(
                [
                    topology,
                    method,
                    str(len(mine)),
                    f"{sum(evaluating) + sum(asking):.0f}",
                    f"{np.mean(evaluating):.2f}",
                    f"{np.mean(asking):.2f}",
                ]
            )
    rows.append(["all", "", str(len(runs)), f"{total:.0f}", "", ""])
    return table(head, rows)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def plot(runs: Sequence[Run], path: Path) -> None:
    """Average rank against evaluations, one panel a topology, bands of two standard errors."""
    from matplotlib.figure import Figure

    panels = by_topology(runs)
    figure = Figure(figsize=(5.2 * len(panels), 4.0), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, len(panels)))
    methods = list(dict.fromkeys(run.job.method for run in runs))
    for axis, (topology, same) in zip(axes, panels.items(), strict=True):
        for method, ranks in summary.rank_curves(same).items():
            evaluations = np.arange(1, ranks.shape[1] + 1)
            mean, band = ranks.mean(axis=0), two_standard_errors(ranks)
            colour = f"C{methods.index(method)}"
            axis.plot(evaluations, mean, color=colour, label=method)
            axis.fill_between(evaluations, mean - band, mean + band, color=colour, alpha=0.12, lw=0)
        axis.set(title=topology, xlabel="evaluations", ylabel="average rank")
        axis.grid(alpha=0.25)
        axis.legend()
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    sys.exit(main())
