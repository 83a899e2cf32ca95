"""An additive GP with one component per maximal clique of a graph (Rolland et al., 2018).

Vertices are the variables of a space, branching choices left out. A clique lives on a node like any
other component, so edges join variables of one node; on a space without conditions that is all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bosquet.graphs import Clique, Edge, maximal_cliques
from bosquet.kernels.components import Component, Hyperparameters, Kind
from bosquet.kernels.features import features_of
from bosquet.models.add_tree import (
    CHAIN,
    CONSTANT,
    OWN,
    SPECIAL_VALUES,
    PriorBuilder,
    chain_features,
)
from bosquet.models.surrogate import Surrogate, SurrogateGP
from bosquet.space import Space

Array = NDArray[np.float64]

_RESIDUAL = "residual"
_FEATURE_LENGTH_SD = 0.3  # of a variable: there are many, and few trials for each


def variables_of(space: Space) -> list[Clique]:
    """By node, the variables that can be vertices of a graph."""
    return [
        tuple(index for index in node.dimensions if index not in space.tree.children)
        for node in space.nodes
    ]


def cliques_by_node(space: Space, edges: Iterable[Edge]) -> list[list[Clique]]:
    """By node, the maximal cliques of the graph of its variables."""
    edges = list(edges)
    return [
        maximal_cliques(own, [edge for edge in edges if set(edge) <= set(own)])
        for own in variables_of(space)
    ]


def scales(cliques: Sequence[Clique]) -> list[float]:
    """sigma_i = d_i / sum_j d_j (section 5): the prior variance of their sum is one."""
    total = sum(len(clique) for clique in cliques)
    return [len(clique) / total for clique in cliques]


class GraphSurrogate(Surrogate):
    """One component per clique with hierarchical priors.

    Scales are free: a common one, from which each may deviate. A variable has one length-scale
    wherever it appears, times the root of the size of its clique. With ``residual`` every node has
    also a component of all that is certainly there with it, shrunk away unless the data need it:
    what no graph explains.
    """

    def __init__(
        self, space: Space, edges: Iterable[Edge], kind: Kind, *, residual: bool = True
    ) -> None:
        builder = PriorBuilder(kind, root_feature_sd=_FEATURE_LENGTH_SD)
        cliques = cliques_by_node(space, edges)
        for index, own in enumerate(cliques):
            for clique in own:
                features = tuple(f for v in clique for f in features_of(space.dimensions[v]))
                builder.add(_name(clique), index, features, OWN)
        for node in space.nodes if residual else ():
            implied = chain_features(space, node)
            whole = {tuple(sorted({f.dimension for f in implied}))}
            if implied and not whole & set(cliques[node.index]):
                builder.add(f"{_RESIDUAL} {node.index}", node.index, implied, CHAIN)
        for node in space.nodes[1:]:
            if len(node.options) == 1:
                builder.add(f"constant {node.index}", node.index, (), CONSTANT)
        super().__init__(space, builder.components, builder.hyperparameters())
        self.names = tuple(builder.names)


class GraphGP(SurrogateGP):
    """Remembers theta by name, so that a fit goes on when the graph has changed."""

    def __init__(
        self, surrogate: GraphSurrogate, X: Array, z: Array, noise: Array | None = None
    ) -> None:
        super().__init__(surrogate, X, z, noise)
        self._names = surrogate.names

    def remember(self, theta: Array) -> dict[str, float]:
        return {name: float(value) for name, value in zip(self._names, theta, strict=True)}

    def recall(self, remembered: Any) -> Array | None:
        if not isinstance(remembered, dict):
            return None
        pairs = zip(self._names, self.hyper.mean, strict=True)
        return np.array([remembered.get(name, mean) for name, mean in pairs])


def paper_additive(
    space: Space, edges: Iterable[Edge], lengths: Mapping[int, float], noise: float
) -> tuple[list[Component], Hyperparameters]:
    """The covariance of section 5: squared exponential, scales d_i / sum d_j, given length-scales.

    Nothing is left to be fitted: theta is empty.
    """
    components: list[Component] = []
    eta: list[float] = []
    for node, cliques in enumerate(cliques_by_node(space, edges)):
        for clique, scale in zip(cliques, scales(cliques), strict=True):
            variance = len(eta)
            eta.append(float(np.log(scale)))
            features = []
            for v in clique:
                first, *others = features_of(space.dimensions[v])
                features += [first, *others]
                length = float(np.log(lengths[v]))
                eta += [length, *(length + SPECIAL_VALUES for _ in others)]
            slots = tuple(range(variance + 1, len(eta)))
            name = _name(clique)
            components.append(Component(name, node, "se", tuple(features), variance, slots))
    eta.append(float(np.log(noise)))
    nothing = np.zeros(0)
    hyper = Hyperparameters(
        np.array(eta), np.zeros((len(eta), 0)), nothing, nothing, nothing, nothing
    )
    return components, hyper


def clique_components(components: Iterable[Component]) -> list[Component]:
    """Those that message passing can add up: all but residuals."""
    return [component for component in components if not component.name.startswith(_RESIDUAL)]


def _name(clique: Clique) -> str:
    return "clique " + ",".join(map(str, clique))
