"""`additive` on the functions of the 2018 paper on overlapping groups: a star and a grid.

Functions drawn from the model (length-scale 0.2, one 2-D function per edge), 10 initial points. The
graph given, learned, drawn at random as a tree, and one group of all (a dense GP). The published
version is in paper_additive.py. Runs stay in results/additive.jsonl. Writes
docs/results/additive.md and .png.

    python experiments/additive.py [--seeds 10] [--problems star,grid] [--jobs 1]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import networkx
import numpy as np
from matplotlib.figure import Figure

from bosquet.benchmarks import Factory, summary
from bosquet.benchmarks.additive import lattice, lattice_edges, star, star_edges
from bosquet.benchmarks.bench import make_runs
from bosquet.benchmarks.harness import Job, Run, read_runs
from bosquet.graphs import Edge
from bosquet.strategies import Additive, Random, Strategy

ROOT = Path(__file__).parent.parent
PROBLEMS: dict[str, Factory] = {"star": star, "grid": lattice}
EDGES = {"star": star_edges(10), "grid": lattice_edges(3)}
INITIAL = 10
AFTER = (20, 40, 60)
RESULTS = ROOT / "results" / "additive.jsonl"


def methods(edges: list[Edge]) -> dict[str, Strategy]:
    groups = [(f"x{i + 1}", f"x{j + 1}") for i, j in edges]
    return {
        "random": Random(),
        "`groups=` the true ones": Additive(groups=groups),
        '`graph="learned"`': Additive(),
        '`graph="random-tree"`': Additive(graph="random-tree"),
        '`graph="full"`': Additive(graph="full"),
    }


def run_everything(names: list[str], seeds: int, jobs: int) -> list[Run]:
    """Seeds outermost, so that an interrupted table is a fair one."""
    done = []
    for name in names:
        strategies = methods(EDGES[name])
        wanted = [
            Job(label, name, seed, INITIAL + AFTER[-1], initial=INITIAL)
            for seed in range(seeds)
            for label in strategies
        ]
        failures = make_runs(wanted, RESULTS, jobs, PROBLEMS, strategies)
        assert not failures, failures
        order = {job: i for i, job in enumerate(wanted)}
        done += sorted(
            (run for run in read_runs(RESULTS) if run.job in order),
            key=lambda run: order[run.job],
        )
    return done


def regrets(runs: list[Run]) -> np.ndarray:
    """r_t of every run, (seeds, trials)."""
    return np.array([np.array(run.values) - (run.minimum or 0.0) for run in runs])


def regret_table(by_method: dict[str, list[Run]]) -> str:
    lines = ["| | " + " | ".join(f"after {t}" for t in AFTER) + f" | R_t/t at {AFTER[-1]} | ask |"]
    lines.append("|---" * (len(AFTER) + 3) + "|")
    for label, runs in by_method.items():
        all_trials = regrets(runs)
        best = np.minimum.accumulate(all_trials, axis=1)
        cells = [cell(best[:, INITIAL + t - 1]) for t in AFTER]
        cells.append(cell(all_trials[:, INITIAL:].mean(axis=1)))
        cells.append(f"{1e3 * np.mean([run.ask_seconds[-10:] for run in runs]):.0f} ms")
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def cell(values: np.ndarray) -> str:
    return f"{values.mean():.2f} ({values.max():.2f})"


def draw(grouped: dict[str, dict[str, list[Run]]], path: Path) -> None:
    """Simple and average cumulative regret against evaluations, a row each graph."""
    figure = Figure(figsize=(10, 3.6 * len(grouped) + 0.6), layout="constrained")
    axes = figure.subplots(len(grouped), 2, squeeze=False)
    for row, (name, by_method) in zip(axes, grouped.items(), strict=True):
        for i, (label, runs) in enumerate(by_method.items()):
            all_trials = regrets(runs)
            simple = np.minimum.accumulate(all_trials, axis=1)[:, INITIAL:].mean(axis=0)
            t = np.arange(1, len(simple) + 1)
            average = (all_trials[:, INITIAL:].cumsum(axis=1) / t).mean(axis=0)
            for axis, curve in zip(row, (simple, average), strict=True):
                axis.plot(t, curve, color=f"C{i}", label=label.replace("`", ""))
        for axis, what in zip(row, ("simple regret", "average cumulative regret"), strict=True):
            axis.set(title=f"{name}: {what}", xlabel="evaluations", ylim=(0, None))
            axis.grid(alpha=0.25)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--problems", default="star,grid")
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time")
    options = parser.parse_args()
    runs = run_everything(options.problems.split(","), options.seeds, options.jobs)
    grouped = summary.by_problem(runs)
    text = f"""\
# Overlapping groups, measured

Written by `experiments/additive.py` (Figures 3 and 4 of the paper; the sizes of its graphs are not
known to us): functions drawn from the model on a star of 10 variables or a 3 x 3 grid, one 2-D
function per edge, squared exponential with length-scale 0.2, variance one in all, no noise.
{INITIAL} random points, the same for every method, then {AFTER[-1]} more.

Simple regret and average cumulative regret: mean of {options.seeds} seeds (worst seed). Expected
improvement started from message passing; the published algorithm is in
[paper-additive](paper-additive.md). The last column is CPU time of an ask, mean over the last ten.

![Regret against evaluations](additive.png)

"""
    for name, by_method in grouped.items():
        text += f"## {name}\n\n{regret_table(by_method)}\n\n"
    text += f"Versions: {summary.versions_text(runs)}, networkx {networkx.__version__}.\n"
    (ROOT / "docs" / "results" / "additive.md").write_text(text, encoding="utf-8")
    draw(grouped, ROOT / "docs" / "results" / "additive.png")


if __name__ == "__main__":
    main()
