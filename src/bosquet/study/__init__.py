"""Running a study: the loop around an Optimizer."""

from bosquet.study.command import Command
from bosquet.study.minimize import maximize, minimize
from bosquet.study.optuna_store import load_history, read_study
from bosquet.study.result import Result

__all__ = ["Command", "Result", "load_history", "maximize", "minimize", "read_study"]
