"""Fifty variables: a function that is additive, and two that are not.

`chain-50` is a sum of 49 functions of neighbours drawn from a GP (length-scale 0.5); `ackley-50` is
no sum of functions of few variables; `rosenbrock-50` is a chain, but far from a draw of a GP.
`additive` with the chain given and with a learned graph, random trees, `flat-gp` (one GP over all
variables, dimension-scaled priors), `turbo`, Optuna's TPE and random search. Runs are kept in
results/additive-50.jsonl. Writes docs/results/additive-50.md.

    pip install 'bosquet[peers]'
    python experiments/additive_50.py [--seeds 5] [--trials 100] [--jobs 1] [--report]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import bosquet as bq
from bosquet.benchmarks import Factory, summary
from bosquet.benchmarks.bench import make_runs
from bosquet.benchmarks.harness import Job, read_runs
from bosquet.benchmarks.problem import Problem
from bosquet.strategies import Additive, Strategy

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results" / "additive-50.jsonl"
D = 50
PAIRS = [(i, i + 1) for i in range(D - 1)]


def chain(seed: int) -> Problem:
    return bq.benchmarks.additive_gp(f"chain-{D}", PAIRS, seed, length=0.5)


def ackley(seed: int) -> Problem:
    return bq.benchmarks.ackley(D, shift=seed)


def rosenbrock(seed: int) -> Problem:
    return bq.benchmarks.rosenbrock(D, shift=seed)


PROBLEMS: dict[str, Factory] = {
    "chain-50": chain,
    "ackley-50": ackley,
    "rosenbrock-50": rosenbrock,
}
GIVEN = "additive, the chain given"
STRATEGIES: dict[str, Strategy] = {
    GIVEN: Additive(groups=[(f"x{i + 1}", f"x{j + 1}") for i, j in PAIRS]),
    "additive, random trees": Additive(graph="random-tree"),
}
METHODS = (*STRATEGIES, "additive", "flat-gp", "turbo", "optuna-tpe", "random")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time")
    parser.add_argument("--report", action="store_true", help="make no runs, only write the page")
    options = parser.parse_args()
    wanted = [
        Job(method, problem, seed, options.trials)
        for seed in range(options.seeds)
        for problem in PROBLEMS
        for method in METHODS
    ]
    if not options.report:
        failures = make_runs(wanted, RESULTS, options.jobs, PROBLEMS, STRATEGIES)
        assert not failures, failures
    order = {job: i for i, job in enumerate(wanted)}
    runs = sorted(
        (run for run in read_runs(RESULTS) if run.job in order), key=lambda run: order[run.job]
    )
    text = f"""\
# Fifty variables, additive and not

Written by `experiments/additive_50.py`. `chain-{D}` is a sum of {D - 1} functions of neighbours
drawn from a GP with length-scale 0.5 (variance one in all); `ackley-{D}` is no sum of functions of
few variables; `rosenbrock-{D}` is a chain whose values span six decades. The design of `turbo` has
2 D = {2 * D} points: up to there it has learned nothing.

"""
    text += summary.markdown(runs, (options.trials // 4, options.trials // 2, options.trials))
    (ROOT / "docs" / "results" / "additive-50.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
