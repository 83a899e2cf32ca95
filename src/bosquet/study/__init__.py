"""Running a study: the loop around an Optimizer."""

from bosquet.study.minimize import maximize, minimize
from bosquet.study.optuna_store import load_history
from bosquet.study.result import Result

__all__ = ["Result", "load_history", "maximize", "minimize"]
