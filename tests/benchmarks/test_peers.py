from __future__ import annotations

import logging
import math
import os
import sys
import tempfile
import types
import warnings
from functools import cache
from importlib import metadata
from typing import Any, ClassVar

import pytest

import bosquet as bq
from bosquet.benchmarks import hebo, peer
from bosquet.benchmarks.peers import PEERS, peer_versions, require
from tests.benchmarks.fake_hebo import use_fake_hebo

PACKAGES = {
    "optuna-tpe": ["optuna"],
    "optuna-tpe-group": ["optuna"],
    "optuna-gp-flat": ["optuna", "torch"],
    "smac": ["smac"],
    "hyperopt-tpe": ["hyperopt"],
    "ax": ["ax"],
    "hebo": [],  # another Python has it
}
# Past the random start of each (10, 10, 10, a quarter, 20, 5, 9), hardly so where asks are slow.
N_TRIALS = {
    "optuna-tpe": 25,
    "optuna-tpe-group": 25,
    "optuna-gp-flat": 11,
    "smac": 8,
    "hyperopt-tpe": 30,
    "ax": 6,
    "hebo": 15,
}

EXAMPLE: dict[str, Any] = {
    "scale": bq.Choice(["none", "standard"]),
    "lr": bq.Float(1e-4, 1e-1, log=True, default=1e-2),
    "model": bq.Choice(
        {
            "svm": {
                "C": bq.Float(1e-3, 1e3, log=True),
                "kernel": bq.Choice({"linear": {}, "rbf": {"gamma": bq.Float(1e-4, 10, log=True)}}),
            },
            "forest": {"depth": bq.Int(1, 20)},
            "boosting": {"eta": bq.Float(0.01, 1.0)},
            ("forest", "boosting"): {"trees": bq.Int(10, 500, log=True)},
        }
    ),
}
FORBID = bq.Forbid({"scale": "none", "model": "svm"})
SPACES = {
    "example": bq.Space(EXAMPLE),
    "and-or": bq.Space(
        {
            "a": bq.Choice(
                {
                    "x": {"k": bq.Int(0, 12, step=3)},
                    "y": {"k": bq.Float(-0.1, 0.5, step=0.1)},  # another k
                    None: {},
                }
            ),
            "b": bq.Choice(
                {True: {"m": bq.Choice([None, 1, 2.5, "one", False])}, False: {}},
            ),
            "n": bq.Int(1, 64, log=True),
            "o": bq.Choice([1, 2, 4, 8], ordered=True),
            "only": bq.Choice(["this"]),
        }
    ),
}


@pytest.fixture(params=PEERS)
def name(request, monkeypatch):
    if request.param == "hebo" and hebo.VARIABLE not in os.environ:
        use_fake_hebo(monkeypatch)
    for package in PACKAGES[request.param]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on import
            pytest.importorskip(package)
    return request.param


def loss(config):
    numbers = [v for v in config.values() if isinstance(v, (int, float))]
    return sum((math.log10(abs(v) + 1e-3) + 1) ** 2 for v in numbers) / len(numbers)


def configs_of(name, space, n_trials, seed=0, objective=loss):
    seen = []

    def evaluate(config):
        seen.append(dict(config))
        return objective(config)

    PEERS[name](space, evaluate, n_trials, seed)
    return seen


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_a_peer_gives_valid_configurations_quietly(name, space, tmp_path, monkeypatch, capfd):
    working, temporary = tmp_path / "cwd", tmp_path / "tmp"
    working.mkdir()
    temporary.mkdir()
    monkeypatch.chdir(working)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    configs = configs_of(name, space, N_TRIALS[name])

    assert len(configs) == N_TRIALS[name]
    for config in configs:
        valid = space.validate(config)  # active parameters, in bounds and on their grids
        assert [(k, v, type(v)) for k, v in config.items()] == [
            (k, v, type(v)) for k, v in valid.items()
        ]
    assert len({space.path(config) for config in configs}) > 1
    assert capfd.readouterr() == ("", "")
    assert not list(working.iterdir())
    assert not list(temporary.iterdir())


@cache
def example_run(name):
    return configs_of(name, SPACES["example"], N_TRIALS[name], seed=1)


def test_a_seed_names_a_run(name):
    assert configs_of(name, SPACES["example"], N_TRIALS[name], seed=1) == example_run(name)
    # Ax begins at the centre, whatever the seed.
    first, second = (configs_of(name, SPACES["example"], 2, seed) for seed in (1, 2))
    assert first != second


def test_smac_does_not_depend_on_the_hashes_of_a_process(monkeypatch):
    pytest.importorskip("smac")
    from ConfigSpace import Configuration

    before = example_run("smac")
    monkeypatch.setattr(Configuration, "__hash__", lambda config: hash(("salt", repr(config))))
    assert configs_of("smac", SPACES["example"], N_TRIALS["smac"], seed=1) == before


def test_log_scales_and_both_ends_of_a_grid(name):
    space = bq.Space(
        {
            "x": bq.Float(1e-6, 1.0, log=True),
            "n": bq.Int(1, 10_000, log=True),
            "grid": bq.Float(0.0, 1.0, step=0.5),
            "third": bq.Float(1 / 3, 2 / 3),  # bounds that no decimal holds
        }
    )
    configs = configs_of(name, space, 10, seed=1, objective=lambda _: 1.0)
    assert min(config["x"] for config in configs) < 1e-3
    assert min(config["n"] for config in configs) < 100
    assert {config["grid"] for config in configs} == {0.0, 0.5, 1.0}


def test_a_shared_subspace_is_active_under_both_its_options(name):
    with_trees = {config["model"] for config in example_run(name) if "trees" in config}
    assert with_trees == {"forest", "boosting"}


def test_infeasible_proposals_are_not_evaluated(name):
    functions = [] if name == "smac" else [bq.Constraint(lambda c: c["lr"] < 0.05, on=["lr"])]
    space = bq.Space(EXAMPLE, [FORBID, *functions])
    configs = configs_of(name, space, N_TRIALS[name], objective=lambda c: -c["lr"])
    assert len(configs) == N_TRIALS[name]
    assert all(space.validate(config) == config for config in configs)


def test_too_few_feasible_proposals(name, monkeypatch):
    monkeypatch.setattr(peer, "MAX_ATTEMPTS", 4)
    space = bq.Space(EXAMPLE, [lambda config: config["lr"] == 0.01])  # only the default
    expected = bq.SpaceError if name == "smac" else RuntimeError
    message = "cannot express" if name == "smac" else r"12 proposals gave only 0 of 3 feasible"
    with pytest.raises(expected, match=message):
        configs_of(name, space, 3)


def test_smac_says_when_a_space_is_exhausted():
    pytest.importorskip("smac")
    seen = []

    def evaluate(config):
        seen.append(config["a"])
        return 0.0

    with pytest.raises(bq.SpaceExhausted, match="SMAC"):
        PEERS["smac"](bq.Space({"a": bq.Choice([1, 2, 3])}), evaluate, 9, 0)
    assert sorted(seen) == [1, 2, 3]


def test_errors_of_the_objective_propagate_and_settings_are_restored(name, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    logger = logging.getLogger((PACKAGES[name] or [name])[0])
    level, filters = logger.level, list(warnings.filters)

    def fail(config):
        raise ZeroDivisionError("my own mistake")

    with pytest.raises(ZeroDivisionError, match="my own mistake"):
        configs_of(name, SPACES["example"], 3, objective=fail)
    assert logger.level == level
    assert warnings.filters == filters
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["optuna-tpe", "optuna-tpe-group", "smac", "hyperopt-tpe"])
def test_evaluations_that_fail_are_failed_trials(name):
    """The search goes on."""
    for package in PACKAGES[name]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on import
            pytest.importorskip(package)
    space = bq.Space({"x": bq.Float(0, 1)})

    def half(config):
        return math.nan if config["x"] > 0.5 else config["x"]

    seen = [config["x"] for config in configs_of(name, space, 40, objective=half)]
    assert len(seen) == 40
    assert 0 < sum(x > 0.5 for x in seen) < 40


def test_the_objective_may_warn(name):
    def warn(config):
        warnings.warn("mine", UserWarning, stacklevel=1)
        return 0.0

    with pytest.warns(UserWarning, match="mine"):
        configs_of(name, SPACES["example"], 1, objective=warn)


@pytest.mark.parametrize(
    ("name", "missing"), [(name, package) for name in PACKAGES for package in PACKAGES[name]]
)
def test_a_missing_package_is_named(name, missing, monkeypatch):
    for module in PACKAGES[name]:
        monkeypatch.setitem(sys.modules, module, types.ModuleType(module))
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=rf"needs {missing} .*pip install"):
        require(name)


def test_our_strategies_require_nothing():
    require("sobol")


def test_versions_of_installed_packages_only(monkeypatch):
    def version(package):
        if package == "smac":
            raise metadata.PackageNotFoundError(package)
        return f"{package} 1.0"

    monkeypatch.setattr(metadata, "version", version)
    assert peer_versions() == {
        package: f"{package} 1.0"
        for package in ("optuna", "torch", "ConfigSpace", "hyperopt", "ax-platform", "botorch")
    }


# -- Ax's parameters, seen by a client in its place: it needs no install ---------------------------


class Client:
    """Answers the asks by each option in turn, and by the low ends of the ranges."""

    made: ClassVar[list[Client]] = []

    def __init__(self, random_seed):
        self.seed = random_seed
        self.told: list[dict[str, float]] = []
        Client.made.append(self)

    def configure_experiment(self, parameters):
        self.parameters = {parameter.name: parameter for parameter in parameters}

    def configure_optimization(self, objective, outcome_constraints):
        self.goal = objective, outcome_constraints

    def configure_generation_strategy(
        self, initialization_random_seed, allow_exceeding_initialization_budget
    ):
        self.first_seed = initialization_random_seed
        assert allow_exceeding_initialization_budget

    def get_next_trials(self, max_trials):
        names = [name for name in self.parameters if name not in self.dependents()]
        drawn = {}
        while names:
            parameter = self.parameters[names.pop(0)]
            if not hasattr(parameter, "values"):
                drawn[parameter.name] = parameter.bounds[0]
                continue
            option = parameter.values[len(self.told) % len(parameter.values)]
            drawn[parameter.name] = option
            names += (parameter.dependent_parameters or {}).get(option, [])
        return {len(self.told): drawn}

    def complete_trial(self, trial_index, raw_data):
        assert trial_index == len(self.told)
        self.told.append(raw_data)

    def dependents(self):
        below = [getattr(p, "dependent_parameters", None) or {} for p in self.parameters.values()]
        return [name for options in below for names in options.values() for name in names]


@pytest.fixture
def clients(monkeypatch):
    modules = {name: types.ModuleType(name) for name in ("ax", "ax.api", "ax.api.client")}
    configs = types.ModuleType("ax.api.configs")
    for name in ("ChoiceParameterConfig", "RangeParameterConfig"):
        setattr(configs, name, types.SimpleNamespace)
    modules["ax.api.client"].Client = Client  # type: ignore[attr-defined]
    for name, module in (modules | {"ax.api.configs": configs}).items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(Client, "made", [])
    return Client.made


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_ax_gets_a_tree_and_gives_valid_configurations(space, clients):
    configs = configs_of("ax", space, 6, seed=3)
    (client,) = clients
    dependents = client.dependents()
    assert len(set(dependents)) == len(dependents)  # Ax refuses a parameter of two options
    assert (client.seed, client.first_seed, client.goal) == (3, 3, ("-loss", None))
    assert client.told == [{"loss": loss(config)} for config in configs]
    assert all(space.validate(config) == config for config in configs)


def test_ax_gets_a_copy_for_each_option_that_shares(clients):
    configs_of("ax", SPACES["example"], 3)
    (client,) = clients
    # Forest and boosting have trees of their own.
    assert len(client.parameters) == len(SPACES["example"].dimensions) + 1


def test_ax_is_told_what_is_infeasible_as_an_outcome(clients):
    space = bq.Space({"a": bq.Choice(["x", "y", "z"])}, [bq.Forbid({"a": "y"})])
    assert configs_of("ax", space, 3, objective=lambda _: 2.0) == [{"a": v} for v in "xzx"]
    (client,) = clients
    assert client.goal == ("-loss", ["violation <= 0.5"])
    feasible = {"loss": 2.0, "violation": 0.0}
    assert client.told == [feasible, {"violation": 1.0}, feasible, feasible]
