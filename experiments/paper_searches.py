"""What searching every path costs, against Algorithm 2 of Add-Tree and two-step EI of Tree-EI.

Perfect binary trees with two variables in every node (Appendix C of the 2020 paper), and the trees
of `tree_ei_speed.py` (Table 1 of the 2017 paper). One process, CPU time of the searches alone: the
posterior is there. Writes docs/results/paper-searches.md.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python experiments/paper_searches.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tree_ei_speed import balanced

import bosquet as bq
from bosquet.acquisition.base import Acquisition, LogEI
from bosquet.arrays import Array
from bosquet.benchmarks.kept import head_commit
from bosquet.models.add_tree import paper_add_tree
from bosquet.models.base import PathPosterior
from bosquet.models.covariance import Covariance, SpaceGP
from bosquet.models.tree_linear import TreeGP, TreeLinear
from bosquet.search.node_sum import maximise_node_sum
from bosquet.search.tree_path import PathEffort, PathSearch, on_path
from bosquet.search.two_step import TwoStep
from bosquet.strategies.gp_strategy import bound

ROOT = Path(__file__).parent.parent
DEPTHS = (1, 2, 3, 4, 5, 6)
LEAVES = (4, 8, 16, 32, 64)
SEEDS = 5
TRIALS = 50
PER_LEAF = 5
OF_A_NODE = 512, 5  # random rows and how many of them are climbed from, as in `search.node_sum`
OF_A_PATH = 2048, 4  # the same in step 2 of two-step EI


def perfect(depth: int) -> bq.Space:
    """Two variables in every node, which are depth deep."""

    def below(node: int, left: int) -> dict[str, Any]:
        own: dict[str, Any] = {f"{name}{node}": bq.Float(0, 1) for name in "xy"}
        if left > 1:
            options = {bit: below(2 * node + bit, left - 1) for bit in (0, 1)}
            own[f"c{node}"] = bq.Choice(options)
        return own

    return bq.Space(below(1, depth))


def cpu_ms(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return 1e3 * (time.process_time() - start)


def every_path(
    space: bq.Space,
    posterior: PathPosterior,
    acquisition: Acquisition,
    effort: tuple[int, int],
    rng: np.random.Generator,
) -> float:
    """CPU ms of random rows and climbs on each path in all of its variables."""
    paths = list(space.tree.paths())
    hard = PathEffort(effort[0] * len(paths), effort[0], len(paths), effort[1])
    search = PathSearch(space, posterior.on_path, acquisition, effort=hard)
    return cpu_ms(lambda: search.maximise(paths, np.empty((0, len(space))), rng))


def add_tree_times(depth: int, seed: int) -> tuple[float, float]:
    """Algorithm 2, and every path by the bound of its own posterior."""
    space = perfect(depth)
    rng = np.random.default_rng(seed)
    X = space.to_unit(space.sample(rng, TRIALS))
    model = Covariance(space, *paper_add_tree(space))
    gp = SpaceGP(model, X, rng.standard_normal(TRIALS), np.full(TRIALS, np.nan))
    posterior = gp.posterior(gp.hyper.mean)

    def of_nodes(dimension: int) -> Acquisition:
        return bound(dimension, TRIALS + 1)

    node_ms = cpu_ms(lambda: maximise_node_sum(space, posterior.additive, of_nodes, rng))
    path_bound = bound(2 * depth, TRIALS + 1)
    return node_ms, every_path(space, posterior, path_bound, OF_A_NODE, rng)


def tree_times(n_leaves: int, seed: int) -> tuple[float, float, float]:
    """Step 1, step 2 on its best path, and every path."""
    space = balanced(n_leaves)
    rng = np.random.default_rng(seed)
    paths = list(space.tree.paths())
    X = np.vstack([on_path(space, path, rng.random((PER_LEAF, len(space)))) for path in paths])
    y = rng.standard_normal(len(X))
    model = TreeLinear(
        space, paths, features="raw", leaf="own", hierarchical=False, offsets="scalar"
    )
    posterior = TreeGP(model, X, y).posterior(model.hyper.mean)
    ei = LogEI(float(y.min()), 0.0)
    steps = TwoStep(space, posterior, ei, plug_in=True, refine_shared=False)
    promises = steps.rank(paths, [PER_LEAF] * len(paths), rng)
    first = cpu_ms(lambda: steps.rank(paths, [PER_LEAF] * len(paths), rng))
    nothing: Array = np.empty((0, len(space)))
    second = cpu_ms(lambda: steps.maximise(promises[:1], nothing, rng))
    return first, second, every_path(space, posterior, ei, OF_A_PATH, rng)


def medians(times: Callable[[int, int], tuple[float, ...]], size: int) -> list[float]:
    times(size, 0)  # loads what it loads
    return [float(m) for m in np.median([times(size, seed) for seed in range(SEEDS)], axis=0)]


def main() -> None:
    add_tree = ["| depth | paths | nodes | Algorithm 2 | every path | ratio |", "|---" * 6 + "|"]
    for depth in DEPTHS:
        nodes_ms, paths_ms = medians(add_tree_times, depth)
        cells = [depth, 2 ** (depth - 1), 2**depth - 1, f"{nodes_ms:.0f} ms", f"{paths_ms:.0f} ms"]
        cells.append(f"{paths_ms / nodes_ms:.1f}")
        add_tree.append(f"| {' | '.join(map(str, cells))} |")
        print(add_tree[-1], flush=True)
    tree = ["| leaves | step 1 | step 2 | every path | ratio |", "|---" * 5 + "|"]
    for leaves in LEAVES:
        first, second, paths_ms = medians(tree_times, leaves)
        cells = [leaves, *(f"{ms:.1f} ms" for ms in (first, second, paths_ms))]
        cells.append(f"{paths_ms / (first + second):.1f}")
        tree.append(f"| {' | '.join(map(str, cells))} |")
        print(tree[-1], flush=True)
    text = f"""\
# Searching every path, or not

Written by `experiments/paper_searches.py`: CPU time of one search, without the fit, medians of
{SEEDS} seeds in one process. Targets are random, hyper-parameters those that a fit starts from.
bosquet {bq.__version__}, commit {head_commit(ROOT)}, NumPy {np.__version__}.

## Algorithm 2 of Add-Tree

Perfect binary trees with two variables in every node, {TRIALS} trials (Appendix C of the paper).
Algorithm 2 searches each node in its own variables; "every path" searches each path in all of its
variables, by the confidence bound of the path's own posterior. Both look at {OF_A_NODE[0]} random
rows of each node or path, and climb from the best {OF_A_NODE[1]}.

{chr(10).join(add_tree)}

## Two-step expected improvement of Tree-EI

Balanced binary trees with a variable in every leaf and a shared one above every two leaves,
{PER_LEAF} trials a leaf (Table 1 of the paper). Step 1 ranks all paths by path EI; step 2 searches
the best one, its shared variable fixed. "Every path" searches each, shared variable included. Both
look at {OF_A_PATH[0]} random rows of a path, and climb from the best {OF_A_PATH[1]}.

{chr(10).join(tree)}
"""
    (ROOT / "docs" / "results" / "paper-searches.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
