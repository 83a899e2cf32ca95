"""Search spaces as users of scikit-learn write them: dicts and lists of dicts, with estimators."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bosquet.errors import SpaceError
from bosquet.space import Choice, Config, Float, Int, Space
from bosquet.space.parameter import Option, Parameter, option_labels, shared_branches

_TAIL = 1e-3  # of a distribution, on either side, that is left out of its range
_LONG = 1000  # high over low: a distribution beyond is searched by logarithms
_GRID = "grid"  # the choice between the dicts of a list, where no parameter tells them apart


class Declared:
    """A space as users of scikit-learn write it, as a `Space`; and the way back."""

    def __init__(self, declaration: Any) -> None:
        self._objects: dict[tuple[str, Option], Any] = {}
        self._number: str | None = None  # what counts the dicts of a list, which no estimator has
        if isinstance(declaration, Space):
            self.space = declaration
        elif isinstance(declaration, Mapping):
            self.space = Space(self._parameters(declaration))
        else:
            self.space = Space(self._of_grids(declaration))

    def params_of(self, config: Config) -> dict[str, Any]:
        """What `set_params` takes."""
        return {
            name: self._objects.get((name, value), value)
            for name, value in config.items()
            if name != self._number
        }

    def _of_grids(self, grids: Sequence[Any]) -> dict[str, Parameter]:
        """A list of dicts as one choice, by the parameter whose values tell the dicts apart.

        ``[{"model": [SVC()], "model__C": ...}, {"model": [Ridge()], "model__alpha": ...}]`` means
        what ``{"model": {SVC(): {"model__C": ...}, Ridge(): {"model__alpha": ...}}}`` means. Where
        there is no such parameter the dicts are numbered.
        """
        spaces = [self._parameters(grid) for grid in grids]
        for name in spaces[0] if spaces else ():
            values = [_categories(space.get(name)) for space in spaces]
            every = [option for options in values for option in options]
            if all(values) and len(set(every)) == len(every):
                rest = [{n: p for n, p in space.items() if n != name} for space in spaces]
                below = {o: r for options, r in zip(values, rest, strict=True) for o in options}
                return {name: Choice(shared_branches(below))}
        self._number = _GRID
        return {_GRID: Choice(shared_branches(dict(enumerate(spaces))))}

    def _parameters(self, declaration: Any) -> dict[str, Parameter]:
        if not isinstance(declaration, Mapping):
            raise SpaceError(f"space: {declaration!r} must be a dict from names to values")
        return {name: self._parameter(name, value) for name, value in declaration.items()}

    def _parameter(self, name: str, declared: Any) -> Parameter:
        if isinstance(declared, (Float, Int, Choice)):
            return declared
        if hasattr(declared, "ppf"):
            return _from_distribution(name, declared)
        if isinstance(declared, Mapping):
            return self._branching(name, declared)
        if isinstance(declared, Iterable) and not isinstance(declared, (str, bytes)):
            options = self._options(name, list(declared))
            return Choice(options, ordered=_ascending(options))
        raise SpaceError(
            f"space: {name!r} must be a Float, Int or Choice, a list, a dict from values to what "
            f"exists with them, or a scipy distribution, not {declared!r}"
        )

    def _branching(self, name: str, declared: Mapping[Any, Any]) -> Choice:
        values = [value for value in declared if not isinstance(value, tuple)]
        options = dict(zip(values, self._options(name, values), strict=True))
        branches: dict[Any, dict[str, Parameter]] = {}
        for key, below in declared.items():
            members = key if isinstance(key, tuple) else (key,)
            unknown = [value for value in members if value not in options]
            if unknown:
                raise SpaceError(f"space: {name!r}: {unknown[0]!r} of {key!r} has no entry itself")
            named = tuple(options[value] for value in members)
            branches[named if isinstance(key, tuple) else named[0]] = self._parameters(below)
        return Choice(branches)

    def _options(self, name: str, values: list[Any]) -> tuple[Option, ...]:
        """Options for values, which are remembered."""
        for value in values:
            if isinstance(value, type) and hasattr(value, "get_params"):
                raise SpaceError(
                    f"space: {name!r}: {value.__name__} is a class; give an instance, "
                    f"{value.__name__}()"
                )
        labels = option_labels(values)
        self._objects |= {(name, label): v for label, v in zip(labels, values, strict=True)}
        return labels


def _categories(parameter: Parameter | None) -> tuple[Option, ...]:
    """The values of a list of categories; none for anything else, or with more below them."""
    if not isinstance(parameter, Choice) or parameter.branches or parameter.default is not None:
        return ()
    numbers = any(
        isinstance(o, (int, float)) and not isinstance(o, bool) for o in parameter.options
    )
    return () if numbers or parameter.ordered else parameter.options


def _ascending(options: Sequence[Any]) -> bool:
    plain = all(isinstance(o, (int, float)) and not isinstance(o, bool) for o in options)
    return plain and len(options) > 2 and list(options) == sorted(options)


def _from_distribution(name: str, distribution: Any) -> Float | Int:
    """The range of a frozen distribution of scipy.stats, without long tails."""
    low, high = distribution.support()
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high = distribution.ppf([_TAIL, 1 - _TAIL])
    name_of_kind = getattr(getattr(distribution, "dist", None), "name", "")
    log = low > 0 and (name_of_kind in ("loguniform", "reciprocal") or high / low > _LONG)
    try:
        if hasattr(distribution, "pmf"):
            return Int(low, high, log=log)
        return Float(low, high, log=log)
    except SpaceError as error:
        raise SpaceError(f"space: {name!r}: the range of its distribution: {error}") from None
