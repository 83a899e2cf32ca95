"""The covariances that structured ones are compared with, all with the same priors and search.

=============  ====================================================================================
`independent`  a GP per path over all that is active there: nothing is shared
`marginal`     Jenatton et al. (2017), Eq. 4: a GP per leaf plus a constant per inner node
`flat`         one GP over all parameters, defaults where they are inactive
`arc`          one GP in which a conditional parameter is a point of an arc, and its absence the
               centre (Swersky et al., 2014; Hutter & Osborne, 2013)
=============  ====================================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np

from bosquet.arrays import Array, Bools
from bosquet.errors import SpaceError
from bosquet.kernels.components import Kind
from bosquet.kernels.features import Feature, features_of
from bosquet.models.add_tree import own_features
from bosquet.models.covariance import Covariance, Embedding
from bosquet.models.priors import SumBuilder
from bosquet.space import Space
from bosquet.space.defaults import default_units
from bosquet.space.encoding import FILLER

_MOST_LEAVES = 256  # each with a GP of its own


# -- one GP per path -------------------------------------------------------------------------


class PathCovariance(Covariance):
    """Components may live on nodes, and on whole paths: path i is group ``len(nodes) + i``."""

    def groups(self, X: Array) -> Bools:
        on_path = np.zeros((len(X), self.space.n_paths), dtype=bool)
        index = {path: i for i, path in enumerate(self.space.tree.paths())}
        for path, rows in self.space.tree.rows_by_path(X).items():
            on_path[rows, index[path]] = True
        return np.hstack([self.space.tree.node_activity(X), on_path])

    def groups_on(self, path: Sequence[int]) -> set[int]:
        index = list(self.space.tree.paths()).index(tuple(path))
        return {*path, len(self.space.nodes) + index}

    def group_label(self, group: int) -> str:
        n_nodes = len(self.space.nodes)
        if group < n_nodes:
            return super().group_label(group)
        return self.space.tree.path_label(list(self.space.tree.paths())[group - n_nodes])


def independent(space: Space, kind: Kind) -> Covariance:
    """One component per path over everything active on it, with hyper-parameters of its own."""
    _check_leaves(space, "independent")
    builder = SumBuilder(kind, tied=False)
    for i, path in enumerate(space.tree.paths()):
        group = len(space.nodes) + i
        features = tuple(f for node in path for f in own_features(space, space.nodes[node]))
        if features:
            builder.add(f"path {i}", group, features, "own")
        builder.add(f"level {i}", group, (), "constant")
    return PathCovariance(space, builder.components, builder.hyperparameters())


def marginal(space: Space, kind: Kind) -> Covariance:
    """Eq. 4: Z' Sigma_c Z, a constant per node on several paths, plus K_p, a GP per leaf."""
    _check_leaves(space, "marginal")
    paths = list(space.tree.paths())
    builder = SumBuilder(kind)
    for node in space.nodes:
        if sum(node.index in path for path in paths) > 1 or len(paths) == 1:
            shared = [space.dimensions[f.dimension] for f in own_features(space, node)]
            if shared and len(paths) > 1:
                names = ", ".join(dict.fromkeys(d.qualified_name for d in shared))
                raise SpaceError(
                    f"strategy 'marginal' has no place for variables that several paths share: "
                    f"{names}. Use 'tree-ei' or 'add-tree'"
                )
            if node.index:  # the targets are centred: nothing at the root
                builder.add(f"constant {node.index}", node.index, (), "constant")
    for i, path in enumerate(paths):
        own = tuple(f for node in path for f in own_features(space, space.nodes[node]))
        if own:
            builder.add(f"leaf {i}", len(space.nodes) + i, own, "own")
    return PathCovariance(space, builder.components, builder.hyperparameters())


def _check_leaves(space: Space, name: str) -> None:
    if space.n_paths > _MOST_LEAVES:
        raise SpaceError(
            f"strategy {name!r} fits a GP to every path, and this space has {space.n_paths} of "
            f"them, more than {_MOST_LEAVES}: use 'add-tree'"
        )


# -- one GP over everything ------------------------------------------------------------------


class FlatCovariance(Covariance):
    """Inactive coordinates hold the default of their parameter (the middle where it has none)."""

    embeds: ClassVar[bool] = True

    def embed(self, X: Array, active: Bools) -> Array:
        return np.where(active, X, default_units(self.space))


def flat(space: Space, kind: Kind) -> Covariance:
    """Choices are categories like any other."""
    builder = SumBuilder(kind)
    features = tuple(f for dimension in space.dimensions for f in features_of(dimension))
    builder.add("flat", 0, features, "own")
    return FlatCovariance(space, builder.components, builder.hyperparameters())


class ArcCovariance(FlatCovariance):
    """x of a conditional, ordered parameter becomes (sin, cos) of pi * bend * x, and (0, 0) where
    it is inactive: a learned distance from every value, which the length-scale sets. Inactive
    categories are one more category.
    """

    def __init__(self, space: Space, kind: Kind, bend: float) -> None:
        self.bend = np.pi * bend
        self.bent = [d.index for d in space.dimensions if d.node and not d.parameter.is_category]
        self._plain = [d.index for d in space.dimensions if d.node and d.parameter.is_category]
        builder = SumBuilder(kind)
        features: list[Feature] = []
        for d in space.dimensions:
            if d.index not in self.bent:
                features += features_of(d)
        for k, index in enumerate(self.bent):
            sine, cosine = Feature(index, "difference"), Feature(len(space) + k, "difference")
            builder.share(sine, cosine)
            features += [sine, cosine]
        builder.add("arc", 0, tuple(features), "own")
        super().__init__(space, builder.components, builder.hyperparameters())

    def variable_of(self, feature: Feature) -> int:
        beyond = feature.dimension - len(self.space)  # cosines come after all coordinates
        return feature.dimension if beyond < 0 else self.bent[beyond]

    def embed(self, X: Array, active: Bools) -> Array:
        angle = self.bend * X[:, self.bent]
        here = active[..., self.bent]
        embedded = X.copy()
        embedded[:, self.bent] = np.where(here, np.sin(angle), 0.0)
        embedded[:, self._plain] = np.where(active[..., self._plain], X[:, self._plain], -1.0)
        return np.hstack([embedded, np.where(here, np.cos(angle), 0.0)])

    def pull_back(self, X: Array, gradient: Array) -> Array:
        d = len(self.space)
        angle = self.bend * X[:, self.bent]
        by_x = gradient[:, :d].copy()
        by_x[:, self.bent] *= self.bend * np.cos(angle)
        by_x[:, self.bent] -= self.bend * np.sin(angle) * gradient[:, d:]
        return by_x

    def embedding(self, active: Bools) -> Embedding:
        return _ArcOnPath(self, active)

    @cached_property
    def missing(self) -> Array:
        """A row of which nothing is active, embedded: (1, D)."""
        d = len(self.space)
        return self.embed(np.full((1, d), FILLER), np.zeros(d, dtype=bool))


class _ArcOnPath(Embedding):
    """On one path most arcs are missing in every row: they are not computed."""

    def __init__(self, covariance: ArcCovariance, active: Bools) -> None:
        super().__init__(covariance, active)
        here = active[covariance.bent]
        self._missing, self._bend = covariance.missing, covariance.bend
        self._sines = np.array(covariance.bent, dtype=np.int64)[here]
        self._cosines = len(active) + np.flatnonzero(here)
        plain = active.copy()
        plain[self._sines] = False
        self._plain = np.flatnonzero(plain)

    def __call__(self, X: Array) -> Array:
        embedded = np.repeat(self._missing, len(X), axis=0)
        embedded[:, self._plain] = X[:, self._plain]
        angle = self._bend * X[:, self._sines]
        embedded[:, self._sines] = np.sin(angle)
        embedded[:, self._cosines] = np.cos(angle)
        return embedded

    def pull_back(self, X: Array, gradient: Array) -> Array:
        angle = self._bend * X[:, self._sines]
        by_x = gradient[:, : X.shape[1]].copy()
        slope = np.cos(angle) * gradient[:, self._sines]
        slope -= np.sin(angle) * gradient[:, self._cosines]
        by_x[:, self._sines] = self._bend * slope
        return by_x
