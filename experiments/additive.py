"""Figures 3 to 6 of the 2018 paper on overlapping groups: a star and a grid of variables.

Functions drawn from the model (length-scale 0.2, one 2-D function per edge), 10 initial points.
First four rows: Algorithm 1 as published, with the graph and length-scales known (oracle), learned
(overlap), learned without overlap, and random. Then our defaults with the graph given, learned,
drawn at random as a tree, and one group of all (a dense GP). Also how well graphs are learned from
random points. Writes docs/additive.md.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python experiments/additive.py [--seeds 10]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import scipy

import bosquet as bq
from bosquet.benchmarks.additive import lattice, star
from bosquet.benchmarks.problem import Problem
from bosquet.data import Dataset
from bosquet.graphs import Edge
from bosquet.models.graph_learning import GraphLearning, GraphLikelihood, first_state, learn_graph
from bosquet.strategies import Additive, Random, Strategy
from bosquet.strategies.additive import GraphSetting
from bosquet.strategies.base import Task
from bosquet.strategies.gp_strategy import Setting

ROOT = Path(__file__).parent.parent
PROBLEMS: dict[str, Callable[[int], Problem]] = {"star": star, "grid": lattice}
EDGES: dict[str, list[Edge]] = {
    "star": [(0, i) for i in range(1, 10)],
    "grid": [
        *((3 * i + j, 3 * i + j + 1) for i in range(3) for j in range(2)),
        *((3 * i + j, 3 * i + j + 3) for i in range(2) for j in range(3)),
    ],
}
INITIAL = 10
AFTER = (20, 40, 60)
SIZES = (20, 50, 80, 110, 140, 170, 200)
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
    for label, strategy in methods(EDGES[name]).items():
        runs = np.array([regrets(PROBLEMS[name](s), strategy, s) for s in range(seeds)])
        best = np.minimum.accumulate(runs, axis=1)
        cells = [cell(best[:, INITIAL + t - 1]) for t in AFTER]
        cells.append(cell(runs[:, INITIAL:].mean(axis=1)))
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def cell(values: np.ndarray) -> str:
    return f"{values.mean():.2f} ({values.max():.2f})"


def recovery(name: str, seed: int, how: str) -> list[tuple[float, float]]:
    """Correct connections and separations as random points come in, 30 at a time."""
    problem = PROBLEMS[name](seed)
    space, rng = problem.space, np.random.default_rng([seed, 5])
    configs = space.sample(rng, SIZES[-1])
    X = space.to_unit(configs)
    y = np.array([problem(config) for config in configs])
    state = None
    found = []
    for n in SIZES:
        z = (y[:n] - y[:n].mean()) / y[:n].std()
        ours = how == "ours"
        likelihood = GraphLikelihood(space, X[:n], z, np.full(n, np.nan), "se", free_scale=ours)
        state = first_state(space, likelihood) if state is None else state
        learning = GraphLearning() if ours else PAPER
        kind: Any = "disjoint" if how == "no overlap (paper)" else "overlap"
        state = learn_graph(space, likelihood, state, learning, rng, kind).state
        found.append(correct(set(state.edges), set(EDGES[name]), len(space)))
    return found


def correct(edges: set[Edge], true: set[Edge], d: int) -> tuple[float, float]:
    """CC and CS of section 5.1."""
    pairs = set(combinations(range(d), 2))
    return len(edges & true) / len(true), len(pairs - edges - true) / len(pairs - true)


def recovery_table(name: str, seeds: int) -> str:
    lines = ["| | " + " | ".join(f"n = {n}" for n in SIZES) + " |"]
    lines.append("|---" * (len(SIZES) + 1) + "|")
    for how in ("overlap (paper)", "no overlap (paper)", "ours"):
        mean = np.mean([recovery(name, seed, how) for seed in range(seeds)], axis=0)
        cells = [f"{cc:.2f} / {cs:.2f}" for cc, cs in mean]
        lines.append(f"| {how} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--recovery-seeds", type=int, default=10)
    options = parser.parse_args()
    text = f"""\
# Overlapping groups, measured

Written by `experiments/additive.py` (Figures 3 to 6 of the paper; the sizes of its graphs are not
known to us): functions drawn from the model on a star of 10 variables and on a 3 x 3 grid, one 2-D
function per edge, squared exponential with length-scale 0.2, variance one in all, no noise.
{INITIAL} random points, the same for every method, then {AFTER[-1]} more. bosquet {bq.__version__},
NumPy {np.__version__}, SciPy {scipy.__version__}, networkx {networkx.__version__}.

## Regret

Simple regret and average cumulative regret: mean of {options.seeds} seeds (worst seed). "(paper)"
is Algorithm 1 with a sum of bounds on a grid, and Algorithm 3 with p = 1/2 and 200 likelihoods
every 30 trials; the others are our defaults, expected improvement started from message passing.

"""
    for name in PROBLEMS:
        text += f"### {name}\n\n{regret_table(name, options.seeds)}\n\n"
    text += f"""\
## Learning the graph

Correct connections / separations of the graph learned from n random points; learning goes on from
the last graph every 30 points; length-scales are learned too. Mean of {options.recovery_seeds}
seeds. "ours": a common scale integrated out, 2 / D as the probability of an edge, 800 likelihoods
each time.

"""
    for name in PROBLEMS:
        text += f"### {name}\n\n{recovery_table(name, options.recovery_seeds)}\n\n"
    (ROOT / "docs" / "additive.md").write_text(text.rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
