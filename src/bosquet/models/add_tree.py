"""The Add-Tree covariance (Ma & Blaschko, 2020): one component per node of the space.

Definition 4 / Algorithm 1: k(x, x') = sum over the nodes v that both activate of k_v. Generalised:

- *chain* components (Appendix E): at a node, one covariance over all variables that are certainly
  there with it (its own, its ancestors', those of tuple keys that contain its option);
- a *constant* per option of a branching choice, since options differ in level;
- hierarchical priors: a common value per kind of hyper-parameter, and small deviations.

The options of branching choices are not features: nodes say what they change.
"""

from __future__ import annotations

import numpy as np

from bosquet.kernels.components import Component, Kind
from bosquet.kernels.features import Feature, features_of
from bosquet.models.priors import (
    FREE_NOISE,
    LENGTH_BOUNDS,
    VARIANCE_BOUNDS,
    Bounds,
    Hyperparameters,
    Prior,
    PriorBuilder,
    SumBuilder,
)
from bosquet.space import Space
from bosquet.space.tree import Node

_PAPER_LENGTH = Prior(np.log(0.5), np.inf)  # where maximum likelihood starts from
_RELEASED_LENGTHS = (-3.5, 2.0)  # of the log length-scale
_EXACT = float(np.log(1e-10))  # the variance of an observation in the released code


def add_tree(
    space: Space, *, kind: Kind = "matern52", interactions: bool = True, constants: bool = True
) -> tuple[list[Component], Hyperparameters]:
    """Components and hierarchical priors for any space."""
    builder = SumBuilder(kind)
    for node in space.nodes:
        own = own_features(space, node)
        if own:
            builder.add(f"own {node.index}", node.index, own, "own")
    for node in space.nodes[1:] if interactions else ():
        implied = chain_features(space, node)
        if len(implied) > len(own_features(space, node)):
            builder.add(f"chain {node.index}", node.index, implied, "chain")
    for node in space.nodes[1:] if constants else ():
        if len(node.options) == 1:
            builder.add(f"constant {node.index}", node.index, (), "constant")
    return builder.components, builder.hyperparameters()


def paper_add_tree(space: Space) -> tuple[list[Component], Hyperparameters]:
    """Algorithm 1: a squared exponential per vertex, fitted by maximum likelihood without ties."""
    builder = PriorBuilder()
    components = []  # their sum is k_T; a component is zero unless both rows have its node: k^delta
    for node in space.nodes:  # line 2
        own = own_features(space, node)  # lines 3, 5, 6: the variables of v
        if own:
            name = f"own {node.index}"
            start = Prior(0.0, np.inf)
            variance = builder.eta([builder.theta(f"variance {name}", start, VARIANCE_BOUNDS)])
            # Lines 4, 7-9: k^c, a squared exponential, times k^delta is added to the sum.
            components.append(_vertex(builder, name, node, own, variance))
    return components, builder.hyperparameters(FREE_NOISE)


def released_add_tree(space: Space) -> tuple[list[Component], Hyperparameters]:
    """The covariance of the authors' released code: all variances one, length-scales fitted.

    A node without variables is k^delta alone. Values are taken to be exact unless noise is stated.
    """
    builder = PriorBuilder()
    unit = builder.eta([])
    components = []
    for node in space.nodes:
        own = own_features(space, node)
        name = f"own {node.index}"
        if own:
            components.append(_vertex(builder, name, node, own, unit, _RELEASED_LENGTHS))
        else:
            components.append(Component(name, node.index, "constant", (), unit, ()))
    return components, builder.hyperparameters(_EXACT)


def _vertex(
    builder: PriorBuilder,
    name: str,
    node: Node,
    own: tuple[Feature, ...],
    variance: int,
    bounds: Bounds = LENGTH_BOUNDS,
) -> Component:
    """sigma exp(-r^2 / 2 l^2): one length-scale for all variables of a vertex."""
    length = builder.eta([builder.theta(f"length {name}", _PAPER_LENGTH, bounds)])
    return Component(name, node.index, "se", own, variance, (length,) * len(own))


def own_features(space: Space, node: Node) -> tuple[Feature, ...]:
    """The features of a node's own variables, branching choices left out.

    Args:
        space: the space.
        node: one of its ``nodes``.
    """
    return tuple(
        feature for index in node.variables for feature in features_of(space.dimensions[index])
    )


def chain_features(space: Space, node: Node) -> tuple[Feature, ...]:
    """The features of all variables that are active whenever the node is."""
    nodes = [space.nodes[0]]
    for link in space.tree.conditions(node.index):
        beside = space.tree.children[link.choice]
        nodes += [other for other in beside if set(link.options) <= set(other.options)]
    return tuple(feature for one in nodes for feature in own_features(space, one))
