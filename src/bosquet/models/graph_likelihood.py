"""How well a graph explains targets: the likelihood behind Algorithm 3 of Rolland et al. (2018).

Glossary (n distinct rows)
    unit     the covariance of a clique with variance one, at the n (n + 1) / 2 pairs of rows; it is
             kept for the cliques and length-scales met, since a flip changes the scales
             d_i / sum_j d_j of all cliques, but the shapes of a few
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
import scipy

from bosquet.arrays import Array
from bosquet.graphs import Clique
from bosquet.kernels.components import Kind
from bosquet.kernels.features import features_of
from bosquet.kernels.stationary import SHAPES
from bosquet.models.additive_graph import variables_of
from bosquet.models.priors import SPECIAL_VALUES
from bosquet.models.repeats import merge
from bosquet.space import Space

ScaledClique = tuple[Clique, tuple[float, ...]]
"""A clique and the length-scales of its variables."""

_KEPT = 64_000_000  # bytes of unit covariances
_SHAPE, _RATE = 1.0, 1.0  # of the inverse gamma prior of a free scale


class GraphLikelihood:
    """log p(z | Z, L) up to a constant, for the scales of section 5.

    With ``free_scale`` their common factor is integrated out (inverse gamma); else it is one, which
    standardised targets have.
    """

    def __init__(
        self,
        space: Space,
        X: Array,
        z: Array,
        noise: Array,
        kind: Kind,
        *,
        free_scale: bool = True,
    ) -> None:
        self._merged = merged = merge(X, z, noise)
        X = X[merged.first]
        self._n = n = len(X)
        self._shape = SHAPES[kind]
        self._free_scale = free_scale
        columns, rows = np.triu_indices(n)  # the lower triangle, column by column
        self._flat = rows + n * columns
        self._nothing = np.zeros(len(self._flat))
        self._distances = {}
        for own in variables_of(space):
            for v in own:
                first, *others = features_of(space.dimensions[v])
                one = first.distance(X[rows, v], X[columns, v])
                for other in others:
                    one = one + np.exp(-2.0 * SPECIAL_VALUES) * other.distance(
                        X[rows, v], X[columns, v]
                    )
                self._distances[v] = one
        active = space.tree.node_activity(X)
        self._node_of = space.tree.node_of_dimension
        self._both = {
            node: both
            for node in range(len(space.nodes))
            if not (both := active[rows, node] & active[columns, node]).all()
        }
        self._before: dict[int, tuple[frozenset[ScaledClique], Array]] = {}
        self._unit = lru_cache(maxsize=max(_KEPT // (8 * len(rows)), 64))(self._compute_unit)

    def _compute_unit(self, clique: Clique, lengths: tuple[float, ...]) -> Array:
        inside = np.zeros(len(self._flat))
        for v, length in zip(clique, lengths, strict=True):
            inside += self._distances[v] / length**2
        unit = self._shape(inside)[0]
        node = int(self._node_of[clique[0]])
        return np.asarray(unit * self._both[node] if node in self._both else unit)

    def _sum(self, node: int, terms: set[ScaledClique]) -> Array:
        """sum_i d_i unit_i, from the sum that was asked for before: mostly a few terms differ."""
        before, total = self._before.get(
            node, (frozenset[ScaledClique](), np.zeros(len(self._flat)))
        )
        if len(before ^ terms) >= len(terms):
            before, total = frozenset(), np.zeros(len(self._flat))
        total = total.copy()
        for sign, changed in ((-1.0, before - terms), (1.0, terms - before)):
            for clique, lengths in sorted(changed):
                total += (sign * len(clique)) * self._unit(clique, lengths)
        self._before[node] = frozenset(terms), total
        return total

    def __call__(
        self, cliques: Iterable[Sequence[Clique]], lengths: Sequence[float], noise: float
    ) -> float:
        """``cliques`` are given for every node that has any.

        Minus infinity where the covariance has no factor.
        """
        entries = np.zeros(len(self._flat))
        for node, own in enumerate(cliques):
            terms = {(clique, tuple(lengths[v] for v in clique)) for clique in own}
            entries += self._sum(node, terms) / sum(len(clique) for clique in own)
        flat = np.zeros(self._n**2)
        flat[self._flat] = entries
        K = flat.reshape((self._n, self._n), order="F")
        K.flat[:: self._n + 1] += self._merged.variance(noise)
        L, failed = scipy.linalg.lapack.dpotrf(K, lower=1, clean=0, overwrite_a=1)
        if failed:
            return -np.inf
        whitened, _ = scipy.linalg.lapack.dtrtrs(L, self._merged.y, lower=1)
        square = float(whitened @ whitened)
        half_log_det = float(np.log(L.flat[:: self._n + 1]).sum())
        if self._merged.repeated:
            log_det, scatter = self._merged.scatter(noise)
            square, half_log_det = square + scatter, half_log_det + 0.5 * log_det
        if self._free_scale:
            n = len(self._merged.given)
            return -half_log_det - (_SHAPE + 0.5 * n) * float(np.log(_RATE + 0.5 * square))
        return -half_log_det - 0.5 * square
