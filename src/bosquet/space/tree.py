"""The tree behind a space: which parameters exist together, and when.

A declaration is compiled once into *dimensions* (the parameters, in the order they were declared)
and *nodes* (sets of dimensions with the same activity). The example used all over the package::

    root                     scale, lr, model
    +-- model=svm            C, kernel
    |   +-- kernel=linear
    |   +-- kernel=rbf       gamma
    +-- model=forest         depth
    +-- model=boosting       eta
    +-- model=forest|boosting    trees       (a tuple key: shared by two options)

Parents come before their children in both lists. A sub-space shared by *all* options of a choice
is as active as the choice itself, so its parameters belong to the choice's own node. A choice
*branches* when some option has parameters that another lacks; then every option has a node, with
or without parameters, and a *path* (one assignment of the branching choices) is the set of nodes
it activates.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from bosquet.arrays import Array
from bosquet.errors import SpaceError
from bosquet.space.parameter import Choice, Option, Parameter
from bosquet.text import json_text, listed

Parameters = tuple[tuple[str, Parameter], ...]
Path = tuple[int, ...]
"""The indices of the nodes that a configuration activates."""
_PLAIN = re.compile(r"[^/=|\"\s]+")


@dataclass(frozen=True)
class Dimension:
    """One parameter at its place in the tree: one unit coordinate."""

    index: int
    name: str
    """The short name, as configurations use it; unique among parameters active together."""
    qualified_name: str
    """The name with the choices that lead to it (``model=svm/C``); unique in the space."""
    parameter: Parameter
    node: int


@dataclass(frozen=True)
class Node:
    """Parameters with the same activity: active where the parent is and ``choice`` fits."""

    index: int
    parent: int
    """Index of the node that holds ``choice``; -1 for the root."""
    choice: int
    """Index of the dimension that decides; -1 for the root."""
    options: tuple[int, ...]
    """Positions of the options of ``choice`` under which this node is active."""
    dimensions: tuple[int, ...]
    variables: tuple[int, ...]
    """The dimensions without branching choices: what is left to search once a path is taken."""
    label: str


def option_label(option: Option) -> str:
    """An option as text that no other option of any type shares (``1`` and ``"1"`` differ)."""
    if not isinstance(option, str):
        return repr(option)
    ambiguous = option in ("True", "False", "None") or re.fullmatch(r"[+-]?[\d.].*", option)
    return json_text(option) if ambiguous or not _PLAIN.fullmatch(option) else option


def name_label(name: str) -> str:
    """A name as it stands in qualified names: in quotes where it would be taken for more."""
    return name if _PLAIN.fullmatch(name) else json_text(name)


class Tree:
    """The compiled structure of a declaration. It knows activity and paths, not constraints."""

    dimensions: tuple[Dimension, ...]
    nodes: tuple[Node, ...]

    def __init__(self, parameters: Parameters) -> None:
        self.dimensions, self.nodes = _compile(parameters)
        self._check_names()

    # -- structure ---------------------------------------------------------------------------

    @cached_property
    def node_of_dimension(self) -> NDArray[np.int64]:
        return np.array([dimension.node for dimension in self.dimensions])

    @cached_property
    def children(self) -> dict[int, tuple[Node, ...]]:
        """The nodes that each branching choice (by dimension index) activates."""
        found: dict[int, tuple[Node, ...]] = {}
        for node in self.nodes[1:]:
            found[node.choice] = (*found.get(node.choice, ()), node)
        return found

    @cached_property
    def by_name(self) -> dict[str, tuple[Dimension, ...]]:
        """The dimensions that carry each short name (several only in exclusive branches)."""
        found: dict[str, tuple[Dimension, ...]] = {}
        for dimension in self.dimensions:
            found[dimension.name] = (*found.get(dimension.name, ()), dimension)
        return found

    @cached_property
    def by_qualified_name(self) -> dict[str, Dimension]:
        return {dimension.qualified_name: dimension for dimension in self.dimensions}

    def variables_of(self, path: Collection[int]) -> tuple[Dimension, ...]:
        """The dimensions that exist on a path, without branching choices."""
        return tuple(d for d in self.dimensions if d.node in path and not d.parameter.is_branching)

    def choice(self, index: int) -> Choice:
        return cast(Choice, self.dimensions[index].parameter)

    def conditions(self, node: int) -> list[Node]:
        """The chain of nodes from below the root down to this one; all must be active."""
        chain: list[Node] = []
        while node > 0:
            chain.append(self.nodes[node])
            node = self.nodes[node].parent
        return chain[::-1]

    def condition_text(self, node: Node) -> str:
        """``kernel='rbf'`` or ``model in ('forest', 'boosting')``."""
        choice = self.dimensions[node.choice]
        options = tuple(self.choice(node.choice).options[i] for i in node.options)
        if len(options) == 1:
            return f"{choice.name}={options[0]!r}"
        return f"{choice.name} in ({listed(map(repr, options))})"

    def _check_names(self) -> None:
        for name, dimension in self.by_qualified_name.items():
            twins = self.by_name.get(name, ())
            if name != dimension.name and any(t.parameter is dimension.parameter for t in twins):
                raise SpaceError(
                    f"{name!r}, the qualified name of {dimension.name!r}, is declared once more, "
                    "as if it were always there; to extend a space, begin with "
                    "dict(space.parameters), which has no qualified names"
                )
        for name, dimensions in self.by_name.items():
            chains = [
                {link.choice: set(link.options) for link in self.conditions(d.node)}
                for d in dimensions
            ]
            for i, first in enumerate(chains):
                for j in range(i + 1, len(chains)):
                    second = chains[j]
                    if all(first[c] & second[c] for c in first.keys() & second.keys()):
                        raise SpaceError(
                            f"the name {name!r} is used twice by parameters that can be active "
                            f"together: {dimensions[i].qualified_name} and "
                            f"{dimensions[j].qualified_name}"
                        )

    # -- activity ----------------------------------------------------------------------------

    def node_activity(self, units: Array) -> NDArray[np.bool_]:
        """Which nodes each row of unit coordinates activates: (n, nodes)."""
        active = np.ones((len(units), len(self.nodes)), dtype=bool)
        picked = {c: self.choice(c).option_index(units[:, c]) for c in self.children}
        for node in self.nodes[1:]:
            one = len(node.options) == 1
            option = picked[node.choice]
            fits = option == node.options[0] if one else np.isin(option, node.options)
            active[:, node.index] = active[:, node.parent] & fits
        return active

    def paths_of_rows(self, units: Array) -> list[Path]:
        """The path of each row of unit coordinates."""
        return [tuple(np.flatnonzero(row).tolist()) for row in self.node_activity(units)]

    def rows_by_path(self, units: Array) -> dict[Path, NDArray[np.int64]]:
        """The rows of every path that has any."""
        patterns, which = np.unique(self.node_activity(units), axis=0, return_inverse=True)
        return {
            tuple(np.flatnonzero(pattern).tolist()): np.flatnonzero(np.ravel(which) == i)
            for i, pattern in enumerate(patterns)
        }

    def is_active(self, node: int, options: Mapping[int, int]) -> bool:
        """Whether a node is active, given the option positions of the *active* choices.

        As an inactive choice has none, the nearest condition decides.
        """
        link = self.nodes[node]
        return node == 0 or options.get(link.choice, -1) in link.options

    # -- counting and enumerating ------------------------------------------------------------

    def _from_leaves(self, of_node: Callable[[Node, list[_Below]], int]) -> list[int]:
        """A number for every node, which ``of_node`` makes of the numbers of the nodes below it."""
        numbers = [0] * len(self.nodes)
        for node in reversed(self.nodes):  # children come after their parents
            choices = [c for c in node.dimensions if c in self.children]
            below = [self._below(choice, numbers) for choice in choices]
            numbers[node.index] = of_node(node, below)
        return numbers

    def _below(self, choice: int, numbers: Sequence[int]) -> _Below:
        below: _Below = [[] for _ in self.choice(choice).options]
        for child in self.children[choice]:
            for option in child.options:
                below[option].append(numbers[child.index])
        return below

    @cached_property
    def _paths_below(self) -> list[int]:
        """For each node, the assignments of the branching choices in it and below it."""
        return self._from_leaves(lambda _, choices: math.prod(map(_assignments, choices)))

    @cached_property
    def n_paths(self) -> int:
        return self._paths_below[0]

    @cached_property
    def paths_per_option(self) -> dict[int, tuple[int, ...]]:
        """For each branching choice, the number of paths below each of its options."""
        below = {choice: self._below(choice, self._paths_below) for choice in self.children}
        return {choice: tuple(map(math.prod, options)) for choice, options in below.items()}

    @cached_property
    def cover(self) -> int:
        """How many paths visit every option: all of them on a tree, few with choices apart."""
        return self._from_leaves(
            lambda _, choices: max((sum(map(max, options)) for options in choices), default=1)
        )[0]

    @cached_property
    def largest_dimension(self) -> int:
        """Variables, branching choices aside, of the largest path (Add-Tree, Definition 3)."""
        return self._from_leaves(
            lambda node, choices: (
                len(node.variables) + sum(max(map(sum, options)) for options in choices)
            )
        )[0]

    @cached_property
    def size(self) -> float:
        """The number of distinct configurations; infinite with a continuous parameter."""
        if any(d.parameter.is_continuous for d in self.dimensions):
            return math.inf
        n_values = [int(d.parameter.n_values) for d in self.dimensions]
        return self._from_leaves(
            lambda node, choices: (
                math.prod(n_values[i] for i in node.variables)
                * math.prod(map(_assignments, choices))
            )
        )[0]

    def assignments(self, indices: Sequence[int]) -> Iterator[dict[int, Any]]:
        """Every assignment of values to those of the given dimensions that are active.

        ``indices`` must be ascending and contain the choices that decide about the others.
        """
        values: dict[int, Any] = {}
        options: dict[int, int] = {}
        untried: list[Iterator[tuple[int, Any]]] = []  # of every dimension up to the current one
        while True:
            while len(untried) < len(indices):
                index = indices[len(untried)]
                dimension = self.dimensions[index]
                untried.append(iter(()))
                if self.is_active(dimension.node, options):
                    untried[-1] = enumerate(dimension.parameter.values())
                    options[index], values[index] = next(untried[-1])
            yield dict(values)
            while untried:  # the last dimension that has a value left takes it
                index = indices[len(untried) - 1]
                if following := next(untried[-1], None):
                    options[index], values[index] = following
                    break
                untried.pop()
                options.pop(index, None)
                values.pop(index, None)
            else:
                return

    def path_of(self, options: Mapping[int, int]) -> Path:
        """The indices of the active nodes, given option positions by choice."""
        return tuple(n.index for n in self.nodes if self.is_active(n.index, options))

    def options_of(self, path: Iterable[int]) -> dict[int, int]:
        """The option of each branching choice on a path, by choice: the inverse of `path_of`."""
        nodes = [self.nodes[i] for i in path]
        return {node.choice: node.options[0] for node in nodes if len(node.options) == 1}

    def paths(self) -> Iterator[Path]:
        for values in self.assignments(sorted(self.children)):
            yield self.path_of({c: self.choice(c).index(v) for c, v in values.items()})

    def path_label(self, path: Sequence[int]) -> str:
        """``model=svm, kernel=rbf``: the branching choices of a path; empty without any."""
        return ", ".join(self.nodes[i].label for i in path if len(self.nodes[i].options) == 1)


_Below = list[list[int]]
"""For each option of a branching choice, the numbers of the nodes that it activates."""


def _assignments(options: _Below) -> int:
    """How many assignments a choice and all below it have, from those of the nodes below."""
    return sum(map(math.prod, options))


def _compile(parameters: Parameters) -> tuple[tuple[Dimension, ...], tuple[Node, ...]]:
    dimensions: list[Dimension] = []
    links: list[tuple[int, int, tuple[int, ...], str]] = []  # parent, choice, options, label

    def add_node(parent: int, choice: int, options: tuple[int, ...], label: str) -> int:
        links.append((parent, choice, options, label))
        return len(links) - 1

    def add_parameters(named: Parameters, node: int, prefix: str) -> None:
        for name, parameter in named:
            index = len(dimensions)
            qualified = prefix + name_label(name)
            dimensions.append(Dimension(index, name, qualified, parameter, node))
            if isinstance(parameter, Choice):
                add_branches(parameter, index, node, name, qualified)

    def add_branches(choice: Choice, index: int, node: int, name: str, qualified: str) -> None:
        everything = tuple(range(choice.n_values))
        labels = [option_label(option) for option in choice.options]
        below = dict(choice.branches)
        if choice.is_branching:
            below = {(i,): below.get((i,), ()) for i in everything} | below
        for members, named in below.items():
            text = "|".join(labels[i] for i in members)
            label = f"{name_label(name)}={text}"
            active_with = node if members == everything else add_node(node, index, members, label)
            add_parameters(named, active_with, f"{qualified}={text}/")

    add_parameters(parameters, add_node(-1, -1, (), "root"), "")
    members: list[list[Dimension]] = [[] for _ in links]
    for dimension in dimensions:
        members[dimension.node].append(dimension)
    nodes = []
    for i, (parent, choice, options, label) in enumerate(links):
        own = tuple(d.index for d in members[i])
        variables = tuple(d.index for d in members[i] if not d.parameter.is_branching)
        nodes.append(Node(i, parent, choice, options, own, variables, label))
    return tuple(dimensions), tuple(nodes)
