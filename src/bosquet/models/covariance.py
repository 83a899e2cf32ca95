"""A covariance on a space: components with their priors, and how rows of the space enter them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np

from bosquet.arrays import Array, Bools
from bosquet.kernels.components import Component
from bosquet.kernels.features import Feature
from bosquet.models.base import Belief, PathPosterior
from bosquet.models.gp import AdditiveGP
from bosquet.models.many import Bend, ManyLikelihoods
from bosquet.models.posterior import Posterior
from bosquet.models.priors import Hyperparameters
from bosquet.space import Space


class Covariance:
    """Components that live on the nodes of a space, and read its unit rows as they are.

    Subclasses let components live on other groups of rows, or embed rows first.

    Args:
        space: the space.
        components: the terms of the sum, as a `SumBuilder` has collected them.
        hyper: their hyper-parameters with priors, `SumBuilder.hyperparameters`.
    """

    embeds: ClassVar[bool] = False
    """Whether components read rows that `embed` has changed."""

    def __init__(
        self, space: Space, components: Sequence[Component], hyper: Hyperparameters
    ) -> None:
        self.space = space
        self.components = tuple(components)
        self.hyper = hyper

    def groups(self, X: Array) -> Bools:
        """Which groups each row belongs to: (n, groups); `Component.node` is a group."""
        return self.space.tree.node_activity(X)

    def groups_on(self, path: Sequence[int]) -> set[int]:
        """The groups of every row that lies on a path."""
        return set(path)

    def group_label(self, group: int) -> str:
        """``model=svm, kernel=rbf``: the choices of the rows of a group; empty for all rows."""
        return ", ".join(node.label for node in self.space.tree.conditions(group))

    def variable_of(self, feature: Feature) -> int:
        """The index of the dimension that a feature compares values of."""
        return feature.dimension

    def components_on(self, path: Sequence[int]) -> list[Component]:
        """The components that are active at rows of a path."""
        groups = self.groups_on(path)
        return [component for component in self.components if component.node in groups]

    def embed(self, X: Array, active: Bools) -> Array:  # noqa: ARG002 - for embeddings
        """The rows as the components read them; ``active`` are their coordinates, (n, d) or (d,)"""
        return X

    def pull_back(self, X: Array, gradient: Array) -> Array:  # noqa: ARG002 - for embeddings
        """Derivatives by the coordinates of the space, from those by the embedded ones."""
        return gradient

    def embedding(self, active: Bools) -> Embedding:
        """What `embed` and `pull_back` do to rows of one path, whose coordinates are ``active``."""
        return Embedding(self, active)

    def on_rows(
        self, X: Array, z: Array, noise: Array | None = None, weights: Array | None = None
    ) -> AdditiveGP:
        """The additive GP of targets at rows of the space."""
        rows, groups = self.embed(X, self.space.activity(X)), self.groups(X)
        return AdditiveGP(self.components, self.hyper, rows, groups, z, noise, weights)

    def many_on_rows(
        self,
        X: Array,
        z: Array,
        noise: Array | None = None,
        weights: Array | None = None,
        bend: Bend | None = None,
    ) -> ManyLikelihoods:
        """The likelihoods of `on_rows` for many thetas at once; ``bend`` changes the rows first."""
        if self.embeds and bend is not None:
            raise ValueError("rows that are embedded cannot be bent")
        rows, groups = self.embed(X, self.space.activity(X)), self.groups(X)
        return ManyLikelihoods(self.components, self.hyper, rows, groups, z, noise, weights, bend)


class Embedding:
    """Rows of one path as the components of a covariance read them."""

    def __init__(self, covariance: Covariance, active: Bools) -> None:
        self._covariance, self._active = covariance, active

    def __call__(self, X: Array) -> Array:
        return self._covariance.embed(X, self._active)

    def pull_back(self, X: Array, gradient: Array) -> Array:
        """Derivatives by the active coordinates, from those by the embedded ones."""
        return self._covariance.pull_back(X, gradient)


class SpaceGP:
    """A Gaussian process with a covariance on a space, given some rows of it."""

    def __init__(
        self,
        covariance: Covariance,
        X: Array,
        z: Array,
        noise: Array | None = None,
        weights: Array | None = None,
    ) -> None:
        self._covariance = covariance
        self._given = X, z, noise, weights
        self._gp = covariance.on_rows(X, z, noise, weights)

    def with_targets(self, z: Array, noise: Array) -> SpaceGP:
        """The same of other targets at the same rows, with noise known where it was known."""
        other = SpaceGP.__new__(SpaceGP)
        X, _, _, weights = self._given
        other._covariance, other._given = self._covariance, (X, z, noise, weights)
        other._gp = self._gp.with_targets(z, noise)
        return other

    @property
    def hyper(self) -> Hyperparameters:
        return self._covariance.hyper

    def log_likelihood(self, theta: Array) -> tuple[float, Array]:
        return self._gp.log_likelihood(theta)

    def log_likelihoods(self, thetas: Array) -> Array:
        """Of many thetas at once, (s, T): (s,); -inf where there is no factor."""
        return self._many(thetas, np.zeros(len(thetas)))

    @cached_property
    def _many(self) -> ManyLikelihoods:
        return self._covariance.many_on_rows(*self._given)

    def fit(self, starts: Sequence[Array], max_iterations: int = 200) -> tuple[Array, float]:
        return self._gp.fit(starts, max_iterations)

    def posterior(self, theta: Array) -> SpacePosterior:
        return SpacePosterior(self._covariance, self._gp.posterior(theta), self._given[0])

    def leave_one_out(self, theta: Array) -> Array:
        return self._gp.leave_one_out(theta)

    def left_out_moments(self, theta: Array) -> tuple[Array, Array]:
        return self._gp.left_out_moments(theta)


class AdditivePosterior(PathPosterior, Protocol):
    """The posterior of a sum of components, which can be asked for some of them."""

    @property
    def covariance(self) -> Covariance: ...

    @property
    def additive(self) -> Posterior: ...

    def joint(self, X: Array, /) -> tuple[Array, Array]:
        """Mean and covariance matrix of f at rows of any paths: (m,) and (m, m)."""


class SpacePosterior:
    """The posterior of an additive GP, asked at rows of the space."""

    def __init__(
        self, covariance: Covariance, additive: Posterior, rows: Array | None = None
    ) -> None:
        """``rows`` are those of the model, if it was given them as they are."""
        self.covariance = covariance
        self.additive = additive
        self._rows = rows

    def known_means(self, X: Array) -> Array | None:
        """The means at the rows of the model, if these are they: no more has to be computed."""
        known = self._rows is not None and np.array_equal(X, self._rows)
        return self.additive.means if known else None

    @property
    def eta(self) -> Array:
        return self.additive.eta

    def on_path(self, path: Sequence[int]) -> Belief:
        belief = self.additive.of(self.covariance.components_on(path))
        if not self.covariance.embeds:
            return belief
        active = np.array([d.node in path for d in self.covariance.space.dimensions])
        return Embedded(self.covariance.embedding(active), belief)

    def joint(self, X: Array) -> tuple[Array, Array]:
        rows = self.covariance.embed(X, self.covariance.space.activity(X))
        return self.additive.joint(rows, self.covariance.groups(X))

    def with_pending(self, X: Array) -> SpacePosterior:
        active = self.covariance.space.activity(X)
        rows, groups = self.covariance.embed(X, active), self.covariance.groups(X)
        additive = self.additive.with_pending(rows, groups)
        return SpacePosterior(self.covariance, additive, self._rows)


class Embedded:
    """A belief about embedded rows, asked at rows of one path."""

    def __init__(self, embedding: Embedding, belief: Belief) -> None:
        self._embedding, self._belief = embedding, belief

    def moments(self, X: Array) -> tuple[Array, Array]:
        return self._belief.moments(self._embedding(X))

    def moments_with_gradients(self, X: Array) -> tuple[Array, Array, Array, Array]:
        moments = self._belief.moments_with_gradients(self._embedding(X))
        mean, variance, by_mean, by_variance = moments
        back = self._embedding.pull_back
        return mean, variance, back(X, by_mean), back(X, by_variance)
