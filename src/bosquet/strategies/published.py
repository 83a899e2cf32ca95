"""What the authors of BOinG and TuRBO released, where it differs from our defaults.

Bounds, priors and starts of hyper-parameters are those of SMAC3 1.x (BOinG) and of the code that
accompanies TuRBO; the papers do not print them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from bosquet.arrays import Array
from bosquet.data import Dataset
from bosquet.models.base import Belief, PathModel, PathPosterior
from bosquet.models.covariance import Covariance, SpaceGP
from bosquet.models.plain import Published, plain
from bosquet.models.transform import Targets, transform
from bosquet.space import Space
from bosquet.strategies.base import Task
from bosquet.strategies.fitting import FitRecord, Fitted, P, Setting, conditioned
from bosquet.strategies.gp_strategy import GPStrategy

SMAC = Published(
    length=1.0,
    lengths=(float(np.exp(-6.754111155189306)), float(np.exp(0.0858637988771976))),
    variance=2.0,
    variances=(float(np.exp(-10.0)), float(np.exp(2.0))),
    noise=1e-3,
    noises=(1e-5, float(np.exp(2.0))),
    variance_sd=1.0,
    horseshoe=0.1,
)
TURBO = Published(
    length=0.5,
    lengths=(0.005, 2.0),
    variance=1.0,
    variances=(0.05, 20.0),
    noise=0.005,
    noises=(5e-4, 0.2),
)
RESTARTS = 10  # of SMAC3's fits
_NAME = "published"


def fit_published(
    task: Task,
    model: PathModel[P],
    z: Array,
    noise: Array,
    restarts: int = RESTARTS,
    iterations: int = 200,
) -> Fitted[P]:
    """The posterior of a model that is fitted anew: from its start, and from random ones."""
    hyper = model.hyper
    rng = np.random.default_rng([task.seed, len(task.history)])
    drawn = hyper.lower + rng.random((restarts - 1, len(hyper.mean))) * (hyper.upper - hyper.lower)
    theta, evidence = model.fit([hyper.mean, *drawn], iterations)
    record = FitRecord(hyper.remember(theta), Setting("matern52"), len(z), evidence)
    return conditioned(task, _NAME, model, theta, z, noise, record)


@dataclass(kw_only=True, eq=False)
class Textbook(GPStrategy[PathPosterior]):
    """The Gaussian process of all trials that BOinG begins with, after 2 d Sobol points.

    It is the local one on all trials: ten restarts, EI below the predicted best, with the noise in
    the variance.
    """

    name: ClassVar[str] = "textbook"
    acquisitions: ClassVar[tuple[str, ...]] = ("logei",)

    @classmethod
    def paper(cls) -> Self:
        return cls(
            kernel="matern52",
            explore_every=None,
            defaults_first=False,
            transforms=False,
        )

    def initial_trials(self, space: Space) -> int:
        return first_points(space)

    def covariance(self, space: Space) -> Covariance:
        return plain(space, SMAC)

    def model_on(
        self,
        space: Space,
        X: Array,
        targets: Targets,
        setting: Setting,  # noqa: ARG002 - there is one
    ) -> PathModel[PathPosterior]:
        return SpaceGP(self.covariance(space), X, targets.z, targets.noise)

    def fit(
        self,
        task: Task,
        data: Dataset,
        rng: np.random.Generator,  # noqa: ARG002 - restarts have a stream of their own
    ) -> Fitted[PathPosterior]:
        targets = transform(data.y, data.noise)
        model = self.model_on(task.space, data.X, targets, Setting("matern52"))
        fitted = fit_published(task, model, targets.z, targets.noise)
        return replace(fitted, posterior=Noisy(fitted.posterior), noise=0.0)


def first_points(space: Space) -> int:
    """2 d"""
    return 2 * max(space.tree.largest_dimension, 1)


@dataclass(frozen=True)
class Noisy:
    """A posterior of evaluations: the variance of the noise is part of what is believed."""

    inner: PathPosterior

    @property
    def eta(self) -> Array:
        return self.inner.eta

    def on_path(self, path: Sequence[int]) -> Belief:
        return _NoisyBelief(self.inner.on_path(path), float(np.exp(self.eta[-1])))

    def with_pending(self, X: Array) -> Noisy:
        return Noisy(self.inner.with_pending(X))


@dataclass(frozen=True)
class _NoisyBelief:
    inner: Belief
    noise: float

    def moments(self, X: Array) -> tuple[Array, Array]:
        mean, variance = self.inner.moments(X)
        return mean, variance + self.noise

    def moments_with_gradients(self, X: Array) -> tuple[Array, Array, Array, Array]:
        mean, variance, by_mean, by_variance = self.inner.moments_with_gradients(X)
        return mean, variance + self.noise, by_mean, by_variance
