"""CPU time of one ask on the large balanced tree, against Optuna's GPSampler on the flat space.

Both get random trials; one thread, one process, in turn. Ours is timed cold (the first model, from
the prior) and warm (one more trial told). Writes docs/add-tree-speed.md.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python experiments/add_tree_speed.py
"""

from __future__ import annotations

import resource
import statistics
import time
from pathlib import Path

import optuna

import bosquet as bq
from bosquet.benchmarks.harness import versions
from bosquet.benchmarks.peers import suggest

ROOT = Path(__file__).parent.parent
SIZES = (50, 200, 500)
REPEATS = 3
PROBLEM = bq.benchmarks.large_balanced(shared=True)
SPACE = PROBLEM.space


def our_asks(n: int, seed: int) -> tuple[float, float]:
    """CPU seconds of a cold ask after n trials, and of a warm one after n + 1."""
    trials = [
        bq.Trial(i, config, "complete", PROBLEM(config))
        for i, config in enumerate(SPACE.sample(seed, n))
    ]
    opt = bq.Optimizer(SPACE, "add-tree", seed=seed, history=bq.History(SPACE, trials))
    start = time.process_time()
    trial = opt.ask()
    cold = time.process_time() - start
    opt.tell(trial, PROBLEM(trial.config))
    start = time.process_time()
    opt.ask()
    return cold, time.process_time() - start


def optuna_ask(n: int, seed: int) -> float:
    """CPU seconds of an ask that suggests every parameter, active or not."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed))
    for config in SPACE.sample(seed, n):
        trial = study.ask()
        for dimension in SPACE.dimensions:
            suggest(trial, dimension)
        study.tell(trial, PROBLEM(config))
    study.sampler = optuna.samplers.GPSampler(seed=seed)
    start = time.process_time()
    trial = study.ask()
    for dimension in SPACE.dimensions:
        suggest(trial, dimension)
    return time.process_time() - start


def main() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    optuna_ask(12, 0)  # loads what it loads
    lines = ["| trials | ours, warm | ours, cold | GPSampler, flat | GPSampler / warm |"]
    lines.append("|---|---|---|---|---|")
    for n in SIZES:
        ours = [our_asks(n, seed) for seed in range(REPEATS)]
        theirs = statistics.median(optuna_ask(n, seed) for seed in range(REPEATS))
        cold = statistics.median(one[0] for one in ours)
        warm = statistics.median(one[1] for one in ours)
        row = [f"{1e3 * value:.0f} ms" for value in (warm, cold, theirs)]
        lines.append(f"| {n} | " + " | ".join(row) + f" | {theirs / warm:.1f} |")
        print(lines[-1], flush=True)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    listed = ", ".join(f"{name} {version}" for name, version in versions().items())
    text = f"""\
# CPU time of one ask

Written by `experiments/add_tree_speed.py`: large balanced tree with shared variables (17 of them,
8 paths), median of {REPEATS}, one thread. Peak memory of the whole process, Optuna and PyTorch
included: {memory:.0f} MB. Versions: {listed}.

""" + "\n".join(lines)
    (ROOT / "docs" / "add-tree-speed.md").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
