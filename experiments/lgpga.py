"""Figure 6 of the BOinG supplement: noise inside a subregion, over seeds.

Writes docs/results/lgpga.md.

Results are kept in experiments/results/lgpga.json; what is there is not measured again.

    python experiments/lgpga.py [--seeds 50]
    python experiments/lgpga.py --page    writes the page from what is kept
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from kept_script import KeptSeeds

import bosquet as bq
from bosquet.arrays import Array, Bools
from bosquet.models.base import PathModel, PathPosterior
from bosquet.models.covariance import SpaceGP
from bosquet.models.local_global import LocalGlobalGP, n_inducing
from bosquet.models.plain import plain
from bosquet.strategies.published import SMAC

SPACE = bq.Space({"x": bq.Float(0, 1)})
POINTS = 50
INSIDE = slice(35, 45)  # of the points in order
RESTARTS = 10
MORE = 10  # inducing points; Appendix B.1 has two in one dimension, Figure 6 does not say
MODELS = ("full GP", "local GP", "LGPGA", f"LGPGA, {MORE} inducing points")

HEAD = """\
# Noise inside a subregion

Written by `experiments/lgpga.py` from `experiments/results/lgpga.json`: Figure 6 of the BOinG
supplement (Appendix E), which shows one data set. {points} random points of a function whose noise
differs from place to place; the subregion holds the points 35 to 44 in order, where there is little
noise. Each model has the authors' bounds and priors and {restarts} starts, as `boing.paper`, and
LGPGA two inducing points where nothing else is said. {seeds} seeds.

*Spread*: the predicted standard deviation of a new observation inside, root mean square over
places, over the true one; 1 is right. *Error*: of the predicted mean, root mean square over places
inside, and over places just beyond the two boundaries (half the width of the subregion on each
side), in true standard deviations of an observation inside. Medians (quartiles).

"""


def measure(seed: int) -> dict[str, Any]:
    """For each model: spread, error inside, error beyond the boundaries."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.random(POINTS))
    y = mean(x) + sd(x) * rng.standard_normal(POINTS)
    inside = np.zeros(POINTS, dtype=bool)
    inside[INSIDE] = True
    return {
        name: [round(number, 4) for number in compared(model, x, inside)]
        for name, model in fitted(x, y, inside, rng).items()
    }


def mean(x: Array) -> Array:
    return np.asarray(2.0 * np.exp(-30.0 * (x - 0.25) ** 2) + np.sin(np.pi * x**2))


def sd(x: Array) -> Array:
    return np.asarray(np.exp(np.sin(2.0 * np.pi * x)))


Predict = Callable[[Array], tuple[Array, Array]]
"""Mean and variance of an observation at some places, in the units of the observations."""


def fitted(x: Array, y: Array, inside: Bools, rng: np.random.Generator) -> dict[str, Predict]:
    of_all, of_inside = ((y[rows].mean(), y[rows].std()) for rows in (inside | True, inside))
    widths = np.array([x[inside].max() - x[inside].min()])
    whole, part = plain(SPACE, SMAC), plain(SPACE, SMAC, widths)
    X, noise = x[:, None], np.full(POINTS, np.nan)

    def rows(some: Bools, units: tuple[float, float]) -> tuple[Array, Array, Array]:
        return X[some], (y[some] - units[0]) / units[1], noise[some]

    near, far = rows(inside, of_inside), rows(~inside, of_inside)
    gps: dict[str, tuple[PathModel[Any], tuple[float, float]]] = {
        MODELS[0]: (SpaceGP(whole, *rows(inside | True, of_all)), of_all),
        MODELS[1]: (SpaceGP(part, *near), of_inside),
        MODELS[2]: (LocalGlobalGP(part, near, far, n_inducing(1, POINTS)), of_inside),
        MODELS[3]: (LocalGlobalGP(part, near, far, MORE), of_inside),
    }
    return {name: predictor(gp, units, rng) for name, (gp, units) in gps.items()}


def predictor(gp: PathModel[Any], units: tuple[float, float], rng: np.random.Generator) -> Predict:
    hyper = gp.hyper
    drawn = hyper.lower + rng.random((RESTARTS - 1, len(hyper.mean))) * (hyper.upper - hyper.lower)
    posterior: PathPosterior = gp.posterior(gp.fit([hyper.mean, *drawn], 50)[0])
    noise = float(np.exp(posterior.eta[-1]))

    def predict(x: Array) -> tuple[Array, Array]:
        m, v = posterior.on_path((0,)).moments(x.reshape(len(x), -1))
        return units[0] + units[1] * m, units[1] ** 2 * (v + noise)

    return predict


def compared(predict: Predict, x: Array, inside: Array) -> tuple[float, float, float]:
    low, high = x[inside].min(), x[inside].max()
    half = 0.5 * (high - low)
    within = np.linspace(low, high, 50)
    beyond = np.r_[np.linspace(low - half, low, 25), np.linspace(high, min(high + half, 1.0), 25)]
    true = float(np.sqrt(np.mean(sd(within) ** 2)))
    spread = float(np.sqrt(np.mean(predict(within)[1]))) / true
    errors = [
        float(np.sqrt(np.mean((predict(places)[0] - mean(places)) ** 2))) / true
        for places in (within, beyond)
    ]
    return spread, errors[0], errors[1]


def page(runs: list[dict[str, Any]]) -> str:
    lines = ["| model | spread | nearer to 1 than the full GP's | error inside | error beyond |"]
    lines.append("|---" * 5 + "|")
    found = np.array([[run[name] for name in MODELS] for run in runs])  # seeds, models, numbers
    off = np.abs(np.log(found[:, :, 0]))
    for i, name in enumerate(MODELS):
        low, middle, high = np.quantile(found[:, i], (0.25, 0.5, 0.75), axis=0)
        cells = [f"{m:.2f} ({a:.2f}, {b:.2f})" for a, m, b in zip(low, middle, high, strict=True)]
        nearer = f"{np.sum(off[:, i] < off[:, 0])} of {len(runs)}" if i else ""
        cells.insert(1, nearer)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    head = HEAD.format(points=POINTS, restarts=RESTARTS, seeds=len(runs))
    return head + "\n".join(lines) + "\n"


SCRIPT = KeptSeeds("lgpga", measure, page)
kept_page = SCRIPT.kept_page


if __name__ == "__main__":
    SCRIPT.main(__doc__)
