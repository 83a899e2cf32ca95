"""Block inference of the 2017 tree model against the dense computation, by the number of leaves.

A full binary tree, a variable in every leaf and a shared one in every inner node, five points a
leaf, linear features: CPU time of one log likelihood with its gradient, and of a whole fit of 30
iterations. Writes docs/results/tree-ei-speed.md.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python experiments/tree_ei_speed.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import bosquet as bq
from bosquet.models.tree_linear import TreeGP, TreeLinear
from bosquet.search.tree_path import on_path

ROOT = Path(__file__).parent.parent
LEAVES = (4, 8, 16, 32, 64, 128, 256)
PER_LEAF = 5


def balanced(n_leaves: int) -> bq.Space:
    """Leaf i has xi; the parent of every two leaves a shared r."""

    def below(node: int) -> dict[str, Any]:
        if node >= n_leaves:
            return {f"x{node}": bq.Float(0, 1)}
        own = {f"r{node}": bq.Float(0, 1)} if 2 * node >= n_leaves else {}
        return own | {f"c{node}": bq.Choice({bit: below(2 * node + bit) for bit in (0, 1)})}

    return bq.Space(below(1))


def cpu_ms(function: Callable[[], object]) -> float:
    times = []
    for _ in range(5):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return 1e3 * min(times)


def dense_ms(n: int) -> float:
    """Factorising and inverting an n x n matrix, once it is there."""
    A = np.random.default_rng(0).normal(size=(n, n))
    K = A @ A.T + n * np.eye(n)

    def once() -> None:
        L = np.linalg.cholesky(K)
        np.linalg.inv(L)

    return cpu_ms(once)


def main() -> None:
    lines = ["| leaves | trials | weights | likelihood | per leaf | fit | dense, floor |"]
    lines.append("|---" * 7 + "|")
    for n_leaves in LEAVES:
        space = balanced(n_leaves)
        rng = np.random.default_rng(0)
        rows = np.vstack(
            [
                on_path(space, path, rng.random((PER_LEAF, len(space))))
                for path in space.tree.paths()
            ]
        )
        y = rng.standard_normal(len(rows))
        model = TreeLinear(space, list(space.tree.rows_by_path(rows)), features="linear")
        gp = TreeGP(model, rows, y)
        theta = model.hyper.mean
        one_ms = cpu_ms(partial(gp.log_likelihood, theta))
        fit_ms = cpu_ms(partial(gp.fit, [theta], 30))
        dense = dense_ms(len(rows))
        lines.append(
            f"| {n_leaves} | {len(rows)} | {model.n_weights} | {one_ms:.2f} ms | "
            f"{1e3 * one_ms / n_leaves:.0f} us | {fit_ms:.0f} ms | {dense:.1f} ms |"
        )
        print(lines[-1], flush=True)
    text = f"""\
# Block inference, by the number of leaves

Written by `experiments/tree_ei_speed.py`: a balanced binary tree with a variable in every leaf and
a shared one above every two leaves, {PER_LEAF} trials a leaf, linear features; one thread, the best
of five. A likelihood comes with its gradient; a fit has 30 iterations. "Dense, floor" is only the
factorisation and inverse of the n x n matrix of Eq. 4. Time is linear in the leaves until the cube
of the number of weights shows, which here grows with the leaves too. bosquet {bq.__version__},
NumPy {np.__version__}.

""" + "\n".join(lines)
    (ROOT / "docs" / "results" / "tree-ei-speed.md").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
