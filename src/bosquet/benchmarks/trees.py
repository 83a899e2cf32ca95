"""Functions on conditional trees.

The balanced trees are those of the 2017 paper on tree-structured dependencies (section 4.1,
Figure 1). With L leaves, inner nodes are binary decisions x1 .. x(L-1), numbered level by level,
and leaf i (numbered L .. 2L-1) has a variable xi in [-1, 1] and a constant. Drawn for L = 4::

    x1=0 (r8) -- x2=0: x4^2 + 0.1 (+ r8)        x1=1 (r9) -- x3=0: x6^2 + 0.3 (+ r9)
              +- x2=1: x5^2 + 0.2 (+ r8)                  +- x3=1: x7^2 + 0.4 (+ r9)

Shared variables r in [0, 1] belong to one half of the tree. An optimum in the middle or at the
edge of a range, under the first option of every choice, flatters methods that look there first.
So every function also has *shifted* versions, one per seed: optima move, constants change leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bosquet.benchmarks.problem import Problem
from bosquet.space import Choice, Config, Float, Int, Space
from bosquet.space.parameter import Parameter

LeafTerm = Callable[[int, float, float], float]
"""(leaf 0 .. L-1, its x, the r of its half or 0) -> what is added to the leaf's constant."""

MINIMUM = 0.1
_TAG = 2017  # keeps these random numbers apart from those of the methods that search


def _balanced(
    name: str, n_leaves: int, shared: bool, term: LeafTerm, constants: Sequence[float]
) -> Problem:
    def below(node: int) -> dict[str, Parameter]:
        if node >= n_leaves:
            return {f"x{node}": Float(-1, 1)}
        own: dict[str, Parameter] = {}
        if shared and node in (2, 3):
            own[f"r{2 * n_leaves + node - 2}"] = Float(0, 1)
        return own | {f"x{node}": Choice({bit: below(2 * node + bit) for bit in (0, 1)})}

    def function(config: Config) -> float:
        node, r = 1, 0.0
        while node < n_leaves:
            node = 2 * node + config[f"x{node}"]
            if shared and node in (2, 3):
                r = config[f"r{2 * n_leaves + node - 2}"]
        leaf = node - n_leaves
        return float(term(leaf, config[f"x{node}"], r) + constants[leaf])

    return Problem(name, Space(below(1)), function, MINIMUM)


class _Shift:
    """Where the optima of a shifted tree are; a function of the seed."""

    def __init__(self, n_leaves: int, seed: int) -> None:
        rng = np.random.default_rng([_TAG, n_leaves, seed])
        self.x = rng.uniform(-0.8, 0.8, n_leaves)
        self.r = np.repeat(rng.uniform(0.1, 0.9, 2), (n_leaves + 1) // 2)  # one per half
        self.constants = rng.permutation(_constants(n_leaves))


def _constants(n_leaves: int) -> list[float]:
    return [(leaf + 1) / 10 for leaf in range(n_leaves)]


def _tree(name: str, n_leaves: int, shared: bool, shift: int | None) -> Problem:
    name += "-shared" * shared
    if shift is None:
        return _balanced(name, n_leaves, shared, lambda _, x, r: x**2 + r, _constants(n_leaves))
    at = _Shift(n_leaves, shift)

    def term(leaf: int, x: float, r: float) -> float:
        # A linear r has its optimum at an edge; the shifted version is quadratic in it.
        return float((x - at.x[leaf]) ** 2 + (r - at.r[leaf]) ** 2 * shared)

    return _balanced(f"{name}-shifted", n_leaves, shared, term, at.constants.tolist())


def small_balanced(*, shared: bool = False, shift: int | None = None) -> Problem:
    """4 leaves. ``shift`` is the seed of a shifted version.

    Args:
        shared: whether each half has a variable that its leaves share.
        shift: the seed of a shifted version, whose optima are moved and constants permuted; None is
            the original.
    """
    return _tree("small", 4, shared, shift)


def large_balanced(*, shared: bool = False, shift: int | None = None) -> Problem:
    """8 leaves below 7 decisions.

    Args:
        shared: whether each half has a variable that its leaves share.
        shift: the seed of a shifted version, whose optima are moved and constants permuted; None is
            the original.
    """
    return _tree("large", 8, shared, shift)


def off_centre(x_optimum: float = 0.37) -> Problem:
    """The small tree with shared variables, all leaf optima at the same odd place.

    Args:
        x_optimum: where the variables of all leaves have their optimum, in [-1, 1].
    """
    return _balanced("off-centre", 4, True, lambda _, x, r: (x - x_optimum) ** 2 + r, _constants(4))


def shared_quadratic(r_optimum: float = 0.3) -> Problem:
    """Shared variables that enter quadratically, which a linear model of them cannot see.

    Args:
        r_optimum: where the shared variables have their optimum, in [0, 1].
    """
    return _balanced(
        "shared-quadratic", 4, True, lambda _, x, r: x**2 + (r - r_optimum) ** 2, _constants(4)
    )


def interaction(*, shift: int | None = None) -> Problem:
    """A variable of the leaf and one of its half interact: a straight valley x = r.

    The shifted version has a curved valley, x = 2 r^2 - 1, with one minimum in it.

    Args:
        shift: the seed of the shifted version; None is the original.
    """
    if shift is None:
        return _balanced("interaction", 4, True, lambda _, x, r: (x - r) ** 2, _constants(4))
    at = _Shift(4, shift)

    def term(leaf: int, x: float, r: float) -> float:
        return float(4 * (x - (2 * r**2 - 1)) ** 2 + (r - at.r[leaf]) ** 2)

    return _balanced("interaction-shifted", 4, True, term, at.constants.tolist())


def unbalanced(depth: int = 4, *, shift: int | None = None) -> Problem:
    """A caterpillar: each of ``depth`` decisions ends in a leaf or goes one deeper.

    Decision d1 .. d(depth): 0 ends in leaf k with variable xk in [-1, 1], 1 goes on; the last
    decision has a leaf at both ends. The leaf at the end has the lowest constant, 0.1, and each
    leaf above it 0.1 more; the shifted version permutes them and moves the optima.

    Args:
        depth: how many decisions there are.
        shift: the seed of a shifted version, whose optima are moved and constants permuted; None is
            the original.
    """
    if depth < 1:
        raise ValueError(f"depth={depth!r} must be at least 1")
    n_leaves = depth + 1
    optima, constants = np.zeros(n_leaves), np.array(_constants(n_leaves)[::-1])
    if shift is not None:
        at = _Shift(n_leaves, shift)
        optima, constants = at.x, at.constants

    def below(level: int) -> dict[str, Parameter]:
        if level > depth:
            return {f"x{level}": Float(-1, 1)}
        return {f"d{level}": Choice({0: {f"x{level}": Float(-1, 1)}, 1: below(level + 1)})}

    def function(config: Config) -> float:
        level = 1
        while level <= depth and config[f"d{level}"] == 1:
            level += 1
        return float((config[f"x{level}"] - optima[level - 1]) ** 2 + constants[level - 1])

    suffix = "" if shift is None else "-shifted"
    return Problem(f"unbalanced-{depth}{suffix}", Space(below(1)), function, MINIMUM)


def and_or(n_choices: int = 3, *, shift: int = 0) -> Problem:
    """Independent choices side by side: an and-or tree with 3**n_choices paths.

    Every choice adds the quadratic of the option it takes, with a constant of its own; a variable
    s shared by all adds one more.

    Args:
        n_choices: how many choices stand side by side.
        shift: the seed that moves the optima and permutes the constants.
    """
    rng = np.random.default_rng([_TAG, n_choices, shift])
    optima = rng.uniform(0.1, 0.9, (n_choices, 3))
    constants = rng.permuted(np.tile([0.0, 0.1, 0.2], (n_choices, 1)), axis=1)
    s_optimum = rng.uniform(0.1, 0.9)
    options = ("a", "b", "c")
    parameters: dict[str, Parameter] = {"s": Float(0, 1)}
    for i in range(n_choices):
        parameters[f"part{i}"] = Choice({o: {f"x{i}{o}": Float(0, 1)} for o in options})

    def function(config: Config) -> float:
        total = MINIMUM + (config["s"] - s_optimum) ** 2
        for i in range(n_choices):
            o = config[f"part{i}"]
            j = options.index(o)
            total += constants[i, j] + (config[f"x{i}{o}"] - optima[i, j]) ** 2
        return float(total)

    return Problem(f"and-or-{n_choices}", Space(parameters), function, MINIMUM)


def steep(*, shift: int = 0) -> Problem:
    """Four branches below three shared variables: the best one is the steepest in these.

    Until the shared variables are near their optimum, the best branch looks the worst: a method
    that judges a branch by its own trials leaves it before it knows. Branch b of slope 1, 2, 4 or 8
    has the level 0.3, 0.2, 0.1 or 0 and two variables of its own: 12 parameters in all.

    Args:
        shift: the seed that moves the optima and permutes the branches.
    """
    rng = np.random.default_rng([_TAG, 12, shift])
    shared, own = rng.uniform(0.1, 0.9, 3), rng.uniform(0.1, 0.9, (4, 2))
    rank = rng.permutation(4)
    branches = ("a", "b", "c", "d")
    parameters: dict[str, Parameter] = {f"s{i}": Float(0, 1) for i in range(3)}
    parameters["branch"] = Choice({b: {f"{b}{i}": Float(0, 1) for i in range(2)} for b in branches})

    def function(config: Config) -> float:
        b = config["branch"]
        j = branches.index(b)
        total = MINIMUM + 0.1 * (3 - rank[j])
        total += 2.0 ** rank[j] * sum((config[f"s{i}"] - shared[i]) ** 2 for i in range(3))
        return float(total + sum((config[f"{b}{i}"] - own[j, i]) ** 2 for i in range(2)))

    return Problem("steep", Space(parameters), function, MINIMUM)


def mixed(*, shift: int = 0) -> Problem:
    """Integers, steps, ordered and plain categories, and a 0 that means "off".

    Shaped like the settings of a storage engine; everything is discrete. Each setting adds a
    squared distance (of positions in its range) to a random target, each category a penalty.

    Args:
        shift: the seed of the targets and penalties.
    """
    space = Space(
        {
            "cache": Int(16, 1024, log=True),
            "sync": Choice(["off", "normal", "full"], ordered=True),
            "engine": Choice(
                {
                    "lsm": {
                        "levels": Int(2, 8),
                        "ratio": Float(2, 12, step=0.5),
                        "compression": Choice(["none", "lz4", "zstd", "snappy"]),
                    },
                    "btree": {
                        "page": Choice([4, 8, 16, 32], ordered=True),
                        "fill": Float(0.5, 1.0, step=0.05),
                    },
                    "hash": {"buckets": Int(64, 4096, step=64)},
                    ("lsm", "btree"): {"filter_bits": Int(0, 20)},
                }
            ),
        }
    )
    rng = np.random.default_rng([_TAG, 1, shift])
    target = {d.name: d.parameter.snap(rng.uniform(0.1, 0.9, 1))[0] for d in space.dimensions}
    engines = dict(zip(("lsm", "btree", "hash"), rng.permutation([0.0, 0.1, 0.2]), strict=True))
    codecs = dict(
        zip(("none", "lz4", "zstd", "snappy"), rng.permutation([0.0, 0.05, 0.1, 0.2]), strict=True)
    )

    def function(config: Config) -> float:
        units = space.to_unit(config)
        total = MINIMUM + engines[config["engine"]]
        total += codecs[config["compression"]] if "compression" in config else 0.0
        for d in space.dimensions:
            if d.name not in config or d.name in ("engine", "compression"):
                continue
            if d.name == "filter_bits" and config[d.name] == 0:
                total += 0.15  # off: neither good nor on the scale of the others
            else:
                total += (units[d.index] - target[d.name]) ** 2
        return float(total)

    return Problem("mixed", space, function, MINIMUM)
