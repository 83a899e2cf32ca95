"""Problems in which evaluations crash, of `failing.py`: every seed moves the edges and the best."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import bosquet as bq
from bosquet.benchmarks import Factory, Problem

Config = dict[str, Any]


def crash(reason: str) -> float:
    raise RuntimeError(reason)


# -- seeds 0 to 19 of these were chosen on ---------------------------------------------------------


def corner(seed: int) -> Problem:
    """Two of six variables want to be large, until their sum is too large."""
    rng = np.random.default_rng([77, seed])
    limit, tilt, rest = rng.uniform(0.9, 1.3), rng.uniform(0.4, 1.6), rng.uniform(0.2, 0.8, 4)

    def value(c: Config) -> float:
        if c["x0"] + c["x1"] > limit:
            crash("too large")
        others = sum((c[f"x{i + 2}"] - r) ** 2 for i, r in enumerate(rest))
        return float(-c["x0"] - tilt * c["x1"] + others)

    space = bq.Space({f"x{i}": bq.Float(0, 1) for i in range(6)})
    a, b = min(limit, 1.0), max(limit - 1.0, 0.0)  # the two corners of what works
    return failing("corner", space, value, min(-a - tilt * b, -b - tilt * a))


def memory(seed: int) -> Problem:
    """Networks of two kinds: the memory that they need decides, and larger ones are better."""
    rng = np.random.default_rng([78, seed])
    limit = rng.uniform(13.5, 15.5)  # log2
    rate = rng.uniform(-3.5, -1.5)
    drop = rng.uniform(0.1, 0.4)

    def value(c: Config) -> float:
        width, batch, depth = math.log2(c["width"]), math.log2(c["batch"]), math.log2(c["depth"])
        heads = math.log2(c["heads"]) if c["kind"] == "attention" else 0.0
        if width + batch + 0.7 * depth + heads > limit:
            crash("out of memory")
        fit = 0.1 * (10 - width) + 0.05 * (3 - depth) + 0.04 * (8 - batch)
        tuned = 0.3 * (math.log10(c["rate"]) - rate) ** 2 + 2 * (c["dropout"] - drop) ** 2
        kind = (
            -0.05 - 0.02 * heads if c["kind"] == "attention" else 0.1 * (c["kernel"] - 5) ** 2 / 9
        )
        return float(fit + tuned + kind)

    space = bq.Space(
        {
            "rate": bq.Float(1e-5, 1e-1, log=True),
            "width": bq.Int(16, 1024, log=True),
            "depth": bq.Int(1, 8, log=True),
            "batch": bq.Int(8, 256, log=True),
            "dropout": bq.Float(0, 0.6),
            "kind": bq.Choice(
                {
                    "attention": {"heads": bq.Int(1, 8, log=True)},
                    "convolution": {"kernel": bq.Int(1, 9)},
                }
            ),
        }
    )
    return failing("memory", space, value, None)


def divergence(seed: int) -> Problem:
    """Large steps diverge, the larger the momentum the earlier; the best ones hardly do not."""
    rng = np.random.default_rng([79, seed])
    limit, decay, warm = rng.uniform(-1.2, 0.2), rng.uniform(-5, -3), rng.uniform(0.0, 0.3)

    def value(c: Config) -> float:
        step = math.log10(c["rate"])
        if c["optimizer"] == "sgd":
            step -= math.log10(1 - c["momentum"])
            edge, gain = limit, 0.0
        else:
            step += 0.5 * (c["beta"] - 0.9)
            edge, gain = limit - 1.2, 0.05
        if step > edge + 0.5 * c["warmup"]:
            crash("diverged")
        tuned = 0.05 * (math.log10(c["decay"]) - decay) ** 2 + 0.5 * (c["warmup"] - warm) ** 2
        return float(0.15 * (edge + 0.5 - step) + tuned + gain)

    space = bq.Space(
        {
            "rate": bq.Float(1e-5, 10, log=True),
            "decay": bq.Float(1e-6, 1e-1, log=True),
            "warmup": bq.Float(0, 1),
            "optimizer": bq.Choice(
                {"sgd": {"momentum": bq.Float(0, 0.99)}, "adam": {"beta": bq.Float(0.5, 0.999)}}
            ),
        }
    )
    return failing("divergence", space, value, None)


def chance(seed: int) -> Problem:
    """One evaluation in seven crashes, wherever it is."""
    inner = bq.benchmarks.PROBLEMS["hartmann6"](seed)
    rng = np.random.default_rng([80, seed])

    def value(c: Config) -> float:
        return crash("the node went away") if rng.random() < 1 / 7 else inner.function(c)

    return failing("chance", inner.space, value, inner.minimum)


def options(seed: int) -> Problem:
    """Some pairs of options do not go together."""
    rng = np.random.default_rng([81, seed])
    cost = rng.uniform(0, 1, (4, 4, 3))
    bad = rng.random((4, 4)) < 0.35
    target = rng.uniform(0.2, 0.8, 2)

    def value(c: Config) -> float:
        a, b, e = "abcd".index(c["solver"]), "pqrs".index(c["penalty"]), "xyz".index(c["scale"])
        if bad[a, b]:
            crash("not supported")
        return float(cost[a, b, e] + (c["s"] - target[0]) ** 2 + (c["t"] - target[1]) ** 2)

    space = bq.Space(
        {
            "solver": bq.Choice(list("abcd")),
            "penalty": bq.Choice(list("pqrs")),
            "scale": bq.Choice(list("xyz")),
            "s": bq.Float(0, 1),
            "t": bq.Float(0, 1),
        }
    )
    best = float(np.where(bad[..., None], np.inf, cost).min())
    return failing("options", space, value, best)


def explicit(seed: int) -> Problem:
    """A solver: explicit schemes are cheap and unstable beyond a step, implicit ones are dear."""
    rng = np.random.default_rng([82, seed])
    speed, viscosity = rng.uniform(0.5, 2.0), 10 ** rng.uniform(-3, -1.5)

    def value(c: Config) -> float:
        cells, step = c["cells"], c["step"]
        if c["scheme"] == "explicit":
            courant = speed * step * cells
            diffusive = viscosity * step * cells**2 * c["order"]
            if courant > c["order"] ** 0.5 or diffusive > 0.5:
                crash("nan in the solution")
            work = 1.0 * c["order"]
        else:
            work = 4.0 + 0.1 * c["sweeps"]
            step = step * (1 + 2.0 / c["sweeps"])
        error = 30 / cells**1.5 + 2 * step + 0.3 * (c["limiter"] - 0.6) ** 2
        return math.log10(error) + 0.35 * math.log10(work * cells / step)

    space = bq.Space(
        {
            "cells": bq.Int(16, 1024, log=True),
            "step": bq.Float(1e-4, 1e-1, log=True),
            "limiter": bq.Float(0, 1),
            "scheme": bq.Choice(
                {
                    "explicit": {"order": bq.Int(1, 4)},
                    "implicit": {"sweeps": bq.Int(1, 20, log=True)},
                }
            ),
        }
    )
    return failing("explicit", space, value, None)


def disc(seed: int) -> Problem:
    """Branin's function with a disc that crashes, near one of its minima or around it."""
    inner = bq.benchmarks.PROBLEMS["branin"](seed)
    rng = np.random.default_rng([83, seed])
    minima = np.array([[-math.pi, 12.275], [math.pi, 2.275], [9.42478, 2.475]])
    middle = minima[rng.integers(3)] + rng.normal(0, 2, 2)

    def value(c: Config) -> float:
        x = np.array(list(c.values()))
        return crash("crashed") if ((x - middle) ** 2).sum() < 9 else inner.function(c)

    return failing("disc", inner.space, value, inner.minimum)


def rare(seed: int) -> Problem:
    """Four fifths of the space crash; what is left is a slanted band."""
    rng = np.random.default_rng([84, seed])
    normal = rng.normal(size=5)
    normal /= np.linalg.norm(normal)
    middle, best = rng.uniform(0.35, 0.65, 5), rng.uniform(0.1, 0.9, 5)

    def value(c: Config) -> float:
        x = np.array([c[f"x{i}"] for i in range(5)])
        if abs(normal @ (x - middle)) > 0.075:
            crash("no equilibrium")
        return float(((x - best) ** 2).sum())

    space = bq.Space({f"x{i}": bq.Float(0, 1) for i in range(5)})
    return failing("rare", space, value, None)


def timeout(seed: int) -> Problem:
    """Ten variables; the more trees, depth and rounds, the better, until time is up."""
    rng = np.random.default_rng([85, seed])
    limit = rng.uniform(1.4, 2.0)
    best = rng.uniform(0.2, 0.8, 7)

    def value(c: Config) -> float:
        x = np.array(list(c.values()))
        if x[0] + x[1] * x[2] + 0.5 * x[2] > limit:
            crash("timeout")
        return float(-0.5 * x[0] - 0.4 * x[1] - 0.6 * x[2] + 0.5 * ((x[3:] - best) ** 2).sum())

    space = bq.Space({f"x{i}": bq.Float(0, 1) for i in range(10)})
    return failing("timeout", space, value, None)


def branch(seed: int) -> Problem:
    """Of five kinds two always crash, and one does in half of its range."""
    rng = np.random.default_rng([86, seed])
    order = rng.permutation(5)
    target = rng.uniform(0.2, 0.8, (5, 2))

    def value(c: Config) -> float:
        k = int(order["abcde".index(c["kind"])])
        x = np.array([c["s"], c[f"u_{c['kind']}"]])
        if k < 2 or (k == 2 and x[1] > target[k, 1]):
            crash("not installed" if k < 2 else "too deep")
        return float(0.1 * k + ((x - target[k]) ** 2).sum())

    kinds: Config = {kind: {f"u_{kind}": bq.Float(0, 1)} for kind in "abcde"}
    space = bq.Space({"s": bq.Float(0, 1), "kind": bq.Choice(kinds)})
    return failing("branch", space, value, 0.2)


# -- what nothing was chosen on --------------------------------------------------------------------


def shell(seed: int) -> Problem:
    """Five variables; what works is a thin shell around a centre, the best values on its inside."""
    rng = np.random.default_rng([87, seed])
    centre, inner = rng.uniform(0.3, 0.7, 3), rng.uniform(0.15, 0.25)
    best = rng.uniform(0.2, 0.8, 2)

    def value(c: Config) -> float:
        x = np.array(list(c.values()))
        r = float(np.linalg.norm(x[:3] - centre))
        if not inner < r < inner + 0.35:
            crash("no equilibrium")
        return float(r - inner + 0.2 * (x[0] - centre[0]) + ((x[3:] - best) ** 2).sum())

    return failing("shell", bq.Space({f"x{i}": bq.Float(0, 1) for i in range(5)}), value, None)


def switches(seed: int) -> Problem:
    """Ten switches and two sizes; three pairs of switches crash, one only with a large size."""
    rng = np.random.default_rng([88, seed])
    gain, pairs = rng.normal(0, 1, 10), rng.permutation(10)[:6].reshape(3, 2)
    size = rng.uniform(0.3, 0.7)

    def value(c: Config) -> float:
        on = np.array([c[f"f{i}"] for i in range(10)])
        a, b = math.log2(c["buffer"]) / 10, math.log2(c["block"]) / 10
        for k, (i, j) in enumerate(pairs):
            if on[i] and on[j] and (k < 2 or a > size):
                crash("assertion failed")
        return float(-gain @ on + 2 * (a - size) ** 2 + 2 * (b - 0.5 * size) ** 2)

    flags: Config = {f"f{i}": bq.Choice([False, True]) for i in range(10)}
    sizes = {name: bq.Int(1, 1024, log=True) for name in ("buffer", "block")}
    return failing("switches", bq.Space({**flags, **sizes}), value, None)


def mesh(seed: int) -> Problem:
    """Three solvers, each stable on its own side of a slope; the best one at its edge or not."""
    rng = np.random.default_rng([89, seed])
    slope, offset = rng.uniform(0.3, 2.0, 3), rng.uniform(-0.2, 0.3, 3)
    level, target = rng.uniform(0, 0.3, 3), rng.uniform(0.1, 0.9, (3, 3))

    def value(c: Config) -> float:
        k = ("direct", "krylov", "multigrid").index(c["solver"])
        x = np.array([c["refine"], c["relax"], c[f"tune_{c['solver']}"]])
        if x[1] > offset[k] + slope[k] * x[0] + 0.3 * x[2]:
            crash("did not converge")
        return float(level[k] + ((x - target[k]) ** 2).sum())

    solvers: Config = {
        name: {f"tune_{name}": bq.Float(0, 1)} for name in ("direct", "krylov", "multigrid")
    }
    space = bq.Space(
        {"refine": bq.Float(0, 1), "relax": bq.Float(0, 1), "solver": bq.Choice(solvers)}
    )
    return failing("mesh", space, value, None)


def failing(
    name: str, space: bq.Space, value: Callable[[Config], float], minimum: float | None
) -> Problem:
    return Problem(name, space, value, minimum, fails=True)


KNOWN: dict[str, Factory] = {
    f.__name__: f
    for f in (
        *(corner, memory, divergence, chance, options),
        *(explicit, disc, rare, timeout, branch),
    )
}
NEW: dict[str, Factory] = {f.__name__: f for f in (shell, switches, mesh)}
FACTORIES = {**KNOWN, **NEW}
