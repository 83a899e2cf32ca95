"""Methods and problems that are named by files: ``mine.py:Local``.

They are sent to worker processes as their places and loaded there. A results file has the name of
the file without its folder: it does not matter from where, or on which machine, a bench is started.
The *digest* of the file tells runs of different versions apart.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Self

from bosquet.benchmarks.problem import Problem
from bosquet.strategies import Strategy
from bosquet.study.files import absolute, called, load, load_strategy

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class FromFile(ABC):
    """Something in a Python file; FILE.py:NAME is its place."""

    what: str
    """What it is, for messages."""

    def __init__(self, place: str) -> None:
        self.place = place
        self._absolute = absolute(place, self.what)
        path, _, name = self._absolute.rpartition(":")
        self.name = f"{Path(path).name}:{name}"
        """How a results file calls it."""
        self.digest = _digest(Path(path))

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        return type(self), (self._absolute,)

    @abstractmethod
    def check(self) -> None:
        """Raises ValueError if there is nothing of this kind in the file."""


class FileMethod(FromFile):
    """A strategy of a file, made anew for every run."""

    what = "method"

    def __call__(self) -> Strategy:
        return load_strategy(self.place, self.what)

    def check(self) -> None:
        self()


class FileProblem(FromFile):
    """A problem of a file, or a function that returns one for the seed of a run."""

    what = "problem"

    def __call__(self, seed: int) -> Problem:
        found = load(self.place, self.what)
        if not isinstance(found, Problem) and callable(found):
            found = called(found, self.place, **_seed_argument(found, seed))
        if not isinstance(found, Problem):
            raise ValueError(
                f"{self.place} must be a bosquet.benchmarks.Problem or a function that returns "
                f"one, not {type(found).__name__} {found!r}"
            )
        return found

    def check(self) -> None:
        self(0)


def _seed_argument(function: Any, seed: int) -> dict[str, int]:
    """The seed under the name of the argument for it: ``seed``, or the only one that is needed."""
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:  # built in, without a signature
        return {}
    needed = [name for name, p in parameters.items() if p.default is p.empty and p.kind in _NAMED]
    if "seed" in parameters:
        return {"seed": seed}
    return {needed[0]: seed} if len(needed) == 1 else {}


def _digest(path: Path) -> str:
    """Of the code of a file, without comments and layout; what it imports is not followed."""
    try:
        code = ast.unparse(ast.parse(path.read_bytes()))
    except (SyntaxError, ValueError):  # loading it says so
        return ""
    return hashlib.sha256(code.encode()).hexdigest()[:16]
