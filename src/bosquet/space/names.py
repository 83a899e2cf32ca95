"""A space as a mapping from names to parameters."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any

from bosquet.space.parameter import Parameter
from bosquet.space.tree import Dimension, Tree
from bosquet.text import did_you_mean, listed


class ByName:
    """Parameters by name, as in a dict.

    The keys are the qualified names (``model=svm/C``), one for each parameter. Looked up by, a
    short name (``C``) is as good where only one parameter has it.
    """

    tree: Tree

    def __len__(self) -> int:
        return len(self.tree.dimensions)

    def __iter__(self) -> Iterator[str]:
        return (dimension.qualified_name for dimension in self.tree.dimensions)

    def __contains__(self, name: object) -> bool:
        return bool(self._named(name))

    def __getitem__(self, name: str) -> Parameter:
        dimensions = self._named(name)
        if not dimensions:
            raise KeyError(unknown(self.tree, name))
        if len(dimensions) > 1:
            qualified = listed(repr(dimension.qualified_name) for dimension in dimensions)
            raise KeyError(f"several parameters are called {name!r}: {qualified}")
        return dimensions[0].parameter

    def get(self, name: str, default: Any = None) -> Any:
        """The parameter of a name, or the default where there is none."""
        return self[name] if self._named(name) else default

    def keys(self) -> KeysView[str]:
        return self._mapping.keys()

    def values(self) -> ValuesView[Parameter]:
        return self._mapping.values()

    def items(self) -> ItemsView[str, Parameter]:
        return self._mapping.items()

    @property
    def _mapping(self) -> Mapping[str, Parameter]:
        return {d.qualified_name: d.parameter for d in self.tree.dimensions}

    def _named(self, name: object) -> tuple[Dimension, ...]:
        """The dimension of a qualified name, or else those of a short one."""
        if not isinstance(name, str):
            return ()
        qualified = self.tree.by_qualified_name.get(name)
        return self.tree.by_name.get(name, ()) if qualified is None else (qualified,)


def unknown(tree: Tree, name: object) -> str:
    """The message for a name that no parameter has."""
    known = f"; this space has {listed(map(repr, tree.by_name))}"
    return f"unknown parameter {name!r}{did_you_mean(name, tree.by_name) or known}"
