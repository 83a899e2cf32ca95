"""Figures 5 and 6 of the 2018 paper on overlapping groups: how well graphs are learned.

Functions drawn from the model on a star of 10 variables and a 3 x 3 grid, at random points:
Algorithm 3 with the paper's settings, without overlap, and with our defaults. Writes
docs/results/additive-graphs.md.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python experiments/additive_graphs.py [--seeds 10]
"""

from __future__ import annotations

import argparse
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import bosquet as bq
from bosquet.benchmarks.additive import lattice, lattice_edges, star, star_edges
from bosquet.graphs import Edge
from bosquet.models.graph_learning import GraphLearning, first_state, learn_graph
from bosquet.models.graph_likelihood import GraphLikelihood
from bosquet.strategies import Additive

ROOT = Path(__file__).parent.parent
PROBLEMS = {"star": star, "grid": lattice}
EDGES = {"star": star_edges(10), "grid": lattice_edges(3)}
SIZES = (20, 50, 80, 110, 140, 170, 200)
PAPER = Additive.paper().learning


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
    seeds = parser.parse_args().seeds
    text = f"""\
# Learning the graph

Written by `experiments/additive_graphs.py` (Figures 5 and 6 of the paper): functions drawn from the
model on a star of 10 variables and on a 3 x 3 grid, length-scale 0.2. Correct connections / correct
separations of the graph learned from n random points; learning goes on from the last graph every 30
points, and length-scales are learned too. Mean of {seeds} seeds. "(paper)" is Algorithm 3 with
p = 1/2, 200 likelihoods each time and cliques of any size; "ours" integrates a common scale out,
expects two neighbours a variable, computes 800 and has cliques of 4 at most. bosquet
{bq.__version__}, NumPy {np.__version__}.

"""
    for name in PROBLEMS:
        text += f"## {name}\n\n{recovery_table(name, seeds)}\n\n"
    (ROOT / "docs" / "results" / "additive-graphs.md").write_text(
        text.rstrip() + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
