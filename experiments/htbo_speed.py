"""What an ask of `htbo` costs with many trials, and what its limits cost in density.

Writes docs/results/htbo-speed.md.

    export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
    python experiments/htbo_speed.py [--trials 100,500,1500] [--rows 300]
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import bosquet as bq
from bosquet.models.transform import transform
from bosquet.strategies import HTBO
from bosquet.strategies.fitting import Setting

ROOT = Path(__file__).parent.parent
ASKS = 7


def ask_seconds(n: int) -> tuple[float, float]:
    """CPU seconds of the first ask after n random trials, and of those that follow (median)."""
    problem = bq.benchmarks.levy(8, shift=0)
    opt = bq.Optimizer(problem.space, HTBO(), seed=0)
    for config in problem.space.sample(0, n):
        opt.tell(config, problem(config))
    seconds = []
    for _ in range(ASKS):
        started = time.process_time()
        trial = opt.ask()
        seconds.append(time.process_time() - started)
        opt.tell(trial, problem(trial.config))
    return seconds[0], statistics.median(seconds[1:])


def densities(problem: bq.benchmarks.Problem, n: int, exact: bool) -> tuple[list[float], float]:
    """Mean log density of places near the best trials and anywhere, and CPU seconds of a fit.

    Half of the trials are random, half were asked for by `turbo`.
    """
    space = problem.space
    run = bq.minimize(problem, space, n_trials=n // 2, strategy="turbo", seed=1, progress=False)
    configs = [trial.config for trial in run.trials] + space.sample(1, n - n // 2)
    y = np.array([problem(config) for config in configs])
    X = space.to_unit(configs)
    best = np.repeat(X[np.argsort(y)[:30]], 10, axis=0)
    moved = best + 0.03 * np.random.default_rng(0).standard_normal(best.shape)
    model = HTBO(exact=exact).model_on(
        space, X, transform(y, np.full(n, np.nan)), Setting("matern52")
    )
    started = time.process_time()
    posterior = model.posterior(model.fit([model.hyper.mean], 50)[0])
    seconds = time.process_time() - started
    found = []
    for held_out in (space.from_unit(np.clip(moved, 0.0, 1.0)), space.sample(999, 300)):
        Q = space.to_unit(held_out)
        z = (np.array([problem(config) for config in held_out]) - y.mean()) / y.std()
        mean, variance = posterior.on_path((0,)).moments(Q)
        variance = variance + posterior.noise(Q)
        log_density = -0.5 * (np.log(2 * np.pi * variance) + (z - mean) ** 2 / variance)
        found.append(float(np.mean(log_density)))
    return found, seconds


def page(trials: Sequence[int], n: int) -> str:
    lines = [
        "| trials | an ask | the first, without an earlier fit |",
        "|---|---|---|",
    ]
    for count in trials:
        first, usual = ask_seconds(count)
        lines.append(f"| {count} | {usual:.2f} s | {first:.2f} s |")
        print(lines[-1], flush=True)
    rows = ["| problem | | near the best | anywhere | a fit |", "|---|---|---|---|---|"]
    for problem in (bq.benchmarks.levy(8, shift=1), bq.benchmarks.gramacy_exp()):
        for label, exact in (("limits", False), ("exact", True)):
            found, seconds = densities(problem, n, exact)
            cells = " | ".join(f"{one:.2f}" for one in found)
            rows.append(f"| {problem.name} | {label} | {cells} | {seconds:.1f} s |")
            print(rows[-1], flush=True)
    return f"""\
# Speed of `htbo`

Written by `experiments/htbo_speed.py`. CPU seconds on one core, Python {platform.python_version()},
NumPy {np.__version__}. Levy's function of 8 variables, random trials; "an ask" is the median of
{ASKS - 1} asks that follow the first.

{chr(10).join(lines)}

What the limits cost (`exact=True` has none): mean log density of held-out places, {n} trials, half
of them random and half asked for by `turbo`; higher is better. One seed.

{chr(10).join(rows)}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", default="100,500,1500")
    parser.add_argument("--rows", type=int, default=300)
    options = parser.parse_args()
    text = page([int(one) for one in options.trials.split(",")], options.rows)
    (ROOT / "docs" / "results" / "htbo-speed.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
