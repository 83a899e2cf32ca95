"""What a study has learned, for people: predictions, effects, importance, worth of branches."""

from bosquet.explain.branches import BranchBest
from bosquet.explain.effects import Effect, Interaction, Surface
from bosquet.explain.fit import Belief
from bosquet.explain.importance import Importance
from bosquet.explain.model import LeftOut, Model, model_of

__all__ = [
    "Belief",
    "BranchBest",
    "Effect",
    "Importance",
    "Interaction",
    "LeftOut",
    "Model",
    "Surface",
    "model_of",
]
