"""Configurations as plain dicts: which values are active, and what is wrong with others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bosquet.errors import ConfigError
from bosquet.space.names import unknown
from bosquet.space.tree import Dimension, Tree

Config = dict[str, Any]


def check_dict(config: object) -> None:
    if not isinstance(config, Mapping):
        raise ConfigError(
            f"a configuration is a dict of parameter values, not {type(config).__name__} {config!r}"
        )


def assemble(tree: Tree, value_of: Callable[[Dimension], Any]) -> Config:
    """The configuration of the values that the active parameters, asked top-down, take."""
    config: Config = {}
    options: dict[int, int] = {}
    for dimension in tree.dimensions:
        if tree.is_active(dimension.node, options):
            value = config[dimension.name] = value_of(dimension)
            if dimension.parameter.is_branching:
                options[dimension.index] = tree.choice(dimension.index).index(value)
    return config


def complete(tree: Tree, config: Mapping[str, Any]) -> Config:
    """The configuration in canonical form, constraints aside; ConfigError says what is wrong."""
    check_dict(config)
    for name in config:
        if name not in tree.by_name:
            raise ConfigError(_qualified(tree, name) or unknown(tree, name))

    def value_of(dimension: Dimension) -> Any:
        if dimension.name not in config:
            raise ConfigError(f"{dimension.name!r} is missing{_when(tree, dimension)}")
        try:
            return dimension.parameter.check(config[dimension.name])
        except (TypeError, ValueError, OverflowError):
            raise ConfigError(_not_allowed(dimension, config)) from None

    valid = assemble(tree, value_of)
    for name in config:
        if name not in valid:
            raise ConfigError(_why_inactive(tree, name, valid))
    return valid


def options_of(tree: Tree, config: Mapping[str, Any]) -> dict[int, int]:
    """The positions of the options that a configuration takes at its branching choices.

    The configuration may be partial: only branching choices are looked at.
    """
    check_dict(config)
    options: dict[int, int] = {}
    for index in sorted(tree.children):
        dimension = tree.dimensions[index]
        if dimension.name in config and tree.is_active(dimension.node, options):
            try:
                options[index] = tree.choice(index).index(config[dimension.name])
            except (TypeError, ValueError):
                raise ConfigError(_not_allowed(dimension, config)) from None
    return options


def _qualified(tree: Tree, name: object) -> str:
    """The message for a qualified name; empty for another."""
    dimension = tree.by_qualified_name.get(name) if isinstance(name, str) else None
    if dimension is None:
        return ""
    return (
        f"{name!r} is a qualified name; a configuration has short ones, here {dimension.name!r} "
        "(space.unqualify makes these of those)"
    )


def _not_allowed(dimension: Dimension, config: Mapping[str, Any]) -> str:
    value = config[dimension.name]
    if isinstance(value, np.floating):
        value = float(value)  # np.float32(0.1) is more than 0.1, which its repr does not show
    return (
        f"{dimension.name!r}: {value!r} is not allowed; it must be {dimension.parameter.describe()}"
    )


def _when(tree: Tree, dimension: Dimension) -> str:
    chain = tree.conditions(dimension.node)
    text = " and ".join(tree.condition_text(link) for link in chain)
    return f"; it is active when {text}" if text else ""


def _why_inactive(tree: Tree, name: str, valid: Config) -> str:
    """Why a known name does not belong to an otherwise complete configuration."""
    options = options_of(tree, valid)
    dimension = tree.by_name[name][0]
    chain = tree.conditions(dimension.node)
    link = next(link for link in chain if options[link.choice] not in link.options)
    choice = tree.dimensions[link.choice].name
    return f"{name!r} is not active when {choice}={valid[choice]!r}{_when(tree, dimension)}"
