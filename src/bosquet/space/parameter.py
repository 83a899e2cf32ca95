"""The parameters of a space, and how their values become numbers in [0, 1].

Every parameter owns one *unit* coordinate. ``to_unit`` and ``from_unit`` work on whole columns:

==========  ==========================================  =====================================
parameter   value                                       unit
==========  ==========================================  =====================================
Float       low .. high                                 linear, or linear in the logarithm
Float step  low, low + step, .. high                    centres of equal bins
Int         low, low + step, .. high                    centres of equal bins
Int log     low .. high                                 log scale over [low - 1/2, high + 1/2]
Choice      one of the options                          centres of equal bins, in their order
==========  ==========================================  =====================================

So a uniform number decodes to a uniform value everywhere, and decoding then encoding *snaps* a
coordinate to the centre of its value.

What a parameter is like, whichever class it is of:

- ``is_category``: its values have no order;
- ``is_continuous``: it has infinitely many values;
- ``is_branching``: its value decides which other parameters exist.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeAlias, overload

import numpy as np

from bosquet.arrays import Array, Index
from bosquet.errors import SpaceError
from bosquet.space.bins import bin_centre, bin_index
from bosquet.space.number import Float, Int
from bosquet.text import in_brackets, listed

__all__ = [
    "Choice",
    "Float",
    "Int",
    "Option",
    "Parameter",
    "named_parameters",
    "option_labels",
    "shared_branches",
]

Option: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, init=False)
class Choice:
    """One of several options; an option may bring a sub-space of its own.

    Args:
        options: a list of strings, numbers, booleans or None; or a dict from an option to the
            parameters that exist under it. In the dict every option has its own key, and a tuple of
            options as a key adds parameters shared by those options.
        ordered: neighbouring options are alike, as sizes are; by default none is nearer than
            another.
        default: the option where a search begins. None declares no default, also where None is an
            option; the first option then stands in for it.
    """

    options: tuple[Option, ...]
    branches: tuple[tuple[tuple[int, ...], tuple[tuple[str, Parameter], ...]], ...]
    """Non-empty sub-spaces: the positions of their options, and their named parameters."""
    ordered: bool
    default: Option
    types: tuple[str, ...]
    """Of the options: 1 and True are equal, but not the same choice."""
    is_continuous: ClassVar[bool] = False

    def __init__(
        self,
        options: Iterable[Any] | Mapping[Any, Mapping[str, Parameter]],
        *,
        ordered: bool = False,
        default: Option = None,
    ) -> None:
        try:
            if isinstance(options, (str, bytes, set, frozenset)):  # a set has no order to rely on
                raise TypeError
            keys = list(options)
        except TypeError:
            raise SpaceError(
                f"Choice({options!r}): options must be a list of options, "
                "or a dict from option to sub-space"
            ) from None
        if not isinstance(ordered, (bool, np.bool_)):
            raise SpaceError(f"Choice({options!r}): ordered={ordered!r} must be True or False")
        subspaces = dict(options) if isinstance(options, Mapping) else {}
        singles = tuple(_option(key) for key in keys if not isinstance(key, tuple) or not subspaces)
        if not singles and not subspaces:
            raise SpaceError("Choice: there must be at least one option")
        _check_distinct(singles)
        object.__setattr__(self, "options", singles)
        branches: dict[tuple[int, ...], tuple[tuple[str, Parameter], ...]] = {}
        for key, subspace in subspaces.items():
            group = key if isinstance(key, tuple) else (key,)
            members = _positions(group, self._position)
            parameters = named_parameters(subspace, f"the sub-space of option {key!r}")
            if parameters:
                branches[members] = (*branches.get(members, ()), *parameters)
        object.__setattr__(self, "branches", tuple(branches.items()))
        object.__setattr__(self, "ordered", bool(ordered))
        object.__setattr__(self, "types", tuple(type(option).__name__ for option in singles))
        object.__setattr__(self, "default", None)
        if default is not None:
            try:
                object.__setattr__(self, "default", self.check(default))
            except (TypeError, ValueError):
                raise SpaceError(f"Choice: default={default!r} is not {self.describe()}") from None

    @property
    def is_category(self) -> bool:
        return not self.ordered

    @cached_property
    def is_branching(self) -> bool:
        """Whether some option has parameters that another lacks."""
        return any(len(members) < self.n_values for members, _ in self.branches)

    @property
    def n_values(self) -> int:
        return len(self.options)

    def index(self, value: object) -> int:
        """The position of an option; raises ValueError or TypeError when it is none."""
        try:
            return self._position[value]  # type: ignore[index]
        except KeyError:
            raise ValueError from None

    @cached_property
    def _position(self) -> dict[Option, int]:
        return {option: i for i, option in enumerate(self.options)}

    def check(self, value: object) -> Option:
        """The option as it was declared; raises ValueError when it is none of them."""
        return self.options[self.index(value)]

    def to_unit(self, values: Sequence[Any]) -> Array:
        try:
            index = np.array([self._position[value] for value in values], dtype=np.int64)
        except KeyError:
            raise ValueError from None
        return self.unit_of(index)

    @overload
    def unit_of(self, option: int) -> float: ...
    @overload
    def unit_of(self, option: Index) -> Array: ...
    def unit_of(self, option: int | Index) -> float | Array:
        """The unit coordinate of an option, or those of an array of them, by position."""
        return bin_centre(option, self.n_values)  # type: ignore[no-any-return]

    def from_unit(self, units: Array) -> list[Option]:
        return [self.options[i] for i in self.option_index(units).tolist()]

    def option_index(self, units: Array) -> Index:
        return bin_index(units, self.n_values)

    def snap(self, units: Array) -> Array:
        return self.unit_of(self.option_index(units))

    def values(self) -> Iterable[Option]:
        return self.options

    @property
    def details(self) -> str:
        """What distinguishes it beyond its options."""
        default = [] if self.default is None else [f"default {self.default!r}"]
        return in_brackets(["ordered"] * self.ordered + default)

    def describe(self) -> str:
        return f"one of {listed(map(repr, self.options))}{self.details}"


Parameter: TypeAlias = Float | Int | Choice


def option_labels(values: Sequence[Any]) -> tuple[Option, ...]:
    """Options that stand for any values: these themselves if a choice can have them, else texts."""
    try:
        return Choice(list(values)).options
    except SpaceError:
        if not values:
            raise
    return tuple(v if isinstance(v, str) else " ".join(repr(v).split()) for v in values)


def shared_branches(
    subspaces: Mapping[Option, Mapping[str, Parameter]],
) -> dict[Any, dict[str, Parameter]]:
    """The branches of a choice; equal parameters of one name under several options are shared."""
    options: dict[tuple[str, Parameter], list[Option]] = {}
    for option, subspace in subspaces.items():
        for named in subspace.items():
            options.setdefault(named, []).append(option)
    branches: dict[Any, dict[str, Parameter]] = {option: {} for option in subspaces}
    for (name, parameter), members in options.items():
        key = members[0] if len(members) == 1 else tuple(members)
        branches.setdefault(key, {})[name] = parameter
    return branches


def _option(value: Any) -> Option:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise SpaceError(f"Choice: option {value!r} must be finite")
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    raise SpaceError(
        f"Choice: option {value!r} is a {type(value).__name__}; "
        "options are strings, numbers, booleans or None"
    )


def _check_distinct(options: tuple[Option, ...]) -> None:
    seen: dict[Option, Option] = {}
    for option in options:
        if option in seen:
            raise SpaceError(f"Choice: options {seen[option]!r} and {option!r} are equal")
        seen[option] = option


def _positions(group: tuple[Any, ...], position: Mapping[Option, int]) -> tuple[int, ...]:
    if not group:
        raise SpaceError("Choice: an empty tuple names no options to share a sub-space")
    members = set()
    for option in group:
        try:
            members.add(position[option])
        except (KeyError, TypeError):
            raise SpaceError(
                f"Choice: {group!r} names the unknown option {option!r}; every option needs a "
                f"key of its own, and these have one: {listed(map(repr, position)) or 'none'}; "
                f"if it is an option without further parameters, add {option!r}: {{}}"
            ) from None
    return tuple(sorted(members))


def named_parameters(subspace: Any, where: str) -> tuple[tuple[str, Parameter], ...]:
    """The named parameters of a (sub-)space, checked."""
    if not isinstance(subspace, Mapping):
        of_a_space = hasattr(subspace, "parameters") and hasattr(subspace, "tree")
        raise SpaceError(
            f"{where} must be a dict of parameters, not {type(subspace).__name__} {subspace!r}"
            + "; give dict(space.parameters)" * of_a_space
        )
    for name, parameter in subspace.items():
        if not isinstance(name, str) or not name:
            raise SpaceError(f"{where}: the name {name!r} must be a non-empty string")
        if not isinstance(parameter, (Float, Int, Choice)):
            raise SpaceError(
                f"{where}: {name!r} must be a Float, an Int or a Choice, not {parameter!r}"
                f"{_perhaps(parameter)}"
            )
    return tuple(subspace.items())


def _perhaps(declared: object) -> str:
    """What was perhaps meant by something that is no parameter, or nothing."""
    match declared:
        case (int() as low, int() as high) if isinstance(declared, tuple):
            return f"; did you mean Int({low}, {high})?"
        case (int() | float() as low, int() | float() as high) if isinstance(declared, tuple):
            return f"; did you mean Float({low}, {high})?"
        case [_, *_] if isinstance(declared, list):
            return f"; did you mean Choice({declared!r})?"
        case {}:
            return "; did you mean a Choice, with a dict of parameters for each option?"
    return ""
