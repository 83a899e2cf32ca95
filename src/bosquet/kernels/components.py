"""Sums of components: the one covariance behind the additive models.

    k(x, x') = sum_c active_c(x) active_c(x') k_c(x, x')

Glossary
    eta     (E,)  logarithms of variances, length-scales; components have *slots* into it
    X       (n, d) unit rows; a component reads only the coordinates of its features
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from bosquet.arrays import Array
from bosquet.kernels.features import Feature
from bosquet.kernels.stationary import SHAPES

Kind = Literal["constant", "matern52", "se"]


@dataclass(frozen=True)
class Component:
    """A term of the sum, active where its node is.

    ``constant``: v. Otherwise v times a stationary shape of the squared distances of all features,
    each divided by l_f^2.
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
        if self.kind != "constant" and self.kind not in SHAPES:
            raise ValueError(
                f"component {self.name!r}: kind={self.kind!r} must be one of "
                f"{', '.join(map(repr, SHAPES))}; a shape of your own goes into SHAPES first"
            )

    @property
    def is_single(self) -> bool:
        """Whether it is a function of one ordered variable."""
        return len(self.features) == 1 and self.features[0].kind == "difference"

    def cross(self, A: Array, B: Array, eta: Array) -> Array:
        """The covariance between rows where the component is active: (len(A), len(B))."""
        v = float(np.exp(eta[self.variance]))
        inside = np.zeros((len(A), len(B)))
        for f, w in zip(self.features, self.weights(eta), strict=True):
            a, b = A[:, f.dimension][:, None], B[:, f.dimension]
            inside += w * f.distance(a, b)
        return inside + v if self.kind == "constant" else v * SHAPES[self.kind](inside)[0]

    def weights(self, eta: Array) -> Array:
        """1 / l_f^2 of each feature."""
        return np.exp(-2.0 * eta[list(self.lengths)])

    def diagonal(self, A: Array, eta: Array) -> Array:
        """The prior variance of each row."""
        return np.full(len(A), float(np.exp(eta[self.variance])))
