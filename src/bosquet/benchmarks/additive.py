"""Sums of functions of few variables, drawn from Gaussian processes (Rolland et al., 2018, 5.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from bosquet.arrays import Array
from bosquet.benchmarks.problem import Problem
from bosquet.graphs import Clique, Edge, edges_of, junction_tree, maximal_cliques
from bosquet.search.message_passing import max_sum
from bosquet.space import Config, Float, Space

_FEATURES = 400  # random Fourier features of one function
_LEVELS = 41  # of every variable, to find the minimum; then zoomed in on
_ZOOMED = 9
_ZOOMS = 8


def star(seed: int = 0, dimension: int = 10) -> Problem:
    """One variable in the middle, joined with every other.

    Args:
        seed: of the functions.
        dimension: how many variables.
    """
    return additive_gp(f"star-{dimension}", star_edges(dimension), seed)


def lattice(seed: int = 0, side: int = 3) -> Problem:
    """A square grid of variables, each joined with its neighbours.

    Args:
        seed: of the functions.
        side: how many variables a side of the square has.
    """
    return additive_gp(f"lattice-{side}", lattice_edges(side), seed)


def star_edges(dimension: int) -> list[Edge]:
    return [(0, i) for i in range(1, dimension)]


def lattice_edges(side: int) -> list[Edge]:
    across = [(side * i + j, side * i + j + 1) for i in range(side) for j in range(side - 1)]
    down = [(side * i + j, side * (i + 1) + j) for i in range(side - 1) for j in range(side)]
    return sorted(across + down)


def additive_gp(
    name: str, groups: Iterable[Sequence[int]], seed: int = 0, length: float = 0.2
) -> Problem:
    """Functions on the maximal cliques of the graph of some groups, on the unit cube.

    Each is drawn from a squared exponential (by random Fourier features); variances are
    d_i / sum_j d_j, so that that of the sum is one.

    Args:
        name: how tables call it.
        groups: positions of the variables that interact, a sequence each.
        seed: of the functions.
        length: the length-scale of the functions, where variables lie in [0, 1].
    """
    edges = edges_of(groups)
    dimension = 1 + max(v for edge in edges for v in edge)
    cliques = maximal_cliques(range(dimension), edges)
    rng = np.random.default_rng([2018, seed])  # a stream apart from those of the methods
    total = sum(map(len, cliques))
    terms = {
        clique: _Term(rng, len(clique), length, float(np.sqrt(len(clique) / total)))
        for clique in cliques
    }

    def function(config: Config) -> float:
        x = np.array([config[f"x{i + 1}"] for i in range(dimension)])
        return float(sum(term(x[None, list(clique)])[0] for clique, term in terms.items()))

    space = Space({f"x{i + 1}": Float(0, 1) for i in range(dimension)})
    return Problem(name, space, function, _minimum(terms, dimension, edges))


class _Term:
    """A draw of one function of a few variables."""

    def __init__(self, rng: np.random.Generator, d: int, length: float, sd: float) -> None:
        self._frequencies = rng.standard_normal((d, _FEATURES)) / length
        self._phases = rng.uniform(0, 2 * np.pi, _FEATURES)
        self._weights = sd * np.sqrt(2.0 / _FEATURES) * rng.standard_normal(_FEATURES)

    def __call__(self, X: Array) -> Array:
        return np.asarray(np.cos(X @ self._frequencies + self._phases) @ self._weights)


def _minimum(terms: Mapping[Clique, _Term], dimension: int, edges: Sequence[Edge]) -> float:
    """By message passing on a grid that is zoomed in on."""
    tree = junction_tree(range(dimension), edges)
    grids = [np.linspace(0.0, 1.0, _LEVELS)] * dimension
    width, value = 1.0 / (_LEVELS - 1), np.inf
    for _ in range(_ZOOMS):
        tables = []
        for clique, term in terms.items():
            mesh = np.meshgrid(*(grids[v] for v in clique), indexing="ij")
            rows = np.stack([values.ravel() for values in mesh], axis=1)
            tables.append((clique, -term(rows).reshape(mesh[0].shape)))
        highest, levels = max_sum(tree, tables, {v: len(grid) for v, grid in enumerate(grids)})
        value = min(value, -highest)
        steps = width * np.linspace(-1.0, 1.0, _ZOOMED)
        grids = [np.unique(np.clip(grids[v][levels[v]] + steps, 0, 1)) for v in range(dimension)]
        width *= 2.0 / (_ZOOMED - 1)
    return float(value)
