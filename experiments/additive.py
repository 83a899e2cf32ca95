"""Figures 3 and 4 of the 2018 paper on overlapping groups: a star and a grid of variables.

Functions drawn from the model (length-scale 0.2, one 2-D function per edge), 10 initial points.
First four rows: Algorithm 1 as published, with the graph and length-scales known (oracle), learned
(overlap), learned without overlap, and random. Then our defaults with the graph given, learned,
drawn at random as a tree, and one group of all (a dense GP). Rows of the tables are kept in
results/additive.json and not made again. Writes docs/additive.md.

    export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
    python experiments/additive.py [--seeds 10] [--problems star,grid]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import scipy

import bosquet as bq
from bosquet.benchmarks.additive import lattice, lattice_edges, star, star_edges
from bosquet.benchmarks.problem import Problem
from bosquet.data import Dataset
from bosquet.graphs import Edge
from bosquet.strategies import Additive, GraphLearning, Random, Strategy
from bosquet.strategies.additive import GraphSetting
from bosquet.strategies.base import Task
from bosquet.strategies.gp_strategy import Setting

ROOT = Path(__file__).parent.parent
PROBLEMS: dict[str, Callable[[int], Problem]] = {"star": star, "grid": lattice}
EDGES = {"star": star_edges(10), "grid": lattice_edges(3)}
INITIAL = 10
AFTER = (20, 40, 60)
ROWS = ROOT / "results" / "additive.json"
PAPER = GraphLearning(edge_probability=0.5, likelihoods=200, every=30)


class Oracle(Additive):
    """Algorithm 1 with the true graph and the true length-scales."""

    def structured(
        self, task: Task, data: Dataset, last: Setting, rng: np.random.Generator
    ) -> tuple[Setting, dict[str, Any]]:
        del data, rng
        assert isinstance(last, GraphSetting)
        return replace(last, lengths=(0.2,) * len(task.space), noise=1e-6), {}


def as_published(cls: type[Additive] = Additive, **arguments: Any) -> Additive:
    return cls(
        acquisition="ucb",
        learning=PAPER,
        kernel="se",
        hierarchical=False,
        explore_every=None,
        transforms=False,
        **arguments,
    )


def methods(edges: list[Edge]) -> dict[str, Strategy]:
    groups = [(f"x{i + 1}", f"x{j + 1}") for i, j in edges]
    return {
        "oracle (paper)": as_published(Oracle, groups=groups),
        "overlap (paper)": as_published(),
        "no overlap (paper)": as_published(graph="disjoint"),
        "random": Random(),
        "`groups=` the true ones": Additive(groups=groups),
        '`graph="learned"`': Additive(),
        '`graph="random-tree"`': Additive(graph="random-tree"),
        '`graph="full"`': Additive(graph="full"),
    }


def regrets(problem: Problem, strategy: Strategy, seed: int) -> np.ndarray:
    """r_t of all trials; the first points are the same for every method."""
    assert problem.minimum is not None
    initial = problem.space.sample(np.random.default_rng([10, seed]), INITIAL)
    result = bq.minimize(
        problem,
        problem.space,
        n_trials=AFTER[-1] + INITIAL,
        strategy=strategy,
        seed=seed,
        initial=initial,
    )
    return np.array([trial.value for trial in result.trials], dtype=float) - problem.minimum


def regret_table(name: str, seeds: int) -> str:
    lines = ["| | " + " | ".join(f"after {t}" for t in AFTER) + f" | R_t/t at {AFTER[-1]} |"]
    lines.append("|---" * (len(AFTER) + 2) + "|")
    kept: dict[str, str] = json.loads(ROWS.read_text()) if ROWS.exists() else {}
    for label, strategy in methods(EDGES[name]).items():
        key = f"{name}, {label}, {seeds} seeds"
        if key not in kept:
            runs = np.array([regrets(PROBLEMS[name](s), strategy, s) for s in range(seeds)])
            best = np.minimum.accumulate(runs, axis=1)
            cells = [cell(best[:, INITIAL + t - 1]) for t in AFTER]
            cells.append(cell(runs[:, INITIAL:].mean(axis=1)))
            kept[key] = f"| {label} | " + " | ".join(cells) + " |"
            ROWS.parent.mkdir(exist_ok=True)
            ROWS.write_text(json.dumps(kept, indent=1), encoding="utf-8")
        lines.append(kept[key])
        print(lines[-1], flush=True)
    return "\n".join(lines)


def cell(values: np.ndarray) -> str:
    return f"{values.mean():.2f} ({values.max():.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--problems", default="star,grid")
    options = parser.parse_args()
    text = f"""\
# Overlapping groups, measured

Written by `experiments/additive.py` (Figures 3 and 4 of the paper; the sizes of its graphs are not
known to us): functions drawn from the model on a star of 10 variables or a 3 x 3 grid, one 2-D
function per edge, squared exponential with length-scale 0.2, variance one in all, no noise.
{INITIAL} random points, the same for every method, then {AFTER[-1]} more. bosquet {bq.__version__},
NumPy {np.__version__}, SciPy {scipy.__version__}, networkx {networkx.__version__}.

## Regret

Simple regret and average cumulative regret: mean of {options.seeds} seeds (worst seed). "(paper)"
is Algorithm 1 with a sum of bounds on a grid, and Algorithm 3 with p = 1/2 and 200 likelihoods
every 30 trials; the others are our defaults, expected improvement started from message passing.

"""
    for name in options.problems.split(","):
        text += f"### {name}\n\n{regret_table(name, options.seeds)}\n\n"
    (ROOT / "docs" / "additive.md").write_text(text.rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
