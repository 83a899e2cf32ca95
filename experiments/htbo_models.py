"""What a tree of Gaussian processes is worth without a search: the model of `htbo`.

Held-out density where noise differs (Yuan & Wahba), the variance at a split (Figure 1 of the 2014
paper), and how far the two families of warps are apart. Writes docs/results/htbo-models.md and
.png. The picture of RKHS-1D needs data (rkhs_1d.json).

    OMP_NUM_THREADS=1 python experiments/htbo_models.py [--seeds 20] [--first-seed 100] [--data DIR]
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from htbo_problems import rkhs_1d
from matplotlib.figure import Figure

import bosquet as bq
from bosquet.arrays import Array, Bools
from bosquet.benchmarks.suite import DATA_VARIABLE
from bosquet.models.add_tree import add_tree
from bosquet.models.cart import Cart
from bosquet.models.covariance import Covariance, SpaceGP
from bosquet.models.transform import Targets
from bosquet.models.treed import TreedGP, TreedPosterior
from bosquet.models.warping import WarpedGP, beta, kumaraswamy
from bosquet.strategies import HTBO
from bosquet.strategies.fitting import Setting

PAGES = Path(__file__).parent.parent / "docs" / "results"


def interval() -> bq.Space:
    return bq.Space({"x": bq.Float(0, 1)})


def fitted(
    space: bq.Space, X: Array, y: Array
) -> tuple[SpaceGP, TreedGP, Array, tuple[float, float]]:
    """A stationary and a treed GP of standardised targets, theta of the first, and the scale."""
    scale = float(y.mean()), float(y.std())
    z, noise = (y - scale[0]) / scale[1], np.full(len(y), np.nan)
    covariance = Covariance(space, *add_tree(space))
    plain = SpaceGP(covariance, X, z, noise)
    treed = HTBO().model_on(space, X, Targets(z, noise, 0.0), Setting("matern52"))
    return plain, treed, treed.fit([treed.hyper.mean])[0], scale


def yuan_wahba(n: int, rng: np.random.Generator, seed: int) -> tuple[Array, Array]:
    problem = bq.benchmarks.yuan_wahba(seed)
    X = rng.random((n, 1))
    return X, np.array([problem({"x1": float(x)}) for x in X[:, 0]])


def density(seeds: range) -> str:
    """Mean log predictive density of 500 held-out observations."""
    lines = [
        "| observations | one GP: mean | median | worst | HTBO: mean | median | worst | ahead on |",
        "|---" * 8 + "|",
    ]
    for n in (30, 60, 100):
        scores: list[list[float]] = []
        for seed in seeds:
            rng = np.random.default_rng([2004, n, seed])
            X, y = yuan_wahba(n, rng, seed)
            Q, q = yuan_wahba(500, rng, seed + 1000)
            plain, treed, theta, (centre, spread) = fitted(interval(), X, y)
            one, many = plain.posterior(theta), treed.posterior(theta)
            noises = (np.exp(one.eta[-1]), many.noise(Q))
            row = []
            for belief, noise in zip((one.on_path((0,)), many.on_path((0,))), noises, strict=True):
                mean, variance = belief.moments(Q)
                v = spread**2 * (variance + noise)
                gap = q - centre - spread * mean
                row.append(float(np.mean(-0.5 * (np.log(2 * np.pi * v) + gap**2 / v))))
            scores.append(row)
        table = np.array(scores)
        cells = [
            f"{column.mean():.2f} | {np.median(column):.2f} | {column.min():.2f}"
            for column in table.T
        ]
        ahead = int((table[:, 1] > table[:, 0]).sum())
        lines.append(f"| {n} | {' | '.join(cells)} | {ahead} of {len(seeds)} |")
    return "\n".join(lines)


def warps() -> str:
    """How far the two families of warps are apart."""
    x = np.linspace(0, 1, 201)
    shapes = np.arange(-1.5, 1.51, 0.05)
    A, B = (grid.ravel()[:, None] for grid in np.meshgrid(shapes, shapes))
    ours = kumaraswamy(x[None], A, B)[0]
    gaps, twins = [], []
    for a in np.linspace(-1, 1, 9):
        for b in np.linspace(-1, 1, 9):
            wanted = beta(x, np.array([a]), np.array([b]))[0]
            gaps.append(np.abs(ours - wanted).max(axis=1).min())
            twins.append(np.abs(kumaraswamy(x, np.array([a]), np.array([b]))[0] - wanted).max())
    differences, seconds = [], dict.fromkeys(("beta", "kumaraswamy"), 0.0)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.random((40, 2))
        z = np.sin(8 * X[:, 0] ** 0.3) + X[:, 1] ** 3
        z = (z - z.mean()) / z.std()
        space = bq.Space({"a": bq.Float(0, 1), "b": bq.Float(0, 1)})
        covariance = Covariance(space, *add_tree(space))
        best = {}
        for name in seconds:
            gp = WarpedGP(covariance, X, z, warp=name)  # type: ignore[arg-type]
            started = time.process_time()
            best[name] = gp.fit([gp.hyper.mean])[1]
            seconds[name] += time.process_time() - started
        differences.append(best["kumaraswamy"] - best["beta"])
    return (
        f"Largest distance, on [0, 1], of a Beta distribution function with log a and log b in "
        f"[-1, 1] from the nearest Kumaraswamy: {max(gaps):.3f} (median {np.median(gaps):.3f}); "
        f"from the one with the same a and b: {max(twins):.3f}. Best log posterior of 40 points of "
        f"a bent function in two dimensions, Kumaraswamy minus Beta, five seeds: "
        f"{', '.join(f'{d:+.1f}' for d in differences)}; CPU of the fits "
        f"{seconds['kumaraswamy']:.1f} s against {seconds['beta']:.1f} s. `warp=True` is "
        f"Kumaraswamy's, `warp=\"beta\"` the paper's."
    )


def pictures(path: Path) -> None:
    figure = Figure(figsize=(13, 7.5), layout="constrained")
    axes = figure.subplots(2, 2).ravel()
    problem = rkhs_1d()
    result = bq.minimize(
        problem, problem.space, n_trials=30, strategy="htbo", seed=0, progress=False
    )
    data = result.history.dataset()
    _, treed, theta, scale = fitted(problem.space, data.X, data.y)
    x = np.linspace(0, 1, 1001)[:, None]
    axes[0].plot(x, [problem({"x": float(v)}) for v in x[:, 0]], color="0.6", lw=0.8)
    draw_interval(axes[0], treed.posterior(theta), data.X, data.y, scale, noise=False)
    axes[0].set_title("RKHS-1D (turned round), 30 trials of htbo")
    X, y = yuan_wahba(80, np.random.default_rng(0), 0)
    _, treed, theta, scale = fitted(interval(), X, y)
    draw_interval(axes[1], treed.posterior(theta), X, y, scale, noise=True)
    axes[1].set_title("Yuan & Wahba, 80 observations: interval of observations")
    draw_boxes(axes[2])
    draw_split(axes[3])
    figure.savefig(path, dpi=110)


def draw_interval(
    axis: Any,
    posterior: TreedPosterior,
    X: Array,
    y: Array,
    scale: tuple[float, float],
    noise: bool,
) -> None:
    x = np.linspace(0, 1, 1001)[:, None]
    mean, variance = posterior.on_path((0,)).moments(x)
    if noise:
        variance = variance + posterior.noise(x)
    centre, spread = scale
    middle, width = centre + spread * mean, 2 * spread * np.sqrt(variance)
    axis.fill_between(x[:, 0], middle - width, middle + width, alpha=0.25, lw=0)
    axis.plot(x, middle, lw=1)
    axis.plot(X[:, 0], y, "k.", ms=4)
    for leaf in posterior.leaves:
        axis.axvline(leaf.cell.lower[0], color="C3", lw=0.6)


def draw_boxes(axis: Any) -> None:
    problem = bq.benchmarks.gramacy_exp()
    result = bq.minimize(
        problem, problem.space, n_trials=40, strategy="htbo", seed=0, progress=False
    )
    data = result.history.dataset()
    tree = Cart(problem.space, data.X, data.y)
    axis.scatter(*data.X.T, c=data.y, s=14, cmap="viridis")
    for leaf in tree.leaves:
        low, high = leaf.cell.lower, leaf.cell.upper
        axis.plot(*np.array([low, (high[0], low[1]), high, (low[0], high[1]), low]).T, "C3", lw=0.8)
    axis.set_title("Gramacy's exponential, 40 trials of htbo: leaves")


def at_the_split() -> tuple[Array, Array, Array]:
    """Figure 1: queries, and variances of leaves that share the point at a split or do not.

    Leaves on their own data, length-scale 0.2 and noise variance 1e-6 for all.
    """
    X = np.linspace(0, 1, 13)[:, None]
    z = np.where(X[:, 0] < 0.5, 1.0, -1.0) + 0.3 * np.sin(9 * X[:, 0])
    components, hyper = add_tree(interval())
    covariance = Covariance(interval(), components, hyper)
    theta = hyper.mean.copy()
    theta[np.argmax(hyper.matrix[components[0].lengths[0]])] += np.log(0.2)
    theta[-1] = np.log(1e-6)
    cell = Cart(interval(), X, z, 6).leaves[0].cell
    edge = cell.upper[0]
    gap = X[X[:, 0] > edge].min()
    queries = np.linspace(0, 1, 601)[:, None]

    def variance(left: Bools, right: Bools, at: float) -> Array:
        beliefs = [
            SpaceGP(covariance, X[side], z[side]).posterior(theta).on_path((0,))
            for side in (left, right)
        ]
        return np.where(queries[:, 0] <= at, *(belief.moments(queries)[1] for belief in beliefs))

    x = X[:, 0]
    shared = variance(x <= edge, x >= edge, edge)
    return queries[:, 0], shared, variance(x <= edge, x > edge, 0.5 * (edge + gap))


def draw_split(axis: Any) -> None:
    x, ours, midpoint = at_the_split()
    axis.plot(x, np.sqrt(midpoint), label="midpoint of CART")
    axis.plot(x, np.sqrt(ours), label="at a point of both leaves")
    axis.set_title("Standard deviation around a split (Figure 1)")
    axis.legend()


def split_text() -> str:
    x, ours, midpoint = at_the_split()
    near = (x > 0.35) & (x < 0.65)
    return (
        f"Leaves on their own data, thirteen points, one split, the same hyper-parameters: the "
        f"largest variance near the split is {ours[near].max():.2g} when the point at the split "
        f"belongs to both leaves, and {midpoint[near].max():.2g} with CART's midpoint."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument("--data", type=Path, help="the directory of the data (../shared/data)")
    options = parser.parse_args()
    if options.data is not None:
        os.environ[DATA_VARIABLE] = str(options.data.absolute())
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    pictures(PAGES / "htbo-models.png")
    text = f"""\
# The model of HTBO, without a search

Written by `experiments/htbo_models.py`. bosquet {bq.__version__}, NumPy {np.__version__}, SciPy
{scipy.__version__}.

## Noise that differs (Yuan & Wahba)

Mean log predictive density of 500 held-out observations, {len(seeds)} seeds; one Gaussian process,
and a tree on the same priors, both fitted as `htbo` does.

{density(seeds)}

## At a split

{split_text()}

## Two families of warps

{warps()}

## Pictures

Leaves in red, two standard deviations.

![partitions and intervals](htbo-models.png)
"""
    (PAGES / "htbo-models.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
