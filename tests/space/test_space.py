from __future__ import annotations

import re
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from bosquet import Choice, ConfigError, Constraint, Float, Forbid, Int, Space, SpaceError
from bosquet.space.encoding import FILLER
from bosquet.space.parameter import Parameter
from bosquet.space.sampling import sobol

Config = dict[str, Any]


def raises(error: type[Exception], text: str) -> Any:
    """The whole message."""
    return pytest.raises(error, match=rf"\A{re.escape(text)}\Z")


# -- declarations ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({}, "a space needs at least one parameter"),
        (None, "a space must be a dict of parameters, not NoneType None"),
        ([("x", Float(0, 1))], "a space must be a dict of parameters, not list"),
        ({3: Float(0, 1)}, "a space: the name 3 must be a non-empty string"),
        ({None: Float(0, 1)}, "a space: the name None must be a non-empty string"),
        ({"": Float(0, 1)}, "a space: the name '' must be a non-empty string"),
        ({"x": 3}, "a space: 'x' must be a Float, an Int or a Choice, not 3"),
        ({"x": (0, 1)}, "a space: 'x' must be a Float, an Int or a Choice, not (0, 1)"),
        ({"x": Int}, "a space: 'x' must be a Float, an Int or a Choice, not <class"),
        ({"x": {"y": Int(0, 1)}}, "a space: 'x' must be a Float, an Int or a Choice, not {'y'"),
    ],
)
def test_bad_spaces(parameters: Any, text: str) -> None:
    with pytest.raises(SpaceError, match=re.escape(text)):
        Space(parameters)


x = Float(0, 1)


def test_the_same_name_in_exclusive_branches() -> None:
    space = Space(
        {
            "m": Choice(
                {
                    1: {"x": Float(0, 1), "n": Choice({"p": {"y": x}, "q": {}})},
                    2: {"x": Int(5, 9)},
                    3: {},
                    4: {},
                    (3, 4): {"x": Choice(["u", "v"]), "y": Int(0, 3)},
                }
            )
        }
    )
    assert len(space.tree.by_name["x"]) == 3
    assert space.validate({"m": 2, "x": 7}) == {"m": 2, "x": 7}
    assert space.validate({"m": 4, "x": "u", "y": 3}) == {"m": 4, "x": "u", "y": 3}
    with raises(ConfigError, "'x': 0.5 is not allowed; it must be an integer from 5 to 9"):
        space.validate({"m": 2, "x": 0.5})
    with raises(
        ConfigError,
        "'y' is not active when m=2; it is active when m=1 and n='p'",
    ):
        space.validate({"m": 2, "x": 7, "y": 3})


# -- structure -------------------------------------------------------------------------------


def test_path_and_activity_of_a_config(example: Space, svm: Config) -> None:
    assert example.path(svm) == (0, 1, 2)
    assert example.path_label(svm) == "model=svm, kernel=linear"
    assert example.is_active("C", svm)
    assert not example.is_active("gamma", svm)
    assert example.is_active("model=svm/C", svm)
    assert not example.is_active("model=forest|boosting/trees", svm)
    units = example.to_unit(svm)
    assert units[[5, 6, 7, 8]].tolist() == [FILLER] * 4
    assert example.activity(units[None, :])[0].tolist() == [True] * 5 + [False] * 4


def test_activity_looks_only_at_the_choices_that_decide(example: Space) -> None:
    assert example.is_active("trees", {"model": "boosting"})
    assert example.is_active("lr", {})
    assert not example.is_active("gamma", {"model": "svm"})
    assert not example.is_active("gamma", {"kernel": "rbf"})  # kernel itself is not active
    assert example.is_active("gamma", {"model": "svm", "kernel": "rbf"})
    with raises(ConfigError, "unknown parameter 'gama'; did you mean 'gamma'?"):
        example.is_active("gama", {})
    with raises(
        ConfigError, "'model': 'mlp' is not allowed; it must be one of 'svm', 'forest', 'boosting'"
    ):
        example.is_active("C", {"model": "mlp"})
    with pytest.raises(ConfigError, match=r"'model': \['svm'\] is not allowed"):
        example.is_active("C", {"model": ["svm"]})


def test_a_subspace_shared_by_all_options_belongs_to_the_choice() -> None:
    space = Space(
        {"m": Choice({"a": {}, "b": {}, ("b", "a"): {"x": x}}), "k": Choice({1: {"y": x}})}
    )
    assert len(space.nodes) == 1
    assert space.n_paths == 1
    assert space.path_label({"m": "a", "x": 0.5, "k": 1, "y": 0.5}) == ""
    assert [d.qualified_name for d in space.dimensions] == ["m", "m=a|b/x", "k", "k=1/y"]
    assert space.validate({"m": "b", "x": 0.5, "k": 1, "y": 0.5})


def test_names_that_look_like_qualified_ones() -> None:
    space = Space(
        {
            "m": Choice({"a": {"x": Float(0, 1, default=0.25)}, "b": {}}, default="b"),
            "m=a/x": Float(0, 1, default=0.75),
        }
    )
    config = space.default_config()
    assert config == {"m": "b", "m=a/x": 0.75}
    assert space.qualify(config) == {"m": "b", '"m=a/x"': 0.75}
    assert space.unqualify(space.qualify(config)) == config


# -- configurations --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"lrr": 1}, "unknown parameter 'lrr'; did you mean 'lr'?"),
        (
            {"zzz": 1},
            "unknown parameter 'zzz'; this space has 'scale', 'lr', 'model', 'C', 'kernel', "
            "'gamma', 'depth', 'eta', 'trees'",
        ),
        ({"lr": ...}, "'lr' is missing"),
        ({"C": ...}, "'C' is missing; it is active when model='svm'"),
        (
            {"kernel": "rbf"},
            "'gamma' is missing; it is active when model='svm' and kernel='rbf'",
        ),
        (
            {"lr": ..., "speed": 0.01},
            "unknown parameter 'speed'; this space has 'scale', 'lr', 'model', "
            "'C', 'kernel', 'gamma', 'depth', 'eta', 'trees'",
        ),
        ({"lr": ..., "Lr": 0.01}, "unknown parameter 'Lr'; did you mean 'lr'?"),
        ({"scale": ..., "scael": "none"}, "unknown parameter 'scael'; did you mean 'scale'?"),
        (
            {"gamma": 1},
            "'gamma' is not active when kernel='linear'; "
            "it is active when model='svm' and kernel='rbf'",
        ),
        ({"depth": 3}, "'depth' is not active when model='svm'; it is active when model='forest'"),
        (
            {"trees": 3},
            "'trees' is not active when model='svm'; "
            "it is active when model in ('forest', 'boosting')",
        ),
        ({"C": 1e4}, "'C': 10000.0 is not allowed; it must be a float from 0.001 to 1000 (log)"),
        ({"C": True}, "'C': True is not allowed; it must be a float from 0.001 to 1000 (log)"),
        ({"C": "1"}, "'C': '1' is not allowed; it must be a float from 0.001 to 1000 (log)"),
        ({"C": None}, "'C': None is not allowed; it must be a float from 0.001 to 1000 (log)"),
        (
            {"lr": float("nan")},
            "'lr': nan is not allowed; it must be a float from 0.0001 to 0.1 (log, default 0.01)",
        ),
        (
            {"scale": "minmax"},
            "'scale': 'minmax' is not allowed; it must be one of 'none', 'standard'",
        ),
        ({"scale": []}, "'scale': [] is not allowed; it must be one of 'none', 'standard'"),
        (
            {"model": "forest", "depth": 2.5, "trees": 10},
            "'depth': 2.5 is not allowed; it must be an integer from 1 to 20",
        ),
        (
            {"model": "forest", "depth": 2, "trees": 10},
            "'C' is not active when model='forest'; it is active when model='svm'",
        ),
    ],
)
def test_bad_configs(example: Space, svm: Config, change: Config, text: str) -> None:
    config = {name: value for name, value in (svm | change).items() if value is not ...}
    for reject in (example.validate, example.key, example.to_unit, example.qualify):
        with raises(ConfigError, text):
            reject(config)
    with raises(ConfigError, text):
        example.to_unit([svm, config])


@pytest.mark.parametrize("config", [None, 3, "model", ["model"], ("a", 1), {"model"}, object()])
def test_not_a_dict(example: Space, config: Any) -> None:
    text = f"a configuration is a dict of parameter values, not {type(config).__name__} {config!r}"
    for reject in (
        example.validate,
        example.key,
        example.path,
        example.path_label,
        example.qualify,
        example.unqualify,
        lambda c: example.is_active("lr", c),
        lambda c: example.to_unit([c]),
    ):
        with raises(ConfigError, text):
            reject(config)
    with pytest.raises(ConfigError, match="a configuration is a dict of parameter values"):
        example.to_unit(config)


def test_a_name_that_is_no_text(example: Space, svm: Config) -> None:
    with pytest.raises(ConfigError, match="unknown parameter 3; this space has 'scale'"):
        example.validate({**svm, 3: 1})  # type: ignore[dict-item]


def test_validate_returns_the_canonical_form(example: Space, svm: Config) -> None:
    spelled = {
        "kernel": np.str_("linear"),
        "model": np.str_("svm"),
        "C": np.int64(1),
        "lr": np.float64(0.01),
        "scale": "none",
    }
    valid = example.validate(spelled)
    assert list(valid.items()) == list(svm.items())
    assert [type(value) for value in valid.values()] == [str, float, str, float, str]
    assert example.key(spelled) == example.key(svm)
    assert valid is not svm
    assert (
        3.0
        in example.validate(
            {"scale": "none", "lr": 0.01, "model": "forest", "depth": 3.0, "trees": np.uint8(20)}
        ).values()
    )


@pytest.mark.parametrize(
    ("units", "text"),
    [
        ([0.5] * 8, "a unit vector of this space has 9 coordinates, got an array of shape (8,)"),
        (0.5, "a unit vector of this space has 9 coordinates, got an array of shape ()"),
        (
            np.zeros((1, 1, 9)),
            "a unit vector of this space has 9 coordinates, got an array of shape (1, 1, 9)",
        ),
        ([np.nan] * 9, "a unit vector must be finite"),
        ([np.inf] * 9, "a unit vector must be finite"),
        ("abc", "a unit vector is an array of numbers, not 'abc'"),
        ([[0.5], [0.5, 0.5]], "a unit vector is an array of numbers, not [[0.5], [0.5, 0.5]]"),
        ({"lr": 1}, "a unit vector is an array of numbers, not {'lr': 1}"),
    ],
)
def test_bad_unit_vectors(example: Space, units: Any, text: str) -> None:
    with raises(ConfigError, text):
        example.from_unit(units)


def test_units_outside_the_cube_are_clipped(example: Space) -> None:
    units = np.full(9, 0.5)
    units[1] = 1.5
    assert example.from_unit(units)["lr"] == 0.1


def test_unqualify_wants_the_active_parameters_and_no_others() -> None:
    space = Space({"m": Choice({"a": {"x": Float(0, 1)}, "b": {"x": Float(0, 1)}})})
    assert space.unqualify({"m": "b", "m=b/x": 0.5}) == {"m": "b", "x": 0.5}
    with raises(ConfigError, "unknown qualified name 'x'"):
        space.unqualify({"m": "a", "x": 0.5})
    with raises(ConfigError, "'m=b/x' is not active in {'m': 'a', 'x': 0.5}"):
        space.unqualify({"m": "a", "m=b/x": 0.5})
    with raises(ConfigError, "'m=b/x' is not active in {'m': 'a', 'x': 0.5}"):
        space.unqualify({"m": "a", "m=a/x": 0.25, "m=b/x": 0.5})
    with raises(ConfigError, "'x' is missing; it is active when m='a'"):
        space.unqualify({"m": "a"})


# -- defaults --------------------------------------------------------------------------------


def test_default_config(example: Space) -> None:
    assert example.default_config() == {
        "scale": "none",
        "lr": 0.01,
        "model": "svm",
        "C": pytest.approx(1.0),
        "kernel": "linear",
    }
    assert example.has_defaults
    assert not Space({"x": x, "none": Choice([None, 1])}).has_defaults


def test_falsy_defaults_are_kept() -> None:
    space = Space(
        {
            "i": Int(-5, 5, default=0),
            "f": Float(-1, 3, default=0),
            "b": Choice([True, False], default=False),
            "s": Choice(["x", ""], default=""),
            "z": Choice([1, 0], default=0),
            "n": Choice(["a", None], default=None),  # no default: the first option
        }
    )
    assert space.default_config() == {"i": 0, "f": 0.0, "b": False, "s": "", "z": 0, "n": "a"}
    assert space.has_defaults


def test_default_config_looks_for_what_the_constraints_allow() -> None:
    space = Space(
        {"a": Choice([1, 2, 3]), "b": Choice([1, 2, 3], default=1)},
        constraints=[lambda c: c["a"] > c["b"] + 1],
    )
    assert space.default_config() == {"a": 3, "b": 1}


def test_defaults_that_violate_a_constraint_are_refused_when_the_space_is_made() -> None:
    with raises(SpaceError, "the declared defaults violate the constraint not (a=1)"):
        Space({"a": Int(1, 3, default=1)}, constraints=[Forbid({"a": 1})])
    branches: dict[str, dict[str, Parameter]] = {"p": {"x": Float(0, 1, default=0.5)}, "q": {}}
    both: dict[str, Parameter] = {"m": Choice(branches, default="p"), "n": Int(0, 9)}
    text = " in each of 10000 draws of the other parameters"
    large = Constraint(lambda c: c["x"] > 0.7, on=["x"])
    with raises(SpaceError, f"the declared defaults violate the constraint <lambda>(x){text}"):
        Space(both, constraints=[large])
    with raises(SpaceError, f"the declared defaults violate the constraint <lambda>{text}"):
        Space(both, constraints=[lambda c: c["m"] == "q"])
    Space({"m": Choice(branches)}, constraints=[large])  # another branch will do
    Space(both, constraints=[lambda c: c["n"] == 9])  # another value of n will do
    Space({"m": Choice(branches)}, constraints=[lambda c: c["m"] == "q"])  # the default is inactive


def test_constraints_are_not_called_where_there_are_no_defaults() -> None:
    def broken(config: Config) -> bool:
        raise AssertionError(f"called with {config}")

    Space({"a": Int(1, 3), "m": Choice({"p": {"x": Float(0, 1)}, "q": {}})}, constraints=[broken])
    with pytest.raises(SpaceError, match="constraint broken raised AssertionError: called with"):
        Space({"a": Int(1, 3, default=2)}, constraints=[broken])


# -- sampling --------------------------------------------------------------------------------


def frequencies(configs: list[Config], name: str) -> list[int]:
    return list(Counter(config[name] for config in configs if name in config).values())


def is_uniform(counts: list[int], n: int) -> bool:
    return len(counts) == n and bool(chisquare(counts).pvalue > 1e-3)


def test_sampling_by_option(example: Space) -> None:
    configs = example.sample(0, 6000)
    assert is_uniform(frequencies(configs, "model"), 3)
    assert is_uniform(frequencies(configs, "scale"), 2)
    assert is_uniform(frequencies(configs, "kernel"), 2)
    assert is_uniform(frequencies(configs, "depth"), 20)


def test_sampling_by_path(example: Space) -> None:
    configs = example.sample(0, 6000, by="path")
    paths = Counter(example.path(config) for config in configs)
    assert is_uniform(list(paths.values()), 4)
    assert not is_uniform(frequencies(configs, "model"), 3)
    assert is_uniform(frequencies(configs, "scale"), 2)
    assert is_uniform(frequencies(configs, "depth"), 20)


def test_sampling_by_path_with_shared_and_nested_choices() -> None:
    inner = Choice({1: {"u": x}, 2: {"v": x}, 3: {}})
    space = Space(
        {
            "m": Choice(
                {
                    "a": {},
                    "b": {"n": Choice({0: {}, 1: {"w": x}})},
                    "c": {},
                    ("b", "c"): {"k": inner},
                }
            ),
            "o": Choice({"yes": {"y": x}, "no": {}}),
        }
    )
    assert space.n_paths == (1 + 2 * 3 + 3) * 2
    configs = space.sample(3, 8000, by="path")
    assert is_uniform(list(Counter(map(space.path, configs)).values()), 20)
    configs = space.sample(3, 8000, by="option")
    assert is_uniform(frequencies(configs, "m"), 3)
    assert is_uniform(frequencies(configs, "k"), 3)


def test_numbers_are_sampled_uniformly_on_their_scale() -> None:
    space = Space({"f": Float(2, 4), "g": Float(1e-4, 1, log=True), "s": Float(0, 1, step=0.25)})
    configs = space.sample(1, 5000)
    for name, scale in (("f", lambda v: (v - 2) / 2), ("g", lambda v: np.log10(v) / 4 + 1)):
        units = [scale(config[name]) for config in configs]
        assert is_uniform(np.histogram(units, bins=10, range=(0, 1))[0].tolist(), 10)
    assert is_uniform(frequencies(configs, "s"), 5)


def test_sample_one_or_several(example: Space) -> None:
    assert isinstance(example.sample(0), dict)
    assert example.sample(0, 1) == [example.sample(0)]
    assert example.sample(0, 0) == []
    assert example.sample(np.random.default_rng(7), 3) == example.sample(7, 3)
    rng = np.random.default_rng(7)
    assert example.sample(rng) != example.sample(rng)
    assert len({example.key(c) for c in example.sample(None, 5)}) == 5


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"by": "paths"}, "by='paths' must be one of option, path; did you mean 'path'?"),
        ({"method": "grid"}, "method='grid' must be one of random, sobol"),
        ({"by": None}, "by=None must be one of option, path"),
    ],
)
def test_bad_sampling_arguments(example: Space, arguments: Any, text: str) -> None:
    with raises(ValueError, text):
        example.sample(0, 1, **arguments)


def test_sobol_spreads_better_than_chance() -> None:
    space = Space({"f": Float(0, 1), "g": Float(0, 1), "m": Choice(["a", "b", "c", "d"])})
    configs = space.sample(0, 64, method="sobol")
    assert Counter(config["m"] for config in configs) == dict.fromkeys("abcd", 16)
    cells = Counter((int(c["f"] * 8), int(c["g"] * 8)) for c in configs)
    assert len(cells) == 64  # one point in each of 64 cells
    assert configs == space.sample(0, 64, method="sobol")
    assert configs != space.sample(1, 64, method="sobol")


def test_sobol_sequences_continue() -> None:
    whole = sobol(5, 11, 0, 50)
    assert whole.shape == (50, 5)
    assert np.all((whole >= 0) & (whole < 1))
    np.testing.assert_array_equal(sobol(5, 11, 20, 30), whole[20:])
    np.testing.assert_array_equal(sobol(5, 11, 0, 1), whole[:1])
    assert len(np.unique(whole, axis=0)) == 50


def test_sobol_by_path(example: Space) -> None:
    configs = example.sample(0, 256, by="path", method="sobol")
    counts = Counter(example.path(config) for config in configs)
    assert len(counts) == 4
    assert max(counts.values()) - min(counts.values()) <= 8


# -- sizes -----------------------------------------------------------------------------------


def test_configs_of_a_small_space() -> None:
    space = Space(
        {"m": Choice({"a": {"x": Int(1, 2)}, "b": {}}), "f": Float(0, 0.2, step=0.1)},
        constraints=[Forbid({"m": "b", "f": [0.0, 0.1]})],
    )
    assert space.size == 9
    assert list(space.configs()) == [
        {"m": "a", "x": 1, "f": 0.0},
        {"m": "a", "x": 1, "f": 0.1},
        {"m": "a", "x": 1, "f": 0.2},
        {"m": "a", "x": 2, "f": 0.0},
        {"m": "a", "x": 2, "f": 0.1},
        {"m": "a", "x": 2, "f": 0.2},
        {"m": "b", "f": 0.2},
    ]


def exercise(space: Space) -> None:
    """Everything a search does with a space."""
    configs = space.sample(0, 20)
    assert space.from_unit(space.to_unit(configs)) == configs
    for config in configs:
        assert space.validate(config) == config
        assert space.unqualify(space.qualify(config)) == config
    space.sample(0, 4, by="path")
    space.sample(0, 4, method="sobol")
    space.snap(np.random.default_rng(0).random((100, len(space))))
    assert space.validate(space.default_config())
    assert Space.from_dict(space.to_dict()) == space
    assert str(space)
    assert repr(space)
    assert next(space.tree.paths())


def test_a_wide_space() -> None:
    start = time.perf_counter()
    kinds: list[Any] = [
        Int(1, 9),
        Int(1, 999, log=True),
        Choice(["a", "b"]),
        Float(0, 1, step=0.125, default=0),
    ]
    space = Space({f"p{i}": kinds[i % 4] for i in range(1000)})
    exercise(space)
    first = next(space.configs())
    assert len(first) == 1000
    assert space.size == (9 * 999 * 2 * 9) ** 250
    assert time.perf_counter() - start < 10


def test_many_branching_choices() -> None:
    start = time.perf_counter()
    space = Space({f"c{i}": Choice({"on": {f"x{i}": Int(1, 3)}, "off": {}}) for i in range(300)})
    exercise(space)
    assert space.n_paths == 2**300
    assert len(next(space.configs())) == 600
    assert time.perf_counter() - start < 10


def test_many_options_with_the_same_name_below() -> None:
    start = time.perf_counter()
    space = Space({"m": Choice({i: {"lr": Int(1, 9), "k": Int(0, i + 1)} for i in range(300)})})
    exercise(space)
    assert space.n_paths == 300
    assert time.perf_counter() - start < 10


def test_a_deep_space() -> None:
    start = time.perf_counter()
    below: dict[str, Any] = {}
    for level in reversed(range(100)):
        choice = Choice({"go": below, "stop": {}}, default="go")
        below = {f"c{level}": choice, f"x{level}": Int(0, 9)}
    space = Space(below)
    exercise(space)
    assert space.n_paths == 100  # stop at one of 99 levels, or reach the last choice
    assert len(space.default_config()) == 200
    assert len(list(space.tree.paths())) == 100
    lengths = Counter(len(config) for config in space.sample(0, 4000, by="path"))
    assert is_uniform(list(lengths.values()), 100)
    assert time.perf_counter() - start < 10


# -- equality --------------------------------------------------------------------------------


def test_equality(example: Space, example_parameters: dict[str, Any]) -> None:
    assert example == Space(example_parameters)
    assert hash(example) == hash(Space(example_parameters))
    assert example != Space(example_parameters, constraints=[Forbid({"scale": "none"})])
    assert example != Space({**example_parameters, "z": x})
    assert example != "space"


def test_configure_asks_for_active_parameters_only(example, svm):
    asked = []

    def value_of(dimension):
        asked.append(dimension.qualified_name)
        return svm[dimension.name]

    assert example.configure(value_of) == svm
    assert asked == ["scale", "lr", "model", "model=svm/C", "model=svm/kernel"]
    wrong = svm | {"model": "tree"}
    with pytest.raises(ValueError):  # noqa: PT011 - the caller knows what was asked
        example.configure(lambda dimension: wrong[dimension.name])
