"""What an ask costs in several versions of the source, side by side. Writes docs/results/asks.md.

Give directories with the package (``src`` of a checkout) by name; versions take turns, each
measurement in a process of its own, one thread.

    git worktree add ../before COMMIT
    python experiments/asks.py before=../before/src now=src [--repeats 3]

A second table has the wall time where the linear algebra takes as many threads as it likes, while
other processes want the same cores.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
Case = tuple[str, str, int]
"""Strategy, space, number of trials."""
Cost = tuple[float, float]
"""Seconds and megabytes."""
CASES = [
    (strategy, problem, n)
    for strategy in ("auto", "add-tree")
    for problem in ("large-shared", "mixed-14")
    for n in (50, 200, 500)
] + [("auto", "flat-200", n) for n in (40, 100)]

MEASURE = """
import json, resource, sys, time
sys.path.insert(0, sys.argv[1])
import bosquet as bq

strategy, problem, n = sys.argv[2], sys.argv[3], int(sys.argv[4])
clock = getattr(time, sys.argv[5])
if problem == "large-shared":
    made = bq.benchmarks.large_balanced(shared=True, shift=1)
    space, function = made.space, made
elif problem == "flat-200":
    space = bq.Space({f"x{i}": bq.Float(0, 1) for i in range(200)})
    def function(config):
        return sum((v - 0.3) ** 2 for v in list(config.values())[:10])
else:
    space = bq.Space(
        {f"x{i}": bq.Float(0, 1) for i in range(6)}
        | {f"k{i}": bq.Int(1, 50, log=True) for i in range(4)}
        | {f"c{i}": bq.Choice(["a", "b", "c"]) for i in range(4)}
    )
    def function(config):
        numbers = [v for v in config.values() if not isinstance(v, str)]
        return sum((v - 0.3) ** 2 for v in numbers[:6]) + 0.01 * sum(numbers[6:])
options = {"strategy": bq.strategies.Auto(boing_from=None, boing_per_variable=None)}
opt = bq.Optimizer(space, **(options if strategy == "auto" else {"strategy": strategy}), seed=0)
for config in space.sample(0, n):
    opt.tell(config, function(config))
seconds = []
for _ in range(8):
    start = clock()
    trial = opt.ask()
    seconds.append(clock() - start)
    opt.tell(trial, function(trial.config))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([sorted(seconds[2:])[3], peak]))
"""


BUSY_CASES = [("auto", "large-shared", 50), ("auto", "mixed-14", 200)]
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("versions", nargs="+", metavar="NAME=DIR")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    versions = dict(version.split("=", 1) for version in options.versions)

    def turns(case: Case, clock: str, threads: Mapping[str, str]) -> list[list[Cost]]:
        """By version, what each repeat costs; versions take turns."""
        found = [
            [measured(source, case, clock, threads) for source in versions.values()]
            for _ in range(options.repeats)
        ]
        return [list(of_version) for of_version in zip(*found, strict=True)]

    costs = table([f"{name} ms | {name} MB" for name in versions])
    for case in CASES:
        texts = [
            f"{1e3 * statistics.median(s for s, _ in made):.0f} | {max(m for _, m in made):.0f}"
            for made in turns(case, "process_time", ONE_THREAD)
        ]
        costs.append(row(case, texts))
    busy = table([f"{name} ms" for name in versions])
    with others() as n_others:
        for case in BUSY_CASES:
            made = turns(case, "perf_counter", {})
            busy.append(
                row(case, [f"{1e3 * statistics.median(s for s, _ in m):.0f}" for m in made])
            )
    text = page(costs, busy, n_others, versions, options.repeats)
    (ROOT / "docs" / "results" / "asks.md").write_text(text, "utf-8")


def measured(source: str, case: Case, clock: str, threads: Mapping[str, str]) -> Cost:
    """Seconds of an ask (median of six), and the peak memory of the process in MB."""
    free = {k: v for k, v in os.environ.items() if k not in ONE_THREAD}
    command = [sys.executable, "-c", MEASURE, str(Path(source).resolve()), *map(str, case), clock]
    ended = subprocess.run(
        command, env={**free, **threads}, capture_output=True, text=True, check=True
    )
    seconds, megabytes = json.loads(ended.stdout)
    return seconds, megabytes


@contextmanager
def others() -> Iterator[int]:
    """As many processes as there are cores that do nothing but compute."""
    n = os.cpu_count() or 1
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]
    try:
        yield n
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def table(names: list[str]) -> list[str]:
    n_columns = 3 + sum(name.count("|") + 1 for name in names)
    return [f"| strategy | space | trials | {' | '.join(names)} |", "|---" * n_columns + "|"]


def row(case: Case, texts: list[str]) -> str:
    line = f"| {' | '.join(map(str, case))} | {' | '.join(texts)} |"
    print(line, flush=True)
    return line


def page(
    costs: list[str], busy: list[str], n_others: int, versions: Mapping[str, str], repeats: int
) -> str:
    names = ", ".join(f"`{name}`" for name in versions)
    return (
        f"# What an ask costs\n\nWritten by `experiments/asks.py`: CPU milliseconds of an ask and "
        f"peak memory of the process, after\nso many random trials; versions {names} in turns, "
        f"{repeats} repeats, median time and largest memory. `auto` never\nhands over to `boing` "
        f"here. One thread, Python {platform.python_version()}.\n\n" + "\n".join(costs) + "\n\n"
        f"## On a busy machine\n\nWall milliseconds of an ask with no limit on threads in the "
        f"environment, while {n_others} other processes\ncompute on {n_others} cores.\n\n"
        + "\n".join(busy)
        + "\n"
    )


if __name__ == "__main__":
    main()
