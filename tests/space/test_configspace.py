"""Against ConfigSpace by definition: conditions and clauses are evaluated here, by hand.

Its own sampler is no reference: version 1.2.2 takes an Or for an And on the same parents, and
holds `NotEqualsCondition` for met where the parent is inactive.
"""

from __future__ import annotations

import math
import operator
import pickle
import sys
from itertools import product
from typing import Any

import ConfigSpace as CS  # noqa: N817
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bosquet.errors import SpaceError
from bosquet.space import Choice, Constraint, Float, Forbid, Int, Space
from bosquet.space.configspace import from_configspace, to_configspace

# -- ConfigSpace by definition ---------------------------------------------------------------


def values_of(hp) -> list[Any]:
    if isinstance(hp, CS.CategoricalHyperparameter):
        return list(hp.choices)
    if isinstance(hp, CS.OrdinalHyperparameter):
        return list(hp.sequence)
    if isinstance(hp, CS.Constant):
        return [hp.value]
    return list(range(hp.lower, hp.upper + 1))


def rank(hp, value) -> Any:
    return hp.sequence.index(value) if isinstance(hp, CS.OrdinalHyperparameter) else value


def holds(condition, config) -> Any:
    if isinstance(condition, (CS.AndConjunction, CS.OrConjunction)):
        fold = all if isinstance(condition, CS.AndConjunction) else any
        return fold(holds(component, config) for component in condition.components)
    hp = condition.parent
    if hp.name not in config:
        return False
    value = config[hp.name]
    if isinstance(condition, CS.InCondition):
        return value in condition.values
    if isinstance(condition, (CS.EqualsCondition, CS.NotEqualsCondition)):
        return (value == condition.value) == isinstance(condition, CS.EqualsCondition)
    ranks = rank(hp, value), rank(hp, condition.value)
    return (
        ranks[0] < ranks[1] if isinstance(condition, CS.LessThanCondition) else ranks[0] > ranks[1]
    )


RELATIONS: dict[type, Any] = {
    CS.ForbiddenLessThanRelation: operator.lt,
    CS.ForbiddenLessThanEqualsRelation: operator.le,
    CS.ForbiddenEqualsRelation: operator.eq,
    CS.ForbiddenGreaterThanEqualsRelation: operator.ge,
    CS.ForbiddenGreaterThanRelation: operator.gt,
}
BOUNDS: dict[type, Any] = {
    CS.ForbiddenLessThanClause: operator.lt,
    CS.ForbiddenLessThanEqualsClause: operator.le,
    CS.ForbiddenGreaterThanEqualsClause: operator.ge,
    CS.ForbiddenGreaterThanClause: operator.gt,
}


def forbids(clause, config) -> Any:
    kind = type(clause)
    if kind in (CS.ForbiddenAndConjunction, CS.ForbiddenOrConjunction):
        fold = all if kind is CS.ForbiddenAndConjunction else any
        return fold(forbids(component, config) for component in clause.components)
    if kind in RELATIONS:
        left, right = clause.left.name, clause.right.name
        active = left in config and right in config
        return active and RELATIONS[kind](config[left], config[right])
    hp = clause.hyperparameter
    if hp.name not in config:
        return False
    if kind in BOUNDS:
        return BOUNDS[kind](rank(hp, config[hp.name]), rank(hp, clause.value))
    return config[hp.name] in (clause.values if kind is CS.ForbiddenInClause else (clause.value,))


def is_active(cs, name, config) -> bool:
    return all(holds(condition, config) for condition in cs.parent_conditions_of[name])


def configurations(cs) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{}]
    for name, hp in cs.items():  # parents first
        found = [
            extended
            for config in found
            for extended in (
                [{**config, name: value} for value in values_of(hp)]
                if is_active(cs, name, config)
                else [config]
            )
        ]
    return [c for c in found if not any(forbids(f, c) for f in cs.forbidden_clauses)]


def same(ours, theirs) -> Any:
    """Equal lists of configurations, up to their order; True and 1 and 1.0 are different."""

    def keys(configs):
        return sorted(
            sorted((name, repr(value)) for name, value in config.items()) for config in configs
        )

    return keys(ours) == keys(theirs)


def without_meta(cs):
    cs.meta = None
    return cs


# -- there and back, on random trees ---------------------------------------------------------

NAMES = ["p", "a b", "x=1/y", '"q"', "é", "z"]
OPTIONS = [None, True, 0, 2, 1.5, "a", "b c", "None", "1", "x/y", "p=q|r", ""]
LEAVES = [Int(0, 1), Int(-1, 1, default=1), Int(2, 6, step=2), Float(0.1, 0.3, step=0.1)]


@st.composite
def choices(draw, depth: int, start: int) -> tuple[Choice, int]:
    options = draw(st.lists(st.sampled_from(OPTIONS), min_size=1, max_size=3, unique=True))
    flags = {"ordered": draw(st.booleans()), "default": draw(st.none() | st.sampled_from(options))}
    subspaces: dict[Any, Any] = {}
    end = start
    for option in options:  # exclusive branches use the same names
        subspaces[option], last = draw(parameters(depth - 1, start))
        end = max(end, last)
    group = tuple(draw(st.lists(st.sampled_from(options), max_size=3, unique=True)))
    if group:
        subspaces[group], end = draw(parameters(depth - 1, end))
    return Choice(subspaces, **flags), end


@st.composite
def parameters(draw, depth: int, start: int, least: int = 0) -> tuple[dict[str, Any], int]:
    """Named parameters, and the number of the next name."""
    named: dict[str, Any] = {}
    for _ in range(draw(st.integers(least, 2)) if depth else 0):
        name = NAMES[start] if start < len(NAMES) else f"n{start}"
        start += 1
        if draw(st.booleans()):
            named[name], start = draw(choices(depth, start))
        else:
            named[name] = draw(st.sampled_from(LEAVES))
    return named, start


@st.composite
def spaces(draw) -> Space:
    plain = Space(draw(parameters(3, 0, least=1))[0])
    assume(plain.size <= 300)
    values = {
        name: st.sampled_from([value for d in dimensions for value in d.parameter.values()])
        for name, dimensions in plain.tree.by_name.items()
    }
    clauses = [
        Forbid({name: draw(st.lists(values[name], min_size=1, max_size=2)) for name in names})
        for names in draw(
            st.lists(st.sets(st.sampled_from(sorted(values)), min_size=1), max_size=2)
        )
    ]
    default = plain.default_config()  # declared ones must be allowed; others are moved
    assume(not plain.has_defaults or all(clause.allows(default) for clause in clauses))
    space = Space(dict(plain.parameters), clauses)
    assume(next(space.configs(), None) is not None)
    return space


@settings(max_examples=60, deadline=None)
@given(spaces())
def test_trees_survive_the_round_trip(space):
    cs = to_configspace(space)
    assert same(map(space.qualify, space.configs()), configurations(cs))
    assert from_configspace(cs) == space
    back = from_configspace(without_meta(cs))
    assert {d.qualified_name for d in back.dimensions} == set(cs)
    assert same(space.configs(), back.configs())
    assert same(map(space.qualify, space.configs()), map(back.qualify, back.configs()))


# -- random ConfigSpaces ---------------------------------------------------------------------


@st.composite
def formulas(draw, child, parents, depth: int = 2):
    if depth and not draw(st.integers(0, 2)):
        kind = draw(st.sampled_from([CS.AndConjunction, CS.OrConjunction]))
        n = draw(st.integers(2, 3))
        return kind(*(draw(formulas(child, parents, depth - 1)) for _ in range(n)))
    parent = draw(st.sampled_from(parents))
    options = values_of(parent)
    if draw(st.booleans()):
        picked = st.lists(st.sampled_from(options), min_size=1, unique=True)
        return CS.InCondition(child, parent, draw(picked))
    kinds = [CS.EqualsCondition, CS.NotEqualsCondition]
    if isinstance(parent, CS.OrdinalHyperparameter):
        kinds += [CS.LessThanCondition, CS.GreaterThanCondition]
    return draw(st.sampled_from(kinds))(child, parent, draw(st.sampled_from(options)))


@st.composite
def clauses(draw, hps, depth: int = 2):
    if depth and draw(st.booleans()):
        kind = draw(st.sampled_from([CS.ForbiddenAndConjunction, CS.ForbiddenOrConjunction]))
        return kind(draw(clauses(hps, depth - 1)), draw(clauses(hps, depth - 1)))
    hp, other = draw(st.permutations(hps))[:2]
    if draw(st.booleans()):
        return draw(st.sampled_from(sorted(RELATIONS, key=str)))(hp, other)
    value = draw(st.sampled_from(values_of(hp)))
    kinds = [CS.ForbiddenEqualsClause]
    if hp.ORDERABLE:
        kinds += sorted(BOUNDS, key=str)
    return draw(st.sampled_from(kinds))(hp, value)


@st.composite
def configspaces(draw) -> CS.ConfigurationSpace:
    hps: list[Any] = []
    conditions = []
    for i in range(draw(st.integers(2, 5))):
        kind = draw(
            st.sampled_from(["categorical"] * 2 + ["ordinal"] * 2 + ["constant", "integer"])
        )
        options = draw(st.permutations(range(draw(st.integers(2, 3)))))
        if kind == "integer":
            hp = CS.UniformIntegerHyperparameter(f"h{i}", 0, 2)
        elif kind == "constant":
            hp = CS.Constant(f"h{i}", 1)
        elif kind == "ordinal":
            hp = CS.OrdinalHyperparameter(f"h{i}", options)
        else:
            hp = CS.CategoricalHyperparameter(f"h{i}", options)
        parents = [hp for hp in hps if not isinstance(hp, CS.UniformIntegerHyperparameter)]
        if parents and draw(st.integers(0, 4)):
            conditions.append(draw(formulas(hp, parents)))
        hps.append(hp)
    forbidden = [draw(clauses(hps)) for _ in range(draw(st.integers(0, 1)))]
    cs = CS.ConfigurationSpace()
    try:
        cs.add(hps, conditions, forbidden)
    except ValueError:  # its default configuration is forbidden
        assume(False)
    return cs


def fits_a_tree(cs) -> bool:
    """Whether every hyperparameter is active just where some choice has some options."""
    everything = [
        dict(zip(cs, values, strict=True)) for values in product(*map(values_of, cs.values()))
    ]
    active: dict[str, set[int]] = {}
    for name in cs:
        active[name] = {
            i
            for i, total in enumerate(everything)
            if is_active(cs, name, {n: total[n] for n in active if i in active[n]})
        }

    def below(name: str, owner: str) -> bool:
        options = {everything[i][owner] for i in active[name]}
        fitting = {i for i in active[owner] if everything[i][owner] in options}
        return active[name] == fitting != active[owner]

    return all(
        len(active[name]) == len(everything)
        or (active[name] and any(below(name, owner) for owner in cs))
        for name in cs
    )


@settings(max_examples=60, deadline=None)
@given(configspaces())
def test_configspaces_are_read_exactly_when_they_are_trees(cs):
    if fits_a_tree(cs):
        assert same(from_configspace(cs).configs(), configurations(cs))
    else:
        with pytest.raises(SpaceError, match="hyperparameter 'h"):
            from_configspace(cs)


# -- case by case ----------------------------------------------------------------------------


def hyperparameters(**values) -> dict[str, Any]:
    """Lists become categoricals, tuples ordinals, anything else is a hyperparameter."""
    made: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, list):
            made[name] = CS.CategoricalHyperparameter(name, value)
        elif isinstance(value, tuple):
            made[name] = CS.OrdinalHyperparameter(name, value)
        else:
            made[name] = CS.UniformFloatHyperparameter(name, 0, 1)
    return made


def configspace(hps, *conditions_and_clauses) -> CS.ConfigurationSpace:
    cs = CS.ConfigurationSpace()
    cs.add(list(hps.values()), *conditions_and_clauses)
    return cs


@pytest.fixture
def space() -> Space:
    """The example of the package."""
    return Space(
        {
            "scale": Choice(["none", "standard"]),
            "lr": Float(1e-4, 1e-1, log=True, default=1e-2),
            "model": Choice(
                {
                    "svm": {
                        "C": Float(1e-3, 1e3, log=True),
                        "kernel": Choice({"linear": {}, "rbf": {"gamma": Float(1e-4, 10)}}),
                    },
                    "forest": {"depth": Int(1, 20), "C": Int(1, 3)},
                    "boosting": {"eta": Float(0.01, 1.0)},
                    ("forest", "boosting"): {"trees": Int(10, 500, log=True)},
                }
            ),
        },
        constraints=[Forbid({"scale": "none", "model": "svm"})],
    )


def test_the_example_tree(space):
    cs = space.to_configspace()
    assert {str(condition) for condition in cs.conditions} == {
        "model=svm/C | model == 'svm'",
        "model=svm/kernel | model == 'svm'",
        "model=svm/kernel=rbf/gamma | model=svm/kernel == 'rbf'",
        "model=forest/depth | model == 'forest'",
        "model=forest/C | model == 'forest'",
        "model=boosting/eta | model == 'boosting'",
        "model=forest|boosting/trees | model in {'forest', 'boosting'}",
    }
    assert [str(clause) for clause in cs.forbidden_clauses] == [
        "(Forbidden: scale == 'none' && Forbidden: model == 'svm')"
    ]
    assert Space.from_configspace(cs) == space
    cs.seed(0)
    for configuration in cs.sample_configuration(200):
        config = space.unqualify(dict(configuration))
        assert all(type(value) in (str, int, float) for value in config.values())


def test_without_the_stored_declaration_only_order_and_defaults_differ(space, tmp_path):
    cs = to_configspace(space)
    cs.to_json(tmp_path / "space.json")
    back = from_configspace(CS.ConfigurationSpace.from_json(tmp_path / "space.json"))
    assert [name for name, _ in back.parameters] == ["lr", "model", "scale"]
    assert set(back.tree.by_name) == set(space.tree.by_name)
    assert {d.qualified_name for d in back.dimensions} == set(cs)
    assert back.constraints == space.constraints
    assert dict(back.parameters)["lr"] == Float(1e-4, 1e-1, log=True, default=1e-2)
    assert dict(back.parameters)["scale"].default == "standard"  # the allowed one
    assert cs.get_default_configuration() == CS.Configuration(
        cs, values=space.qualify(space.default_config())
    )


def test_a_configspace_changed_since_is_read_anew(space):
    cs = to_configspace(space)
    cs.add(CS.Constant("late", 3))
    assert "late" in from_configspace(cs).tree.by_name
    cs.meta["bosquet"] = {"schema": 0}
    assert "late" in from_configspace(cs).tree.by_name


@pytest.mark.parametrize(
    "options",
    [
        [None, True, 1.5, "a"],
        [1, 2.5],
        [True, 0.5],
        [True, False],
        [1, None, "1", "None"],
        [2**70, 1],
        ["only"],
        [None],
    ],
)
@pytest.mark.parametrize("ordered", [True, False])
def test_options_of_all_types(options, ordered):
    below: dict[Any, Any] = {option: {"x": Int(0, i + 1)} for i, option in enumerate(options)}
    space = Space({"c": Choice(below, ordered=ordered)})
    cs = to_configspace(space)
    back = from_configspace(without_meta(cs))
    (_, choice), *_ = back.parameters
    assert isinstance(choice, Choice)
    assert [repr(option) for option in choice.options] == [repr(option) for option in options]
    assert choice.ordered == ordered
    assert same(space.configs(), back.configs())
    cs.seed(0)
    for configuration in cs.sample_configuration(20):
        value = space.unqualify(dict(configuration))["c"]
        assert repr(value) in map(repr, options)


@pytest.mark.parametrize("options", [["x\0", "x"], [2**53 + 1, 0.5]])
def test_options_that_numpy_confuses(options):
    with pytest.raises(SpaceError, match="ConfigSpace"):
        to_configspace(Space({"c": Choice(options)}))


def test_steps_become_ordinals():
    space = Space({"i": Int(0, 6, step=3), "f": Float(0, 0.3, step=0.1, default=0.1 + 0.2)})
    cs = to_configspace(space)
    assert (cs["i"].sequence, cs["f"].sequence) == ((0, 3, 6), (0.0, 0.1, 0.2, 0.3))
    assert cs["f"].default_value == 0.3
    assert from_configspace(cs) == space
    assert ("i", Choice([0, 3, 6], ordered=True, default=3)) in (
        from_configspace(without_meta(cs)).parameters
    )
    with pytest.raises(SpaceError, match=r"'i'.* 1001 values"):
        to_configspace(Space({"i": Int(0, 2000, step=2)}))


def test_bounds_that_configspace_would_round():
    with pytest.raises(SpaceError, match=r"'x'.*13 decimals"):
        to_configspace(Space({"x": Float(1e-15, 1.0, log=True)}))
    with pytest.raises(SpaceError, match=r"'x'.*13 decimals"):
        to_configspace(Space({"x": Float(1.0, 1e300, log=True)}))
    thirds = Space({"x": Float(1 / 3, 2 / 3)})
    assert from_configspace(to_configspace(thirds)) == thirds
    assert math.isclose(to_configspace(thirds)["x"].lower, 1 / 3)


def test_a_forbidden_short_name_means_all_its_dimensions():
    branch = {"C": Choice([1, 2]), "D": Choice([1, 2])}
    other = {"C": Choice([2, 3]), "D": Choice([5])}
    space = Space(
        {"m": Choice({"a": branch, "b": other, "c": {}})},
        [Forbid({"C": [2, 3], "D": [1, 5]}), Forbid({"m": "c"})],
    )
    cs = to_configspace(space)
    assert {str(clause) for clause in cs.forbidden_clauses} == {
        "(Forbidden: m=a/C == 2 && Forbidden: m=a/D == 1)",
        "(Forbidden: m=b/C in {2, 3} && Forbidden: m=b/D == 5)",
        "Forbidden: m == 'c'",
    }
    back = from_configspace(without_meta(cs))
    assert Forbid({"C": 2, "D": 1, "m": "a"}) in back.constraints
    assert same(space.configs(), back.configs())


def test_functions_cannot_be_expressed():
    def small(config):
        return config["x"] < 0.5

    space = Space({"x": Float(0, 1)}, [Constraint(small, on=["x"])])
    with pytest.raises(SpaceError, match=r"small\(x\)"):
        to_configspace(space)


def test_relations_become_functions():
    hps = hyperparameters(a=0, b=0, c=(3, 1, 2))
    cs = configspace(
        hps,
        CS.ForbiddenLessThanRelation(hps["a"], hps["b"]),
        CS.ForbiddenAndConjunction(
            CS.ForbiddenGreaterThanClause(hps["a"], 0.9),
            CS.ForbiddenLessThanEqualsClause(hps["c"], 1),
        ),
    )
    space = from_configspace(cs)
    assert {str(constraint) for constraint in space.constraints} == {
        "not (a LESS b)(a, b)",
        "not (c IN (3, 1) and a GREATER 0.9)(c, a)",
    }
    assert space.violation({"a": 0.1, "b": 0.2, "c": 2}) is not None
    assert space.violation({"a": 0.95, "b": 0.2, "c": 1}) is not None
    assert space.violation({"a": 0.95, "b": 0.2, "c": 2}) is None
    copies = pickle.loads(pickle.dumps(space.constraints))
    assert copies == space.constraints == from_configspace(cs).constraints


def test_a_relation_counts_only_where_both_are_active():
    hps = hyperparameters(m=["p", "q"], a=0, b=0)
    cs = configspace(
        hps,
        CS.EqualsCondition(hps["b"], hps["m"], "p"),
        CS.ForbiddenGreaterThanRelation(hps["a"], hps["b"]),
    )
    space = from_configspace(cs)
    assert space.violation({"m": "p", "a": 0.5, "b": 0.4}) is not None
    assert space.violation({"m": "p", "a": 0.5, "b": 0.5}) is None
    assert space.violation({"m": "q", "a": 0.5}) is None


def test_numbers_keep_bounds_scale_and_default():
    cs = CS.ConfigurationSpace()
    cs.add(
        CS.UniformFloatHyperparameter("f", 1e-3, 10, log=True, default_value=0.5),
        CS.UniformIntegerHyperparameter("i", 1, 64, log=True),
        CS.CategoricalHyperparameter("c", ["x", "y"], weights=[2, 2], default_value="y"),
        CS.Constant("k", 7),
    )
    assert dict(from_configspace(cs).parameters) == {
        "f": Float(1e-3, 10, log=True, default=0.5),
        "i": Int(1, 64, log=True, default=8),
        "c": Choice(["x", "y"], default="y"),
        "k": Choice([7], default=7),
    }


def test_other_names_are_kept():
    hps = hyperparameters(**{"model": ["svm", "knn"], "model:svm:C": 0, "model=knn/k": 0, "C": 0})
    cs = configspace(
        hps,
        CS.EqualsCondition(hps["model:svm:C"], hps["model"], "svm"),
        CS.EqualsCondition(hps["model=knn/k"], hps["model"], "knn"),
    )
    assert set(from_configspace(cs).tree.by_name) == set(cs)


def test_short_names_that_would_clash_are_kept():
    hps = hyperparameters(**{"m": ["a", "b"], "m=a/x": 0, "x": 0})
    cs = configspace(hps, CS.EqualsCondition(hps["m=a/x"], hps["m"], "a"))
    assert set(from_configspace(cs).tree.by_name) == {"m", "m=a/x", "x"}


def test_a_condition_on_the_whole_chain_is_one_on_its_end():
    hps = hyperparameters(a=["1", "2", "3"], b=("low", "mid", "high"), c=0)
    narrow, wide = ["2"], ["1", "2"]
    own = CS.InCondition(hps["b"], hps["a"], wide)
    above = CS.GreaterThanCondition(hps["c"], hps["b"], "low")
    cs = configspace(hps, own, CS.AndConjunction(CS.InCondition(hps["c"], hps["a"], wide), above))
    below = {"low": {}, "mid": {}, "high": {}, ("mid", "high"): {"c": Float(0, 1, default=0.5)}}
    b = Choice(below, ordered=True, default="low")
    expected = {"1": {}, "2": {}, "3": {}, ("1", "2"): {"b": b}}
    assert from_configspace(cs).parameters == (("a", Choice(expected, default="1")),)

    cs = configspace(hps, own, CS.AndConjunction(CS.InCondition(hps["c"], hps["a"], narrow), above))
    with pytest.raises(SpaceError, match=r"'c' depends on 'a' and 'b'.* one path"):
        from_configspace(cs)


def test_what_is_no_tree():
    hps = hyperparameters(a=["1", "2"], b=["1", "2"], c=0, n=0)
    on_a, on_b = (CS.EqualsCondition(hps["c"], hps[parent], "1") for parent in "ab")
    not_a = CS.NotEqualsCondition(hps["c"], hps["a"], "1")
    for condition, message in [
        (CS.AndConjunction(on_a, on_b), "'c' depends on 'a' and 'b'"),
        (CS.OrConjunction(on_a, on_b), "'c': the condition .* no conjunction"),
        (CS.AndConjunction(on_a, not_a), "'c' can never be active"),
        (CS.LessThanCondition(hps["c"], hps["n"], 0.6), "'c' depends on the number 'n'"),
    ]:
        with pytest.raises(SpaceError, match=message):
            from_configspace(configspace(hps, condition))


@pytest.mark.parametrize(
    ("hp", "message"),
    [
        (CS.NormalFloatHyperparameter("x", 0, 1, lower=-2, upper=2), "NormalFloat"),
        (CS.NormalIntegerHyperparameter("x", 0, 1, lower=-2, upper=2), "NormalInteger"),
        (CS.BetaFloatHyperparameter("x", 2, 2, lower=0, upper=1), "BetaFloat"),
        (CS.BetaIntegerHyperparameter("x", 2, 2, lower=0, upper=9), "BetaInteger"),
        (CS.CategoricalHyperparameter("x", ["a", "b"], weights=[1, 2]), "weights"),
        (CS.CategoricalHyperparameter("x", [(1, 2), (3, 4)]), "is a tuple"),
    ],
)
def test_hyperparameters_without_counterpart(hp, message):
    cs = CS.ConfigurationSpace()
    cs.add(hp)
    with pytest.raises(SpaceError, match=f"hyperparameter 'x': .*{message}"):
        from_configspace(cs)


def test_not_a_configspace():
    with pytest.raises(SpaceError, match="not a ConfigurationSpace"):
        from_configspace({"x": (0, 1)})


def test_configspace_not_installed(monkeypatch, space):
    monkeypatch.setitem(sys.modules, "ConfigSpace", None)
    for translate in (from_configspace, to_configspace):
        with pytest.raises(ImportError, match=r"pip install 'bosquet\[configspace\]'"):
            translate(space)
