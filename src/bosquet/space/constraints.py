"""What a space forbids beyond its bounds.

``Forbid`` is data: it can be stored and compared. ``Constraint`` wraps a function; it counts only
where every parameter it names is active, and sees just those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bosquet.errors import SpaceError
from bosquet.space.names import unknown
from bosquet.space.tree import Tree
from bosquet.text import listed

Config = Mapping[str, Any]


@dataclass(frozen=True, init=False)
class Forbid:
    """Forbids the configurations in which every named parameter has (one of) the given values.

    ``Forbid({"scale": "none", "model": ["svm", "knn"]})`` forbids two combinations.

    Args:
        values: from the names of parameters to a value, or to a list of which any is meant.
    """

    values: tuple[tuple[str, tuple[Any, ...]], ...]

    def __init__(self, values: Mapping[str, Any]) -> None:
        if not isinstance(values, Mapping) or not values:
            raise SpaceError(f"Forbid({values!r}): give a dict from parameter name to value")
        clauses = []
        for name, value in values.items():
            if not isinstance(name, str):
                raise SpaceError(f"Forbid({values!r}): the name {name!r} must be a string")
            several = isinstance(value, (list, tuple, set, frozenset))
            forbidden = tuple(value) if several else (value,)
            if not forbidden:
                raise SpaceError(f"Forbid({values!r}): {name!r} has no value to forbid")
            clauses.append((name, forbidden))
        object.__setattr__(self, "values", tuple(clauses))

    @property
    def on(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.values)

    def allows(self, config: Config) -> bool:
        return not all(name in config and config[name] in vs for name, vs in self.values)

    def __str__(self) -> str:
        clauses = [
            f"{name}={vs[0]!r}" if len(vs) == 1 else f"{name} in ({listed(map(repr, vs))})"
            for name, vs in self.values
        ]
        return f"not ({' and '.join(clauses)})"


@dataclass(frozen=True)
class Constraint:
    """Allows the configurations for which ``fn`` returns True.

    Args:
        fn: takes a configuration, returns True where it is allowed and False where it is not.
        on: names of parameters. The function then sees a dict of just these, and counts only where
            all of them are active, which lets a search avoid what is forbidden instead of trying;
            None: it sees the whole configuration.
    """

    fn: Callable[[dict[str, Any]], bool]
    on: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if not callable(self.fn):
            raise SpaceError(f"Constraint: {self.fn!r} must be a function of a configuration")
        if self.on is None:
            return
        try:
            names = () if isinstance(self.on, str) else tuple(self.on)
        except TypeError:
            names = ()
        if not names or not all(isinstance(name, str) for name in names):
            raise SpaceError(f"{self.name}: on={self.on!r} must be a list of parameter names")
        object.__setattr__(self, "on", names)

    def allows(self, config: Config) -> bool:
        if self.on is None:
            seen = dict(config)
        elif all(name in config for name in self.on):
            seen = {name: config[name] for name in self.on}
        else:
            return True
        try:
            verdict = self.fn(seen)
        except Exception as error:
            raise SpaceError(
                f"constraint {self} raised {type(error).__name__}: {error}; it was given {seen!r}"
            ) from error
        if not isinstance(verdict, (bool, np.bool_)):
            raise SpaceError(
                f"constraint {self} returned {verdict!r} for {seen!r}; "
                "it must return True (allowed) or False"
            )
        return bool(verdict)

    @property
    def name(self) -> str:
        return getattr(self.fn, "__name__", type(self.fn).__name__)

    def __str__(self) -> str:
        return self.name if self.on is None else f"{self.name}({', '.join(self.on)})"


def as_constraints(constraints: Iterable[Any]) -> tuple[Forbid | Constraint, ...]:
    """Plain callables become constraints on the whole configuration."""
    try:
        given = None if isinstance(constraints, (str, Mapping)) else list(constraints)
    except TypeError:
        given = None
    if given is None:
        raise SpaceError(f"constraints={constraints!r} must be a list")
    checked: list[Forbid | Constraint] = []
    for constraint in given:
        if isinstance(constraint, (Forbid, Constraint)):
            checked.append(constraint)
        elif callable(constraint):
            checked.append(Constraint(constraint))
        else:
            raise SpaceError(
                f"constraint {constraint!r} must be a Forbid, a Constraint or a function"
            )
    return tuple(checked)


def checked(constraint: Forbid | Constraint, tree: Tree) -> Forbid | Constraint:
    """A constraint on known parameters; a Forbid with values as configurations have them."""
    for name in constraint.on or ():
        if name not in tree.by_name:
            raise SpaceError(f"constraint {constraint}: {unknown(tree, name)}")
    if isinstance(constraint, Constraint):
        return constraint
    return Forbid(
        {
            name: [_forbidden(constraint, tree, name, value) for value in values]
            for name, values in constraint.values
        }
    )


def _forbidden(constraint: Forbid, tree: Tree, name: str, value: object) -> Any:
    parameters = [dimension.parameter for dimension in tree.by_name[name]]
    for parameter in parameters:
        try:
            return parameter.check(value)
        except (TypeError, ValueError, OverflowError):
            continue
    raise SpaceError(
        f"constraint {constraint}: {name!r} is never {value!r}; "
        f"it must be {parameters[0].describe()}"
    )
