"""HEBO as a peer, in a process of its own: it needs a NumPy that is too old for bosquet.

BOSQUET_HEBO names the Python of an environment that has HEBO; `hebo_server.py` runs there.
"""

from __future__ import annotations

import json
import os
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

from bosquet.benchmarks.peer import Elsewhere, Objective, PeerRun, configure, from_drawn, is_grid
from bosquet.space.parameter import Choice, Int
from bosquet.space.space import Space
from bosquet.space.tree import Dimension

VARIABLE = "BOSQUET_HEBO"
SERVER = Path(__file__).with_name("hebo_server.py")


def python() -> str:
    """The Python that HEBO runs in; raises ImportError when none is named."""
    named = os.environ.get(VARIABLE)
    if not named:
        raise ImportError(
            f"this peer needs HEBO in an environment of its own: set {VARIABLE} to the Python of "
            "that (docs/results/bayesian-peers.md says how to install it)"
        )
    return named


def minimize(space: Space, objective: Objective, n_trials: int, seed: int) -> Elsewhere:
    run = PeerRun(space, objective, n_trials)
    used = Elsewhere([], {})
    pipes = partial(subprocess.Popen, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    # -P: the directory of the server has a module `hebo` as well, this one.
    with pipes([python(), "-P", str(SERVER)], stderr=subprocess.DEVNULL) as server:
        reply = _ask(server, {"seed": seed, "parameters": [to_hebo(d) for d in space.dimensions]})
        used.versions.update(reply["versions"])
        seconds, worst = reply["seconds"], None
        while True:
            value = run(configure(space, partial(_from_hebo, reply["proposal"])))
            if value is not None:
                used.seconds.append(seconds)
                seconds, worst = 0.0, value if worst is None else max(value, worst)
            if run.finished:
                return used
            # It has no constraints: what is infeasible counts as the worst so far.
            reply = _ask(server, worst if value is None else value)
            seconds += reply["seconds"]


def _ask(server: subprocess.Popen[str], message: Any) -> dict[str, Any]:
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        server.stdin.write(json.dumps(message) + "\n")
        server.stdin.flush()
        reply = json.loads(server.stdout.readline())
    except (BrokenPipeError, ValueError) as error:
        raise RuntimeError("HEBO's process ended without an answer") from error
    if "error" in reply:
        raise RuntimeError(f"HEBO failed: {reply['error']}")
    return dict(reply)


def to_hebo(dimension: Dimension) -> dict[str, Any]:
    name, parameter = f"x{dimension.index}", dimension.parameter
    if isinstance(parameter, Choice) and not parameter.ordered:
        return {"name": name, "type": "cat", "categories": list(range(parameter.n_values))}
    if isinstance(parameter, Choice) or is_grid(parameter):
        return {"name": name, "type": "int", "lb": 0, "ub": parameter.n_values - 1}
    kind = ("pow_int" if isinstance(parameter, Int) else "pow") if parameter.log else "num"
    return {"name": name, "type": kind, "lb": parameter.low, "ub": parameter.high}


def _from_hebo(proposal: dict[str, Any], dimension: Dimension) -> Any:
    return from_drawn(dimension.parameter, proposal[f"x{dimension.index}"])
