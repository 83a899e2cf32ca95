"""bosquet: Bayesian optimization that uses the structure of a search space."""

from bosquet.errors import ConfigError, SpaceError, SpaceExhausted
from bosquet.space import Choice, Constraint, Float, Forbid, Int, Space

__version__ = "0.1.0.dev0"

__all__ = [
    "Choice",
    "ConfigError",
    "Constraint",
    "Float",
    "Forbid",
    "Int",
    "Space",
    "SpaceError",
    "SpaceExhausted",
]
