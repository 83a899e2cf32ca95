"""The systematic walk against the enumeration of every configuration."""

from itertools import pairwise

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import bosquet as bq
from bosquet.space.skeleton import walk
from tests.space.strategies import build, finite_declarations, forbids, relaxed


def equal(a, b):
    """Two parameters that must be equal."""
    return bq.Constraint(lambda c: c[a] == c[b], on=[a, b])


def keys(configs):
    return sorted(repr(list(config.items())) for config in configs)


@settings(relaxed)
@given(finite_declarations, st.data())
def test_of_a_finite_space_it_is_the_enumeration(declaration, data):
    space = build(declaration)
    assume(space.size <= 2_000)
    some = [data.draw(forbids(space)) for _ in range(2)]
    name = data.draw(st.sampled_from(list(space.tree.by_name)))
    constraints = [
        *(forbid for forbid in some if forbid),
        bq.Constraint(lambda c: len(repr(c[name])) % 2 == 0, on=[name]),
        bq.Constraint(lambda config: len(repr(config)) % 3 > 0),
    ]
    default = space.default_config()
    assume(not space.has_defaults or all(constraint.allows(default) for constraint in constraints))
    space = bq.Space(dict(space.parameters), constraints)
    found = walk(space, 10**6)
    assert found.complete
    assert not len(found.open)
    assert keys(found.configs) == keys(space.configs())


def test_whole_branches_are_left_out_at_once():
    """10^40 configurations, of which a chain of constraints leaves three."""
    names = [f"n{i}" for i in range(40)]
    chain = [equal(a, b) for a, b in pairwise(names)]
    space = bq.Space(
        {name: bq.Int(0, 9) for name in names}, [*chain, bq.Forbid({"n0": list(range(7))})]
    )
    found = walk(space, 10_000)
    assert found.complete
    assert [set(config.values()) for config in found.configs] == [{7}, {8}, {9}]


def test_continuous_parameters_stay_open():
    space = bq.Space(
        {
            "k": bq.Int(0, 2),
            "m": bq.Choice(
                {"a": {"x": bq.Float(0, 1), "y": bq.Int(1, 2)}, "b": {"z": bq.Int(0, 1)}}
            ),
        },
        [bq.Forbid({"k": 0}), bq.Constraint(lambda c: c["x"] > 0.9, on=["x"])],
    )
    found = walk(space, 1_000)
    assert found.complete
    assert keys(found.configs) == keys([{"k": k, "m": "b", "z": z} for k in (1, 2) for z in (0, 1)])
    decided = np.isfinite(found.open)
    np.testing.assert_array_equal(decided, np.tile([True, True, False, True, False], (4, 1)))
    values = space.from_unit(np.where(decided, found.open, 0.5))
    assert {(c["k"], c["m"], c["y"]) for c in values} == {
        (k, "a", y) for k in (1, 2) for y in (1, 2)
    }


def test_it_says_when_it_has_not_seen_all():
    space = bq.Space({"n": bq.Int(0, 999), "m": bq.Int(0, 999)})
    assert not walk(space, 5_000).complete
    assert not walk(space, 10**7).complete  # more than are worth keeping
