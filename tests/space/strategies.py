"""Hypothesis strategies for random structured spaces.

A *declaration* is plain data: a dict from names to ``Float``, ``Int`` or `Branching`. `build` makes
the `Space` of it; the reference implementations in the tests walk the declaration itself, so that
they share nothing with the code under test.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from bosquet import Choice, Float, Forbid, Int, Space, SpaceError

relaxed = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

ODD_NAMES = ["a=b/c", "m=1/x", "two words", '"quoted"', "new\nline", "a|b", "1", "None", "π", "x y"]
NAMES = ["x", "y", "z", "lr", "depth", "kernel", "model", '"x y"', "default", "low", *ODD_NAMES]
ODD_TEXT = ["", " ", "1", "-1.5", "1e3", ".5", "True", "None", "a|b", "a/b", "x=y", '"', "é", "\n"]


@dataclass(frozen=True)
class Branching:
    """A choice as it is declared: a list of options, or a dict from option(s) to declaration."""

    options: Any
    ordered: bool = False
    default: Any = None

    def option_list(self) -> list[Any]:
        return [key for key in self.options if not isinstance(key, tuple)]

    def below(self, option: Any) -> Iterator[dict[str, Any]]:
        """The declarations that exist under an option."""
        for key in self.options if isinstance(self.options, dict) else ():
            if option in (key if isinstance(key, tuple) else (key,)):
                yield self.options[key]


def build(declaration: dict[str, Any], constraints: Any = ()) -> Space:
    return Space(build_parameters(declaration), constraints)


def build_parameters(declaration: dict[str, Any]) -> dict[str, Any]:
    built = {}
    for name, entry in declaration.items():
        if isinstance(entry, Branching):
            options = entry.options
            if isinstance(options, dict):
                options = {key: build_parameters(below) for key, below in options.items()}
            entry = Choice(options, ordered=entry.ordered, default=entry.default)
        built[name] = entry
    return built


def active_entries(declaration: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    """By name, what the declaration says is active in a configuration (the naive way)."""
    found: dict[str, Any] = {}
    for name, entry in declaration.items():
        assert name not in found
        found[name] = entry
        if isinstance(entry, Branching):
            for below in entry.below(config[name]):
                nested = active_entries(below, config)
                assert not found.keys() & nested.keys()
                found |= nested
    return found


def all_names(declaration: dict[str, Any]) -> set[str]:
    found = set(declaration)
    for entry in declaration.values():
        if isinstance(entry, Branching) and isinstance(entry.options, dict):
            found = found.union(*(all_names(below) for below in entry.options.values()))
    return found


options = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(-(10**20), 10**20),
    st.sampled_from([0.0, 0.5, 1.0, 1e-7, -2.5, 1e300]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["a", "b", "c", *ODD_TEXT]),
    st.text(max_size=4),
)


@st.composite
def plain_floats(draw: st.DrawFn) -> Float:
    bounds = st.one_of(st.floats(-1e6, 1e6), st.sampled_from([0.0, 1.0, -1.0, 0.1, 1e7, -1e-3]))
    low = draw(bounds)
    high = low + draw(st.sampled_from([1e-3, 0.1, 1.0, 7.3, 1e5]))
    default = draw(st.none() | st.floats(low, high))
    return Float(low, high, default=default)


@st.composite
def log_floats(draw: st.DrawFn) -> Float:
    low = draw(st.floats(1e-12, 1e3))
    high = low * draw(st.sampled_from([1.5, 10.0, 1e6]))
    return Float(low, high, log=True, default=draw(st.none() | st.floats(low, high)))


@st.composite
def stepped_floats(draw: st.DrawFn, most: int = 50) -> Float:
    low = draw(st.sampled_from([0.0, 0.1, -0.3, 1.0, 100.0, 1e7, -1e4]))
    step = draw(st.sampled_from([0.1, 0.05, 0.25, 1.0, 1 / 3, 0.7]))
    n = draw(st.integers(1, most))
    index = draw(st.none() | st.integers(0, n))
    default = None if index is None else low + index * step  # with the rounding of a user's sum
    return Float(low, low + n * step, step=step, default=default)


@st.composite
def ints(draw: st.DrawFn, most: int = 1000) -> Int:
    step = draw(st.none() | st.integers(1, 7))
    low = draw(st.integers(-1000, 1000))
    n = draw(st.integers(1, most))
    index = draw(st.none() | st.integers(0, n))
    default = None if index is None else low + index * (step or 1)
    return Int(low, low + n * (step or 1), step=step, default=default)


@st.composite
def log_ints(draw: st.DrawFn, most: int = 10**6) -> Int:
    low = draw(st.integers(1, 100))
    high = low + draw(st.integers(1, most))
    return Int(low, high, log=True, default=draw(st.none() | st.integers(low, high)))


large_ints = st.sampled_from(
    [Int(0, 2**32 - 1), Int(-(2**50), 2**50), Int(1, 2**45, log=True), Int(0, 2**50, step=2**10)]
)
continuous = st.one_of(plain_floats(), log_floats())
numbers = st.one_of(continuous, stepped_floats(), ints(), log_ints(), large_ints)
small_numbers = st.one_of(stepped_floats(most=3), ints(most=3), log_ints(most=3))


@st.composite
def choices(
    draw: st.DrawFn, leaf: st.SearchStrategy[Any], depth: int, taken: set[str]
) -> Branching:
    """A choice, with branches while ``depth`` lasts. ``taken`` are names it must not use."""
    chosen = draw(st.lists(options, min_size=1, max_size=3, unique=True))
    ordered = draw(st.booleans())
    default = draw(st.none() | st.sampled_from(chosen))
    if depth == 0 or draw(st.booleans()):
        return Branching(chosen, ordered, default)
    branches: dict[Any, Any] = {}
    used: set[str] = set()
    for option in chosen:  # exclusive, so the same names may come again
        branches[option] = draw(declarations(leaf, depth - 1, taken, least=0))
        used |= all_names(branches[option])
    for _ in range(draw(st.integers(0, 2))):
        group = tuple(draw(st.lists(st.sampled_from(chosen), min_size=1, unique=True)))
        if group not in branches:
            branches[group] = draw(declarations(leaf, depth - 1, taken | used, least=0))
            used |= all_names(branches[group])
    keys = draw(st.permutations(list(branches)))
    return Branching({key: branches[key] for key in keys}, ordered, default)


@st.composite
def declarations(
    draw: st.DrawFn,
    leaf: st.SearchStrategy[Any] = numbers,
    depth: int = 3,
    taken: frozenset[str] | set[str] = frozenset(),
    least: int = 1,
) -> dict[str, Any]:
    """A declaration, nested ``depth`` deep; leaves come from ``leaf``."""
    declared: dict[str, Any] = {}
    taken = set(taken)
    for _ in range(draw(st.integers(least, 3))):
        free = [name for name in NAMES if name not in taken] or [f"p{len(taken)}"]
        name = draw(st.sampled_from(free))
        taken.add(name)
        if draw(st.booleans()):
            declared[name] = draw(choices(leaf, depth, taken))
            taken |= all_names({name: declared[name]})
        else:
            declared[name] = draw(leaf)
    return declared


spaces = declarations().map(build)
finite_declarations = declarations(leaf=small_numbers, depth=2)


@st.composite
def forbids(draw: st.DrawFn, space: Space) -> Forbid | None:
    """A Forbid that leaves something allowed, or None where every parameter has but one value."""
    several = [d for d in space.dimensions if d.parameter.n_values > 1]
    if not several:
        return None
    first = draw(st.sampled_from(several))
    others = draw(st.lists(st.sampled_from(space.dimensions), max_size=1))
    clauses = {}
    for dimension in [*others, first]:
        unit = np.array([draw(st.floats(0, 1))])
        clauses[dimension.name] = dimension.parameter.from_unit(unit)[0]
    return Forbid(clauses)


@st.composite
def constrained_spaces(draw: st.DrawFn) -> Space:
    space = draw(spaces)
    forbid = draw(forbids(space))
    try:
        return Space(dict(space.parameters), [forbid] if forbid else [])
    except SpaceError:  # it forbids the declared defaults
        return space
