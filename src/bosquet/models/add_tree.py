"""The Add-Tree covariance (Ma & Blaschko, 2020): one component per node of the space.

Definition 4 / Algorithm 1: k(x, x') = sum over the nodes v that both activate of k_v. Generalised:

- *chain* components (Appendix E): at a node, one covariance over all variables that are certainly
  there with it (its own, its ancestors', those of tuple keys that contain its option);
- a *constant* per option of a branching choice, since options differ in level;
- hierarchical priors: a common value per kind of hyper-parameter, and small deviations.

The options of branching choices are not features: nodes say what they change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bosquet.kernels.components import Component, Hyperparameters, Kind
from bosquet.kernels.features import Feature, features_of
from bosquet.space import Space
from bosquet.space.structure import Node

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)  # two kinds of hyper-parameters stay two, whatever their numbers
class Prior:
    """A normal prior on a logarithm."""

    mean: float
    sd: float


# Variances are those of standardised targets, length-scales those of the unit interval.
OWN = Prior(np.log(2.0), 2.0)  # wide: a parabola is a long and high squared exponential
CHAIN = Prior(np.log(0.05), 1.5)  # shrunk away unless the data need it
CONSTANT = Prior(np.log(0.3), 1.0)
LENGTH = Prior(np.log(1.0), 0.7)
NOISE = Prior(np.log(1e-4), 3.0)
VARIANCE_SD = 0.2  # of one component about its kind
COMPONENT_LENGTH_SD = 0.1  # of the length-scales of one component about the common one
FEATURE_LENGTH_SD = 0.2  # of one feature, wherever it appears
ROOT_FEATURE_LENGTH_SD = 0.7  # the same, of a feature that every trial has: enough to judge it by
SPECIAL_VALUES = np.log(3.0)  # the overlap part of an ordered feature starts out this much longer
_NOISE_BOUNDS = (np.log(1e-9), 0.0)


def add_tree(
    space: Space, *, kind: Kind = "matern52", interactions: bool = True, constants: bool = True
) -> tuple[list[Component], Hyperparameters]:
    """Components and hierarchical priors for any space."""
    builder = PriorBuilder(kind)
    for node in space.nodes:
        own = own_features(space, node)
        if own:
            builder.add(f"own {node.index}", node.index, own, OWN)
    for node in space.nodes[1:] if interactions else ():
        implied = chain_features(space, node)
        if len(implied) > len(own_features(space, node)):
            builder.add(f"chain {node.index}", node.index, implied, CHAIN)
    for node in space.nodes[1:] if constants else ():
        if len(node.options) == 1:
            builder.add(f"constant {node.index}", node.index, (), CONSTANT)
    return builder.components, builder.hyperparameters()


def paper_add_tree(space: Space) -> tuple[list[Component], Hyperparameters]:
    """Algorithm 1 as published: squared exponential, no ties, maximum likelihood."""
    components = []
    slots = 0
    for node in space.nodes:
        own = own_features(space, node)
        if own:
            lengths = tuple(range(slots + 1, slots + 1 + len(own)))
            components.append(Component(f"own {node.index}", node.index, "se", own, slots, lengths))
            slots += 1 + len(own)
    size = slots + 1
    lower, upper = np.full(size, np.log(0.02)), np.full(size, np.log(20.0))
    for component in components:
        lower[component.variance], upper[component.variance] = np.log(1e-3), np.log(1e3)
    lower[-1], upper[-1] = _NOISE_BOUNDS
    start = np.zeros(size)
    start[[slot for c in components for slot in c.lengths]] = np.log(0.5)
    start[-1] = np.log(1e-4)
    flat = np.full(size, np.inf)
    return components, Hyperparameters(np.zeros(size), np.eye(size), start, flat, lower, upper)


def own_features(space: Space, node: Node) -> tuple[Feature, ...]:
    """The features of a node's own variables, branching choices left out."""
    return tuple(
        feature
        for index in node.dimensions
        if index not in space.tree.children
        for feature in features_of(space.dimensions[index])
    )


def chain_features(space: Space, node: Node) -> tuple[Feature, ...]:
    """The features of all variables that are active whenever the node is."""
    nodes = [space.nodes[0]]
    for link in space.tree.conditions(node.index):
        beside = space.tree.children[link.choice]
        nodes += [other for other in beside if set(link.options) <= set(other.options)]
    return tuple(feature for one in nodes for feature in own_features(space, one))


class PriorBuilder:
    """Collects components, and the rows of the map from theta to eta.

    Variances are those of a kind (`own`, `chain`, `constant`) and length-scales those of one common
    value, each times a deviation; with ``tied=False`` every one has the whole prior for itself.
    """

    def __init__(
        self, kind: Kind, *, tied: bool = True, root_feature_sd: float = ROOT_FEATURE_LENGTH_SD
    ) -> None:
        self._kind = kind
        self._tied = tied
        self._root_feature_sd = root_feature_sd
        self.components: list[Component] = []
        self._offsets: list[float] = []  # of eta
        self._entries: list[list[int]] = []  # of eta: the thetas that are added
        self._priors: list[Prior] = []  # of theta
        self.names: list[str] = []  # of theta: the same for the same thing in another sum
        self._of_feature: dict[Feature, int] = {}
        if tied:
            kinds = {"own": OWN, "chain": CHAIN, "constant": CONSTANT, "length": LENGTH}
            self._common = {prior: self._theta(prior, f"all {k}") for k, prior in kinds.items()}

    def _theta(self, prior: Prior, name: str) -> int:
        self._priors.append(prior)
        self.names.append(name)
        return len(self._priors) - 1

    def _eta(self, thetas: Sequence[int], offset: float = 0.0) -> int:
        self._entries.append(list(thetas))
        self._offsets.append(offset)
        return len(self._entries) - 1

    def share(self, feature: Feature, other: Feature) -> None:
        """Gives a feature the deviation of another one."""
        self._of_feature[other] = self._deviation(feature, FEATURE_LENGTH_SD)

    def _deviation(self, feature: Feature, sd: float) -> int:
        if feature not in self._of_feature:
            name = f"{feature.kind} {feature.dimension}"
            self._of_feature[feature] = self._theta(Prior(0.0, sd), name)
        return self._of_feature[feature]

    def add(self, name: str, node: int, features: tuple[Feature, ...], prior: Prior) -> None:
        """A component on a node (or another group of rows); ``prior`` is that of its kind."""
        own = Prior(0.0, VARIANCE_SD) if self._tied else prior
        deviation = self._theta(own, f"variance {name}")
        variance = self._eta([self._common[prior], deviation] if self._tied else [deviation])
        own_deviation = -1
        if self._tied and features:
            own_deviation = self._theta(Prior(0.0, COMPONENT_LENGTH_SD), f"length {name}")
        sd = FEATURE_LENGTH_SD if node else self._root_feature_sd
        ordered = {f.dimension for f in features if f.kind == "difference"}
        lengths = []
        for feature in features:
            special = feature.kind == "overlap" and feature.dimension in ordered
            offset = 0.5 * np.log(len(features)) + SPECIAL_VALUES * special
            if self._tied:
                thetas = [self._common[LENGTH], own_deviation, self._deviation(feature, sd)]
            else:
                thetas = [self._theta(LENGTH, f"length {name}, {feature.kind} {feature.dimension}")]
            lengths.append(self._eta(thetas, offset))
        kind: Kind = self._kind if features else "constant"
        self.components.append(Component(name, node, kind, features, variance, tuple(lengths)))

    def hyperparameters(self) -> Hyperparameters:
        self._eta([self._theta(NOISE, "noise")])
        matrix = np.zeros((len(self._entries), len(self._priors)))
        for row, thetas in enumerate(self._entries):
            matrix[row, thetas] = 1.0
        mean = np.array([prior.mean for prior in self._priors])
        sd = np.array([prior.sd for prior in self._priors])
        lower, upper = mean - 5 * sd, mean + 5 * sd
        lower[-1], upper[-1] = _NOISE_BOUNDS
        return Hyperparameters(np.array(self._offsets), matrix, mean, sd, lower, upper)
