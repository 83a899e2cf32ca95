"""Algorithm 1 of BOinG: the subregion around a candidate, cut out by the trees of a forest.

The condition of line 4 is inverted in print: the loop goes on while some tree has not stopped. Line
8 asks for *more* than n_min points, as the authors' code does; in Figure 1 a subregion of n_min = 3
points is reached, which is *at least* n_min. Here it is ``least`` points, at least: `BOinG.paper`
passes n_min + 1.
"""

from __future__ import annotations

import numpy as np

from bosquet.arrays import Array, Bools
from bosquet.models.forest import INACTIVE, Column, Forest
from bosquet.search.region import Region
from bosquet.space import Space

_LEAF = -1  # the child of a leaf, as scikit-learn has it


def subregion(
    space: Space, forest: Forest, x: Array, X: Array, least: int, most: float = np.inf
) -> tuple[Region, Bools]:
    """The region around ``x`` (x_g), and which rows of ``X`` are inside.

    From the roots along x, one level per tree and pass: a split is taken over when at least
    ``least`` (n_min) rows, all observations counted, remain; else its tree stops, as it does at its
    leaf. The rows to begin with are those of x's path, or all rows where these are fewer than
    ``least``: then rows of other branches are inside too, but the region is still one of x's path.
    Where more than ``most`` rows are left, every tree goes on from where it stopped, and passes by
    the splits that would leave too few (the authors' code; not in the text).
    """
    e, E = forest.encode(x[None])[0], forest.encode(X)
    inside = (space.tree.node_activity(X) == space.tree.node_activity(x[None])).all(axis=1)
    if inside.sum() < least:
        inside[:] = True
    box = _Box(space, x)
    nodes = [0] * len(forest.trees)  # line 3: S, where each tree is
    for stops in (True, False):
        if not stops and inside.sum() <= most:
            break
        going = [True] * len(nodes)  # line 3: not I
        while any(going):  # line 4
            for p, tree in enumerate(forest.trees):  # line 5
                if not going[p]:
                    continue
                if tree.children_left[nodes[p]] == _LEAF:
                    going[p] = False
                    continue
                column, threshold = tree.feature[nodes[p]], tree.threshold[nodes[p]]
                below = bool(e[column] <= threshold)  # line 6: the child of x_g
                kept = inside & ((E[:, column] <= threshold) == below)  # line 7
                enough = kept.sum() >= least  # line 8
                if enough:
                    inside = kept  # lines 9, 10: points and region
                    box.cut(forest.encode.columns[column], float(threshold), below)
                if enough or not stops:
                    children = tree.children_left if below else tree.children_right
                    nodes[p] = int(children[nodes[p]])
                else:
                    going[p] = False  # line 12
    return box.region(), inside


class _Box:
    """The whole path of a row, cut by splits that the row lies on one side of."""

    def __init__(self, space: Space, x: Array) -> None:
        self._space, self._x = space, x
        self._active = space.activity(x[None])[0]
        self._lower, self._upper = np.zeros(len(x)), np.ones(len(x))
        self._allowed: dict[int, set[int]] = {}

    def cut(self, column: Column, threshold: float, below: bool) -> None:
        index = column.dimension
        if not self._active[index] or column.option == INACTIVE:
            return  # it tells the path from others
        if column.option is not None:
            choice = self._space.tree.choice(index)
            if not choice.is_branching:
                n = choice.n_values
                options = self._allowed.setdefault(index, set(range(n)))
                options &= set(range(n)) - {column.option} if below else {column.option}
        elif below:
            self._upper[index] = min(self._upper[index], threshold)
        else:
            self._lower[index] = max(self._lower[index], threshold)

    def region(self) -> Region:
        # Trees read single precision, so x may be outside by a rounding.
        lower, upper = np.minimum(self._lower, self._x), np.maximum(self._upper, self._x)
        allowed = {index: tuple(sorted(options)) for index, options in self._allowed.items()}
        return Region(self._space, self._x, lower, upper, allowed)
