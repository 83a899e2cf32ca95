"""Where the time of one ask goes: against Optuna's GPSampler, by part, by number of paths; memory.

Single thread, one process, methods in turn, CPU time. Trials are random ones of the large balanced
tree with shared variables; ours is timed cold (the first model, from the prior) and warm (the mean
of the asks that follow, with the refits among them). Writes docs/results/add-tree-speed.md.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python experiments/add_tree_speed.py
"""

from __future__ import annotations

import cProfile
import pstats
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from scipy.linalg import lapack

import bosquet as bq
from bosquet.benchmarks.harness import versions
from bosquet.benchmarks.peers import suggest

ROOT = Path(__file__).parent.parent
SIZES = (50, 200, 500)
CHOICES = (2, 4, 6, 8, 10, 12)
REPEATS = 5
PROBLEM = bq.benchmarks.large_balanced(shared=True)
PARTS = {  # what is timed: the function, by file and name
    "fit": ("gp.py", "fit"),
    "posterior": ("gp.py", "posterior"),
    "scoring candidates": ("tree_path.py", "score"),
    "climbing": ("box.py", "climb"),
    "snapping, decoding": ("space.py", "snap"),
}


def asked(problem: bq.benchmarks.Problem, n: int, seed: int, strategy: str) -> bq.Optimizer:
    """An optimizer with n random trials."""
    trials = [
        bq.Trial(i, config, "complete", problem(config))
        for i, config in enumerate(problem.space.sample(seed, n))
    ]
    history = bq.History(problem.space, trials)
    return bq.Optimizer(problem.space, strategy, seed=seed, history=history)


def cpu_seconds(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def told(opt: bq.Optimizer, problem: bq.benchmarks.Problem) -> None:
    trial = opt.ask()
    opt.tell(trial, problem(trial.config))


def our_asks(
    problem: bq.benchmarks.Problem, n: int, seed: int, strategy: str = "add-tree"
) -> tuple[float, float]:
    """CPU seconds of a cold ask after n trials, and the mean of warm ones, refits included."""
    opt = asked(problem, n, seed, strategy)
    cold = cpu_seconds(lambda: told(opt, problem))
    warm = max(5, n // 50)  # a whole round between two refits
    return cold, statistics.mean(cpu_seconds(lambda: told(opt, problem)) for _ in range(warm))


def optuna_ask(n: int, seed: int) -> float:
    """CPU seconds of an ask that suggests every parameter, active or not."""
    space = PROBLEM.space
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed))
    for config in space.sample(seed, n):
        trial = study.ask()
        for dimension in space.dimensions:
            suggest(trial, dimension)
        study.tell(trial, PROBLEM(config))
    study.sampler = optuna.samplers.GPSampler(seed=seed)

    def ask() -> None:
        trial = study.ask()
        for dimension in space.dimensions:
            suggest(trial, dimension)

    return cpu_seconds(ask)


def against_optuna() -> list[str]:
    lines = ["| trials | ours, warm | ours, cold | GPSampler, flat | GPSampler / warm |"]
    lines.append("|---|---|---|---|---|")
    for n in SIZES:
        ours = [our_asks(PROBLEM, n, seed) for seed in range(REPEATS)]
        theirs = statistics.median(optuna_ask(n, seed) for seed in range(REPEATS))
        cold = statistics.median(one[0] for one in ours)
        warm = statistics.median(one[1] for one in ours)
        row = [f"{1e3 * value:.0f} ms" for value in (warm, cold, theirs)]
        lines.append(f"| {n} | " + " | ".join(row) + f" | {theirs / warm:.1f} |")
        print(lines[-1], flush=True)
    return lines


def profiled() -> list[str]:
    """Shares of warm asks by part, and the time of their factorisations alone."""
    head = "| trials | " + " | ".join(PARTS) + " | rest | likelihoods | of which factorisations |"
    lines = [head, "|---" * (len(PARTS) + 4) + "|"]
    for n in SIZES:
        opt = asked(PROBLEM, n, 0, "add-tree")
        told(opt, PROBLEM)
        profile = cProfile.Profile()
        profile.enable()
        warm = max(5, n // 50)
        for _ in range(warm):
            told(opt, PROBLEM)
        profile.disable()
        stats: Any = pstats.Stats(profile)
        times = {(Path(key[0]).name, key[2]): (v[1], v[3]) for key, v in stats.stats.items()}
        total = times["optimizer.py", "ask"][1]
        shares = {part: times.get(where, (0, 0.0))[1] / total for part, where in PARTS.items()}
        calls, likelihood = times.get(("gp.py", "log_posterior"), (0, 0.0))
        factors = sum(
            times.get(("linalg.py", name), (0, 0.0))[1]
            for name in ("cholesky", "inverse_from_cholesky")
        )
        shares["rest"] = 1.0 - sum(shares.values())
        cells = [f"{100 * share:.0f} %" for share in shares.values()]
        of_likelihood = f"{100 * factors / likelihood:.0f} %" if likelihood else "-"
        lines.append(f"| {n} | " + " | ".join(cells) + f" | {calls / warm:.0f} | {of_likelihood} |")
        print(lines[-1], flush=True)
    return lines


def floor() -> str:
    """CPU ms of one dpotrf and dpotri."""
    cells = []
    for n in SIZES:
        A = np.random.default_rng(0).normal(size=(n, n))
        K = A @ A.T + n * np.eye(n)

        def once(K: np.ndarray = K) -> None:
            lapack.dpotri(lapack.dpotrf(K, lower=1)[0], lower=1)

        once()
        cells.append(f"{1e3 * min(cpu_seconds(once) for _ in range(20)):.2f} ms at {n}")
    return ", ".join(cells)


def independent_choices(k: int) -> bq.benchmarks.Problem:
    """2^k paths: k binary choices side by side, each option with a variable of its own."""
    space = bq.Space(
        {
            f"c{i}": bq.Choice({o: {f"x{i}{o}": bq.Float(0, 1)} for o in ("a", "b")})
            for i in range(k)
        }
    )

    def function(config: dict[str, object]) -> float:
        return float(sum((v - 0.3) ** 2 for v in config.values() if isinstance(v, float)))

    return bq.benchmarks.Problem(f"choices-{k}", space, function, 0.0)


def by_paths() -> list[str]:
    lines = ["| paths | nodes | Algorithm 2 | default |", "|---|---|---|---|"]
    for k in CHOICES:
        problem = independent_choices(k)
        row = []
        for strategy in ("add-tree.paper", "add-tree"):
            warm = [our_asks(problem, 50, seed, strategy)[1] for seed in range(3)]
            row.append(f"{1e3 * statistics.median(warm):.0f} ms")
        lines.append(f"| {2**k} | {len(problem.space.nodes)} | " + " | ".join(row) + " |")
        print(lines[-1], flush=True)
    return lines


def peak_memory(n: int) -> float:
    """MB at the peak of a process that does nothing but one ask after n trials."""
    code = f"""
import bosquet as bq
problem = bq.benchmarks.large_balanced(shared=True)
configs = problem.space.sample(0, {n})
trials = [bq.Trial(i, c, "complete", problem(c)) for i, c in enumerate(configs)]
bq.Optimizer(problem.space, "add-tree", history=bq.History(problem.space, trials)).ask()
status = open("/proc/self/status").read()
print(int(status.split("VmHWM:")[1].split()[0]) / 1024)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    optuna_ask(12, 0)  # loads what it loads
    listed = ", ".join(f"{name} {version}" for name, version in versions().items())
    sections = [
        f"""\
# CPU time of one ask

Written by `experiments/add_tree_speed.py`: one thread, medians of {REPEATS} seeds; the large
balanced tree with shared variables (17 parameters, 8 paths). Up to 100 trials every ask refits and
now and then compares kernels and transforms; beyond, one in n / 50 does. Versions: {listed}.
""",
        "\n".join(against_optuna()),
        f"""
## Where it goes

Shares of warm asks by part (under a profiler, which makes small calls look dearer than they are),
how many likelihoods an ask takes, and how much of a likelihood is factorisation: the floor of exact
inference. One factorisation with its inverse takes {floor()}; the tree's two halves are independent
blocks, so that a likelihood needs two of half the size.
""",
        "\n".join(profiled()),
        """
## Time against the number of paths

Independent binary choices, 50 trials, warm asks. A fixed number of paths is searched, found from
the leaves up, so that time grows like the number of nodes.
""",
        "\n".join(by_paths()),
        f"\nPeak memory of a process that asks after 1,000 trials: {peak_memory(1000):.0f} MB.",
    ]
    (ROOT / "docs" / "results" / "add-tree-speed.md").write_text(
        "\n".join(sections) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
