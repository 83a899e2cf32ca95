"""bosquet: Bayesian optimization that uses the structure of a search space."""

import logging

from bosquet import benchmarks, plots, strategies
from bosquet.data import Evaluation, History, Trial
from bosquet.errors import (
    ConfigError,
    EvaluationError,
    ModelError,
    SpaceError,
    SpaceExhausted,
    StorageError,
)
from bosquet.optimizer import Optimizer
from bosquet.space import Choice, Constraint, Float, Forbid, Int, Space
from bosquet.study import Result, Study, maximize, minimize

__version__ = "0.1.0.dev0"

logging.getLogger("bosquet").addHandler(logging.NullHandler())  # who wants the log asks for it

__all__ = [
    "Choice",
    "ConfigError",
    "Constraint",
    "Evaluation",
    "EvaluationError",
    "Float",
    "Forbid",
    "History",
    "Int",
    "ModelError",
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
    "plots",
    "strategies",
]
