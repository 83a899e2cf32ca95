"""HTBO: a regression tree whose leaves are Gaussian processes with their own hyper-parameters.

J.-A. M. Assael, Z. Wang and N. de Freitas. Heteroscedastic Treed Bayesian Optimisation. 2014.

==================================  =========================================================
in the paper                        here
==================================  =========================================================
tree, tau at a point, Eq. (1)       ``models.cart``
Eq. (2), w_i                        ``models.treed.PathLikelihood``, ``CartLeaf.nested``
p(theta)                            not given: the priors of `AddTree`; ``SPEARMINT`` in `paper`
mean mu, amplitude theta_0          ``model="paper"`` (a mean), ``Published.variances``
sampling from Eq. (2)               ``inference="mcmc"``, ``models.sampling``
predictions from all observations   the default; ``leaf_only=True`` is without
HTBO WARP                           ``warp=True``, ``models.warping``
adaptive Sobol grid                 ``search="grid"``
==================================  =========================================================

The paper has no algorithm box; one iteration (section 3.3) is::

    tree <- CART with at least 5 points in a leaf         section 3.1, Eq. (1)  `Cart`
    for every leaf: theta <- max or samples of Eq. (2)    section 3.2           `PathLikelihood`
    predictions in a leaf from all observations           section 3.3           `TreedGP.posterior`
    x <- argmax EI on an adaptive Sobol grid              section 3.3           `_LeafSearch`

Where we differ by default, and why. A leaf must earn hyper-parameters of its own by predicting its
trials better with them than with those of all (leave-one-out): few trials are soon over-fitted, and
many functions need no tree. Each leaf is searched as a box of its own, so a small one gets as many
points as a large one. With many trials there are fewer leaves, and fits and predictions of each see
some trials only (`Limits`), else an ask would take minutes. The kernel and a transform of the
targets are chosen by evidence, and trials explore as those of every `GPStrategy`. On conditional
spaces the model in a leaf is that of `AddTree`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np

from bosquet.acquisition.averaged import AveragedLogEI, Stacked
from bosquet.acquisition.base import LogEI
from bosquet.arrays import Array, Index
from bosquet.models.add_tree import add_tree
from bosquet.models.cart import Cart
from bosquet.models.covariance import Covariance
from bosquet.models.plain import Published, plain
from bosquet.models.priors import Hyperparameters
from bosquet.models.transform import Targets
from bosquet.models.treed import (
    NO_LIMITS,
    Inference,
    LeafPosterior,
    Limits,
    RowsModel,
    TreedGP,
    TreedPosterior,
)
from bosquet.models.warping import WarpName, on_rows, warp_name
from bosquet.search.leaves import regions
from bosquet.search.region import Region
from bosquet.search.tree_path import PathSearch, Scored, on_path
from bosquet.space import Config, Space
from bosquet.space.sobol import sobol
from bosquet.space.tree import Path
from bosquet.strategies.base import Proposal
from bosquet.strategies.choosing import Ask, feasibility_of
from bosquet.strategies.fitting import Setting
from bosquet.strategies.gp_strategy import GPStrategy
from bosquet.strategies.options import ModelName, one_of, whole

LeafSearchName = Literal["box", "grid"]

# The paper does not give p(theta). It takes its grid from the package Spearmint, whose priors these
# are: length-scales uniform up to 2, a log-normal amplitude, a horseshoe for the noise.
SPEARMINT = Published(
    length=0.5,
    lengths=(1e-3, 2.0),
    variance=1.0,
    variances=(1e-4, 1e4),
    noise=1e-3,
    noises=(1e-9, 1.0),
    variance_sd=2.0,
    horseshoe=0.1,
    sampled=True,
)
_ROWS = 2048  # scored in one ask, shared among the leaves
_LEAST_ROWS = 96  # of a leaf
_POLISHED = 4  # leaves in which the best rows are polished
_SHORTER = np.log(10.0)  # length-scales than their prior has, to start from
_LOUD = np.log(0.1)  # noise variance of standardised targets, to start from
GRID = 20_000  # points of the Sobol grid
_NEARBY, _NEAR = 10, 1e-3  # rows next to the best one, and how near
_FEW = 32  # samples of hyper-parameters that a search looks at first
_AGAIN = 256  # rows of a leaf that are then scored by all of them


@dataclass(kw_only=True, eq=False)
class HTBO(GPStrategy[TreedPosterior]):
    """Gaussian processes on the leaves of a CART; expected improvement leaf by leaf.

    For functions that are flat in one place and jagged in another, and noise that differs from
    place to place. The other arguments are those of every `GPStrategy`.

    Args:
        least: how many trials a leaf has at least.
        inference: of the hyper-parameters of a leaf: ``"map"``, their best values, or ``"mcmc"``,
            samples over which the improvement is averaged.
        leaf_only: whether a leaf predicts from its own trials alone.
        earned: whether a leaf keeps the hyper-parameters of all trials unless its own predict its
            trials better, each from all others.
        warp: True bends the axis of every continuous variable, in every leaf its own way;
            ``"beta"`` by the Beta distribution, as in the paper.
        search: ``"box"``, points of each leaf, or ``"grid"``, the paper's Sobol grid.
        exact: whether everything is computed exactly, however many trials there are.
        model: ``"hierarchical"``, or ``"paper"``: Spearmint's priors, a mean in every leaf and,
            with ``warp=True``, Beta warps.
    """

    name: ClassVar[str] = "htbo"
    acquisitions: ClassVar[tuple[str, ...]] = ("logei",)
    tree: ClassVar[type[Cart]] = Cart
    """What splits the trials into leaves."""

    least: int = 5
    inference: Inference = "map"
    leaf_only: bool = False
    earned: bool = True
    warp: bool | WarpName = False
    search: LeafSearchName = "box"
    exact: bool = False
    model: ModelName = "hierarchical"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("least", self.least, 2)
        one_of("inference", self.inference, get_args(Inference))
        one_of("search", self.search, get_args(LeafSearchName))
        one_of("model", self.model, get_args(ModelName))
        if self.model == "paper" and self.kernel != "matern52":
            raise ValueError(f"kernel={self.kernel!r}: model='paper' has kernel='matern52'")
        warp_name(self.warp)

    @classmethod
    def paper(cls) -> Self:
        """Every leaf its own maximum of Eq. (2), with a mean; Matern-5/2, Sobol grid; no
        transforms, exploration or limits. docs/strategies/htbo.md lists what differs."""
        return cls(
            earned=False,
            search="grid",
            exact=True,
            model="paper",
            kernel="matern52",
            explore_every=None,
            defaults_first=False,
            incumbent="observed",
            transforms=False,
        )

    def model_on(self, space: Space, X: Array, targets: Targets, setting: Setting) -> TreedGP:
        z, noise = targets.z, targets.noise
        limits = NO_LIMITS if self.exact else Limits()
        published = self.model == "paper"
        warp = warp_name("beta" if published and self.warp is True else self.warp)
        covariance = (
            plain(space, SPEARMINT)
            if published
            else Covariance(space, *add_tree(space, kind=setting.kernel))
        )

        def make(rows: Index, weights: Array | None) -> RowsModel:
            # Section 3.3: in the paper's model the mean is a hyper-parameter of the leaf.
            return on_rows(covariance, X[rows], z[rows], noise[rows], warp, weights, published)

        def grow() -> Cart:
            return self.tree(space, X, z, limits.least(self.least, len(z)))

        return TreedGP(
            grow,
            make,
            noise,
            starts=_starts(covariance, make(np.arange(1), None).hyper),
            inference=self.inference,
            leaf_only=self.leaf_only,
            earned=self.earned,
            limits=limits,
        )

    # -- the search, leaf by leaf ------------------------------------------------------------

    def next(self, ask: Ask[TreedPosterior]) -> Proposal | None:
        space, posterior = ask.task.space, ask.fitted.posterior
        search = _LeafSearch(ask)
        if ask.task.candidates is None:
            paths = self.paths_to_search(ask)
            grid = None if self.search == "box" else sobol_grid(space, paths, ask.good, ask.rng)
            found = self.chosen(ask, search.maximise(posterior, paths, ask.good, ask.rng, grid))
        else:
            rows = ask.task.candidates.rows_by_path(ask.taken)
            found = self.chosen(ask, search.score(posterior, rows))
        if found is None:
            return None
        leaf = _about_leaf(space, posterior, found.config)
        return replace(found, about=found.about | {"leaf": leaf})


def _starts(covariance: Covariance, hyper: Hyperparameters) -> list[Array]:
    """Where to start as well: from short length-scales, and from much noise.

    A fit that begins with long ones may take for noise what it does not resolve; one that begins
    without noise may resolve what is noise.
    """
    noisy = hyper.mean.copy()
    noisy[np.argmax(hyper.matrix[hyper.noise])] = _LOUD
    slots = [slot for component in covariance.components for slot in component.lengths]
    if not slots:
        return [noisy]
    rough = hyper.mean.copy()  # the theta that most length-scales depend on is common to all
    rough[np.argmax(hyper.matrix[slots].sum(axis=0))] -= _SHORTER
    return [rough, noisy]


class _LeafSearch:
    """The search of one ask: each leaf with its own posterior, and with its own noise."""

    def __init__(self, ask: Ask[TreedPosterior]) -> None:
        task = ask.task
        self._space, self._noisy, self._best = task.space, task.history.noisy, ask.best
        self._feasibility = feasibility_of(task)
        self._taken = ask.taken_rows

    def _search(self, leaf: LeafPosterior, region: Region | None = None) -> PathSearch:
        noise = leaf.noise if self._noisy else [0.0] * len(leaf.samples)
        return PathSearch(
            self._space,
            lambda path: Stacked(leaf.on_path(path)),
            AveragedLogEI([LogEI(self._best, one) for one in noise]),
            self._feasibility,
            region=region,
            taken=self._taken,
        )

    def score(self, posterior: TreedPosterior, rows: Mapping[Path, Array]) -> list[Scored]:
        """Given rows by path, in parts by leaf; those with the best row first."""
        found = [self._search(leaf).score(path, X) for leaf, path, X in _parts(posterior, rows)]
        return sorted(found, key=lambda one: -one.best)

    def maximise(
        self,
        posterior: TreedPosterior,
        paths: list[Path],
        good: Array,
        rng: np.random.Generator,
        grid: Mapping[Path, Array] | None,
    ) -> list[Scored]:
        """The rows found in every leaf, on every path; those with the best row first.

        They are rows of a grid, or without one as many of each leaf.
        """
        found: list[tuple[LeafPosterior, PathSearch, Scored]] = []
        if grid is None:
            boxes = [
                (leaf, region)
                for leaf in posterior.leaves
                for region in regions(self._space, leaf.cell, paths)
            ]
            share = max(_LEAST_ROWS, _ROWS // len(boxes))
            for leaf, region in boxes:
                search = self._search(leaf.some(_FEW), region)
                rows = search.candidates(region.path, good, share, rng)
                found.append((leaf, search, search.score(region.path, rows)))
        else:
            for leaf, path, rows in _parts(posterior, grid):
                region = regions(self._space, leaf.cell, [path])[0]
                search = self._search(leaf.some(_FEW), region)
                found.append((leaf, search, search.score(path, rows)))
        found = [one for one in found if len(one[2].X)]
        found.sort(key=lambda one: -one[2].best)
        scored = [
            self._by_all(leaf, search.polish(one, rng) if i < _POLISHED else one)
            for i, (leaf, search, one) in enumerate(found)
        ]
        return sorted(scored, key=lambda one: -one.best)

    def _by_all(self, leaf: LeafPosterior, found: Scored) -> Scored:
        """What was found with a few samples, the best of it scored again by all of them."""
        if len(leaf.samples) <= _FEW:
            return found
        return self._search(leaf).score(found.path, found.X[:_AGAIN])


def _parts(
    posterior: TreedPosterior, rows: Mapping[Path, Array]
) -> Iterator[tuple[LeafPosterior, Path, Array]]:
    """Rows by path, in parts by leaf."""
    for path, X in rows.items():
        leaf_of = posterior.tree.leaf_of(X)
        for leaf in np.unique(leaf_of):
            yield posterior.leaves[leaf], path, X[leaf_of == leaf]


def sobol_grid(
    space: Space, paths: list[Path], good: Array, rng: np.random.Generator
) -> dict[Path, Array]:
    """A Sobol grid shared among the paths, and as Spearmint has it some rows next to the best."""
    points = sobol(len(space), int(rng.integers(2**32)), 0, GRID)
    near = np.clip(good[0] + _NEAR * rng.standard_normal((_NEARBY, len(space))), 0.0, 1.0)
    parts = np.array_split(points, len(paths))
    rows = {p: on_path(space, p, part) for p, part in zip(paths, parts, strict=True)}
    best = space.tree.paths_of_rows(good[:1])[0]
    rows[best] = np.vstack([on_path(space, best, near), rows.get(best, good[:0])])
    return rows


def _about_leaf(space: Space, posterior: TreedPosterior, config: Config) -> dict[str, Any]:
    """The leaf of a configuration, in the values of the user."""
    leaf = posterior.leaves[posterior.tree.leaf_of(space.to_unit([config]))[0]]
    cell, where = leaf.cell, {}
    for d in space.dimensions:
        if d.index in cell.allowed:
            options = space.tree.choice(d.index).options
            where[d.name] = [options[i] for i in cell.allowed[d.index]]
        elif cell.lower[d.index] > 0.0 or cell.upper[d.index] < 1.0:
            ends = np.array([cell.lower[d.index], cell.upper[d.index]])
            where[d.name] = d.parameter.from_unit(ends)
    about = {"leaves": len(posterior.leaves), "trials": len(cell.rows), "where": where}
    return about | {"own": leaf.own}
