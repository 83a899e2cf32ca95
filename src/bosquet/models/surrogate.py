"""A covariance on a space: components with their priors, and how rows of the space enter them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bosquet.kernels.components import Component, Hyperparameters
from bosquet.models.base import Belief
from bosquet.models.gp import AdditiveGP, Posterior
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

    def gp(self, X: Array, z: Array, noise: Array | None = None) -> AdditiveGP:
        """The model of targets at rows of the space."""
        return AdditiveGP(self.components, self.hyper, self.embed(X), self.groups(X), z, noise)

    def belief_on(self, posterior: Posterior, path: Sequence[int]) -> Belief:
        """The posterior at rows of the space that lie on one path."""
        return posterior.on_path(path)
