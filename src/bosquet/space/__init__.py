"""Structured search spaces."""

from bosquet.space.configs import Config
from bosquet.space.constraints import Constraint, Forbid
from bosquet.space.parameter import Choice, Float, Int
from bosquet.space.space import Space, as_space

__all__ = ["Choice", "Config", "Constraint", "Float", "Forbid", "Int", "Space", "as_space"]
