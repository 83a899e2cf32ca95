"""What holds for every space, on random ones."""

from __future__ import annotations

import copy
import json
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bosquet import Choice, Float, Int, Space, SpaceError
from bosquet.space.configs import options_of
from bosquet.space.encoding import FILLER
from bosquet.text import printable
from tests.space.strategies import (
    Branching,
    active_entries,
    build,
    constrained_spaces,
    declarations,
    finite_declarations,
    spaces,
)
from tests.space.strategies import relaxed as usual

relaxed = settings(usual, max_examples=25)  # many tests, whose spaces take most of the time
seeds = st.integers(0, 2**32 - 1)


def is_continuous(parameter: Any) -> bool:
    return isinstance(parameter, Float) and parameter.step is None


def unit_rounding(parameter: Any) -> float:
    """How far a unit coordinate may move by going through a value and back."""
    if not is_continuous(parameter):
        return 0.0
    if parameter.log:
        return 1e-12
    scale = max(abs(parameter.low), abs(parameter.high))
    return float(1e-12 + 4e-16 * scale / (parameter.high - parameter.low))


def random_units(space: Space, seed: int, n: int = 12) -> Any:
    """Random rows, the corners, the middle and the edges of bins."""
    rng = np.random.default_rng(seed)
    corners = np.array([[0.0], [1.0], [0.5], [1 / 3], [np.nextafter(1.0, 0.0)]])
    return np.vstack([rng.random((n, len(space))), np.repeat(corners, len(space), axis=1)])


# -- encoding --------------------------------------------------------------------------------


@relaxed
@given(spaces, seeds)
def test_decoding_an_encoded_config_gives_it_back(space: Space, seed: int) -> None:
    configs = space.sample(seed, 12)
    encoded = space.to_unit(configs)
    assert np.all((encoded >= 0) & (encoded <= 1))
    for config, back in zip(configs, space.from_unit(encoded), strict=True):
        assert list(config) == list(back)
        for dimension in space.dimensions:
            if space.tree.is_active(dimension.node, options_of(space.tree, config)):
                value, again = config[dimension.name], back[dimension.name]
                parameter: Any = dimension.parameter
                if is_continuous(parameter):
                    scale = max(abs(parameter.low), abs(parameter.high))
                    assert again == pytest.approx(value, rel=1e-12, abs=1e-14 * scale)
                else:
                    assert again == value
                assert type(again) is type(value)


@relaxed
@given(spaces, seeds)
def test_encoding_a_decoded_vector_snaps_it(space: Space, seed: int) -> None:
    units = random_units(space, seed)
    snapped = space.snap(units)
    encoded = space.to_unit(space.from_unit(units))
    for dimension in space.dimensions:
        np.testing.assert_allclose(
            encoded[:, dimension.index],
            snapped[:, dimension.index],
            rtol=0,
            atol=unit_rounding(dimension.parameter),
        )


@relaxed
@given(spaces, seeds)
def test_snapping_is_idempotent_and_changes_no_config(space: Space, seed: int) -> None:
    units = random_units(space, seed)
    snapped = space.snap(units)
    np.testing.assert_array_equal(space.snap(snapped), snapped)
    assert space.from_unit(snapped) == space.from_unit(units)


@relaxed
@given(spaces, seeds)
def test_one_config_encodes_as_in_a_list(space: Space, seed: int) -> None:
    configs = space.sample(seed, 5)
    encoded = space.to_unit(configs)
    for config, row in zip(configs, encoded, strict=True):
        np.testing.assert_array_equal(space.to_unit(config), row)
        assert space.from_unit(row) == space.from_unit(row[None, :])[0]
    assert space.to_unit([]).shape == (0, len(space))


# -- activity --------------------------------------------------------------------------------


@relaxed
@given(declarations(), seeds)
def test_activity_agrees_with_the_declaration(declaration: dict[str, Any], seed: int) -> None:
    space = build(declaration)
    units = random_units(space, seed)
    activity = space.activity(units)
    encoded = space.snap(units)
    assert np.all(encoded[~activity] == FILLER)
    for config, active in zip(space.from_unit(units), activity, strict=True):
        expected = active_entries(declaration, config)
        assert set(config) == set(expected)
        found = [space.dimensions[i] for i in np.flatnonzero(active)]
        assert sorted(d.name for d in found) == sorted(expected)
        for dimension in found:
            entry = expected[dimension.name]
            if isinstance(entry, Branching):
                assert isinstance(dimension.parameter, Choice)
                assert list(dimension.parameter.options) == entry.option_list()
            else:
                assert dimension.parameter is entry
        for name in space.tree.by_name:
            assert space.is_active(name, config) == (name in expected)
        nodes = {space.dimensions[i].node for i in np.flatnonzero(active)}
        assert nodes <= set(space.path(config))
        occupied = {n.index for n in space.nodes if n.dimensions}
        assert set(space.path(config)) & occupied == nodes


@relaxed
@given(spaces, seeds)
def test_nodes_and_dimensions_fit_together(space: Space, seed: int) -> None:
    assert [d.index for d in space.dimensions] == list(range(len(space)))
    assert [n.index for n in space.nodes] == list(range(len(space.nodes)))
    for node in space.nodes:
        assert all(space.dimensions[i].node == node.index for i in node.dimensions)
        if node.index:
            assert node.parent < node.index
            assert space.dimensions[node.choice].node == node.parent
            assert all(node.choice < i for i in node.dimensions)
    assert sum(len(n.dimensions) for n in space.nodes) == len(space)


# -- sampling and validation -----------------------------------------------------------------


@relaxed
@given(
    constrained_spaces(),
    seeds,
    st.sampled_from(["option", "path"]),
    st.sampled_from(["random", "sobol"]),
)
def test_samples_are_valid_and_canonical(space: Space, seed: int, by: Any, method: Any) -> None:
    configs = space.sample(seed, 7, by=by, method=method)
    assert len(configs) == 7
    for config in configs:
        valid = space.validate(config)
        assert list(valid.items()) == list(config.items())
        assert [type(v) for v in valid.values()] == [type(v) for v in config.values()]
        assert space.violation(config) is None
        assert all(constraint.allows(config) for constraint in space.constraints)
    assert configs == space.sample(seed, 7, by=by, method=method)


@relaxed
@given(spaces)
def test_default_config(space: Space) -> None:
    default = space.default_config()
    assert list(space.validate(default).items()) == list(default.items())
    declared = set()
    for dimension in space.dimensions:
        if space.tree.is_active(dimension.node, options_of(space.tree, default)):
            parameter = dimension.parameter
            if parameter.default is not None:
                declared.add(dimension.name)
                assert default[dimension.name] == parameter.default
            elif isinstance(parameter, Choice):
                middle = parameter.n_values // 2 if parameter.ordered else 0
                assert default[dimension.name] == parameter.options[middle]
    assert space.has_defaults >= bool(declared)


@relaxed
@given(constrained_spaces())
def test_default_config_of_a_constrained_space(space: Space) -> None:
    default = space.default_config()
    assert space.validate(default) == default


# -- identity --------------------------------------------------------------------------------


def respell(value: Any, parameter: Any, rng: np.random.Generator) -> Any:
    """The same value in another type."""
    kind = rng.integers(3)
    if isinstance(value, bool):
        return np.bool_(value) if kind else int(value)
    if isinstance(value, str):
        return value if value.endswith("\0") else np.str_(value)  # NumPy drops trailing NULs
    if isinstance(value, int) and abs(value) <= 2**53:
        return [np.int64(value), float(value), np.float64(value)][kind]
    if isinstance(value, float):
        if isinstance(parameter, Float) and value.is_integer() and kind:
            return int(value)
        return np.float64(value)
    return value


@relaxed
@given(spaces, seeds)
def test_key_does_not_depend_on_spelling(space: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for config in space.sample(rng, 5):
        options = options_of(space.tree, config)
        active = [d for d in space.dimensions if space.tree.is_active(d.node, options)]
        spelled = {d.name: respell(config[d.name], d.parameter, rng) for d in active}
        names = rng.permutation(np.array(list(spelled), dtype=object)).tolist()
        other = {name: spelled[name] for name in names}
        assert space.key(other) == space.key(config)
        assert hash(space.key(other)) == hash(space.key(config))
        np.testing.assert_array_equal(space.to_unit(other), space.to_unit(config))
        valid = space.validate(other)
        assert [type(v) for v in valid.values()] == [type(v) for v in config.values()]


@relaxed
@given(spaces, seeds)
def test_different_configs_have_different_keys(space: Space, seed: int) -> None:
    configs = space.sample(seed, 10)
    for first in configs:
        for second in configs:
            assert (space.key(first) == space.key(second)) == (first == second)


@relaxed
@given(spaces, seeds)
def test_qualified_names(space: Space, seed: int) -> None:
    names = [d.qualified_name for d in space.dimensions]
    assert len(set(names)) == len(names)
    for config in space.sample(seed, 5):
        qualified = space.qualify(config)
        assert len(qualified) == len(config)
        assert list(space.unqualify(qualified).items()) == list(config.items())
        active = space.activity(space.to_unit([config]))[0]
        assert list(qualified) == [names[i] for i in np.flatnonzero(active)]


# -- other forms -----------------------------------------------------------------------------


def option_types(space: Space) -> list[list[type]]:
    return [
        [type(option) for option in d.parameter.options]
        for d in space.dimensions
        if isinstance(d.parameter, Choice)
    ]


@relaxed
@given(constrained_spaces(), seeds)
def test_json_round_trip(space: Space, seed: int) -> None:
    again = Space.from_dict(json.loads(json.dumps(space.to_dict())))
    assert again == space
    assert hash(again) == hash(space)
    assert again.constraints == space.constraints
    assert [d.qualified_name for d in again.dimensions] == [
        d.qualified_name for d in space.dimensions
    ]
    assert option_types(again) == option_types(space)
    assert [type(d.parameter.default) for d in again.dimensions] == [
        type(d.parameter.default) for d in space.dimensions
    ]
    assert again.to_dict() == space.to_dict()
    assert again.sample(seed, 3) == space.sample(seed, 3)


@relaxed
@given(constrained_spaces(), seeds)
def test_pickle_and_copy(space: Space, seed: int) -> None:
    for used in (False, True):  # with and without its cached properties
        for again in (pickle.loads(pickle.dumps(space)), copy.deepcopy(space)):
            assert again == space
            assert again.sample(seed, 2) == space.sample(seed, 2)
            assert str(again) == str(space)
        if not used:
            space.path(space.default_config() if not space.constraints else space.sample(0))


@relaxed
@given(spaces)
def test_drawing_mentions_everything(space: Space) -> None:
    text = str(space)
    for dimension in space.dimensions:
        assert printable(dimension.name) in text
    assert f"{space.n_paths} path" in text
    assert repr(space).startswith(f"<Space of {len(space)} parameter")


# -- counting --------------------------------------------------------------------------------


def branches(entry: Any) -> bool:
    """Whether some option has parameters that another lacks."""
    if not isinstance(entry, Branching) or not isinstance(entry.options, dict):
        return False
    everything = set(entry.option_list())
    groups = [
        set(key if isinstance(key, tuple) else (key,))
        for key, below in entry.options.items()
        if below
    ]
    return any(group != everything for group in groups)


def count_paths(declaration: dict[str, Any]) -> int:
    total = 1
    for entry in declaration.values():
        if isinstance(entry, Branching):
            counts = [math.prod(map(count_paths, entry.below(o))) for o in entry.option_list()]
            total *= sum(counts) if branches(entry) else counts[0]
    return total


@relaxed
@given(declarations(), seeds)
def test_paths(declaration: dict[str, Any], seed: int) -> None:
    space = build(declaration)
    assert space.n_paths == count_paths(declaration)
    assume(space.n_paths <= 2000)
    paths = list(space.tree.paths())
    assert len(paths) == len(set(paths)) == space.n_paths
    labels = [space.tree.path_label(path) for path in paths]
    assert len(set(labels)) == len(paths)
    for config in space.sample(seed, 5):
        assert space.path(config) in paths
        assert space.path_label(config) == labels[paths.index(space.path(config))]


def count_configs(declaration: dict[str, Any]) -> int:
    total = 1
    for entry in declaration.values():
        if isinstance(entry, Branching):
            total *= sum(math.prod(map(count_configs, entry.below(o))) for o in entry.option_list())
        else:
            total *= int(entry.n_values)
    return total


@relaxed
@given(finite_declarations)
def test_size_and_enumeration(declaration: dict[str, Any]) -> None:
    space = build(declaration)
    assert space.size == count_configs(declaration)
    assume(space.size <= 1000)
    configs = list(space.configs())
    assert len(configs) == space.size
    assert len({space.key(config) for config in configs}) == space.size
    encoded = space.to_unit(configs)
    assert len(np.unique(encoded, axis=0)) == space.size
    assert space.from_unit(encoded) == configs


@relaxed
@given(finite_declarations, st.data())
def test_enumeration_skips_what_is_forbidden(declaration: dict[str, Any], data: Any) -> None:
    free = build(declaration)
    assume(free.size <= 300)
    names = data.draw(st.lists(st.sampled_from(list(free.tree.by_name)), min_size=1, max_size=2))

    def allowed(config: dict[str, Any]) -> bool:
        return not all(hash((name, config.get(name))) % 2 for name in names)

    assume(not free.has_defaults or allowed(free.default_config()))
    space = build(declaration, [allowed])
    assert list(space.configs()) == [config for config in free.configs() if allowed(config)]


@relaxed
@given(declarations(leaf=st.just(Int(0, 1)), depth=1))
def test_a_continuous_parameter_makes_a_space_infinite(declaration: dict[str, Any]) -> None:
    space = build({**declaration, "free": Float(0, 1)})
    assert space.size == math.inf
    with pytest.raises(SpaceError, match="continuous"):
        next(space.configs())
