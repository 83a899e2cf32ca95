"""What a sum of components says of the function once it is conditioned on rows (`gp`).

Blocks of rows that share no component with a query cannot matter to it. A `PartialPosterior` is
that of some components of the sum, for a path, a node or a clique. Names are those of `gp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bosquet.arrays import Array, Bools, Index
from bosquet.kernels.components import Component
from bosquet.kernels.cross import Cross, Singles
from bosquet.kernels.sums import slices
from bosquet.linalg import grow_cholesky, solve_lower
from bosquet.models.repeats import NOISE_FLOOR

ENTRIES = 500_000  # of cross-covariances that are held at once, by component


class Posterior:
    """What the model believes about f (without noise), as a sum and by component."""

    def __init__(
        self,
        components: Sequence[Component],
        eta: Array,
        conditioned: Sequence[Conditioned],
        means: Array,
    ) -> None:
        self.components = tuple(components)
        self.eta = eta
        self.means = means
        """At the rows of the model, in the order in which it was given them."""
        self._conditioned = tuple(conditioned)
        self._partial: dict[tuple[str, ...], PartialPosterior] = {}

    def with_pending(self, X: Array, Z: Bools) -> Posterior:
        """The same mean with less variance: conditioned on believing the mean at new rows.

        Their weights alpha are exactly zero, so only the factors grow. Rows that connect two
        blocks merge them.
        """
        conditioned = list(self._conditioned)
        for x, z in zip(X, Z, strict=True):
            active = [c for c in self.components if z[c.node]]
            nodes = {c.node for c in active}
            near = [block for block in conditioned if block.nodes & nodes]
            rest = [block for block in conditioned if not block.nodes & nodes]
            conditioned = [*rest, _join(near, active, x, self.eta)]
        return Posterior(self.components, self.eta, conditioned, self.means)

    def joint(self, X: Array, Z: Bools) -> tuple[Array, Array]:
        """Mean and covariance matrix of f at rows that activate any nodes: (m,) and (m, m)."""
        mean, covariance = np.zeros(len(X)), np.zeros((len(X), len(X)))
        crosses = [np.zeros((len(X), block.n)) for block in self._conditioned]
        for c in self.components:
            at = np.flatnonzero(Z[:, c.node])
            if not len(at):
                continue
            everywhere = len(at) == len(X)  # as on the rows of one path: nothing to be picked out
            own = Cross([(c, np.arange(len(at)))], X[at], self.eta)(X[at])
            covariance[... if everywhere else np.ix_(at, at)] += own
            for block, cross in zip(self._conditioned, crosses, strict=True):
                if c.name in block.rows:
                    found = Cross([(c, block.rows[c.name])], block.X, self.eta)(X[at])
                    cross[... if everywhere else at] += found
        for block, cross in zip(self._conditioned, crosses, strict=True):
            mean += cross @ block.alpha
            V = solve_lower(block.L, cross.T)
            covariance -= V.T @ V
        return mean, covariance

    def of(self, components: Sequence[Component]) -> PartialPosterior:
        """The posterior of the sum of some components, at rows where they are active."""
        names = tuple(component.name for component in components)
        if names not in self._partial:
            crosses = ((block, block.cross(components, self.eta)) for block in self._conditioned)
            near = [(block, cross) for block, cross in crosses if cross is not None]
            self._partial[names] = PartialPosterior(components, self.eta, near)
        return self._partial[names]

    def of_each(
        self, components: Sequence[Component], queries: Sequence[Array]
    ) -> list[tuple[Array, Array]]:
        """Mean and variance of every component by itself, at queries of its own.

        As `of` and `moments` give them; components of one ordered variable are taken together.
        """
        given = list(zip(components, queries, strict=True))
        rows_of = {c.name: X for c, X in given}
        found: dict[str, tuple[Array, Array]] = {}
        for block in self._conditioned:
            alike: dict[tuple[str, bytes], list[Component]] = {}
            for c in components:
                if c.name in block.rows and c.is_single:
                    alike.setdefault((c.kind, block.rows[c.name].tobytes()), []).append(c)
            for group in alike.values():
                singles = Singles([(c, block.rows[c.name]) for c in group], block.X, self.eta)
                moments = block.moments_of_each(singles, [rows_of[c.name] for c in group])
                found |= zip((c.name for c in group), moments, strict=True)
        return [found.get(c.name) or self.of([c]).moments(X) for c, X in given]


class PartialPosterior:
    """The posterior of a sum of components: m queries at a time."""

    def __init__(
        self,
        components: Sequence[Component],
        eta: Array,
        near: Sequence[tuple[Conditioned, Cross]],
    ) -> None:
        self._components, self._eta, self._near = components, eta, near
        self._prior_variance = float(np.exp(eta[[c.variance for c in components]]).sum())

    def moments(self, X: Array) -> tuple[Array, Array]:
        """Mean and variance: (m,) each."""
        columns = sum(cross.columns for _, cross in self._near)
        pieces = -(-len(X) * columns // ENTRIES)
        if pieces <= 1:
            return self._moments(X)
        parts = [self._moments(part) for part in np.array_split(X, pieces)]
        return np.concatenate([m for m, _ in parts]), np.concatenate([v for _, v in parts])

    def _moments(self, X: Array) -> tuple[Array, Array]:
        mean = np.zeros(len(X))
        variance = np.full(len(X), self._prior_variance)
        for block, cross_of in self._near:
            cross = cross_of(X)
            mean += cross @ block.alpha
            V = solve_lower(block.L, cross.T, overwrite=True)
            variance -= np.einsum("ij,ij->j", V, V)
        return mean, np.maximum(variance, NOISE_FLOOR)

    def joint(self, X: Array) -> tuple[Array, Array]:
        """Mean and covariance matrix: (m,) and (m, m)."""
        mean, covariance = np.zeros(len(X)), np.zeros((len(X), len(X)))
        for component in self._components:
            covariance += component.cross(X, X, self._eta)
        for block, cross_of in self._near:
            cross = cross_of(X)
            mean += cross @ block.alpha
            V = solve_lower(block.L, cross.T)
            covariance -= V.T @ V
        return mean, covariance

    def moments_with_gradients(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """`moments`, and their derivatives by the ordered coordinates: (m, d)."""
        mean = np.zeros(len(X))
        variance = np.full(len(X), self._prior_variance)
        by_mean, by_variance = np.zeros_like(X), np.zeros_like(X)
        for block, cross_of in self._near:
            cross, slopes = cross_of.with_slopes(X)
            mean += cross @ block.alpha
            V = solve_lower(block.L, cross.T, overwrite=True)
            variance -= np.einsum("ij,ij->j", V, V)
            gain = solve_lower(block.L, V, transposed=True, overwrite=True).T
            of_mean, of_variance = slopes.times(block.alpha, gain)
            by_mean += of_mean
            by_variance -= 2.0 * of_variance
        return mean, np.maximum(variance, NOISE_FLOOR), by_mean, by_variance


@dataclass(frozen=True)
class Conditioned:
    """Connected rows with the factor of their covariance."""

    X: Array
    rows: dict[str, Index]
    """By name of the component, the rows where it is active."""
    nodes: set[int]
    L: Array
    alpha: Array

    @property
    def n(self) -> int:
        return len(self.alpha)

    def cross(self, components: Sequence[Component], eta: Array) -> Cross | None:
        """The covariance between queries and the rows of this block; None when there is none."""
        members = [(c, self.rows[c.name]) for c in components if c.name in self.rows]
        return Cross(members, self.X, eta) if members else None

    def moments_of_each(
        self, singles: Singles, queries: Sequence[Array]
    ) -> list[tuple[Array, Array]]:
        """Mean and variance of components of one variable, each at queries of its own."""
        parts = []
        for of_component, cross in singles.of_each(queries, self.n):
            V = solve_lower(self.L, cross.T)
            variance = singles.variances[of_component] - np.einsum("ij,ij->j", V, V)
            parts.append((cross @ self.alpha, np.maximum(variance, NOISE_FLOOR)))
        mean, variance = (np.concatenate(part) for part in zip(*parts, strict=True))
        return [(mean[at], variance[at]) for at in slices([len(X) for X in queries])]


def _join(
    near: Sequence[Conditioned], components: Sequence[Component], x: Array, eta: Array
) -> Conditioned:
    """Blocks and one believed row that touches them all, as one block."""
    n = sum(block.n for block in near)
    L, cross, alpha = np.zeros((n, n)), np.zeros((n, 1)), np.zeros(n + 1)
    rows: dict[str, list[Index]] = {}
    start = 0
    for block in near:
        inside = slice(start, start + block.n)
        L[inside, inside] = block.L
        alpha[inside] = block.alpha
        found = block.cross(components, eta)
        cross[inside, 0] = 0.0 if found is None else found(x[None])[0]
        for name, old in block.rows.items():
            rows.setdefault(name, []).append(old + start)
        start += block.n
    for component in components:
        rows.setdefault(component.name, []).append(np.array([n]))
    noise = float(np.exp(eta[-1])) + NOISE_FLOOR
    corner = sum(float(c.diagonal(x[None], eta)[0]) for c in components) + noise
    return Conditioned(
        X=np.vstack([*(block.X for block in near), x[None]]),
        rows={name: np.concatenate(parts) for name, parts in rows.items()},
        nodes={c.node for c in components}.union(*(block.nodes for block in near)),
        L=grow_cholesky(L, cross, np.array([[corner]])),
        alpha=alpha,
    )
