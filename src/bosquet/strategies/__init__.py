"""Strategies, by class and by name."""

from __future__ import annotations

from bosquet.models.graph_learning import GraphLearning
from bosquet.strategies.add_tree import AddTree
from bosquet.strategies.additive import Additive
from bosquet.strategies.auto import Auto
from bosquet.strategies.base import Proposal, Strategy, Task
from bosquet.strategies.baselines import Arc, FlatGP, Independent, Marginal
from bosquet.strategies.boing import BOinG, BOinGPlus
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
]


def get(strategy: str | Strategy) -> Strategy:
    """The strategy of a name, with its defaults; an instance is returned as it is.

    A name followed by ``.paper`` means the algorithm as published; pages list what differs.
    """
    if isinstance(strategy, Strategy):
        return strategy
    if isinstance(strategy, str):
        name, _, version = strategy.partition(".")
        if name in STRATEGIES and version in ("", "paper"):
            return STRATEGIES[name].paper() if version else STRATEGIES[name]()
        if name in STRATEGIES:
            raise ValueError(
                f"strategy={strategy!r}: after the dot there can only be 'paper', as in "
                f"'{name}.paper'"
            )
    more = ", one of these with '.paper' behind it, or a Strategy instance"
    raise ValueError(must_be_one_of("strategy", strategy, sorted(STRATEGIES), more))
