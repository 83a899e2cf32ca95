"""What strategies and searches ask of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self, TypeVar

from bosquet.arrays import Array
from bosquet.models.priors import Hyperparameters


class Belief(Protocol):
    """The posterior of f at rows of one path, or of one component of it."""

    def moments(self, X: Array) -> tuple[Array, Array]:
        """Mean and variance at m rows: (m,) each."""

    def moments_with_gradients(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """`moments`, and their derivatives by the ordered coordinates: (m, d)."""


class PathPosterior(Protocol):
    """What a model believes about f on every path of a space."""

    @property
    def eta(self) -> Array:
        """The log-parameters; the last one is that of the noise."""

    def on_path(self, path: Sequence[int], /) -> Belief: ...

    def with_pending(self, X: Array, /) -> Self:
        """The same mean with less variance: conditioned on believing the mean at new rows."""


P_co = TypeVar("P_co", bound=PathPosterior, covariant=True)


class PathModel(Protocol[P_co]):
    """A model of targets at rows of a space, with hyper-parameters to be fitted."""

    @property
    def hyper(self) -> Hyperparameters: ...

    def fit(self, starts: Sequence[Array], max_iterations: int = 200) -> tuple[Array, float]:
        """The best theta from the given starts, and its log posterior."""

    def posterior(self, theta: Array) -> P_co: ...
