"""One ARD covariance per node, with the bounds and priors that a paper's authors use: no ties.

On a box that is the textbook's Gaussian process. On a conditional space, of which these papers know
nothing, it is a sum over the nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bosquet.arrays import Array
from bosquet.kernels.components import Component
from bosquet.models.add_tree import own_features
from bosquet.models.covariance import Covariance
from bosquet.models.priors import Hyperparameters, Prior
from bosquet.space import Space

Interval = tuple[float, float]


@dataclass(frozen=True)
class Published:
    """Where hyper-parameters of standardised targets start, and the interval in which they stay.

    None of them is a logarithm. A finite ``variance_sd`` is that of a normal prior on the log of
    the variance, about 0; ``horseshoe`` is the scale of a prior on the noise variance. All else has
    a flat prior: on logarithms, or where it is ``sampled`` on the numbers themselves.
    """

    length: float
    lengths: Interval
    variance: float
    variances: Interval
    noise: float
    noises: Interval
    variance_sd: float = np.inf
    horseshoe: float | None = None
    sampled: bool = False


@dataclass(frozen=True)
class PublishedHyper(Hyperparameters):
    """Hyper-parameters with priors that are not normal ones on logarithms."""

    horseshoe: float | None = None
    n_sampled: int = 0
    """The first so many thetas are logarithms of what has a flat or a horseshoe prior itself."""

    def log_prior(self, theta: Array) -> tuple[float, Array]:
        value, gradient = super().log_prior(theta)
        if self.horseshoe is not None:  # log log(1 + (s / x)^2), as Spearmint and SMAC3 have it
            i = self.names.index("noise")
            u = (self.horseshoe / np.exp(theta[i])) ** 2
            value += float(np.log(np.log1p(u)))
            gradient[i] -= 2.0 * u / ((1.0 + u) * np.log1p(u))
        # Densities of numbers become densities of logarithms by a factor of the number.
        value += float(theta[: self.n_sampled].sum())
        gradient[: self.n_sampled] += 1.0
        return value, gradient

    def log_priors(self, thetas: Array) -> Array:
        values = super().log_priors(thetas) + thetas[:, : self.n_sampled].sum(axis=1)
        if self.horseshoe is not None:
            noise = np.exp(thetas[:, self.names.index("noise")])
            values += np.log(np.log1p((self.horseshoe / noise) ** 2))
        return np.asarray(values)


def plain(space: Space, published: Published, widths: Array | None = None) -> Covariance:
    """Matern-5/2 with these bounds, on any space.

    ``widths`` are the sides of a box that is stretched to the unit cube, (d,): length-scales are
    those of the stretched coordinates. Options of categories are not stretched.
    """
    names: list[str] = []
    thetas: list[tuple[float, float, float, float]] = []
    components = []
    free = np.isinf(published.variance_sd)

    def slot(name: str, prior: Prior, bounds: Interval) -> int:
        names.append(name)
        thetas.append((prior.mean, prior.sd, np.log(bounds[0]), np.log(bounds[1])))
        return len(names) - 1

    for node in space.nodes:
        own = own_features(space, node)
        if not own:
            continue
        name = f"own {node.index}"
        about = np.log(published.variance) if free else 0.0
        prior = Prior(about, published.variance_sd)
        variance = slot(f"variance {name}", prior, published.variances)
        lengths = []
        for f in own:
            stretch = 1.0
            if widths is not None and f.kind == "difference":
                stretch = max(float(widths[f.dimension]), 1e-12)
            start = float(np.log(stretch * published.length))
            bounds = (stretch * published.lengths[0], stretch * published.lengths[1])
            label = f"length {name}, {f.kind} {f.dimension}"
            lengths.append(slot(label, Prior(start, np.inf), bounds))
        components.append(Component(name, node.index, "matern52", own, variance, tuple(lengths)))
    noise = float(np.log(published.noise))
    slot("noise", Prior(noise, np.inf), published.noises)
    mean, sd, lower, upper = (np.array(part) for part in zip(*thetas, strict=True))
    n = len(names)
    hyper = PublishedHyper(
        np.zeros(n),
        np.eye(n),
        mean,
        sd,
        lower,
        upper,
        tuple(names),
        horseshoe=published.horseshoe,
        n_sampled=n if published.sampled else 0,
    )
    return Covariance(space, components, hyper)
