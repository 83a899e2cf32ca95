"""An additive GP with one component per maximal clique of a graph (Rolland et al., 2018).

Vertices are the variables of a space, branching choices left out. A clique lives on a node like any
other component, so edges join variables of one node; on a space without conditions that is all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from bosquet.graphs import Clique, Edge, maximal_cliques
from bosquet.kernels.components import Component, Kind
from bosquet.kernels.features import Feature, features_of
from bosquet.models.add_tree import chain_features
from bosquet.models.covariance import Covariance
from bosquet.models.priors import SPECIAL_VALUES, Hyperparameters, PriorBuilder, SumBuilder
from bosquet.space import Space

_RESIDUAL = "residual"
_FEATURE_LENGTH_SD = 0.3  # of a variable: there are many, and few trials for each


def variables_of(space: Space) -> list[Clique]:
    """By node, the variables that can be vertices of a graph."""
    return [node.variables for node in space.nodes]


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


class GraphCovariance(Covariance):
    """One component per clique with hierarchical priors.

    Scales are free: a common one, from which each may deviate. A variable has one length-scale
    wherever it appears, times the root of the size of its clique. With ``residual`` every node has
    also a component of all that is certainly there with it, shrunk away unless the data need it:
    what no graph explains.
    """

    def __init__(
        self, space: Space, edges: Iterable[Edge], kind: Kind, *, residual: bool = True
    ) -> None:
        builder = SumBuilder(kind, feature_sd=_FEATURE_LENGTH_SD)
        cliques = cliques_by_node(space, edges)
        for index, own in enumerate(cliques):
            for clique in own:
                features = tuple(f for v in clique for f in features_of(space.dimensions[v]))
                builder.add(_name(clique), index, features, "own")
        for node in space.nodes if residual else ():
            implied = chain_features(space, node)
            whole = {tuple(sorted({f.dimension for f in implied}))}
            if implied and not whole & set(cliques[node.index]):
                builder.add(f"{_RESIDUAL} {node.index}", node.index, implied, "chain")
        for node in space.nodes[1:]:
            if len(node.options) == 1:
                builder.add(f"constant {node.index}", node.index, (), "constant")
        super().__init__(space, builder.components, builder.hyperparameters())


def paper_additive(
    space: Space, edges: Iterable[Edge], lengths: Mapping[int, float], noise: float
) -> tuple[list[Component], Hyperparameters]:
    """The covariance of section 5: squared exponential, scales d_i / sum d_j, given length-scales.

    Nothing is left to be fitted: theta is empty.
    """
    builder = PriorBuilder()
    components = []
    for node, cliques in enumerate(cliques_by_node(space, edges)):
        for clique, scale in zip(cliques, scales(cliques), strict=True):
            variance = builder.eta([], float(np.log(scale)))
            features: list[Feature] = []
            slots: list[int] = []
            for v in clique:
                for i, feature in enumerate(features_of(space.dimensions[v])):
                    features.append(feature)
                    length = float(np.log(lengths[v])) + SPECIAL_VALUES * (i > 0)
                    slots.append(builder.eta([], length))
            name = _name(clique)
            components.append(Component(name, node, "se", tuple(features), variance, tuple(slots)))
    return components, builder.hyperparameters(float(np.log(noise)))


def clique_components(components: Iterable[Component]) -> list[Component]:
    """Those that message passing can add up: all but residuals."""
    return [component for component in components if not component.name.startswith(_RESIDUAL)]


def _name(clique: Clique) -> str:
    return "clique " + ",".join(map(str, clique))
