"""Problems to measure strategies on.

``PROBLEMS`` names the instances that ``bosquet bench`` knows, in groups; each is a function of the
run's seed, which moves the optima of the shifted ones.
"""

from __future__ import annotations

from collections.abc import Callable

from bosquet.benchmarks.additive import additive_gp, lattice, star
from bosquet.benchmarks.classic import (
    ackley,
    branin,
    gramacy_exp,
    hartmann6,
    levy,
    rosenbrock,
    yuan_wahba,
)
from bosquet.benchmarks.problem import Problem
from bosquet.benchmarks.real import sklearn_pipeline
from bosquet.benchmarks.suite import COMPRESSION, DEVELOP, REPORT
from bosquet.benchmarks.trees import (
    and_or,
    interaction,
    large_balanced,
    mixed,
    off_centre,
    shared_quadratic,
    small_balanced,
    steep,
    unbalanced,
)

__all__ = [
    "GROUPS",
    "PROBLEMS",
    "Problem",
    "ackley",
    "additive_gp",
    "and_or",
    "branin",
    "gramacy_exp",
    "hartmann6",
    "interaction",
    "large_balanced",
    "lattice",
    "levy",
    "mixed",
    "off_centre",
    "rosenbrock",
    "shared_quadratic",
    "sklearn_pipeline",
    "small_balanced",
    "star",
    "steep",
    "unbalanced",
    "yuan_wahba",
]

Factory = Callable[[int], Problem]

GROUPS: dict[str, dict[str, Factory]] = {
    "shifted": {
        "small-shifted": lambda seed: small_balanced(shift=seed),
        "small-shared-shifted": lambda seed: small_balanced(shared=True, shift=seed),
        "large-shared-shifted": lambda seed: large_balanced(shared=True, shift=seed),
        "interaction-shifted": lambda seed: interaction(shift=seed),
        "unbalanced-4-shifted": lambda seed: unbalanced(4, shift=seed),
        "unbalanced-8-shifted": lambda seed: unbalanced(8, shift=seed),
        "and-or-3": lambda seed: and_or(3, shift=seed),
        "mixed": lambda seed: mixed(shift=seed),
    },
    "trees": {
        "small": lambda _: small_balanced(),
        "small-shared": lambda _: small_balanced(shared=True),
        "large": lambda _: large_balanced(),
        "large-shared": lambda _: large_balanced(shared=True),
        "shared-quadratic": lambda _: shared_quadratic(),
        "interaction": lambda _: interaction(),
        "off-centre": lambda _: off_centre(),
        "unbalanced-4": lambda _: unbalanced(4),
    },
    "steep": {"steep": lambda seed: steep(shift=seed)},
    "flat": {
        "branin": lambda _: branin(),
        "hartmann6": lambda _: hartmann6(),
        "ackley-10-shifted": lambda seed: ackley(10, shift=seed),
        "levy-10-shifted": lambda seed: levy(10, shift=seed),
        "rosenbrock-10-shifted": lambda seed: rosenbrock(10, shift=seed),
    },
    "uneven": {"gramacy-exp": lambda _: gramacy_exp(), "yuan-wahba": yuan_wahba},
    "additive": {"star-10": star, "lattice-3": lattice},
    "compression": COMPRESSION,
    "real-develop": DEVELOP,
    "real-report": REPORT,
    "real": DEVELOP | REPORT,
}
"""Problems by group and name: functions of the seed of a run."""

PROBLEMS: dict[str, Factory] = {
    name: factory for group in GROUPS.values() for name, factory in group.items()
}
"""All of them by name, as ``bosquet bench --problems`` takes them."""
