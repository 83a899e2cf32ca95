"""A covariance on a space: components with their priors, and how rows of the space enter them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bosquet.kernels.components import Component
from bosquet.models.base import Belief
from bosquet.models.gp import AdditiveGP, Posterior
from bosquet.models.priors import Hyperparameters
from bosquet.space import Space

Array = NDArray[np.float64]


class Surrogate:
    """Components that live on the nodes of a space, and read its unit rows as they are.

    Subclasses let components live on other groups of rows, or embed rows first.
    """

    def __init__(
        self, space: Space, components: Sequence[Component], hyper: Hyperparameters
    ) -> None:
        self.space = space
        self.components = tuple(components)
        self.hyper = hyper

    def groups(self, X: Array) -> NDArray[np.bool_]:
        """Which groups each row belongs to: (n, groups); `Component.node` is a group."""
        return self.space.tree.node_activity(X)

    def embed(self, X: Array) -> Array:
        """The rows as the components read them."""
        return X

    def pull_back(self, X: Array, gradient: Array) -> Array:  # noqa: ARG002 - for embeddings
        """Derivatives by the coordinates of the space, from those by the embedded ones."""
        return gradient

    def belief_on(self, posterior: Posterior, path: Sequence[int]) -> Belief:
        """The posterior at rows of the space that lie on one path."""
        return posterior.on_path(path)


class SurrogateGP:
    """A surrogate on given rows of its space."""

    def __init__(
        self, surrogate: Surrogate, X: Array, z: Array, noise: Array | None = None
    ) -> None:
        self._surrogate = surrogate
        rows, groups = surrogate.embed(X), surrogate.groups(X)
        self._gp = AdditiveGP(surrogate.components, surrogate.hyper, rows, groups, z, noise)

    @property
    def hyper(self) -> Hyperparameters:
        return self._surrogate.hyper

    def log_likelihood(self, theta: Array) -> tuple[float, Array]:
        return self._gp.log_likelihood(theta)

    def fit(self, starts: Sequence[Array], max_iterations: int = 200) -> tuple[Array, float]:
        return self._gp.fit(starts, max_iterations)

    def posterior(self, theta: Array) -> SurrogatePosterior:
        return SurrogatePosterior(self._surrogate, self._gp.posterior(theta))

    def leave_one_out(self, theta: Array) -> Array:
        return self._gp.leave_one_out(theta)


class SurrogatePosterior:
    """The posterior of an additive GP, asked at rows of the space."""

    def __init__(self, surrogate: Surrogate, additive: Posterior) -> None:
        self._surrogate = surrogate
        self.additive = additive

    @property
    def eta(self) -> Array:
        return self.additive.eta

    def on_path(self, path: Sequence[int]) -> Belief:
        return self._surrogate.belief_on(self.additive, path)

    def with_pending(self, X: Array) -> SurrogatePosterior:
        rows, groups = self._surrogate.embed(X), self._surrogate.groups(X)
        return SurrogatePosterior(self._surrogate, self.additive.with_pending(rows, groups))
