"""Groups of parameters that a user declares: from names to coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bosquet.errors import ConfigError, SpaceError
from bosquet.space import Space
from bosquet.space.tree import Dimension


def checked_groups(groups: Iterable[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Tuples of names, none of them twice in one group."""
    try:
        checked = tuple(() if isinstance(group, str) else tuple(group) for group in groups)
    except TypeError:
        checked = ((),)
    for group in checked:
        names = all(isinstance(name, str) for name in group)
        if isinstance(groups, str) or not group or not names or len(set(group)) < len(group):
            raise ValueError(
                f"groups={groups!r} must be a list of tuples of different parameter names, "
                'as in [("a", "b"), ("b", "c")]'
            )
    return checked


def indices_of(space: Space, group: Sequence[str]) -> list[int]:
    """The coordinates of a group's variables, which must be of one node."""
    found = [_dimension(space, name) for name in group]
    if len({dimension.node for dimension in found}) > 1:
        raise SpaceError(
            f"groups: {group!r} joins parameters that do not always exist together; "
            "a group is of one branch"
        )
    return [dimension.index for dimension in found]


def _dimension(space: Space, name: str) -> Dimension:
    """The dimension of a short or qualified name."""
    try:
        space.is_active(name, {})
    except ConfigError as error:
        raise SpaceError(f"groups: {error}") from None
    found = [d for d in space.dimensions if name in (d.name, d.qualified_name)]
    if len(found) > 1:
        names = ", ".join(repr(d.qualified_name) for d in found)
        raise SpaceError(f"groups: {name!r} is the name of several parameters; use one of {names}")
    if found[0].parameter.is_branching:
        raise SpaceError(
            f"groups: {name!r} decides which parameters exist, and cannot be in a group"
        )
    return found[0]
