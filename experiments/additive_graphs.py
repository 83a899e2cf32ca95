"""Figures 5 and 6 of the 2018 paper on overlapping groups: how well graphs are learned.

Functions drawn from the model on a star of 10 variables and a 3 x 3 grid, at random points:
Algorithm 3 with the paper's settings, without overlap, and with our defaults. Writes
docs/results/additive-graphs.md; what was measured is kept in results/additive-graphs.json.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python experiments/additive_graphs.py [--seeds 20]
    python experiments/additive_graphs.py --page    writes the page from what is kept
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from kept_script import KeptSeeds

from bosquet.benchmarks.additive import lattice, lattice_edges, star, star_edges
from bosquet.graphs import Edge
from bosquet.models.graph_learning import GraphLearning, first_state, learn_graph
from bosquet.models.graph_likelihood import GraphLikelihood
from bosquet.strategies import Additive

PROBLEMS = {"star": star, "grid": lattice}
EDGES = {"star": star_edges(10), "grid": lattice_edges(3)}
SIZES = (20, 50, 80, 110, 140, 170, 200, 260, 320, 400)
PAPER = Additive.paper().learning
VERSIONS = ("overlap (paper)", "no overlap (paper)", "ours")

HEAD = """\
# Learning the graph

Written by `experiments/additive_graphs.py` from `experiments/results/additive-graphs.json` (Figures
5 and 6 of the paper): functions drawn from the model on a star of 10 variables and on a 3 x 3 grid,
length-scale 0.2. Correct connections / correct separations of the graph learned from n random
points; learning goes on from the last graph whenever points come in, and length-scales are learned
too. Mean of {seeds} seeds, and how many of them have the true graph. "(paper)" is Algorithm 3 with
p = 1/2, 200 likelihoods each time and cliques of any size; "ours" integrates a common scale out,
expects two neighbours a variable, computes 800 and has cliques of 4 at most.

"""


def recovery(name: str, seed: int, how: str) -> list[list[float]]:
    """Correct connections and separations as random points come in."""
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
    rounded: list[list[float]] = np.round(found, 4).tolist()
    return rounded


def correct(edges: set[Edge], true: set[Edge], d: int) -> tuple[float, float]:
    """CC and CS of section 5.1."""
    pairs = set(combinations(range(d), 2))
    return len(edges & true) / len(true), len(pairs - edges - true) / len(pairs - true)


def measure(seed: int) -> dict[str, Any]:
    return {name: {how: recovery(name, seed, how) for how in VERSIONS} for name in PROBLEMS}


def page(runs: list[dict[str, Any]]) -> str:
    text = HEAD.format(seeds=len(runs))
    for name in PROBLEMS:
        lines = ["| | " + " | ".join(f"n = {n}" for n in SIZES) + " |"]
        lines.append("|---" * (len(SIZES) + 1) + "|")
        for how in VERSIONS:
            found = np.array([run[name][how] for run in runs])  # seeds, sizes, two shares
            whole = (found == 1.0).all(axis=2).sum(axis=0)
            cells = [
                f"{cc:.2f} / {cs:.2f}, {n}"
                for (cc, cs), n in zip(found.mean(axis=0), whole, strict=True)
            ]
            lines.append(f"| {how} | " + " | ".join(cells) + " |")
        text += f"## {name}\n\n" + "\n".join(lines) + "\n\n"
    return text.rstrip() + "\n"


SCRIPT = KeptSeeds("additive-graphs", measure, page, seeds=20)
kept_page = SCRIPT.kept_page


if __name__ == "__main__":
    SCRIPT.main(__doc__)
