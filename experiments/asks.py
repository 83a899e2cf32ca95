"""What an ask costs in several versions of the source, side by side. Writes docs/asks.md.

Give directories with the package (``src`` of a checkout) by name; versions take turns, each
measurement in a process of its own, one thread.

    git worktree add ../before COMMIT
    python experiments/asks.py before=../before/src now=src [--repeats 3]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
CASES = [
    (strategy, problem, n)
    for strategy in ("auto", "add-tree")
    for problem in ("large-shared", "mixed-14")
    for n in (50, 200, 500)
]

MEASURE = """
import json, resource, sys, time
sys.path.insert(0, sys.argv[1])
import bosquet as bq

strategy, problem, n = sys.argv[2], sys.argv[3], int(sys.argv[4])
if problem == "large-shared":
    made = bq.benchmarks.large_balanced(shared=True, shift=1)
    space, function = made.space, made
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
    start = time.process_time()
    trial = opt.ask()
    seconds.append(time.process_time() - start)
    opt.tell(trial, function(trial.config))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([sorted(seconds[2:])[3], peak]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("versions", nargs="+", metavar="NAME=DIR")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    versions = dict(version.split("=", 1) for version in options.versions)
    cells = [f"{name} ms | {name} MB" for name in versions]
    lines = [f"| strategy | space | trials | {' | '.join(cells)} |"]
    lines.append("|---" * (3 + 2 * len(versions)) + "|")
    for case in CASES:
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in versions}
        for _ in range(options.repeats):
            for name, source in versions.items():
                found[name].append(measured(source, case))
        texts = [
            f"{1e3 * statistics.median(s for s, _ in made):.0f} | {max(m for _, m in made):.0f}"
            for made in found.values()
        ]
        lines.append(f"| {' | '.join(map(str, case))} | {' | '.join(texts)} |")
        print(lines[-1], flush=True)
    (ROOT / "docs" / "asks.md").write_text(page(lines, versions, options.repeats), "utf-8")


def measured(source: str, case: tuple[str, str, int]) -> tuple[float, float]:
    """CPU seconds of an ask (median of six), and the peak memory of the process in MB."""
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", MEASURE, str(Path(source).resolve()), *map(str, case)]
    ended = subprocess.run(
        command, env={**os.environ, **one}, capture_output=True, text=True, check=True
    )
    seconds, megabytes = json.loads(ended.stdout)
    return seconds, megabytes


def page(lines: list[str], versions: Mapping[str, str], repeats: int) -> str:
    names = ", ".join(f"`{name}`" for name in versions)
    return (
        f"# What an ask costs\n\nWritten by `experiments/asks.py`: CPU milliseconds of an ask and "
        f"peak memory of the process, after\nso many random trials; versions {names} in turns, "
        f"{repeats} repeats, median time and largest memory. `auto` never\nhands over to `boing` "
        f"here. One thread, Python {platform.python_version()}.\n\n" + "\n".join(lines) + "\n"
    )


if __name__ == "__main__":
    main()
