"""Sums of components: the one covariance behind the additive models.

    k(x, x') = sum_c active_c(x) active_c(x') k_c(x, x')

Glossary
    eta     (E,)  logarithms of variances, length-scales; components have *slots* into it
    theta   (T,)  what is fitted; eta = offset + matrix @ theta (ties, hierarchies)
    X       (n, d) unit rows; a component reads only the coordinates of its features
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bosquet.kernels.features import Feature
from bosquet.kernels.stationary import SHAPES

Array = NDArray[np.float64]
Kind = Literal["constant", "linear", "matern52", "se"]


@dataclass(frozen=True)
class Component:
    """A term of the sum, active where its node is.

    ``constant``: v. ``linear``: v * sum_f (x_f - 1/2)(x'_f - 1/2) / l_f^2. Otherwise v times a
    stationary shape of the squared distances of all features, each divided by l_f^2.
    """

    name: str
    node: int
    kind: Kind
    features: tuple[Feature, ...]
    variance: int
    """Slot of log v."""
    lengths: tuple[int, ...]
    """Slots of log l_f, one per feature."""

    def __post_init__(self) -> None:
        if len(self.features) != len(self.lengths) or bool(self.features) == (
            self.kind == "constant"
        ):
            raise ValueError(f"component {self.name!r}: features and length-scales disagree")
        if self.kind == "linear" and any(f.kind != "difference" for f in self.features):
            raise ValueError(f"component {self.name!r}: a linear term needs ordered values")

    # -- between training rows, with what does not depend on eta computed once ---------------

    def prepare(self, X: Array) -> Array:
        """(features, n * n): squared distances, or products for a linear component."""
        if self.kind == "constant":
            return np.ones((1, len(X) ** 2))
        if self.kind == "linear":
            centred = [X[:, f.dimension] - 0.5 for f in self.features]
            return np.array([np.outer(c, c).ravel() for c in centred])
        return np.array([f.distances(X, X).ravel() for f in self.features])

    def gram(self, prepared: Array, eta: Array) -> tuple[Array, Array]:
        """k / v and its derivative by the weighted sum of ``prepared``; both (n * n,)."""
        if self.kind == "constant":
            return prepared[0], np.zeros_like(prepared[0])
        weighted = self._weights(eta) @ prepared
        if self.kind == "linear":
            return weighted, np.ones_like(weighted)
        return SHAPES[self.kind](weighted)

    def pull_back(
        self, W: Array, unit: Array, slope: Array, prepared: Array, eta: Array, gradient: Array
    ) -> None:
        """Adds d sum(W * K_c) / d eta to ``gradient``; ``W`` is (n * n,)."""
        v = float(np.exp(eta[self.variance]))
        gradient[self.variance] += v * float(W @ unit)
        if self.lengths:
            by_weight = v * (prepared @ (W * slope))
            for slot, value in zip(
                self.lengths, -2.0 * self._weights(eta) * by_weight, strict=True
            ):
                gradient[slot] += value

    # -- between queries and training rows ---------------------------------------------------

    def cross(self, A: Array, B: Array, eta: Array) -> Array:
        """The covariance between rows where the component is active: (len(A), len(B))."""
        v = float(np.exp(eta[self.variance]))
        if self.kind == "constant":
            return np.full((len(A), len(B)), v)
        if self.kind == "linear":
            return v * self._products(A, B, eta)
        return v * SHAPES[self.kind](self._r2(A, B, eta))[0]

    def cross_with_slope(self, A: Array, B: Array, eta: Array) -> tuple[Array, dict[int, Array]]:
        """`cross`, and its derivatives by the ordered coordinates of A, by dimension."""
        v = float(np.exp(eta[self.variance]))
        if self.kind == "constant":
            return np.full((len(A), len(B)), v), {}
        weights = self._weights(eta)
        slopes: dict[int, Array] = {}
        if self.kind == "linear":
            for f, w in zip(self.features, weights, strict=True):
                right = np.broadcast_to(B[:, f.dimension] - 0.5, (len(A), len(B)))
                slopes[f.dimension] = v * w * right
            return v * self._products(A, B, eta), slopes
        unit, by_r2 = SHAPES[self.kind](self._r2(A, B, eta))
        for f, w in zip(self.features, weights, strict=True):
            if f.kind == "difference":
                gap = A[:, f.dimension][:, None] - B[:, f.dimension][None, :]
                slopes[f.dimension] = (2.0 * v * w) * by_r2 * gap
        return v * unit, slopes

    def diagonal(self, A: Array, eta: Array) -> Array:
        """The prior variance of each row."""
        v = float(np.exp(eta[self.variance]))
        if self.kind != "linear":
            return np.full(len(A), v)
        centred = A[:, [f.dimension for f in self.features]] - 0.5
        return v * (centred**2 @ self._weights(eta))

    def add_diagonal_slope(self, A: Array, eta: Array, slope: Array) -> None:
        """Adds the derivative of `diagonal` by the coordinates of A, (m, d)."""
        if self.kind == "linear":
            weights = np.exp(eta[self.variance]) * self._weights(eta)
            for f, w in zip(self.features, weights, strict=True):
                slope[:, f.dimension] += 2.0 * w * (A[:, f.dimension] - 0.5)

    def _weights(self, eta: Array) -> Array:
        return np.exp(-2.0 * eta[list(self.lengths)])

    def _r2(self, A: Array, B: Array, eta: Array) -> Array:
        r2 = np.zeros((len(A), len(B)))
        for f, w in zip(self.features, self._weights(eta), strict=True):
            r2 += w * f.distances(A, B)
        return r2

    def _products(self, A: Array, B: Array, eta: Array) -> Array:
        dims = [f.dimension for f in self.features]
        return (A[:, dims] - 0.5) * self._weights(eta) @ (B[:, dims] - 0.5).T


@dataclass(frozen=True)
class Hyperparameters:
    """eta = offset + matrix @ theta, with independent normal priors on theta within bounds.

    A flat prior is an infinite ``sd``. The last entry of eta is the log of the noise variance.
    """

    offset: Array
    matrix: Array
    mean: Array
    sd: Array
    lower: Array
    upper: Array

    def eta(self, theta: Array) -> Array:
        return np.asarray(self.offset + self.matrix @ theta)

    def log_prior(self, theta: Array) -> tuple[float, Array]:
        """The log prior up to a constant, and its gradient."""
        z = (theta - self.mean) / self.sd
        return -0.5 * float(z @ z), -z / self.sd

    @property
    def noise(self) -> int:
        """The slot of the log noise variance."""
        return len(self.offset) - 1

    def clip(self, theta: Array) -> Array:
        return np.clip(theta, self.lower, self.upper)


def rows_of(active: NDArray[np.bool_]) -> slice | NDArray[np.int64]:
    """The rows of a node: a slice where they are contiguous, which saves copies."""
    rows = np.flatnonzero(active)
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows
