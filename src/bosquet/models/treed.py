"""Treed Gaussian processes (Assael, Wang & de Freitas, 2014): the leaves of a CART have
hyper-parameters of their own.

Glossary
    w_i      the weight of the likelihood of cell i for a leaf j below it, Eq. (2)
    theta    hyper-parameters; ``posterior(theta)`` starts every leaf from those of the root
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, Protocol

import numpy as np

from bosquet.arrays import Array, Bools, Index
from bosquet.models.base import Belief, PathModel, PathPosterior
from bosquet.models.cart import Cart, CartLeaf, Cell, thinned
from bosquet.models.fitting import maximise, with_prior
from bosquet.models.priors import Hyperparameters
from bosquet.models.sampling import annealed

Inference = Literal["map", "mcmc"]

_ITERATIONS = 20  # of L-BFGS-B per leaf
_TOLERANCE = 1e-3  # of the log posterior, which is some tens
LEAST_GAIN = 1.0  # of the log density of a leaf's rows, for hyper-parameters of its own
# Expected improvement varies among samples by 0.4 to 1.8 of its mean, where it is highest: with so
# many that are all but independent its error is 2 to 10 % (docs/strategies/htbo.md).
SAMPLES = 256


class Likelihood(Protocol):
    """What hyper-parameters are judged by."""

    @property
    def hyper(self) -> Hyperparameters: ...

    def log_likelihood(self, theta: Array) -> tuple[float, Array]:
        """The log marginal likelihood and its gradient."""

    def log_likelihoods(self, thetas: Array) -> Array:
        """The log marginal likelihoods of many thetas, (s, T): (s,)."""


class RowsModel(PathModel[PathPosterior], Likelihood, Protocol):
    """A model of some rows that can be judged by what it says of each of them."""

    def leave_one_out(self, theta: Array) -> Array:
        """log p(z_i | all other z), row by row."""


class PathLikelihood:
    """Eq. (2): the weighted log likelihoods of the cells above a leaf, and the log prior.

    ``model`` has all rows of the path with the weights of `CartLeaf.nested`, so that its likelihood
    is that of all cells.
    """

    def __init__(self, model: Likelihood) -> None:
        self._model = model
        self.hyper = model.hyper

    def log_posterior(self, theta: Array) -> tuple[float, Array]:
        return with_prior(self._model.log_likelihood, self.hyper, theta)

    def map(self, start: Array) -> Array:
        return maximise(self.log_posterior, self.hyper, [start], _ITERATIONS, _TOLERANCE)[0]

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Equally likely draws, (n, T): a population that is led from the prior to Eq. (2)."""
        hyper = self.hyper

        def log_posterior(thetas: Array) -> Array:
            return hyper.log_priors(thetas) + self._model.log_likelihoods(thetas)

        return annealed(
            _drawn(hyper, n, rng),
            hyper.log_normals,  # the density of these draws
            log_posterior,
            (hyper.lower, hyper.upper),
            rng,
        )


def _drawn(hyper: Hyperparameters, n: int, rng: np.random.Generator) -> Array:
    """Draws of the normal priors within their bounds, even where a prior is flat: (n, T)."""
    flat = np.isinf(hyper.sd)
    drawn = rng.uniform(hyper.lower, hyper.upper, (n, len(hyper.sd)))
    above = np.where(flat, 0.0, hyper.sd)
    below = above if hyper.below is None else np.where(flat, 0.0, hyper.below)
    missing = np.broadcast_to(~flat, drawn.shape).copy()
    while missing.any():
        # Two halves of normals that meet at the same height: the wider one has more of the mass.
        low = rng.random(drawn.shape) * (above + below) < below
        z = np.abs(rng.standard_normal(drawn.shape))
        normal = hyper.mean + np.where(low, -below, above) * z
        drawn = np.where(missing, normal, drawn)
        missing &= (drawn < hyper.lower) | (drawn > hyper.upper)
    return drawn


@dataclass(frozen=True)
class Limits:
    """What keeps many rows from being slow; None is no limit."""

    leaves: int | None = 12
    """About so many at most: a leaf has at least an equal share of the rows."""
    fitted: int | None = 250
    """The rows that the hyper-parameters of a leaf are fitted to (`CartLeaf.nested`)."""
    factored: int | None = 400
    """The rows that the hyper-parameters of all are fitted to, and that a leaf predicts from."""

    def least(self, least: int, n: int) -> int:
        """The rows that a leaf has at least."""
        return least if self.leaves is None else max(least, n // self.leaves)

    def exceeded(self, n: int) -> bool:
        """Whether a model of n rows is too slow."""
        return self.factored is not None and n > self.factored


NO_LIMITS = Limits(None, None, None)


class TreedGP:
    """A model whose hyper-parameters change from leaf to leaf: a `PathModel`.

    ``grow`` gives the tree, ``make`` the model of some rows, weighted or not, and ``noise`` are the
    variances known of all. ``fit`` is that of the root; ``posterior`` goes on from there. Leaves
    predict from all rows (section 3.3), with ``leaf_only`` from their own, and beyond the
    ``limits`` from the nearest ones. With ``inference="mcmc"`` a leaf has several posteriors. With
    ``earned`` a leaf keeps the hyper-parameters of the root unless its own predict its rows better,
    each from all others. ``starts`` are where a fit begins beside the prior.
    """

    def __init__(
        self,
        grow: Callable[[], Cart],
        make: Callable[[Index, Array | None], RowsModel],
        noise: Array,
        *,
        starts: Sequence[Array] = (),
        inference: Inference = "map",
        leaf_only: bool = False,
        earned: bool = False,
        limits: Limits = NO_LIMITS,
    ) -> None:
        self._grow, self._make, self._noise = grow, make, noise
        self.starts, self._inference = starts, inference
        self._leaf_only, self._earned, self._limits = leaf_only, earned, limits
        self._all = np.arange(len(noise))
        rows = thinned(self._all, limits.factored or len(noise))
        self._root = make(rows, None)
        self._scale = len(noise) / len(rows)

    @property
    def hyper(self) -> Hyperparameters:
        return self._root.hyper

    def fit(self, starts: Sequence[Array], max_iterations: int = 200) -> tuple[Array, float]:
        """A cold fit, one that starts from the prior, has the other starts as well.

        The log posterior is scaled to all rows, so that it can be compared with what all of them
        say of a transform.
        """
        cold = any(np.array_equal(start, self.hyper.mean) for start in starts)
        theta, value = self._root.fit([*starts, *self.starts] if cold else starts, max_iterations)
        return theta, self._scale * value

    def posterior(self, theta: Array) -> TreedPosterior:
        tree = self._grow()
        # Not the generator of the run: samples depend on the data alone.
        rng = np.random.default_rng(len(self._noise))

        def path_likelihood(leaf: CartLeaf) -> PathLikelihood:
            return PathLikelihood(self._make(*leaf.nested(self._limits.fitted)))

        def inferred(leaf: CartLeaf, best: Array) -> list[Array]:
            if self._inference == "map":
                return [best]
            return list(path_likelihood(leaf).sample(SAMPLES, rng))

        root = CartLeaf(tree.leaves[0].path[:1])
        common = cache(lambda: inferred(root, theta))
        shared = _Given(self._root, self._all)  # of all rows: what is computed once serves leaves
        leaves = []
        for leaf in tree.leaves:
            given = self._given(tree, leaf) or shared
            best = path_likelihood(leaf).map(theta) if leaf.path[1:] else theta
            own = best is not theta
            if own and self._earned:
                own = given.gain(best, theta, leaf.cell.rows) > LEAST_GAIN
            thetas = inferred(leaf, best) if own else common()
            samples = tuple(given.posterior(one) for one in thetas)
            known = float(np.median(self._noise[leaf.cell.rows]))
            leaves.append(LeafPosterior(leaf, samples, known, own))
        return TreedPosterior(tree, tuple(leaves), self._root.hyper.eta(theta))

    def _given(self, tree: Cart, leaf: CartLeaf) -> _Given | None:
        """What a leaf predicts from; None: all rows."""
        rows = leaf.cell.rows
        if self._leaf_only:
            return _Given(self._make(rows, None), rows)
        if not self._limits.exceeded(len(self._all)):
            return None
        rows = np.sort(np.argsort(tree.distances(leaf), kind="stable")[: self._limits.factored])
        return _Given(self._make(rows, None), rows)


class _Given:
    """The model of the rows that a leaf, or several, predict from."""

    def __init__(self, model: RowsModel, rows: Index) -> None:
        self._model, self._rows = model, rows
        self._posteriors: dict[bytes, PathPosterior] = {}
        self._left_out: dict[bytes, Array] = {}

    def posterior(self, theta: Array) -> PathPosterior:
        key = theta.tobytes()
        if key not in self._posteriors:
            self._posteriors[key] = self._model.posterior(theta)
        return self._posteriors[key]

    def gain(self, theta: Array, other: Array, rows: Index) -> float:
        """How much better rows are predicted from all others with theta than with another one."""
        judged = np.isin(self._rows, rows)
        return float((self._leave_one_out(theta) - self._leave_one_out(other))[judged].sum())

    def _leave_one_out(self, theta: Array) -> Array:
        key = theta.tobytes()
        if key not in self._left_out:
            self._left_out[key] = self._model.leave_one_out(theta)
        return self._left_out[key]


@dataclass(frozen=True)
class LeafPosterior:
    """What is believed in one leaf: by one posterior, or by equally likely ones."""

    leaf: CartLeaf
    samples: tuple[PathPosterior, ...]
    known: float
    """The usual noise variance of its rows, where that is known of all; else NaN."""
    own: bool
    """Whether it has hyper-parameters of its own; else those of the root."""

    @property
    def cell(self) -> Cell:
        return self.leaf.cell

    def some(self, n: int) -> LeafPosterior:
        """The same with at most n of the samples."""
        return replace(self, samples=self.samples[:n])

    @property
    def noise(self) -> list[float]:
        """The variance that an evaluation in the leaf is expected to have, by sample."""
        learned = [float(np.exp(one.eta[-1])) for one in self.samples]
        return learned if np.isnan(self.known) else [self.known] * len(learned)

    def on_path(self, path: Sequence[int]) -> list[Belief]:
        return [one.on_path(path) for one in self.samples]

    def with_pending(self, X: Array) -> LeafPosterior:
        return replace(self, samples=tuple(one.with_pending(X) for one in self.samples))


@dataclass(frozen=True)
class TreedPosterior:
    """What is believed about f: at each row by the leaf in which it lies."""

    tree: Cart
    leaves: tuple[LeafPosterior, ...]
    eta: Array
    """Of the root."""

    def on_path(self, path: Sequence[int]) -> TreedBelief:
        return TreedBelief(self.tree, [Mixture(leaf.on_path(path)) for leaf in self.leaves])

    def with_pending(self, X: Array) -> TreedPosterior:
        return replace(self, leaves=tuple(leaf.with_pending(X) for leaf in self.leaves))

    def noise(self, X: Array) -> Array:
        """The variance that an evaluation at each row is expected to have."""
        by_leaf = np.array([np.mean(leaf.noise) for leaf in self.leaves])
        return by_leaf[self.tree.leaf_of(X)]


class TreedBelief:
    """The posterior at rows of one path, each with the hyper-parameters of its leaf."""

    def __init__(self, tree: Cart, beliefs: Sequence[Belief]) -> None:
        self._tree, self._beliefs = tree, beliefs

    def moments(self, X: Array) -> tuple[Array, Array]:
        mean, variance = np.empty(len(X)), np.empty(len(X))
        for belief, rows in self._in_leaves(X):
            mean[rows], variance[rows] = belief.moments(X[rows])
        return mean, variance

    def moments_with_gradients(self, X: Array) -> tuple[Array, Array, Array, Array]:
        mean, variance = np.empty(len(X)), np.empty(len(X))
        by_mean, by_variance = np.empty_like(X), np.empty_like(X)
        for belief, rows in self._in_leaves(X):
            found = belief.moments_with_gradients(X[rows])
            mean[rows], variance[rows], by_mean[rows], by_variance[rows] = found
        return mean, variance, by_mean, by_variance

    def _in_leaves(self, X: Array) -> Iterator[tuple[Belief, Bools]]:
        leaf_of = self._tree.leaf_of(X)
        for leaf in np.unique(leaf_of):
            yield self._beliefs[leaf], leaf_of == leaf


class Mixture:
    """Equally likely beliefs, seen as one with their common mean and variance."""

    def __init__(self, beliefs: Sequence[Belief]) -> None:
        self._beliefs = beliefs

    def moments(self, X: Array) -> tuple[Array, Array]:
        means, variances = (
            np.array(part) for part in zip(*(one.moments(X) for one in self._beliefs), strict=True)
        )
        return means.mean(axis=0), variances.mean(axis=0) + means.var(axis=0)

    def moments_with_gradients(self, X: Array) -> tuple[Array, Array, Array, Array]:
        parts = zip(*(one.moments_with_gradients(X) for one in self._beliefs), strict=True)
        means, variances, by_means, by_variances = (np.array(part) for part in parts)
        mean, by_mean = means.mean(axis=0), by_means.mean(axis=0)
        apart = 2.0 * np.mean((means - mean)[:, :, None] * by_means, axis=0)
        variance = variances.mean(axis=0) + means.var(axis=0)
        return mean, variance, by_mean, by_variances.mean(axis=0) + apart
