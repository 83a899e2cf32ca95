"""Message passing on a junction tree (Rolland et al., 2018, Algorithm 2), and the next best points.

Glossary
    terms    tables of some variables each; what is maximised is their sum
    levels   the position of every variable in its grid
    bag      a vertex of the junction tree; its message to its parent is a table over the variables
             that both have
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from bosquet.arrays import Array, Index
from bosquet.graphs import Clique, JunctionTree

Table = tuple[Clique, Array]
"""Variables, and a table with one axis for each."""
Levels = dict[int, int]


def max_sum(
    tree: JunctionTree, terms: Iterable[Table], sizes: Mapping[int, int]
) -> tuple[float, Levels]:
    """The largest sum of the terms, and the level of every variable where it is attained."""
    at_home: list[list[Table]] = [[] for _ in tree.bags]
    for clique, table in terms:
        at_home[tree.home(clique)].append((clique, table))
    best_below: list[Index] = [np.zeros(0, dtype=np.int64)] * len(tree.bags)
    total = 0.0
    for i in reversed(range(len(tree.bags))):  # lines 3-9: children before their parents
        bag, parent = tree.bags[i], tree.parents[i]
        sums = np.zeros([sizes[v] for v in bag])
        for clique, table in at_home[i]:
            sums += table[tuple(slice(None) if v in clique else None for v in bag)]
        separator, inside = tree.splits[i]
        if separator:
            axes = [bag.index(v) for v in (*separator, *inside)]
            sums = sums.transpose(axes)
        flat = sums.reshape(*(sizes[v] for v in separator), -1)
        best_below[i] = flat.argmax(axis=-1)  # line 6
        message = flat.max(axis=-1) if separator else flat[best_below[i]]
        if parent >= 0:
            at_home[parent].append((separator, message))
        else:
            total = float(message)  # line 10
    levels: Levels = {}
    for i in range(len(tree.bags)):
        separator, inside = tree.splits[i]
        best = best_below[i][tuple(levels[v] for v in separator)]
        found = np.unravel_index(int(best), [sizes[v] for v in inside])
        levels |= {v: int(level) for v, level in zip(inside, found, strict=True)}
    return total, levels


def k_best(
    tree: JunctionTree, terms: Iterable[Table], sizes: Mapping[int, int]
) -> Iterator[tuple[float, Levels]]:
    """All levels whose sum is finite, the largest sum first, each once (Lawler, 1972).

    What is left when a maximiser is taken out falls into disjoint parts: the first i variables as
    in it, the next one different. The best of each part is found by message passing, and the best
    of these bests comes next.
    """
    terms = list(terms)
    variables = sorted(sizes)
    waiting: list[tuple[float, int, Levels, int, frozenset[int]]] = []
    made = 0

    def look(known: Levels, depth: int, banned: frozenset[int]) -> None:
        """The best with the first ``depth`` variables known and some levels of the next banned."""
        nonlocal made
        masks = [_mask(v, sizes[v], {known[v]}, allow=True) for v in variables[:depth]]
        if banned:
            masks.append(_mask(variables[depth], sizes[variables[depth]], banned, allow=False))
        total, levels = max_sum(tree, [*terms, *masks], sizes)
        if total > -np.inf:
            made += 1
            heapq.heappush(waiting, (-total, made, levels, depth, banned))

    look({}, 0, frozenset())
    while waiting:
        negative, _, levels, depth, banned = heapq.heappop(waiting)
        yield -negative, levels
        for i in range(depth, len(variables)):
            look(levels, i, (banned if i == depth else frozenset()) | {levels[variables[i]]})


def _mask(v: int, size: int, levels: Iterable[int], *, allow: bool) -> Table:
    """Minus infinity at some levels of one variable, or at all others."""
    table = np.full(size, -np.inf if allow else 0.0)
    table[list(levels)] = 0.0 if allow else -np.inf
    return (v,), table


@dataclass
class _Kept:
    """A descending stream whose beginning can be looked at again."""

    stream: Iterator[tuple[float, Array]]
    seen: list[tuple[float, Array]] = field(default_factory=list)

    def at(self, i: int) -> tuple[float, Array] | None:
        while len(self.seen) <= i:
            found = next(self.stream, None)
            if found is None:
                return None
            self.seen.append(found)
        return self.seen[i]


def best_sums(
    streams: Mapping[int, Iterator[tuple[float, Array]]], sets: Sequence[Sequence[int]]
) -> Iterator[tuple[float, int, dict[int, Array]]]:
    """Sums of one entry of every stream in a set, the largest first over all sets.

    A stream has (value, entry), values descending. Gives the sum, the position of the set, and the
    entries by stream.
    """
    kept = {name: _Kept(stream) for name, stream in streams.items()}
    waiting: list[tuple[float, int, tuple[int, ...]]] = []
    met: set[tuple[int, tuple[int, ...]]] = set()

    def look(which: int, places: tuple[int, ...]) -> None:
        if (which, places) in met:
            return
        met.add((which, places))
        found = [kept[name].at(i) for name, i in zip(sets[which], places, strict=True)]
        values = [one[0] for one in found if one is not None]
        if len(values) == len(found):
            heapq.heappush(waiting, (-sum(values), which, places))

    for which, names in enumerate(sets):
        look(which, (0,) * len(names))
    while waiting:
        negative, which, places = heapq.heappop(waiting)
        pairs = zip(sets[which], places, strict=True)
        yield -negative, which, {name: kept[name].seen[i][1] for name, i in pairs}
        for j in range(len(places)):
            look(which, (*places[:j], places[j] + 1, *places[j + 1 :]))
