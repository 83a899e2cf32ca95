"""Parameters as Optuna's distributions. Optuna loads when a distribution is first made."""

from __future__ import annotations

import warnings
from typing import Any

from bosquet.space.parameter import Choice, Float, Int, Parameter, option_labels
from bosquet.space.space import Space


def load_optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise ImportError("storage needs Optuna: pip install 'bosquet[study]'") from error
    return optuna


def distributions(space: Space) -> dict[str, Any]:
    """Optuna's distribution of every parameter, by qualified name."""
    return {d.qualified_name: to_distribution(d.parameter) for d in space.dimensions}


def to_distribution(parameter: Parameter) -> Any:
    kinds = load_optuna().distributions
    if isinstance(parameter, Choice):
        return kinds.CategoricalDistribution(parameter.options)
    low, high, log, step = parameter.low, parameter.high, parameter.log, parameter.step
    if isinstance(parameter, Int):
        return kinds.IntDistribution(low, high, log=log, step=step or 1)
    with warnings.catch_warnings():  # Optuna would shorten a range that the step does not divide:
        warnings.simplefilter("error")  # such a step is left out
        try:
            return kinds.FloatDistribution(low, high, log=log, step=step)
        except UserWarning:
            return kinds.FloatDistribution(low, high, log=log)


def to_parameter(distribution: Any) -> Parameter:
    """The inverse; options that a `Choice` cannot hold are replaced by labels."""
    kinds = load_optuna().distributions
    if isinstance(distribution, kinds.CategoricalDistribution):
        return Choice(option_labels(distribution.choices))
    if distribution.single():  # a range of one value
        return Choice([distribution.low])
    low, high, log, step = distribution.low, distribution.high, distribution.log, distribution.step
    if isinstance(distribution, kinds.IntDistribution):
        return Int(low, high, log=log, step=None if step == 1 else step)
    return Float(low, high, log=log, step=step)
