"""Figure 7 of the BOinG supplement: where expected improvement is highest in a subregion.

Writes docs/results/lgpga-ei.md.

Results are kept in experiments/results/lgpga-ei.json; what is there is not measured again.

    python experiments/lgpga_ei.py [--seeds 50]
    python experiments/lgpga_ei.py --page    writes the page from what is kept
"""

from __future__ import annotations

from typing import Any

import numpy as np
from kept_script import KeptSeeds
from lgpga import RESTARTS, Predict, predictor
from scipy.stats import binomtest

import bosquet as bq
from bosquet.acquisition.base import LogEI
from bosquet.arrays import Array, Bools
from bosquet.benchmarks import PROBLEMS
from bosquet.models.base import PathModel
from bosquet.models.covariance import SpaceGP
from bosquet.models.local_global import LocalGlobalGP
from bosquet.models.plain import plain
from bosquet.strategies.published import SMAC

SPACE = bq.Space({"x": bq.Float(0, 1), "y": bq.Float(0, 1)})
POINTS = 40
N_INSIDE = 10  # 5 d
INDUCING = 4  # which Figure 7 shows
GRID = 50  # places inside, along each side
MODELS = ("full GP", "local GP", "LGPGA")

HEAD = """\
# Expected improvement inside a subregion

Written by `experiments/lgpga_ei.py` from `experiments/results/lgpga-ei.json`: Figure 7 of the BOinG
supplement (Appendix E), which shows one data set. {points} random points of Branin's function; the
subregion is the smallest square around the best of them, cut off at the bounds, that holds
{inside}. Each model has the authors' bounds and priors and {restarts} starts, as `boing.paper`, and
LGPGA {inducing} inducing points. The figure has no number; ours is the value of Branin's function
where a model's expected improvement is highest in the subregion (a grid of {grid} x {grid} places),
as the share of the subregion where the function is lower: 0 is its minimum there, and a direction
known to be bad is near 1. {seeds} seeds.

"""


def branin(X: Array) -> Array:
    """Of unit rows."""
    problem = PROBLEMS["branin"](0)
    return np.array([problem(config) for config in problem.space.from_unit(X)])


def measure(seed: int) -> dict[str, float]:
    """For each model: the share of the subregion that is better than where its EI is highest."""
    rng = np.random.default_rng(seed)
    X = rng.random((POINTS, 2))
    y = branin(X)
    best = X[np.argmin(y)]
    half = np.sort(np.abs(X - best).max(axis=1))[N_INSIDE - 1]
    low, high = np.clip(best - half, 0.0, 1.0), np.clip(best + half, 0.0, 1.0)
    inside = np.abs(X - best).max(axis=1) <= half
    sides = [np.linspace(low[i], high[i], GRID) for i in range(2)]
    places = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
    true = branin(places)
    shares = {}
    for name, predict in fitted(X, y, inside, high - low, rng).items():
        incumbent = float(predict(X[inside])[0].min())
        asked = int(np.argmax(LogEI(incumbent, 0.0).value(*predict(places))))
        shares[name] = round(float(np.mean(true < true[asked])), 4)
    return shares


def fitted(
    X: Array, y: Array, inside: Bools, widths: Array, rng: np.random.Generator
) -> dict[str, Predict]:
    of_all, of_inside = ((y[rows].mean(), y[rows].std()) for rows in (inside | True, inside))
    noise = np.full(POINTS, np.nan)

    def rows(some: Bools, units: tuple[float, float]) -> tuple[Array, Array, Array]:
        return X[some], (y[some] - units[0]) / units[1], noise[some]

    near, far = rows(inside, of_inside), rows(~inside, of_inside)
    whole, part = plain(SPACE, SMAC), plain(SPACE, SMAC, widths)
    gps: list[tuple[PathModel[Any], tuple[float, float]]] = [
        (SpaceGP(whole, *rows(inside | True, of_all)), of_all),
        (SpaceGP(part, *near), of_inside),
        (LocalGlobalGP(part, near, far, INDUCING), of_inside),
    ]
    return {name: predictor(gp, units, rng) for name, (gp, units) in zip(MODELS, gps, strict=True)}


def page(runs: list[dict[str, Any]]) -> str:
    lines = ["| model | share that is better: median (quartiles) | mean | above a half |"]
    lines.append("|---" * 4 + "|")
    found = {name: np.array([run[name] for run in runs]) for name in MODELS}
    for name, shares in found.items():
        low, middle, high = np.quantile(shares, (0.25, 0.5, 0.75))
        cells = [name, f"{middle:.3f} ({low:.3f}, {high:.3f})", f"{shares.mean():.3f}"]
        lines.append(f"| {' | '.join(cells)} | {np.sum(shares > 0.5)} of {len(runs)} |")
    texts = [compared(found, MODELS[2], MODELS[1]), compared(found, MODELS[0], MODELS[1])]
    head = HEAD.format(
        points=POINTS,
        inside=N_INSIDE,
        restarts=RESTARTS,
        inducing=INDUCING,
        grid=GRID,
        seeds=len(runs),
    )
    return head + "\n".join(lines) + f"\n\n{' '.join(texts)}\n"


def compared(found: dict[str, Array], better: str, worse: str) -> str:
    """With the two-sided sign test."""
    lower = int(np.sum(found[better] < found[worse]))
    higher = int(np.sum(found[better] > found[worse]))
    p = binomtest(lower, lower + higher).pvalue if lower + higher else 1.0
    return (
        f"{better}: a lower value than the {worse} on {lower} seeds, a higher one on {higher} "
        f"(sign test, p = {p:.3f})."
    )


SCRIPT = KeptSeeds("lgpga-ei", measure, page)
kept_page = SCRIPT.kept_page


if __name__ == "__main__":
    SCRIPT.main(__doc__)
