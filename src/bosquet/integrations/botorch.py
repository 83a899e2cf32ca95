"""BosquetModel: a fitted additive Gaussian process as a BoTorch model.

The covariance of a structured space is one over unit rows and the groups (nodes, or paths) that
each row belongs to; written in torch it has gradients, batches, joint posteriors and fantasies, so
that any acquisition function of BoTorch works on it.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import gpytorch
import numpy as np
import torch
from botorch.models import SingleTaskGP
from gpytorch.means import ConstantMean
from torch import Tensor

from bosquet.arrays import Array
from bosquet.data import History
from bosquet.kernels.components import Component
from bosquet.models.covariance import Covariance
from bosquet.models.repeats import NOISE_FLOOR
from bosquet.models.transform import moments, transform
from bosquet.space import Config
from bosquet.space.encoding import FILLER
from bosquet.strategies import Strategy, get
from bosquet.strategies.base import Task
from bosquet.strategies.gp_strategy import CovarianceStrategy

_ZERO = 1e-30  # a squared distance; the slope of a square root at 0 is infinite


class BosquetModel(SingleTaskGP):  # type: ignore[misc]
    """The model that a strategy fits to a history, in the user's own units and sign.

    ``strategy`` is one whose covariance is a sum over groups of rows: ``add-tree``,
    ``independent`` or ``marginal``. Its hyper-parameters are fitted here, without a transform of
    the values, and then stay. Rows are unit vectors of the history's space; coordinates of
    discrete parameters are snapped to their values and have no gradient.
    """

    def __init__(
        self, history: History, strategy: str | Strategy = "add-tree", seed: int = 0
    ) -> None:
        chosen = _checked(strategy, history)
        data = history.dataset()
        plain = History(
            history.space, [replace(t, memory={}) for t in history.trials], history.direction
        )
        task = Task(history.space, plain, seed=seed)
        fitted = chosen.fit(task, data, np.random.default_rng(seed))
        covariance = chosen.covariance(history.space, fitted.record.setting)
        if covariance.embeds:
            raise ValueError(
                f"strategy={chosen.name!r} embeds its rows, which has no gradient here: use "
                "'add-tree', 'independent' or 'marginal'"
            )
        eta = fitted.posterior.eta
        noise = transform(data.y, data.noise).noise
        noise = np.where(np.isnan(noise), np.exp(eta[-1]), noise) + NOISE_FLOOR
        offset, scale = _affine(data.y)
        sign = 1.0 if history.direction == "minimize" else -1.0
        mean = ConstantMean()
        mean.initialize(constant=torch.tensor(sign * offset, dtype=torch.double))
        with gpytorch.settings.min_fixed_noise(double_value=0.0):
            super().__init__(
                torch.from_numpy(data.X),
                torch.from_numpy(sign * data.y)[:, None],
                torch.from_numpy(scale**2 * noise)[:, None],
                covar_module=ComponentSum(covariance, eta, scale**2),
                mean_module=mean,
                outcome_transform=None,
            )
        self.space = history.space
        self.requires_grad_(False)
        self.eval()

    @property
    def bounds(self) -> Tensor:
        """Of the unit rows: (2, dimensions)."""
        return torch.stack([torch.zeros(len(self.space)), torch.ones(len(self.space))]).double()

    def fixed_features(self) -> list[dict[int, float]]:
        """For every path, the coordinates that it fixes, as `optimize_acqf_mixed` wants them.

        These are the branching choices, and what is not active.
        """
        tree = self.space.tree
        listed = []
        for path in tree.paths():
            nodes = set(path)
            fixed = {d.index: FILLER for d in tree.dimensions if d.node not in nodes}
            for choice, option in tree.options_of(path).items():
                fixed[choice] = tree.choice(choice).unit_of(option)
            listed.append(fixed)
        return listed

    def configs(self, X: Tensor) -> list[Config]:
        """The configurations of rows, (q, dimensions)."""
        found: list[Config] = self.space.from_unit(X.detach().double().numpy())
        return found

    def posterior(self, X: Tensor, *args: Any, **kwargs: Any) -> Any:
        # Exact solutions, however many rows: conjugate gradients would be an approximation.
        with gpytorch.settings.fast_computations(False, False, False):
            return super().posterior(X, *args, **kwargs)


def _checked(strategy: str | Strategy, history: History) -> CovarianceStrategy:
    chosen = copy(get(strategy))
    if not isinstance(chosen, CovarianceStrategy):
        raise ValueError(
            f"strategy={chosen.name!r} has no covariance to hand over: use 'add-tree', "
            "'independent' or 'marginal'"
        )
    if not history.complete:
        raise ValueError("history: a model needs at least one complete trial")
    chosen.transforms = False
    return chosen


def _affine(y: Array) -> tuple[float, float]:
    """y = offset + scale * z, for the standardised z that models are fitted to."""
    centre, spread = moments(y)
    middle, width = moments((y - centre) / spread)
    return centre + spread * middle, spread * width


class ComponentSum(gpytorch.kernels.Kernel):  # type: ignore[misc]
    """A covariance with given log-parameters, times a factor."""

    def __init__(self, covariance: Covariance, eta: Array, factor: float) -> None:
        super().__init__()
        self._covariance = covariance
        self._eta = eta
        self._factor = factor
        parameters = [d.parameter for d in covariance.space.dimensions]
        self._continuous = torch.tensor([p.is_continuous for p in parameters])

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **_: Any) -> Tensor:
        first, second = self._read(x1), self._read(x2)
        total = torch.zeros((), dtype=x1.dtype)
        for component in self._covariance.components:
            a, b = (_column(groups, component.node) for _, groups in (first, second))
            active = a * b if diag else a[..., :, None] * b[..., None, :]
            k = _component(component, self._eta, first[0], second[0], diag)
            total = total + active * k
        return self._factor * total

    def _read(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Rows with discrete coordinates snapped, and the groups that they belong to."""
        flat = x.detach().reshape(-1, x.shape[-1]).double().numpy()
        snapped = self._covariance.space.snap(np.clip(flat, 0.0, 1.0))
        groups = torch.from_numpy(self._covariance.groups(snapped)).to(x)
        rows = torch.where(self._continuous, x, torch.from_numpy(snapped).to(x).reshape(x.shape))
        return rows, groups.reshape(*x.shape[:-1], -1)


def _column(x: Tensor, index: int) -> Tensor:
    return x[..., index]


def _component(c: Component, eta: Array, x1: Tensor, x2: Tensor, diag: bool) -> Tensor:
    """`Component.cross` in torch; with ``diag`` row by row."""
    v = float(np.exp(eta[c.variance]))
    inside: Tensor = torch.zeros((), dtype=x1.dtype)
    for feature, weight in zip(c.features, c.weights(eta), strict=True):
        a, b = _column(x1, feature.dimension), _column(x2, feature.dimension)
        if not diag:
            a, b = a[..., :, None], b[..., None, :]
        if feature.kind == "difference":
            inside = inside + weight * (a - b) ** 2
        else:
            inside = inside + weight * (a != b).to(x1)
    return v * _SHAPES[c.kind](inside)


def _matern52(r2: Tensor) -> Tensor:
    s = torch.sqrt(5.0 * r2.clamp_min(_ZERO))
    return (1.0 + s + s * s / 3.0) * torch.exp(-s)


_SHAPES = {
    "constant": torch.ones_like,
    "se": lambda r2: torch.exp(-0.5 * r2),
    "matern52": _matern52,
}
