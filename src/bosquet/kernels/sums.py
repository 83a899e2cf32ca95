"""Sums of components on given rows, as few calls on long vectors however many components there are.

`Gram` (`gram`) is the covariance of rows with themselves, as a function of eta; `Cross` (`cross`)
that of queries with rows, as a function of the queries. Both lay the entries of all components out
one after the other, components of one kind together, so that a shape is evaluated once.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from bosquet.arrays import Array, Index
from bosquet.kernels.components import Component
from bosquet.kernels.stationary import SHAPES, WRITTEN

Member = tuple[Component, Index]
"""A component and the rows where it is active, ascending."""


CACHED = 1 << 14  # entries of a piece that is shaped at a time: several of them fit in a cache


def on_rows(members: Sequence[Member]) -> list[Member]:
    """Those that are active on a row at all."""
    return [member for member in members if len(member[1])]


def slices(sizes: Sequence[int]) -> list[slice]:
    ends = list(accumulate(sizes, initial=0))
    return [slice(a, b) for a, b in pairwise(ends)]


def shape(kind: str, inside: Array, slope: Array | None = None) -> None:
    """Writes the covariance over what is inside it, and its slope if wanted, piece by piece."""
    step = max(1, CACHED * len(inside) // max(inside.size, 1))
    for start in range(0, len(inside), step):
        piece = inside[start : start + step]
        of_piece = None if slope is None else slope[start : start + step]
        if kind in WRITTEN:
            WRITTEN[kind](piece, of_piece)
        elif of_piece is None:
            piece[:] = SHAPES[kind](piece)[0]
        else:
            piece[:], of_piece[:] = SHAPES[kind](piece)
