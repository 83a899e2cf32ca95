"""Fitting a Gaussian process to all trials: from the last fit on, and when a new one is due.

Beside its hyper-parameters theta a model has a `Setting`: a kernel, a transform of the targets.
Settings are compared by *evidence*, the log posterior density of theta with the Jacobian of the
transform and the prior of the setting. A `FitRecord` of every fit is kept with the trial that it
proposed (`Trial.memory`), so that a strategy itself remembers nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Generic, Self, TypeVar

import numpy as np

from bosquet.arrays import Array
from bosquet.data import History
from bosquet.kernels.components import Kind
from bosquet.models.base import PathModel, PathPosterior
from bosquet.models.covariance import SpacePosterior
from bosquet.models.transform import Targets, log_prior_of_lambda
from bosquet.space import Space
from bosquet.strategies.base import Task

P = TypeVar("P", bound=PathPosterior)

_VERY_FEW = 30  # trials up to which every fit also looks at other settings
_FEW = 100  # trials up to which every ask fits anew, now and then also from the prior
_COLD_EVERY = 5  # trials; half as often when they are no longer very few
_LOCAL_COLD_EVERY = 10  # trials; the same of local models
_LOCAL_ITERATIONS = 20
_LOCAL_COLD_ITERATIONS = 50


@dataclass(frozen=True)
class Setting:
    """What is chosen by evidence, beside theta."""

    kernel: Kind
    """The name of a shape."""
    lam: float = 1.0
    """Of the Yeo-Johnson transform; 1 is none."""

    @property
    def log_prior(self) -> float:
        return log_prior_of_lambda(self.lam)


@dataclass(frozen=True)
class FitRecord:
    """What a fit leaves for the next one."""

    theta: Any
    """By name, as `Hyperparameters.remember` gives it; None before the first fit."""
    setting: Setting
    fitted_at: int = 0
    """The number of targets that theta was fitted to."""
    evidence: float = -np.inf

    def to_json(self) -> dict[str, Any]:
        return {
            "theta": self.theta,
            "setting": asdict(self.setting),
            "fitted_at": self.fitted_at,
            "evidence": self.evidence,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any], setting_class: type[Setting]) -> Self | None:
        """None where the record is of a strategy that chose among other settings."""
        known = {one.name for one in fields(setting_class)}
        if not known <= set(stored["setting"]):
            return None
        setting = setting_class(**{name: stored["setting"][name] for name in known})
        evidence = -np.inf if stored["evidence"] is None else stored["evidence"]  # JSON has no inf
        return cls(stored["theta"], setting, stored["fitted_at"], evidence)


def records(history: History, name: str, setting_class: type[Setting]) -> Iterator[FitRecord]:
    """The fits that a history remembers under a name, the last one first."""
    for trial in reversed(history.complete):
        stored = trial.memory.get("fits", {}).get(name)
        record = None if stored is None else FitRecord.from_json(stored, setting_class)
        if record is not None:
            yield record


@dataclass(frozen=True)
class Fitted(Generic[P]):
    """A posterior, the targets it was given, and what to remember."""

    space: Space
    posterior: P
    z: Array
    noise: float
    """The variance that the next evaluation is expected to have; 0 while none is known of.

    A learned one also stands for what the model cannot explain, which an evaluation can.
    """
    name: str
    """The name under which the next fit of the same model looks for this record."""
    record: FitRecord
    pending: Array
    """Rows that are asked for and not yet told."""
    about: dict[str, Any] = field(default_factory=dict)
    """What there is to say about the model, for people."""

    @property
    def memory(self) -> dict[str, Any]:
        return {"fits": {self.name: self.record.to_json()}}

    def with_pending(self, X: Array) -> Fitted[P]:
        if not len(X):
            return self
        pending = np.vstack([self.pending, X])
        return replace(self, posterior=self.posterior.with_pending(X), pending=pending)

    def means(self, X: Array) -> Array:
        """The posterior mean at rows of any paths."""
        if isinstance(self.posterior, SpacePosterior):
            known = self.posterior.known_means(X)
            if known is not None:
                return known
        means = np.empty(len(X))
        for path, rows in self.space.tree.rows_by_path(X).items():
            means[rows] = self.posterior.on_path(path).moments(X[rows])[0]
        return means

    def believed(self, X: Array) -> float:
        """The lowest mean at pending rows: what is believed there is not to be gained again."""
        return float(self.means(X).min())


def fit_by_evidence(
    task: Task,
    name: str,
    last: FitRecord,
    model_of: Callable[[Setting], tuple[PathModel[P], Targets]],
    rivals: Callable[[Setting], Sequence[Setting]],
) -> Fitted[P]:
    """The posterior given all trials, refitted when that is due.

    ``model_of`` makes the model of a setting; ``rivals`` are the settings next to one.
    """
    model, targets = model_of(last.setting)
    n = len(targets.z)
    recalled = model.hyper.recall(last.theta)
    best = _Fit(last.setting, model, targets, recalled, last.evidence)
    first, very_few, few = recalled is None, n <= _VERY_FEW, n <= _FEW
    fitted_at = last.fitted_at
    if first or few or n - fitted_at >= n // 50:
        fitted_at = n
        cold = few and n % (_COLD_EVERY if very_few else 2 * _COLD_EVERY) == 0
        # Between cold starts the fit of the last trial is near, and the next one goes on.
        iterations = 200 if first or very_few or cold else 20 if few else 50
        best = best.improved([model.hyper.mean] if cold else [], iterations)
        looking, seen = first or cold or very_few, {best.setting}
        while looking:
            around = best.setting
            for setting in rivals(around):
                if setting not in seen:
                    rival = _Fit(setting, *model_of(setting), best.theta).improved([], iterations)
                    best = rival if rival.evidence > best.evidence else best
                    seen.add(setting)
            # A fit that goes on takes a step at a time; the first one goes as far as it pays.
            looking = first and best.setting != around
    theta = best.start
    record = FitRecord(best.model.hyper.remember(theta), best.setting, fitted_at, best.evidence)
    return conditioned(task, name, best.model, theta, best.targets.z, best.targets.noise, record)


@dataclass(frozen=True)
class _Fit(Generic[P]):
    """One of the settings that are compared."""

    setting: Setting
    model: PathModel[P]
    targets: Targets
    theta: Array | None
    evidence: float = -np.inf

    @property
    def start(self) -> Array:
        return self.model.hyper.mean if self.theta is None else self.theta

    def improved(self, starts: Sequence[Array], iterations: int) -> _Fit[P]:
        """Fitted from its theta, and from other starts."""
        theta, evidence = self.model.fit([self.start, *starts], iterations)
        evidence += self.targets.log_jacobian + self.setting.log_prior
        return replace(self, theta=theta, evidence=evidence)


def fit_local(task: Task, model: PathModel[P], z: Array, noise: Array) -> Fitted[P]:
    """The posterior of a model of some trials, whose targets are ``z``; the setting stays."""
    thetas = (model.hyper.recall(one.theta) for one in records(task.history, "local", Setting))
    recalled = next((theta for theta in thetas if theta is not None), None)
    starts = [model.hyper.mean] if recalled is None else [recalled]
    cold = recalled is None or len(task.history) % _LOCAL_COLD_EVERY == 0
    if recalled is not None and cold:
        starts.append(model.hyper.mean)
    theta, evidence = model.fit(starts, _LOCAL_COLD_ITERATIONS if cold else _LOCAL_ITERATIONS)
    record = FitRecord(model.hyper.remember(theta), Setting("matern52"), len(z), evidence)
    return conditioned(task, "local", model, theta, z, noise, record)


def conditioned(
    task: Task,
    name: str,
    model: PathModel[P],
    theta: Array,
    z: Array,
    noise: Array,
    record: FitRecord,
) -> Fitted[P]:
    """The posterior with hyper-parameters theta, pending trials believed."""
    posterior = model.posterior(theta)
    expected = 0.0
    if task.history.noisy:
        known = not np.isnan(noise).any()
        expected = float(np.median(noise) if known else np.exp(posterior.eta[-1]))
    nothing = np.zeros((0, len(task.space)))
    fitted = Fitted(task.space, posterior, z, expected, name, record, nothing)
    return fitted.with_pending(task.pending_rows)
