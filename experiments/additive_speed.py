"""Time and memory of `additive`: one ask on given graphs of treewidth 2, and Gibbs sampling.

D = 20, 50 and 100 variables joined in a strip of triangles (i, i+1, i+2), 300 observations: a fit
of 50 iterations (what an ask does when a refit is due), message passing with its refinement, and
the whole ask, each in a process of its own so that the peak of memory is its own. Then likelihoods
per second of Algorithm 3 at D = 20 and n = 200. Writes docs/results/additive-speed.md.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python experiments/additive_speed.py
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import bosquet as bq
from bosquet.acquisition.base import LowerBound
from bosquet.graphs import edges_of
from bosquet.kernels.components import Kind
from bosquet.models.additive_graph import GraphCovariance, clique_components
from bosquet.models.covariance import SpaceGP
from bosquet.models.graph_learning import GraphLearning, first_state, learn_graph
from bosquet.models.graph_likelihood import GraphLikelihood
from bosquet.search.junction_tree import CliqueSearch
from bosquet.strategies import Additive

ROOT = Path(__file__).parent.parent
DIMENSIONS = (20, 50, 100)
N = 300


def box(d: int) -> bq.Space:
    return bq.Space({f"x{i}": bq.Float(0, 1) for i in range(d)})


def strip(config: dict[str, float]) -> float:
    x = np.array(list(config.values()))
    return float(np.sum(np.sin(5 * x[:-2] * x[1:-1]) * np.cos(3 * x[2:]) + (x[2:] - 0.6) ** 2))


def measure(d: int) -> str:
    """A line of the table."""
    space = box(d)
    triangles = [(i, i + 1, i + 2) for i in range(d - 2)]
    rng = np.random.default_rng(0)
    configs = space.sample(rng, N)
    y = np.array([strip(config) for config in configs])
    z = (y - y.mean()) / y.std()
    gp = SpaceGP(GraphCovariance(space, edges_of(triangles), "matern52"), space.to_unit(configs), z)
    start = time.process_time()
    theta, _ = gp.fit([gp.hyper.mean], 50)
    fit = time.process_time() - start
    posterior = gp.posterior(theta).additive
    start = time.process_time()
    cliques = clique_components(posterior.components)
    found = CliqueSearch(space, posterior, cliques).maximise(LowerBound(1.0), rng)
    passing = time.process_time() - start
    groups = [tuple(f"x{v}" for v in triangle) for triangle in triangles]
    optimizer = bq.Optimizer(space, Additive(groups=groups, kernel="matern52", transforms=False))
    for config, value in zip(configs, y, strict=True):
        optimizer.tell(config, value)
    start = time.process_time()
    trial = optimizer.ask()
    first = time.process_time() - start
    optimizer.tell(trial, strip(trial.config))
    start = time.process_time()
    optimizer.ask()
    ask = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    width = found.summary["treewidth"]
    per_clique = 1e3 * passing / len(triangles)
    return (
        f"| {d} | {len(triangles)} | {width} | {fit:.1f} s | {passing:.2f} s | "
        f"{per_clique:.0f} ms | {first:.1f} s | {ask:.1f} s | {peak:.0f} MB |"
    )


def gibbs(kind: str) -> str:
    space, n = box(20), 200
    rng = np.random.default_rng(0)
    configs = space.sample(rng, n)
    y = np.array([strip(config) for config in configs])
    z = (y - y.mean()) / y.std()
    shape: Kind = "se" if kind == "se" else "matern52"
    likelihood = GraphLikelihood(space, space.to_unit(configs), z, np.full(n, np.nan), shape)
    state = first_state(space, likelihood)
    start = time.process_time()
    learned = learn_graph(space, likelihood, state, GraphLearning(), rng)
    return f"{learned.likelihoods / (time.process_time() - start):.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dimension", type=int, help="print one line of the table only")
    dimension = parser.parse_args().dimension
    if dimension is not None:
        print(measure(dimension))
        return
    lines = [
        "| D | cliques | treewidth | fit | message passing | per clique | first ask | next ask | "
        "peak memory |"
    ]
    lines.append("|---" * 9 + "|")
    for d in DIMENSIONS:
        command = [sys.executable, __file__, "--dimension", str(d)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        lines.append(done.stdout.strip())
        print(lines[-1], flush=True)
    rates = {kind: gibbs(kind) for kind in ("se", "matern52")}
    print(rates)
    text = f"""\
# Additive models: time and memory

Written by `experiments/additive_speed.py`: CPU time with one thread. A strip of triangles
(i, i+1, i+2), {N} observations, Matern-5/2. A fit has up to 50 iterations; message passing is one
acquisition on a grid of 1,000 points per clique, three zooms and the joint climb. The first ask of
a resumed run fits from the prior; the next one, as most, keeps the fit (which is renewed every n/50
trials). Both pass messages twice, on grids of 400 points, and then search expected improvement.
bosquet {bq.__version__}, NumPy {np.__version__}.

"""
    text += "\n".join(lines)
    text += f"""

Algorithm 3 at D = 20, n = 200: {rates["se"]} likelihoods per second with the squared exponential,
{rates["matern52"]} with Matern-5/2.
"""
    (ROOT / "docs" / "results" / "additive-speed.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
