"""Hyper-parameters: what is fitted, what it means for a covariance, and what is believed before.

Glossary
    eta     (E,)  logarithms of variances and length-scales, which components have *slots* into; the
                  last one is the log of the noise variance
    theta   (T,)  what is fitted, each with a name; eta = offset + matrix @ theta
    tie           an eta that is a common theta plus a deviation of its own

Names mean the same in every model of a space. So a fit can go on from that of another model: of
fewer trials, of another graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bosquet.arrays import Array
from bosquet.kernels.components import Component, Kind
from bosquet.kernels.features import Feature

Bounds = tuple[float, float]
Role = Literal["own", "chain", "constant"]


@dataclass(frozen=True)
class Prior:
    """A normal prior on a logarithm; flat where ``sd`` is infinite."""

    mean: float
    sd: float
    below: float | None = None
    """The standard deviation below the mean, where it is another one than above."""


# Variances are those of standardised targets, length-scales those of the unit interval.
OWN = Prior(np.log(2.0), 2.0)  # wide: a parabola is a long and high squared exponential
CHAIN = Prior(np.log(0.05), 1.5)  # shrunk away unless the data need it
CONSTANT = Prior(np.log(0.3), 1.0)
LENGTH = Prior(np.log(1.0), 0.7)
# Roughness and steps look like a little noise. Much of it must be shown by the data; that there is
# none is soon believed.
NOISE = Prior(-6.0, 2.0, below=4.0)
VARIANCE_SD = 0.7  # of one component about its role: few of many variables matter
COMPONENT_LENGTH_SD = 0.1  # of the length-scales of one component about the common one
FEATURE_LENGTH_SD = 0.7  # of one feature, wherever it appears
SPECIAL_VALUES = np.log(3.0)  # the overlap part of an ordered feature starts out this much longer
NOISE_BOUNDS: Bounds = (np.log(1e-9), 0.0)
# Of maximum likelihood, which has no priors.
FREE_NOISE = Prior(np.log(1e-4), np.inf)
VARIANCE_BOUNDS: Bounds = (np.log(1e-3), np.log(1e3))
LENGTH_BOUNDS: Bounds = (np.log(0.02), np.log(20.0))

_ROLES: dict[Role, Prior] = {"own": OWN, "chain": CHAIN, "constant": CONSTANT}


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
    names: tuple[str, ...]
    """Of theta."""
    below: Array | None = None
    """The standard deviations below the mean, where they are not all ``sd``."""

    def eta(self, theta: Array) -> Array:
        return np.asarray(self.offset + self.matrix @ theta)

    def log_prior(self, theta: Array) -> tuple[float, Array]:
        """The log prior up to a constant, and its gradient."""
        sd = self.sd if self.below is None else np.where(theta < self.mean, self.below, self.sd)
        z = (theta - self.mean) / sd
        return -0.5 * float(z @ z), -z / sd

    def log_normals(self, thetas: Array) -> Array:
        """The normal part of the log priors of many thetas, (s, T), up to a constant: (s,)."""
        away = thetas - self.mean
        below = self.sd if self.below is None else self.below
        z = away / np.where(away < 0.0, below, self.sd)
        return np.asarray(-0.5 * np.einsum("ij,ij->i", z, z))

    def log_priors(self, thetas: Array) -> Array:
        """The log priors of many thetas, (s, T), up to a constant: (s,)."""
        return self.log_normals(thetas)

    @property
    def noise(self) -> int:
        """The slot of the log noise variance."""
        return len(self.offset) - 1

    def clip(self, theta: Array) -> Array:
        return np.clip(theta, self.lower, self.upper)

    def remember(self, theta: Array) -> dict[str, float]:
        """theta by name, for JSON."""
        return dict(zip(self.names, theta.tolist(), strict=True))

    def recall(self, remembered: Any) -> Array | None:
        """theta from what this or another model remembered; None where there is nothing.

        What has no name there is at its prior mean. A list is theta without names, as older studies
        have it: it counts where its length fits.
        """
        if isinstance(remembered, Mapping):
            pairs = zip(self.names, self.mean, strict=True)
            return np.array([remembered.get(name, mean) for name, mean in pairs])
        fits = isinstance(remembered, list) and len(remembered) == len(self.mean)
        return np.array(remembered) if fits else None


class PriorBuilder:
    """Collects thetas with their priors, and the rows of the map from theta to eta."""

    def __init__(self) -> None:
        self._offsets: list[float] = []  # of eta
        self._entries: list[list[int]] = []  # of eta: the thetas that are added
        self._thetas: dict[str, tuple[Prior, Bounds]] = {}
        self._index: dict[str, int] = {}

    def theta(self, name: str, prior: Prior, bounds: Bounds | None = None) -> int:
        """The index of a theta, which is made when its name comes up first."""
        if name not in self._index:
            self._index[name] = len(self._index)
            spread = 5 * prior.sd
            self._thetas[name] = prior, bounds or (prior.mean - spread, prior.mean + spread)
        return self._index[name]

    def eta(self, thetas: Sequence[int], offset: float = 0.0) -> int:
        """The slot of a sum of thetas."""
        self._entries.append(list(thetas))
        self._offsets.append(offset)
        return len(self._entries) - 1

    def hyperparameters(self, noise: Prior | float = NOISE) -> Hyperparameters:
        """The whole map; the noise, which comes last, has a prior or a known log variance."""
        if isinstance(noise, Prior):
            self.eta([self.theta("noise", noise, NOISE_BOUNDS)])
        else:
            self.eta([], noise)
        matrix = np.zeros((len(self._entries), len(self._thetas)))
        for row, thetas in enumerate(self._entries):
            matrix[row, thetas] = 1.0
        made = list(self._thetas.values())
        return Hyperparameters(
            offset=np.array(self._offsets),
            matrix=matrix,
            mean=np.array([prior.mean for prior, _ in made]),
            sd=np.array([prior.sd for prior, _ in made]),
            below=np.array([prior.below or prior.sd for prior, _ in made]),
            lower=np.array([lower for _, (lower, _) in made]),
            upper=np.array([upper for _, (_, upper) in made]),
            names=tuple(self._thetas),
        )


class SumBuilder(PriorBuilder):
    """Collects the components of a sum with their hierarchical priors.

    Variances are those of a role and length-scales those of one common value, each times a
    deviation; with ``tied=False`` every one has the whole prior for itself.

    Args:
        kind: the shape of every component that has features, a name of `SHAPES`.
        tied: whether variances and length-scales lean on common values.
        feature_sd: how far the logarithm of a feature's length-scale may be from the common one,
            as a standard deviation.
    """

    def __init__(
        self, kind: Kind, *, tied: bool = True, feature_sd: float = FEATURE_LENGTH_SD
    ) -> None:
        super().__init__()
        self._kind = kind
        self._tied = tied
        self._feature_sd = feature_sd
        self._stands_for: dict[Feature, Feature] = {}
        self.components: list[Component] = []
        if tied:  # these come first, in every sum
            self._common = {role: self.theta(f"all {role}", _ROLES[role]) for role in _ROLES}
            self._common_length = self.theta("all length", LENGTH)

    def share(self, feature: Feature, other: Feature) -> None:
        """Gives the length-scale of a feature to another one as well."""
        self._stands_for[other] = feature
        self._deviation(feature)

    def _deviation(self, feature: Feature) -> int:
        feature = self._stands_for.get(feature, feature)
        return self.theta(f"{feature.kind} {feature.dimension}", Prior(0.0, self._feature_sd))

    def add(self, name: str, node: int, features: tuple[Feature, ...], role: Role) -> None:
        """Adds a component on a node, or on another group of rows.

        Args:
            name: tells its hyper-parameters from those of others; components with the same name
                share them.
            node: `Node.index` of the node where it is active.
            features: what it sees, as `own_features` gives it; none for a constant.
            role: which prior its variance has: ``"own"`` (wide), ``"chain"`` (shrunk away unless
                the data need it) or ``"constant"``.
        """
        if role not in _ROLES:
            raise ValueError(f"role={role!r} must be one of {', '.join(map(repr, _ROLES))}")
        for feature in features:
            if not isinstance(feature, Feature):
                raise TypeError(
                    f"component {name!r}: a feature is a Feature, as own_features gives it, "
                    f"not {feature!r}"
                )
        deviation = Prior(0.0, VARIANCE_SD) if self._tied else _ROLES[role]
        own = self.theta(f"variance {name}", deviation)
        variance = self.eta([self._common[role], own] if self._tied else [own])
        lengths = self._lengths(name, features)
        kind: Kind = self._kind if features else "constant"
        self.components.append(Component(name, node, kind, features, variance, lengths))

    def _lengths(self, name: str, features: Sequence[Feature]) -> tuple[int, ...]:
        """The slots of the length-scales of one component."""
        ordered = {f.dimension for f in features if f.kind == "difference"}
        shared = []
        if self._tied and features:
            own = self.theta(f"length {name}", Prior(0.0, COMPONENT_LENGTH_SD))
            shared = [self._common_length, own]
        slots = []
        for f in features:
            special = f.kind == "overlap" and f.dimension in ordered
            offset = 0.5 * np.log(len(features)) + SPECIAL_VALUES * special
            if self._tied:
                thetas = [*shared, self._deviation(f)]
            else:
                thetas = [self.theta(f"length {name}, {f.kind} {f.dimension}", LENGTH)]
            slots.append(self.eta(thetas, offset))
        return tuple(slots)
