"""Feature vectors of one variable, for functions that are linear in random weights.

A `Weight` holds the weights of one feature vector r(x) of section 2.4 of the 2017 paper on
tree-structured dependencies, all with one prior variance:

- ``constant``: [1], the level of a node;
- ``raw``: [x] of the unit coordinate of anything with an order, as the paper prints it;
- ``linear``: [2 x - 1], the same centred;
- ``one-hot``: one entry per category;
- ``fourier`` (section 4.3): cosines and sines, whose products approximate a squared exponential.

Rahimi & Recht draw the frequencies of Fourier features from a normal distribution. We take the
nodes of its Gauss-Hermite quadrature instead: the same covariance with far fewer features, and
nothing random that a replayed run would have to draw again. They are those of length-scale 1, and
are divided by the length-scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.polynomial.hermite_e import hermegauss

from bosquet.arrays import Array
from bosquet.space.tree import Dimension

Features = Literal["raw", "linear", "fourier"]
WeightKind = Literal["constant", "raw", "linear", "one-hot", "fourier"]

_NODES = 20  # of the quadrature; half of them by symmetry
_LEAST_SHARE = 1e-5  # of the variance, for a frequency to be kept
SHORTEST_WAVE = 0.2  # length-scale down to which these frequencies are accurate on [0, 1]


@lru_cache(maxsize=1)
def frequencies() -> tuple[Array, Array]:
    """Frequencies of unit length-scale, and the amplitudes of their cosine and sine."""
    nodes, shares = hermegauss(_NODES)
    shares = 2.0 * shares / shares.sum()
    kept = (nodes > 0.0) & (shares > _LEAST_SHARE)
    return nodes[kept], np.sqrt(shares[kept] / shares[kept].sum())


@dataclass(frozen=True)
class Weight:
    """Weights of one feature vector r, and the slots of their hyper-parameters in eta."""

    name: str
    node: int
    dimension: int
    """The coordinate that r is a function of; -1 for a constant."""
    kind: WeightKind
    size: int
    """Entries of r."""
    variance: int
    """Slot of the log of their prior variance."""
    length: int
    """Slot of the log length-scale of Fourier features; -1 otherwise."""

    def features(self, X: Array, eta: Array) -> Array:
        """r at the rows of X: (m, size)."""
        if self.kind == "constant":
            return np.ones((len(X), 1))
        x = X[:, self.dimension][:, None]
        if self.kind == "raw":
            return np.asarray(x)
        if self.kind == "linear":
            return np.asarray(2.0 * x - 1.0)
        if self.kind == "one-hot":
            category = np.minimum(np.floor(x * self.size), self.size - 1)
            return np.asarray(category == np.arange(self.size), dtype=float)
        omega, amplitude = frequencies()
        phase = (x - 0.5) * (omega * np.exp(-eta[self.length]))
        return np.hstack([amplitude * np.cos(phase), amplitude * np.sin(phase)])

    def slope(self, X: Array, eta: Array) -> Array | None:
        """dr/dx by the coordinate, (m, size); None where r has no slope."""
        if self.kind in ("raw", "linear"):
            return np.full((len(X), 1), 1.0 if self.kind == "raw" else 2.0)
        if self.kind != "fourier":
            return None
        omega, amplitude = frequencies()
        omega = omega * np.exp(-eta[self.length])
        phase = (X[:, self.dimension][:, None] - 0.5) * omega
        amplitude = amplitude * omega
        return np.hstack([-amplitude * np.sin(phase), amplitude * np.cos(phase)])

    def slope_by_length(self, X: Array, eta: Array) -> Array:
        """dr / d log length of Fourier features: they see x - 1/2 divided by the length."""
        slope = self.slope(X, eta)
        assert slope is not None
        return np.asarray(slope * (0.5 - X[:, self.dimension])[:, None])


def kind_of(dimension: Dimension, features: Features) -> tuple[WeightKind, int]:
    """The kind and the size of the feature vector of a variable."""
    parameter = dimension.parameter
    if parameter.is_category:
        return "one-hot", int(parameter.n_values)
    return features, 2 * len(frequencies()[0]) if features == "fourier" else 1
