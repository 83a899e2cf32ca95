"""Fifty variables: a function that is additive, and one that is not.

`chain-50` is a sum of 49 functions of neighbours drawn from a GP (length-scale 0.5), `ackley-50`
the shifted Ackley function, not a sum of functions of few variables. `additive` with the chain
given and with a learned graph, `flat-gp` (one GP over all variables, dimension-scaled priors),
Optuna's TPE and random search. Writes docs/additive-50.md.

    pip install 'bosquet[study]'
    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python experiments/additive_50.py [--seeds 5]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import bosquet as bq
from bosquet.benchmarks.harness import Job, run, versions
from bosquet.benchmarks.problem import Problem
from bosquet.strategies import Additive, Strategy

ROOT = Path(__file__).parent.parent
D = 50
PAIRS = [(i, i + 1) for i in range(D - 1)]


def chain(seed: int) -> Problem:
    return bq.benchmarks.additive_gp(f"chain-{D}", PAIRS, seed, length=0.5)


def ackley(seed: int) -> Problem:
    return bq.benchmarks.ackley(D, shift=seed)


PROBLEMS = {"chain-50": chain, "ackley-50": ackley}
GIVEN = Additive(groups=[(f"x{i + 1}", f"x{j + 1}") for i, j in PAIRS])
METHODS: dict[str, str | Strategy] = {
    "`additive`, the chain given": GIVEN,
    "`additive`": "additive",
    "`flat-gp`": "flat-gp",
    "Optuna TPE": "optuna-tpe",
    "random": "random",
}


def distances(problem: str, method: str | Strategy, seed: int, trials: int) -> np.ndarray:
    """Best distance to the minimum after each trial."""
    made = PROBLEMS[problem](seed)
    assert made.minimum is not None
    if isinstance(method, str):
        values = run(Job(method, problem, seed, trials), PROBLEMS[problem]).values
    else:
        result = bq.minimize(made, made.space, n_trials=trials, strategy=method, seed=seed)
        values = [float(trial.value or 0.0) for trial in result.trials]
    return np.minimum.accumulate(values) - made.minimum


def table(problem: str, seeds: int, trials: int) -> str:
    after = sorted({trials // 4, trials // 2, trials})
    lines = ["| | " + " | ".join(f"after {n}" for n in after) + " | CPU s per run |"]
    lines.append("|---" * (len(after) + 2) + "|")
    for label, method in METHODS.items():
        start = time.process_time()
        runs = np.array([distances(problem, method, seed, trials) for seed in range(seeds)])
        spent = (time.process_time() - start) / seeds
        cells = [f"{runs[:, n - 1].mean():.2f} ({runs[:, n - 1].max():.2f})" for n in after]
        lines.append(f"| {label} | " + " | ".join(cells) + f" | {spent:.0f} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--trials", type=int, default=100)
    options = parser.parse_args()
    text = f"""\
# Fifty variables, additive and not

Written by `experiments/additive_50.py`: distance to the minimum, mean of {options.seeds} seeds
(worst seed), {options.trials} trials. `chain-50` is a sum of 49 functions of neighbours drawn from
a GP with length-scale 0.5 (variance one in all); `ackley-50` is not additive.

"""
    for problem in PROBLEMS:
        text += f"## {problem}\n\n{table(problem, options.seeds, options.trials)}\n\n"
    text += "Versions: " + ", ".join(f"{k} {v}" for k, v in versions().items()) + ".\n"
    (ROOT / "docs" / "additive-50.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
