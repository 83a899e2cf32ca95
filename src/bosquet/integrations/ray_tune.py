"""BosquetSearch: bosquet's strategies as a search algorithm of Ray Tune."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ray import cloudpickle
from ray.tune.result import DEFAULT_METRIC
from ray.tune.search import UNDEFINED_METRIC_MODE, UNDEFINED_SEARCH_SPACE, Searcher
from ray.tune.search.sample import Categorical, Domain, Integer, LogUniform, Quantized, Uniform
from ray.tune.search.sample import Float as RayFloat
from ray.tune.search.variant_generator import _has_unresolved_values

from bosquet.data import Trial
from bosquet.errors import NOTHING_LEFT, ConfigError, SpaceError
from bosquet.optimizer import Optimizer
from bosquet.space import Choice, Config, Float, Int, Space
from bosquet.space.parameter import Parameter, option_labels
from bosquet.strategies import Strategy, get

_logger = logging.getLogger(__name__)


class BosquetSearch(Searcher):  # type: ignore[misc]
    """Suggests whole configurations; what runs at the same time is taken into account.

    ``space`` is a `Space`, or a dict of Ray's own domains; None takes the ``param_space`` of the
    Tuner. With a space of its own, Ray wants ``metric`` and ``mode`` here, too.
    ``points_to_evaluate`` are tried first. ``strategy`` and ``seed`` are those of
    `bosquet.Optimizer`.

    A trial that ends with an error, or without a finite value, counts as failed; one that a
    scheduler stops counts with its last value.
    """

    _metric: str | None
    _mode: str | None

    def __init__(
        self,
        space: Space | Mapping[str, Any] | None = None,
        metric: str | None = None,
        mode: str | None = None,
        *,
        strategy: str | Strategy = "auto",
        seed: int | None = None,
        points_to_evaluate: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        if mode not in (None, "min", "max"):
            raise ValueError(f"mode={mode!r} must be 'min' or 'max'; there is one objective")
        super().__init__(metric=metric, mode=mode)
        self._strategy = get(strategy)
        self._seed = seed
        self._points = list(points_to_evaluate)
        self._declared = None if space is None else _declared(space)
        self._optimizer: Optimizer | None = None
        self._live: dict[str, Trial] = {}
        self._last_values: dict[str, float] = {}
        self._most: int | None = None
        self._set_up()

    @property
    def optimizer(self) -> Optimizer | None:
        """What has been asked and told; None while space or mode are not known."""
        return self._optimizer

    def _set_up(self) -> None:
        if self._optimizer is not None or self._declared is None or self._mode is None:
            return
        self._metric = self._metric or DEFAULT_METRIC
        self._optimizer = Optimizer(
            self._declared.space,
            self._strategy,
            seed=self._seed,
            direction="minimize" if self._mode == "min" else "maximize",
            initial=[self._declared.config_of(point) for point in self._points],
        )

    def set_search_properties(
        self,
        metric: str | None,
        mode: str | None,
        config: dict[str, Any],
        **_: Any,
    ) -> bool:
        own = self._declared is not None
        if own and _has_unresolved_values(config):
            return False
        if not own and config:
            self._declared = _Domains(config)
        self._metric = metric or self._metric
        self._mode = mode or self._mode
        self._set_up()
        return True

    def set_max_concurrency(self, max_concurrent: int) -> bool:
        self._most = max_concurrent
        return True

    # -- asking and telling ------------------------------------------------------------------

    def _ready(self) -> tuple[Optimizer, _Plain | _Domains]:
        name = type(self).__name__
        if self._declared is None:
            raise RuntimeError(UNDEFINED_SEARCH_SPACE.format(cls=name, space="space"))
        if self._optimizer is None:
            undefined = {"cls": name, "metric": self._metric, "mode": self._mode}
            raise RuntimeError(UNDEFINED_METRIC_MODE.format(**undefined))
        return self._optimizer, self._declared

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:
        optimizer, declared = self._ready()
        if self._most is not None and len(self._live) >= self._most:
            return None
        try:
            trial = optimizer.ask()
        except NOTHING_LEFT as nothing:
            if not len(optimizer.history) and not optimizer.pending:
                raise
            _logger.warning("%s", nothing)
            return str(Searcher.FINISHED)
        self._live[trial_id] = trial
        return declared.params_of(trial.config)

    def on_trial_result(self, trial_id: str, result: Mapping[str, Any]) -> None:
        value = _value(result, self._metric)
        if value is not None:
            self._last_values[trial_id] = value

    def on_trial_complete(
        self, trial_id: str, result: Mapping[str, Any] | None = None, error: bool = False
    ) -> None:
        last = self._last_values.pop(trial_id, None)
        trial = self._live.pop(trial_id, None)
        if trial is None:
            _logger.warning("trial %s has ended, but was not suggested here: ignored", trial_id)
            return
        optimizer, _ = self._ready()
        result, metric = result or {}, str(self._metric)
        value = _value(result, metric)
        if error:
            optimizer.tell_failure(trial, "the trial ended with an error")
        elif value is None and metric in result:
            optimizer.tell_failure(trial, f"{metric} is {result[metric]!r}")
        elif value is not None or last is not None:
            optimizer.tell(trial, last if value is None else value)  # type: ignore[arg-type]
        else:
            optimizer.tell_failure(trial, f"no {metric} was reported")

    def add_evaluated_point(
        self,
        parameters: Mapping[str, Any],
        value: float,
        error: bool = False,
        pruned: bool = False,
        intermediate_values: list[float] | None = None,
    ) -> None:
        """A result from elsewhere; a pruned one counts with its last value, as here."""
        optimizer, declared = self._ready()
        config = declared.config_of(parameters)
        if pruned and value is None and intermediate_values:
            value = intermediate_values[-1]
        if error or value is None:
            optimizer.tell_failure(config, "failed elsewhere")
        else:
            optimizer.tell(config, value)

    # -- files -------------------------------------------------------------------------------

    def save(self, checkpoint_path: str) -> None:
        Path(checkpoint_path).write_bytes(cloudpickle.dumps(self.__dict__))

    def restore(self, checkpoint_path: str) -> None:
        self.__dict__.update(cloudpickle.loads(Path(checkpoint_path).read_bytes()))


def _value(result: Mapping[str, Any], metric: str | None) -> float | None:
    """The metric as a finite number, or None."""
    value = result.get(metric)  # type: ignore[arg-type]
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


# -- spaces ----------------------------------------------------------------------------------


def _declared(space: Space | Mapping[str, Any]) -> _Plain | _Domains:
    if isinstance(space, Space):
        return _Plain(space)
    if isinstance(space, Mapping):
        return _Domains(space)
    raise TypeError(f"space must be a bosquet.Space, a dict or None, not {type(space).__name__}")


class _Plain:
    """A space of ours: parameters are configurations."""

    def __init__(self, space: Space) -> None:
        self.space = space

    def params_of(self, config: Config) -> dict[str, Any]:
        return dict(config)

    def config_of(self, params: Mapping[str, Any]) -> Config:
        """The configuration in parameters that may hold more, as a Tuner's constants."""
        known = {name: v for name, v in params.items() if name in self.space.tree.by_name}
        return self.space.validate(known)


class _Domains:
    """Ray's domains in nested dicts. Names are paths: ``optimizer/lr``.

    A `tune.choice` among dicts with domains of their own becomes a choice with branches.
    """

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self._spec = dict(spec)
        self.space = Space(dict(_parameters(self._spec, "")))

    def params_of(self, config: Config) -> dict[str, Any]:
        return _filled(self._spec, "", config, constants=False)

    def config_of(self, params: Mapping[str, Any]) -> Config:
        return self.space.validate(dict(_read(self._spec, "", params)))


def _branches(domain: Categorical) -> bool:
    """Whether some category of a choice has domains of its own."""
    categories = domain.categories
    return any(isinstance(c, dict) and _has_unresolved_values(c) for c in categories)


def _parameters(spec: Mapping[str, Any], prefix: str) -> Iterable[tuple[str, Parameter]]:
    for key, value in spec.items():
        name = f"{prefix}{key}"
        if isinstance(value, Domain):
            yield name, _parameter(name, value)
        elif isinstance(value, Mapping):
            if set(value) == {"grid_search"}:
                raise SpaceError(f"{name!r}: grid_search goes with Ray's own variants; use choice")
            yield from _parameters(value, f"{name}/")


def _parameter(name: str, domain: Domain) -> Parameter:
    sampler = domain.get_sampler()
    quantum = sampler.q if isinstance(sampler, Quantized) else None
    kind = sampler.sampler if isinstance(sampler, Quantized) else sampler
    log = isinstance(kind, LogUniform)
    if not (log or isinstance(kind, Uniform)) or (log and quantum):
        what = f"{type(domain).__name__} with {sampler}"
        raise SpaceError(f"{name!r}: {what} cannot be expressed; use a bosquet.Space")
    if isinstance(domain, RayFloat):
        return Float(domain.lower, domain.upper, log=log, step=quantum)
    if isinstance(domain, Integer):
        if quantum is None or quantum == 1:  # Ray's upper bound is exclusive
            return Int(domain.lower, domain.upper - 1, log=log)
        low, high = math.ceil(domain.lower / quantum), math.floor(domain.upper / quantum)
        return Int(low * quantum, high * quantum, step=quantum)
    if _branches(domain):
        subspaces = [dict(_below(category, name)) for category in domain.categories]
        return Choice(dict(enumerate(subspaces)))
    return Choice(option_labels(domain.categories))


def _below(category: Any, name: str) -> Iterable[tuple[str, Parameter]]:
    return _parameters(category, f"{name}/") if isinstance(category, Mapping) else ()


def _filled(
    spec: Mapping[str, Any], prefix: str, config: Config, *, constants: bool
) -> dict[str, Any]:
    """The values of a configuration at their places; Ray itself fills in constants at the top."""
    params: dict[str, Any] = {}
    for key, value in spec.items():
        name = f"{prefix}{key}"
        if isinstance(value, Categorical):
            position = _position(value, config[name])
            category = value.categories[position]
            if isinstance(category, Mapping) and _branches(value):
                category = _filled(category, f"{name}/", config, constants=True)
            params[key] = category
        elif isinstance(value, Domain):
            params[key] = config[name]
        elif isinstance(value, Mapping) and (constants or _has_unresolved_values(value)):
            params[key] = _filled(value, f"{name}/", config, constants=constants)
        elif constants:
            params[key] = value
    return params


def _position(domain: Categorical, option: Any) -> int:
    return option if _branches(domain) else option_labels(domain.categories).index(option)


def _read(
    spec: Mapping[str, Any], prefix: str, params: Mapping[str, Any]
) -> Iterable[tuple[str, Any]]:
    """The inverse of `_filled`: by name, what the parameters say about each domain."""
    for key, value in spec.items():
        name = f"{prefix}{key}"
        if isinstance(value, (Domain, Mapping)) and key not in params:
            if isinstance(value, Mapping) and not _has_unresolved_values(value):
                continue
            raise ConfigError(f"{name!r} is missing in {params!r}")
        if isinstance(value, Categorical):
            yield from _category(value, name, params[key])
        elif isinstance(value, Domain):
            yield name, params[key]
        elif isinstance(value, Mapping):
            yield from _read(value, f"{name}/", params[key])


def _category(domain: Categorical, name: str, given: Any) -> Iterable[tuple[str, Any]]:
    if not _branches(domain):
        if given not in domain.categories:
            raise ConfigError(f"{name!r}: {given!r} must be one of {domain.categories}")
        yield name, option_labels(domain.categories)[domain.categories.index(given)]
        return
    for position, category in enumerate(domain.categories):
        if _fits(category, given):
            yield name, position
            if isinstance(category, Mapping):
                yield from _read(category, f"{name}/", given)
            return
    raise ConfigError(f"{name!r}: {given!r} is none of the choices")


def _fits(declared: Any, given: Any) -> bool:
    """Whether a value can come from a category: the same constants and keys."""
    if isinstance(declared, Domain):
        return bool(declared.is_valid(given))
    if isinstance(declared, Mapping) and isinstance(given, Mapping):
        return set(declared) == set(given) and all(_fits(declared[k], given[k]) for k in declared)
    return bool(declared == given)
