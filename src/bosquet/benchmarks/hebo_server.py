"""HEBO behind lines of JSON, for `bosquet.benchmarks.hebo`; runs where HEBO is, without bosquet.

In:  {"seed": 0, "parameters": [...]}, then the value of each proposal (null: it is not told)
Out: {"versions": {...}, "seconds": 0.0, "proposal": {...}}, then the same for each value

``seconds`` is the CPU time of telling and asking. An error is answered by {"error": "..."}.
"""

from __future__ import annotations

import json
import random
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import redirect_stdout
from importlib import import_module, metadata
from typing import Any

_PACKAGES = ("HEBO", "gpytorch", "pymoo", "torch")


def replies(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    np, torch = import_module("numpy"), import_module("torch")
    design_space = import_module("hebo.design_space.design_space")
    hebo = import_module("hebo.optimizers.hebo")
    task = json.loads(next(lines))
    random.seed(task["seed"])
    np.random.seed(task["seed"])  # HEBO and pymoo draw from the global states
    torch.manual_seed(task["seed"])
    torch.set_num_threads(1)
    space = design_space.DesignSpace().parse(task["parameters"])
    optimizer = hebo.HEBO(space, scramble_seed=task["seed"])
    versions = {name: metadata.version(name) for name in _PACKAGES}
    proposal = value = None
    while True:
        started = time.process_time()
        if value is not None:
            optimizer.observe(proposal, np.array([[value]]))
        proposal = optimizer.suggest(n_suggestions=1)
        row = {name: proposal[name].iloc[0].item() for name in space.paras}
        seconds = time.process_time() - started
        yield {"versions": versions, "seconds": seconds, "proposal": row}
        line = next(lines, None)
        if line is None:
            return
        value = json.loads(line)


def main() -> None:
    out = sys.stdout
    with redirect_stdout(sys.stderr):  # HEBO prints
        try:
            for reply in replies(iter(sys.stdin.readline, "")):
                out.write(json.dumps(reply) + "\n")
                out.flush()
        except Exception:  # noqa: BLE001 - whatever it is, the other side says it
            out.write(json.dumps({"error": traceback.format_exc(limit=-3)}) + "\n")


if __name__ == "__main__":
    main()
