"""Which branch to look in, said by a model in which branches share what they have in common.

A forest, or a trust region around the best trial, knows a branch by the trials made there. Where
the variables that all branches share have never been near their optimum on a branch, it looks worse
than it is, is not looked at, and stays unknown. The additive tree of `AddTree` has learned these
variables elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from bosquet.arrays import Array, Bools, Index
from bosquet.data import Dataset, Key
from bosquet.space import Config, Space
from bosquet.strategies.add_tree import AddTree
from bosquet.strategies.base import Proposal, Task
from bosquet.strategies.choosing import Ask

_MOST = 200  # trials of the model: its time grows with their cube


def best_of_branches(
    task: Task, data: Dataset, taken: Collection[Key], rng: np.random.Generator
) -> Proposal | None:
    """The configuration, on any path, with the highest expected improvement of the additive tree.

    From ``_MOST`` trials on its hyper-parameters stay as they are.
    """
    rows = thinned(task.space, data, _MOST)
    some = Dataset(data.X[rows], data.y[rows], data.noise[rows], data.active[rows])
    strategy = AddTree()
    fitted = strategy.fit(task, some, rng)
    found = strategy.next(Ask.given(task, fitted, some, taken, rng))
    return None if found is None else replace(found, memory=fitted.memory)


def rows_on_path(space: Space, X: Array, config: Config) -> Bools:
    """Which rows lie on the path of a configuration."""
    nodes = space.tree.node_activity(space.to_unit([config]))
    return np.asarray((space.tree.node_activity(X) == nodes).all(axis=1))


def thinned(space: Space, data: Dataset, most: int) -> Index:
    """``most`` rows or fewer: all of the paths with few, and of the others every so many by value.

    The best trial is among them, and so is that of every path unless paths are more than rows.
    """
    if len(data.y) <= most:
        return np.arange(len(data.y))
    paths = sorted(space.tree.rows_by_path(data.X).values(), key=len)
    kept: list[Index] = []
    left = most
    for i, rows in enumerate(paths):
        n = min(len(rows), left // (len(paths) - i))
        ranked = rows[np.argsort(data.y[rows], kind="stable")]
        kept.append(ranked[np.linspace(0, len(rows) - 1, n).astype(int)])
        left -= n
    return np.union1d(np.concatenate(kept), np.argmin(data.y))


def joined(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The memories of two fits of one ask."""
    return {"fits": one["fits"] | other["fits"]}
