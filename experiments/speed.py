"""How fast spaces are, and what `import bosquet` adds. Writes docs/results/speed.md.

python experiments/speed.py
"""

from __future__ import annotations

import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import bosquet as bq

ROOT = Path(__file__).parent.parent
BASE = "import numpy, scipy.linalg, scipy.optimize, scipy.special"
REPEATS = 9


def wide_space() -> bq.Space:
    """60 parameters: 12 independent choices, each with two branches of two parameters."""
    return bq.Space(
        {
            f"part{i}": bq.Choice(
                {
                    "a": {f"x{i}": bq.Float(0, 1), f"y{i}": bq.Int(1, 100, log=True)},
                    "b": {f"z{i}": bq.Float(1, 2, step=0.25), f"w{i}": bq.Choice(["p", "q", "r"])},
                }
            )
            for i in range(12)
        }
    )


def import_seconds(code: str) -> float:
    """CPU and disk warm: the median over fresh interpreters of the time the imports take."""
    timed = f"import time; t = time.perf_counter(); {code}; print(time.perf_counter() - t)"
    runs = [
        float(subprocess.run([sys.executable, "-c", timed], capture_output=True, check=True).stdout)
        for _ in range(REPEATS)
    ]
    return statistics.median(runs)


def sampling_seconds(space: bq.Space, n: int) -> tuple[float, float]:
    samples, encodings = [], []
    for seed in range(REPEATS):
        start = time.perf_counter()
        configs = space.sample(seed, n)
        middle = time.perf_counter()
        space.to_unit(configs)
        samples.append(middle - start)
        encodings.append(time.perf_counter() - middle)
    return statistics.median(samples), statistics.median(encodings)


def main() -> None:
    space = wide_space()
    sample, encode = sampling_seconds(space, 10_000)
    base = import_seconds(BASE)
    whole = import_seconds(f"{BASE}, bosquet")
    text = f"""\
# Speed of the ground floor

Written by `experiments/speed.py` (median of {REPEATS}; Python {platform.python_version()},
NumPy {np.__version__}, bosquet {bq.__version__}, one shared core).

| what | seconds |
|---|---|
| sample 10,000 configurations of {len(space)} parameters, {space.n_paths} paths | {sample:.3f} |
| encode them as unit vectors | {encode:.3f} |
| both together | {sample + encode:.3f} |
| `{BASE}` | {base:.3f} |
| the same and `import bosquet` | {whole:.3f} |
| what bosquet adds | {whole - base:.3f} |
"""
    (ROOT / "docs" / "results" / "speed.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
