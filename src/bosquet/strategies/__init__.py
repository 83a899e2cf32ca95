"""Strategies, by class and by name."""

from __future__ import annotations

from bosquet.models.graph_learning import GraphLearning
from bosquet.strategies.add_tree import AddTree
from bosquet.strategies.additive import Additive
from bosquet.strategies.auto import Auto
from bosquet.strategies.base import Proposal, Strategy, Task
from bosquet.strategies.baselines import Arc, FlatGP, Independent, Marginal
from bosquet.strategies.boing import BOinG
from bosquet.strategies.boing_plus import BOinGPlus
from bosquet.strategies.designs import Random, Sobol
from bosquet.strategies.htbo import HTBO
from bosquet.strategies.tree_ei import TreeEI
from bosquet.strategies.turbo import Turbo
from bosquet.text import must_be_one_of

STRATEGIES: dict[str, type[Strategy]] = {
    cls.name: cls
    for cls in (
        AddTree,
        Additive,
        Arc,
        Auto,
        BOinG,
        BOinGPlus,
        FlatGP,
        HTBO,
        Independent,
        Marginal,
        Random,
        Sobol,
        TreeEI,
        Turbo,
    )
}
"""The classes by name: what ``strategy=`` takes."""

__all__ = [
    "HTBO",
    "STRATEGIES",
    "AddTree",
    "Additive",
    "Arc",
    "Auto",
    "BOinG",
    "BOinGPlus",
    "FlatGP",
    "GraphLearning",
    "Independent",
    "Marginal",
    "Proposal",
    "Random",
    "Sobol",
    "Strategy",
    "Task",
    "TreeEI",
    "Turbo",
    "get",
    "is_name",
]


def get(strategy: str | Strategy) -> Strategy:
    """The strategy of a name, with its defaults; an instance is returned as it is.

    Args:
        strategy: a name of `STRATEGIES`, alone or followed by ``.paper``, which means the published
            algorithm (some have other versions too: `Strategy.versions`); or an instance.
    """
    if isinstance(strategy, Strategy):
        return strategy
    if isinstance(strategy, str):
        name, _, version = strategy.partition(".")
        if name in STRATEGIES:
            cls = STRATEGIES[name]
            if strategy == name:
                return cls()
            if version in cls.versions:
                made = getattr(cls, version)()
                assert isinstance(made, cls)
                return made
            known = " or ".join(f"'{name}.{one}'" for one in cls.versions)
            raise ValueError(
                f"strategy={strategy!r}: {name!r} has no version {version!r}; use {name!r}, or "
                f"{known}"
            )
    if isinstance(strategy, type) and issubclass(strategy, Strategy):
        raise ValueError(
            f"strategy={strategy.__name__} is a class; make one with {strategy.__name__}()"
        )
    more = ", one of these with '.paper' behind it, or a Strategy instance"
    raise ValueError(must_be_one_of("strategy", strategy, sorted(STRATEGIES), more))


def is_name(strategy: str) -> bool:
    """Whether `get` knows a name.

    Args:
        strategy: the name, with or without a version.
    """
    name, dot, version = strategy.partition(".")
    return name in STRATEGIES and (not dot or version in STRATEGIES[name].versions)
