"""The parts of the model of Jenatton et al. (2017): leaves, weights, hyper-parameters.

A *leaf* is a path of the space. An *inner node* is one that is active on more than one path: the
variables that belong to it are shared. On a tree these are the paper's inner nodes; side-by-side
choices and tuple keys have them too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bosquet.arrays import Array, Index
from bosquet.kernels.components import Component
from bosquet.kernels.features import Feature
from bosquet.kernels.weights import SHORTEST_WAVE, Features, Weight, kind_of
from bosquet.models.add_tree import own_features
from bosquet.models.priors import (
    FREE_NOISE,
    LENGTH,
    LENGTH_BOUNDS,
    NOISE,
    OWN,
    VARIANCE_BOUNDS,
    Bounds,
    Hyperparameters,
    Prior,
    PriorBuilder,
)
from bosquet.space import Space
from bosquet.space.tree import Path

LeafSees = Literal["own", "path"]
Offsets = Literal["scalar", "normal"]

# Priors of the default model: one common value per kind, and small deviations from it.
OFFSET = Prior(np.log(0.1), 1.0)
LEVEL = Prior(np.log(0.3), 1.0)  # of inner nodes
WAVE = Prior(np.log(0.5), LENGTH.sd)  # with 1, few trials leave a shared variable at its ends
WEIGHT_SD = 0.3
LEAF_SD = 0.3  # of the variance of one leaf
FEATURE_SD = 0.3  # of the length-scale of one feature
_WAVE_BOUNDS: Bounds = (np.log(SHORTEST_WAVE), np.log(5.0))  # without a prior


def paths_through(space: Space) -> list[int]:
    """For every node, on how many paths it is active; paths are not enumerated."""
    counts = [space.n_paths]
    for node in space.nodes[1:]:
        below = space.tree.paths_per_option[node.choice]
        here = sum(below[option] for option in node.options)
        counts.append(counts[node.parent] * here // sum(below))
    return counts


@dataclass(frozen=True)
class PathLeaf:
    """What is active on one path."""

    path: Path
    kernel: Component | None
    """K_p; None where g_p has no variable, so that it is b_p alone."""
    weights: tuple[Weight, ...]
    columns: Index
    """Where their entries are in c."""

    @property
    def shared(self) -> list[int]:
        """The coordinates that have weights."""
        return [weight.dimension for weight in self.weights if weight.dimension >= 0]

    def parts(self) -> Iterator[tuple[Weight, slice]]:
        """The weights, each with its part of ``columns``."""
        start = 0
        for weight in self.weights:
            yield weight, slice(start, start + weight.size)
            start += weight.size

    def features(self, X: Array, eta: Array) -> Array:
        """z_p' at rows of the leaf: (m, V_p)."""
        return np.hstack([np.zeros((len(X), 0)), *(w.features(X, eta) for w in self.weights)])


class TreeLinear:
    """The model of a space: its leaves, its weights and their hyper-parameters.

    ``visited`` are the paths that get a variance of their own; all others have the common one.
    With ``hierarchical`` hyper-parameters are tied to common values by priors; without, each leaf
    and each weight has its own, by maximum likelihood, as in the paper. ``offsets`` b_p are scalars
    (Eq. 1), or normal around zero with a variance that is fitted.
    """

    def __init__(
        self,
        space: Space,
        visited: Sequence[Path],
        *,
        features: Features = "linear",
        leaf: LeafSees = "own",
        hierarchical: bool = True,
        offsets: Offsets = "normal",
        kind: Literal["matern52", "se"] = "matern52",
    ) -> None:
        self.space = space
        self.kind = kind
        self.offsets = offsets
        through = paths_through(space)
        self.shared = tuple(n.index for n in space.nodes if through[n.index] > 1)
        """The inner nodes."""
        slots = _Slots(hierarchical)
        self._seen_by_leaves = set(range(len(space.nodes)))
        if leaf == "own":
            self._seen_by_leaves -= set(self.shared)
        self._lengths: dict[Feature, int] = {}
        for node in sorted(self._seen_by_leaves):
            above = [link.index for link in space.tree.conditions(node)]
            together = [i for i in (0, *above) if i in self._seen_by_leaves]
            n = sum(len(own_features(space, space.nodes[i])) for i in together)
            for feature in own_features(space, space.nodes[node]):
                self._lengths[feature] = slots.length(feature, 0.5 * np.log(n))
        self._common_variance = slots.common_variance()
        self._variances = {path: slots.variance(path) for path in dict.fromkeys(visited)}
        self.offset = slots.offset(offsets)
        """Slot of the log variance of b_p."""
        self.weights = tuple(_weights(space, self.shared, features, slots))
        sizes = [weight.size for weight in self.weights]
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        """Where the entries of each weight begin in c."""
        self.n_weights = sum(sizes)
        """V, the length of c."""
        self.variance_of_column = np.repeat([w.variance for w in self.weights], sizes).astype(int)
        self.hyper = slots.finish()
        self._leaves: dict[Path, PathLeaf] = {}

    def leaf(self, path: Sequence[int]) -> PathLeaf:
        path = tuple(path)
        if path not in self._leaves:
            seen = [i for i in path if i in self._seen_by_leaves]
            features = tuple(f for i in seen for f in own_features(self.space, self.space.nodes[i]))
            variance = self._variances.get(path, self._common_variance)
            lengths = tuple(self._lengths[feature] for feature in features)
            kernel = None
            if features:
                kernel = Component("leaf", path[-1], self.kind, features, variance, lengths)
            active = [i for i, weight in enumerate(self.weights) if weight.node in path]
            columns = [np.arange(self.starts[i], self.starts[i + 1]) for i in active]
            self._leaves[path] = PathLeaf(
                path,
                kernel,
                tuple(self.weights[i] for i in active),
                np.concatenate([np.zeros(0, dtype=int), *columns]),
            )
        return self._leaves[path]

    def scale(self, eta: Array) -> Array:
        """The prior standard deviation of every entry of c: Sigma_c^1/2."""
        return np.asarray(np.exp(0.5 * eta[self.variance_of_column]))


def _weights(
    space: Space, shared: Sequence[int], kind: Features, slots: _Slots
) -> Iterator[Weight]:
    """Per inner node a constant, and the feature vectors of its own variables.

    Raw values take the place of the constant, as in section 2.4: r_v is the shared variable itself,
    or [1] where a node has none.
    """
    for index in shared:
        node = space.nodes[index]
        if kind != "raw" or not node.variables:
            name = f"constant {index}"
            yield Weight(name, index, -1, "constant", 1, slots.weight(name, "constant"), -1)
        for dimension in node.variables:
            weight_kind, size = kind_of(space.dimensions[dimension], kind)
            name = f"slope {dimension}"
            length = slots.wave(dimension) if weight_kind == "fourier" else -1
            variance = slots.weight(name, "slope")
            yield Weight(name, index, dimension, weight_kind, size, variance, length)


class _Slots(PriorBuilder):
    """The entries of eta that the model has: with ties to common values, or without."""

    def __init__(self, hierarchical: bool) -> None:
        super().__init__()
        self._hierarchical = hierarchical

    def common_variance(self) -> int:
        """That of leaves not yet visited. Without ties nothing is known of it: 1."""
        return self.eta([self.theta("variance", OWN)] if self._hierarchical else [])

    def variance(self, path: Path) -> int:
        name = "leaf " + ".".join(map(str, path))
        if not self._hierarchical:
            return self._alone(name, 0.0, VARIANCE_BOUNDS)
        return self._tied("variance", OWN, name, LEAF_SD)

    def length(self, feature: Feature, stretch: float) -> int:
        """``stretch``: a function of many variables is expected to be smoother in each."""
        name = f"length {feature.dimension} {feature.kind}"
        if not self._hierarchical:
            return self._alone(name, LENGTH.mean, LENGTH_BOUNDS)
        return self._tied("length", LENGTH, name, FEATURE_SD, stretch)

    def offset(self, kind: Offsets) -> int:
        if kind == "scalar":  # no variance: what is added to every mean is fitted instead
            return self.eta([], -np.inf)
        if not self._hierarchical:
            return self._alone("offset", OFFSET.mean, VARIANCE_BOUNDS)
        return self.eta([self.theta("offset", OFFSET)])

    def weight(self, name: str, common: Literal["constant", "slope"]) -> int:
        if not self._hierarchical:
            return self._alone(name, 0.0, VARIANCE_BOUNDS)
        return self._tied(common, LEVEL if common == "constant" else OWN, name, WEIGHT_SD)

    def wave(self, dimension: int) -> int:
        name = f"wave {dimension}"
        if not self._hierarchical:
            return self._alone(name, WAVE.mean, _WAVE_BOUNDS)
        return self._tied("wave", WAVE, name, FEATURE_SD)

    def finish(self) -> Hyperparameters:
        return self.hyperparameters(NOISE if self._hierarchical else FREE_NOISE)

    def _tied(self, common: str, prior: Prior, name: str, sd: float, stretch: float = 0.0) -> int:
        """A common value plus a deviation of its own."""
        thetas = [self.theta(common, prior), self.theta(name, Prior(0.0, sd))]
        return self.eta(thetas, stretch)

    def _alone(self, name: str, start: float, bounds: Bounds) -> int:
        """A value of its own, by maximum likelihood."""
        return self.eta([self.theta(name, Prior(start, np.inf), bounds)])
