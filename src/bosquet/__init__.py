"""bosquet: Bayesian optimization that uses the structure of a search space."""

from bosquet import benchmarks, strategies
from bosquet.data import Evaluation, History, Trial
from bosquet.errors import ConfigError, SpaceError, SpaceExhausted, StorageError
from bosquet.optimizer import Optimizer
from bosquet.space import Choice, Constraint, Float, Forbid, Int, Space
from bosquet.study import Result, Study, maximize, minimize

__version__ = "0.1.0.dev0"

__all__ = [
    "Choice",
    "ConfigError",
    "Constraint",
    "Evaluation",
    "Float",
    "Forbid",
    "History",
    "Int",
    "Optimizer",
    "Result",
    "Space",
    "SpaceError",
    "SpaceExhausted",
    "StorageError",
    "Study",
    "Trial",
    "benchmarks",
    "maximize",
    "minimize",
    "strategies",
]
