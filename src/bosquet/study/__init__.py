"""Running a study: the loop around an Optimizer."""

from bosquet.study.command import Command
from bosquet.study.minimize import maximize, minimize
from bosquet.study.reading import load_history, read_study
from bosquet.study.result import Result
from bosquet.study.study import Study

__all__ = ["Command", "Result", "Study", "load_history", "maximize", "minimize", "read_study"]
