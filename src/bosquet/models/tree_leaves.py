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
from numpy.typing import NDArray

from bosquet.kernels.components import Component, Hyperparameters
from bosquet.kernels.features import Feature
from bosquet.kernels.weights import SHORTEST_WAVE, Features, Weight, kind_of
from bosquet.models.add_tree import LENGTH, NOISE, OWN, Prior, own_features
from bosquet.space import Space

Array = NDArray[np.float64]
Path = tuple[int, ...]
LeafSees = Literal["own", "path"]

# Priors of the default model: one common value per kind, and small deviations from it.
OFFSET = Prior(np.log(0.1), 1.0)
LEVEL = Prior(np.log(0.3), 1.0)  # of inner nodes
WAVE = Prior(np.log(0.5), LENGTH.sd)  # with 1, few trials leave a shared variable at its ends
WEIGHT_SD = 0.3
LEAF_SD = 0.3  # of the variance of one leaf
FEATURE_SD = 0.3  # of the length-scale of one feature
_LOG_NOISE = (np.log(1e-9), 0.0)
_LOG_WAVE = (np.log(SHORTEST_WAVE), np.log(5.0))
# Bounds of the paper's version, which has no priors.
_LOG_VARIANCE = (np.log(1e-3), np.log(1e3))
_LOG_LENGTH = (np.log(0.02), np.log(20.0))


def paths_through(space: Space) -> list[int]:
    """For every node, on how many paths it is active; paths are not enumerated."""
    counts = [space.n_paths]
    for node in space.nodes[1:]:
        below = space.tree.paths_per_option[node.choice]
        mine = sum(below[option] for option in node.options)
        counts.append(counts[node.parent] * mine // sum(below))
    return counts


@dataclass(frozen=True)
class Leaf:
    """What is active on one path."""

    path: Path
    kernel: Component | None
    """K_p; None where g_p has no variable, so that it is b_p alone."""
    weights: tuple[Weight, ...]
    columns: NDArray[np.int64]
    """Where their entries are in c."""

    @property
    def shared(self) -> list[int]:
        """The coordinates that have weights."""
        return [weight.dimension for weight in self.weights if weight.dimension >= 0]

    def parts(self) -> Iterator[tuple[Weight, slice]]:
        """The weights, and which of the columns are theirs."""
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
    and each weight has its own, by maximum likelihood, as in the paper.
    """

    def __init__(
        self,
        space: Space,
        visited: Sequence[Path],
        *,
        features: Features = "linear",
        leaf: LeafSees = "own",
        hierarchical: bool = True,
        kind: Literal["matern52", "se"] = "matern52",
    ) -> None:
        self.space = space
        self.kind = kind
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
        self.offset = slots.offset()
        self.weights = tuple(_weights(space, self.shared, features, slots))
        sizes = [weight.size for weight in self.weights]
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        """Where the entries of each weight begin in c."""
        self.n_weights = sum(sizes)
        """V, the length of c."""
        self.variance_of_column = np.repeat([w.variance for w in self.weights], sizes).astype(int)
        self.hyper, self.names = slots.finish()
        self._leaves: dict[Path, Leaf] = {}

    def leaf(self, path: Sequence[int]) -> Leaf:
        path = tuple(path)
        if path not in self._leaves:
            seen = [i for i in path if i in self._seen_by_leaves]
            features = tuple(f for i in seen for f in own_features(self.space, self.space.nodes[i]))
            variance = self._variances.get(path, self._common_variance)
            lengths = tuple(self._lengths[feature] for feature in features)
            kernel = None
            if features:
                kernel = Component("leaf", path[-1], self.kind, features, variance, lengths)
            mine = [i for i, weight in enumerate(self.weights) if weight.node in path]
            columns = [np.arange(self.starts[i], self.starts[i + 1]) for i in mine]
            self._leaves[path] = Leaf(
                path,
                kernel,
                tuple(self.weights[i] for i in mine),
                np.concatenate([np.zeros(0, dtype=int), *columns]),
            )
        return self._leaves[path]

    def scale(self, eta: Array) -> Array:
        """The prior standard deviation of every entry of c: Sigma_c^1/2."""
        return np.asarray(np.exp(0.5 * eta[self.variance_of_column]))

    def theta(self, named: dict[str, float]) -> Array:
        """The prior means, with the values that have a name here in their place."""
        found = zip(self.names, self.hyper.mean, strict=True)
        return np.array([named.get(name, mean) for name, mean in found])

    def named(self, theta: Array) -> dict[str, float]:
        return dict(zip(self.names, theta.tolist(), strict=True))


def _weights(
    space: Space, shared: Sequence[int], kind: Features, slots: _Slots
) -> Iterator[Weight]:
    """Per inner node a constant, and the feature vectors of its own variables."""
    for index in shared:
        node = space.nodes[index]
        name = f"constant {index}"
        yield Weight(name, index, -1, "constant", 1, slots.weight(name, "constant"), -1)
        for dimension in node.dimensions:
            if dimension in space.tree.children:
                continue
            mine, size = kind_of(space.dimensions[dimension], kind)
            name = f"slope {dimension}"
            length = slots.wave(dimension) if mine == "fourier" else -1
            variance = slots.weight(name, "slope")
            yield Weight(name, index, dimension, mine, size, variance, length)


class _Slots:
    """Collects the entries of eta, and the named thetas and priors behind them."""

    def __init__(self, hierarchical: bool) -> None:
        self._hierarchical = hierarchical
        self._offsets: list[float] = []  # of eta
        self._entries: list[list[int]] = []  # of eta: the thetas that are added
        self._thetas: dict[str, tuple[Prior, float, float]] = {}  # with their bounds
        self._index: dict[str, int] = {}

    def common_variance(self) -> int:
        """That of leaves not yet visited. Without ties nothing is known of it: 1."""
        return self._eta([("variance", OWN)] if self._hierarchical else [])

    def variance(self, path: Path) -> int:
        name = "leaf " + ".".join(map(str, path))
        return self._tied("variance", OWN, name, LEAF_SD, Prior(0.0, np.inf), _LOG_VARIANCE)

    def length(self, feature: Feature, stretch: float) -> int:
        """``stretch``: a function of many variables is expected to be smoother in each."""
        name = f"length {feature.dimension} {feature.kind}"
        alone = Prior(LENGTH.mean, np.inf)
        return self._tied("length", LENGTH, name, FEATURE_SD, alone, _LOG_LENGTH, stretch)

    def offset(self) -> int:
        return self._tied("offset", OFFSET, None, 0.0, Prior(OFFSET.mean, np.inf), _LOG_VARIANCE)

    def weight(self, name: str, common: str) -> int:
        prior = LEVEL if common == "constant" else OWN
        return self._tied(common, prior, name, WEIGHT_SD, Prior(0.0, np.inf), _LOG_VARIANCE)

    def wave(self, dimension: int) -> int:
        name = f"wave {dimension}"
        return self._tied("wave", WAVE, name, FEATURE_SD, Prior(WAVE.mean, np.inf), _LOG_WAVE)

    def _tied(
        self,
        common: str,
        prior: Prior,
        name: str | None,
        sd: float,
        alone: Prior,
        bounds: tuple[float, float],
        stretch: float = 0.0,
    ) -> int:
        """A common value plus a deviation of its own; or, without ties, a value of its own."""
        if not self._hierarchical:
            return self._eta([(name or common, alone)], bounds=bounds)
        deviation = [] if name is None else [(name, Prior(0.0, sd))]
        return self._eta([(common, prior), *deviation], stretch)

    def _eta(
        self,
        thetas: Sequence[tuple[str, Prior]],
        offset: float = 0.0,
        bounds: tuple[float, float] | None = None,
    ) -> int:
        for name, prior in thetas:
            lower, upper = bounds or (prior.mean - 5 * prior.sd, prior.mean + 5 * prior.sd)
            self._index.setdefault(name, len(self._index))
            self._thetas.setdefault(name, (prior, lower, upper))
        self._entries.append([self._index[name] for name, _ in thetas])
        self._offsets.append(offset)
        return len(self._entries) - 1

    def finish(self) -> tuple[Hyperparameters, tuple[str, ...]]:
        sd = NOISE.sd if self._hierarchical else np.inf
        self._eta([("noise", Prior(NOISE.mean, sd))], bounds=_LOG_NOISE)
        matrix = np.zeros((len(self._entries), len(self._thetas)))
        for row, thetas in enumerate(self._entries):
            matrix[row, thetas] = 1.0
        priors = list(self._thetas.values())
        hyper = Hyperparameters(
            offset=np.array(self._offsets),
            matrix=matrix,
            mean=np.array([prior.mean for prior, _, _ in priors]),
            sd=np.array([prior.sd for prior, _, _ in priors]),
            lower=np.array([lower for _, lower, _ in priors]),
            upper=np.array([upper for _, _, upper in priors]),
        )
        return hyper, tuple(self._thetas)
