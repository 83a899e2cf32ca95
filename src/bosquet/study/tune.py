"""`minimize` for what is named on a command line."""

from __future__ import annotations

from typing import Any

from bosquet.study.command import Command
from bosquet.study.evaluate import Objective
from bosquet.study.files import FileObjective, is_place, load_space, load_strategy
from bosquet.study.minimize import minimize
from bosquet.study.result import Result


def tune(
    objective: str | None,
    command: str | None,
    read: str,
    space: str,
    n_jobs: int,
    strategy: str,
    **options: Any,
) -> Result:
    """Searches the space of a file for the best value of a function in a file, or of a command."""
    searched = load_space(space)
    if command is None:
        assert objective is not None
        evaluated: Objective = FileObjective(objective)
    else:
        program = Command(command, searched, read)
        if n_jobs > 1 and program.shares_its_file:
            raise ValueError(
                f"read={read!r}: {n_jobs} programs at once would write the same file; "
                "put {trial} into its name, here and in the command"
            )
        program.check_program()
        evaluated = program
    chosen = load_strategy(strategy) if is_place(strategy) else strategy
    return minimize(evaluated, searched, n_jobs=n_jobs, strategy=chosen, progress=True, **options)
