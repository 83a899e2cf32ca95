"""What a stored study is about: one user attribute of the Optuna study, ``bosquet``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from bosquet.data import Direction
from bosquet.errors import SpaceError, StorageError
from bosquet.space import Space
from bosquet.study.fingerprint import Fingerprint, changes

ATTRIBUTE = "bosquet"
_SCHEMA = 1


@dataclass(frozen=True)
class Header:
    """The space, the direction, the seed, the strategy and the objective of a study."""

    space: dict[str, Any]
    """`Space.to_dict`: constraints that are functions are there by name only."""
    direction: Direction
    seed: int
    strategy: str
    """The name of the strategy that the last run used."""
    objective: Fingerprint | None = None
    """What is evaluated; None where nobody but the user knows (`Study`), or in an old study."""

    @classmethod
    def of(
        cls,
        space: Space,
        direction: Direction,
        seed: int,
        strategy: str,
        objective: Fingerprint | None,
    ) -> Self:
        data = json.loads(json.dumps(space.to_dict()))
        return cls(data, direction, int(seed), strategy, objective)

    def to_json(self) -> dict[str, Any]:
        return {"schema": _SCHEMA} | asdict(self)

    @classmethod
    def from_json(cls, data: Any, where: str) -> Self:
        """Reads what `to_json` wrote; StorageError for what this version cannot read."""
        if not isinstance(data, Mapping):
            raise _damaged(where, f"it is {_short(data)} instead of a dict")
        if data.get("schema") != _SCHEMA:
            raise StorageError(
                f"{where}: written in schema {_short(data.get('schema'))}, by another version of "
                f"bosquet; this one reads schema {_SCHEMA}"
            )
        kinds = {"space": dict, "direction": str, "seed": int, "strategy": str}
        for name, kind in kinds.items():
            if name not in data:
                raise _damaged(where, f"{name!r} is missing")
            if not isinstance(data[name], kind) or isinstance(data[name], bool):
                raise _damaged(where, f"{name!r} is {_short(data[name])}")
        if data["direction"] not in ("minimize", "maximize"):
            raise _damaged(where, f"'direction' is {_short(data['direction'])}")
        objective = data.get("objective")
        if objective is not None and not isinstance(objective, dict):
            raise _damaged(where, f"'objective' is {_short(objective)}")
        return cls(**{name: data[name] for name in kinds}, objective=objective)

    def stored_space(self, where: str, *, without_functions: bool = False) -> Space:
        """The space as it is stored; its constraint functions are not, so they may be left out."""
        constraints = self.space.get("constraints", [])
        if not isinstance(constraints, list):
            raise _damaged(where, f"the constraints are {_short(constraints)}")
        functions = [
            constraint
            for constraint in constraints
            if isinstance(constraint, Mapping) and constraint.get("type") == "function"
        ]
        if functions and not without_functions:
            names = ", ".join(repr(function.get("name")) for function in functions)
            plural = "s" * (len(functions) > 1)
            verb = "are" if plural else "is"
            raise ValueError(
                f"{where}: the constraint function{plural} {names} {verb} not stored with a space; "
                "give space=..."
            )
        kept = [constraint for constraint in constraints if constraint not in functions]
        try:
            return Space.from_dict(self.space | {"constraints": kept})
        except SpaceError as error:
            raise _damaged(where, f"the space cannot be made ({error})") from None

    def check_same(self, given: Header, where: str) -> None:
        """Refuses to go on with another space, direction or seed."""
        found: list[str] = []
        for name in ("space", "direction", "seed"):
            found += differences(getattr(self, name), getattr(given, name), name)
        refuse(where, found)

    def objective_changes(self, given: Header) -> list[str]:
        """How the objective differs from the stored one, in words."""
        if self.objective is None or given.objective is None:
            return []
        return list(changes(self.objective, given.objective))


def refuse(where: str, found: list[str]) -> None:
    if found:
        more = f"; and {len(found) - 5} more" if len(found) > 5 else ""
        raise ValueError(
            f"{where} is stored with something else. {'; '.join(found[:5])}{more}. "
            "Give what is stored, or another study name"
        )


def differences(stored: Any, given: Any, where: str) -> Iterator[str]:
    """What differs between two descriptions, in words; the order of names counts."""
    if isinstance(stored, dict) and isinstance(given, dict):
        for name in [*stored, *(name for name in given if name not in stored)]:
            if name not in given:
                yield f"{where}.{name}: stored, but not given now"
            elif name not in stored:
                yield f"{where}.{name}: given now, but not stored"
            else:
                yield from differences(stored[name], given[name], f"{where}.{name}")
        if list(stored) != list(given) and set(stored) == set(given):
            yield f"{where}: stored in the order {list(stored)}, {list(given)} now"
    elif isinstance(stored, list) and isinstance(given, list) and len(stored) == len(given):
        for position, (one, other) in enumerate(zip(stored, given, strict=True)):
            yield from differences(one, other, f"{where}[{position}]")
    elif stored != given or type(stored) is not type(given):
        yield f"{where}: stored {stored!r}, {given!r} now"


def _damaged(where: str, what: str) -> StorageError:
    return StorageError(
        f"{where}: its description (the study attribute {ATTRIBUTE!r}) is damaged: {what}. "
        "Restore it, or give another study name"
    )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "..."
