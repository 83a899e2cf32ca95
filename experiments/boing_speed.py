"""Figure 9 of the supplement on BOinG: time and memory of one ask, by the number of observations.

LGPGA against a Gaussian process of all observations, at random points in 14 dimensions, each ask in
a process of its own. Writes docs/results/boing-speed.md.

    OMP_NUM_THREADS=1 python experiments/boing_speed.py
"""

from __future__ import annotations

import argparse
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import bosquet as bq
from bosquet.data import History, Trial
from bosquet.strategies.boing import BOinG, LocalModel

PAGE = Path(__file__).parent.parent / "docs" / "results" / "boing-speed.md"
OBSERVATIONS = (200, 500, 1000, 2000, 5000)
FULL_UP_TO = 1000  # a Gaussian process of more takes minutes
REPEATS = 3


def time_of_ask(n: int, model: LocalModel) -> tuple[float, float]:
    """CPU seconds of an ask with n observations, and the peak of memory in MB."""
    import sklearn.tree  # noqa: F401 - loading it is not part of an ask

    problem = bq.benchmarks.levy(14, shift=0)
    configs = problem.space.sample(0, n)
    trials = [Trial(i, c, "complete", problem(c)) for i, c in enumerate(configs)]
    opt = bq.Optimizer(
        problem.space, BOinG(model=model), seed=0, history=History(problem.space, trials)
    )
    started = time.process_time()
    opt.ask()
    seconds = time.process_time() - started
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(n: int, model: str) -> list[str]:
    """The median time and the largest memory of a few asks, each in a process of its own."""
    command = [sys.executable, __file__, "--one", str(n), model]
    found = [
        [float(number) for number in subprocess.check_output(command, text=True).split()]
        for _ in range(REPEATS)
    ]
    seconds, memory = np.array(found).T
    return [f"{np.median(seconds):.2f} s", f"{memory.max():.0f} MB"]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--one", nargs=2, metavar=("N", "MODEL"), help="time one ask only")
    options = parser.parse_args()
    if options.one:
        print(*time_of_ask(int(options.one[0]), options.one[1]))
        return
    text = f"""\
# Speed of `boing`

Written by `experiments/boing_speed.py`: Figure 9 of the supplement. CPU time of one ask of the
default on one core, without an earlier fit, and the largest memory of its process; random points of
Levy's function in 14 dimensions. Median of {REPEATS} processes. Python
{platform.python_version()}, NumPy {np.__version__}.

| observations | LGPGA | memory | GP of all, local search | memory |
|---|---|---|---|---|
"""
    for n in OBSERVATIONS:
        full = measured(n, "full") if n <= FULL_UP_TO else ["", ""]
        text += f"| {n} | {' | '.join([*measured(n, 'lgpga'), *full])} |\n"
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
