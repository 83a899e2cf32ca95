"""Other optimizers behind one signature, each through its own idiom for conditions.

==================  ==============================================================================
optuna-tpe          define-by-run: parameters are suggested down the active path. TPE by default
                    is joint for what all trials have (since Optuna 5), independent for the rest
optuna-tpe-group    the same with ``multivariate=True, group=True``: joint within every branch
optuna-gp-flat      GPSampler; it models only parameters that every trial has, so every trial
                    suggests all of them and the inactive ones are ignored
smac                HyperparameterOptimizationFacade on the ConfigSpace translation; ask and tell
hyperopt-tpe        nested ``hp.choice``; a sub-space shared by two options is one graph node
ax                  Ax's Client with its default strategy and ``dependent_parameters``; its spaces
                    are trees, so each option gets a copy of what several options share
hebo                HEBO, in a process and an environment of its own; it knows no conditions, so
                    every proposal has all parameters and the inactive ones are ignored
==================  ==============================================================================

A proposal that violates a constraint is not evaluated; the peer is told in its own way and goes
on. SMAC takes `Forbid` as forbidden clauses, never proposes such a point, and refuses functions.
An evaluation that fails has the value NaN here, and is a failed trial there; SMAC, whose forest
needs a number, is told the worst cost so far as well.
"""

from __future__ import annotations

import importlib
import logging
import math
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from bosquet.benchmarks import hebo
from bosquet.benchmarks.peer import Objective, Peer, PeerRun, configure, from_drawn, is_grid
from bosquet.errors import SpaceExhausted
from bosquet.space.configs import Config
from bosquet.space.parameter import Choice, Int
from bosquet.space.space import Space
from bosquet.space.tree import Dimension

_PACKAGES = ("optuna", "torch", "smac", "ConfigSpace", "hyperopt", "ax-platform", "botorch")


def peer_versions() -> dict[str, str]:
    """The installed versions of the packages that the peers need."""
    versions = {}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


# -- what they share -------------------------------------------------------------------------


def _load(module: str, install: str = "bosquet[peers]") -> Any:
    disabled = logging.root.manager.disable
    logging.disable()  # Ax logs while it is imported
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # deprecations inside the peers
            return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"this peer needs {module} ({error}); install it by: pip install '{install}'"
        ) from error
    finally:
        logging.disable(disabled)


@contextmanager
def _quiet(library: str, *below: str) -> Iterator[None]:
    """Keeps what a library logs, and it or those ``below`` it warn of, off the terminal.

    The objective may still warn.
    """
    logger = logging.getLogger(library)
    # Loggers of Ax's modules have levels of their own; what they say ends in its handlers.
    talkers: list[logging.Logger | logging.Handler] = [logger, *logger.handlers]
    levels = [talker.level for talker in talkers]
    for talker in talkers:
        talker.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            # Optuna names its caller as the origin, and SMAC is careless with numpy.
            modules = "|".join((library, *below, "numpy", __name__))
            warnings.filterwarnings("ignore", module=rf"({modules})\b")
            yield
    finally:
        for talker, level in zip(talkers, levels, strict=True):
            talker.setLevel(level)


# -- Optuna ----------------------------------------------------------------------------------


def _optuna_tpe(space: Space, objective: Objective, n_trials: int, seed: int) -> None:
    _optuna(PeerRun(space, objective, n_trials), "TPESampler", seed=seed)


def _optuna_tpe_group(space: Space, objective: Objective, n_trials: int, seed: int) -> None:
    run = PeerRun(space, objective, n_trials)
    _optuna(run, "TPESampler", seed=seed, multivariate=True, group=True)


def _optuna_gp_flat(space: Space, objective: Objective, n_trials: int, seed: int) -> None:
    require("optuna-gp-flat")
    _optuna(PeerRun(space, objective, n_trials), "GPSampler", flat=True, seed=seed)


def _optuna(run: PeerRun, sampler: str, *, flat: bool = False, **settings: Any) -> None:
    optuna = _load("optuna")
    space = run.space

    def proposed(trial: Any) -> Config:
        if not flat:
            return configure(space, partial(suggest, trial))
        drawn = [suggest(trial, dimension) for dimension in space.dimensions]
        return configure(space, lambda dimension: drawn[dimension.index])

    with _quiet("optuna"):
        study = optuna.create_study(sampler=getattr(optuna.samplers, sampler)(**settings))
        while not run.finished:
            trial = study.ask()
            value = run(proposed(trial))
            if space.constraints:
                trial.set_constraint("feasible", 1.0 if value is None else -1.0)
            # TPE reads no value of an infeasible trial; GPSampler takes inf for the worst so far. A
            # trial without a number has failed.
            study.tell(trial, math.inf if value is None else value)


def suggest(trial: Any, dimension: Dimension) -> Any:
    name, parameter = dimension.qualified_name, dimension.parameter
    if isinstance(parameter, Choice):
        return trial.suggest_categorical(name, parameter.options)
    low, high, log, step = parameter.low, parameter.high, parameter.log, parameter.step
    if isinstance(parameter, Int):
        return trial.suggest_int(name, low, high, log=log, step=step or 1)
    return trial.suggest_float(name, low, high, log=log, step=step)


# -- SMAC ------------------------------------------------------------------------------------


def _smac(space: Space, objective: Objective, n_trials: int, seed: int) -> None:
    smac = _load("smac")
    facade = smac.HyperparameterOptimizationFacade
    exhausted = _load("smac.main.exceptions").ConfigurationSpaceExhaustedException

    def evaluate(drawn: dict[str, Any]) -> float:
        return objective(configure(space, lambda dimension: drawn[dimension.qualified_name]))

    with _quiet("smac"), tempfile.TemporaryDirectory() as directory:
        scenario = smac.Scenario(
            space.to_configspace(),
            output_directory=Path(directory),
            deterministic=True,
            n_trials=n_trials,
            seed=seed,
        )
        model = facade.get_model(scenario)
        model._rf_opts["n_jobs"] = 1  # the facade's forest takes every core
        maximizer = facade.get_acquisition_maximizer(scenario)
        _sort_starts(maximizer._local_search)
        optimizer = facade(
            scenario, model=model, acquisition_maximizer=maximizer, logging_level=False
        )
        costs: list[float] = []
        for _ in range(n_trials):
            try:
                info = optimizer.ask()
            except (StopIteration, exhausted) as error:  # it never proposes a point twice
                raise SpaceExhausted("SMAC finds no further configuration to propose") from error
            cost = evaluate(dict(info.config))
            told: dict[str, Any] = {"cost": cost}
            if math.isnan(cost):  # its forest takes no infinite cost: the worst one so far
                worst = max(costs, default=0.0)
                told = {"cost": worst, "status": smac.runhistory.StatusType.CRASHED}
            costs.append(told["cost"])
            optimizer.tell(info, smac.runhistory.TrialValue(**told), save=False)


def _sort_starts(local_search: Any) -> None:
    """Makes a seed name a run: SMAC puts its starts in a set, ordered by the process's hashes."""
    starts = local_search._get_init_points_from_previous_configs
    local_search._get_init_points_from_previous_configs = lambda *args: sorted(
        starts(*args), key=repr
    )


# -- Hyperopt --------------------------------------------------------------------------------


def _hyperopt_tpe(space: Space, objective: Objective, n_trials: int, seed: int) -> None:
    hyperopt = _load("hyperopt")
    run = PeerRun(space, objective, n_trials)

    def evaluate(ctrl: Any, **_: Any) -> Any:
        drawn = ctrl.current_trial["misc"]["vals"]  # label -> [value], or [] when inactive
        value = run(configure(space, lambda d: from_drawn(d.parameter, drawn[d.qualified_name][0])))
        failed = value is None or math.isnan(value)
        return {"status": hyperopt.STATUS_FAIL} if failed else value

    with _quiet("hyperopt"):
        hyperopt.fmin(
            evaluate,
            _to_hyperopt(hyperopt.hp, space),
            algo=hyperopt.tpe.suggest,
            rstate=np.random.default_rng(seed),
            pass_expr_memo_ctrl=True,
            early_stop_fn=lambda *_: (run.finished, []),
            show_progressbar=False,
            verbose=False,
        )


def _to_hyperopt(hp: Any, space: Space) -> Any:
    tree = space.tree

    @cache  # a node of two options must be one object: Hyperopt's labels are unique
    def below(node: int) -> list[Any]:
        return [stochastic(tree.dimensions[index]) for index in tree.nodes[node].dimensions]

    def stochastic(dimension: Dimension) -> Any:
        label, parameter = dimension.qualified_name, dimension.parameter
        if isinstance(parameter, Choice):
            children = tree.children.get(dimension.index, ())
            branches = [
                [below(child.index) for child in children if option in child.options]
                for option in range(parameter.n_values)
            ]
            return hp.choice(label, branches)
        low, high = parameter.low, parameter.high
        if is_grid(parameter):  # half a bin more at the ends, else these are half as likely
            return hp.quniform(label, -0.5, parameter.n_values - 0.5, 1)
        if isinstance(parameter, Int):
            return hp.qloguniform(label, math.log(low - 0.5), math.log(high + 0.5), 1)
        if parameter.log:
            return hp.loguniform(label, math.log(low), math.log(high))
        return hp.uniform(label, low, high)

    return below(0)


# -- Ax --------------------------------------------------------------------------------------


def _ax(space: Space, objective: Objective, n_trials: int, seed: int) -> None:
    require("ax")
    run = PeerRun(space, objective, n_trials)
    client_type, configs = _load("ax.api.client").Client, _load("ax.api.configs")
    with _quiet("ax", "botorch", "gpytorch", "linear_operator", "torch", "pandas"):
        parameters, dimensions = _to_ax(configs, space)
        client = client_type(random_seed=seed)
        client.configure_experiment(parameters=parameters)
        limits = ["violation <= 0.5"] if space.constraints else None
        client.configure_optimization(objective="-loss", outcome_constraints=limits)
        client.configure_generation_strategy(
            initialization_random_seed=seed,
            allow_exceeding_initialization_budget=True,  # its first points may all be infeasible
        )
        while not run.finished:
            ((index, drawn),) = client.get_next_trials(max_trials=1).items()
            active = {dimensions[name].index: value for name, value in drawn.items()}
            value = run(configure(space, partial(_from_ax, active)))
            told = {} if value is None else {"loss": value}
            if space.constraints:
                told["violation"] = 1.0 if value is None else 0.0
            client.complete_trial(trial_index=index, raw_data=told)


def _from_ax(active: dict[int, Any], dimension: Dimension) -> Any:
    return from_drawn(dimension.parameter, active[dimension.index])


def _to_ax(configs: Any, space: Space) -> tuple[list[Any], dict[str, Dimension]]:
    """Ax's parameters, and the dimension that each of their names stands for.

    Ax refuses a parameter below two options, so what options share is declared for each of them.
    """
    tree = space.tree
    declared: list[Any] = []
    dimensions: dict[str, Dimension] = {}

    def declare(*nodes: int) -> list[str]:
        return [one(tree.dimensions[i]) for node in nodes for i in tree.nodes[node].dimensions]

    def one(dimension: Dimension) -> str:
        name, parameter = f"x{len(dimensions)}", dimension.parameter
        dimensions[name] = dimension
        if isinstance(parameter, Choice):
            children = tree.children.get(dimension.index, ())
            label = int if parameter.ordered else str
            below = {
                label(option): declare(*(c.index for c in children if option in c.options))
                for option in range(parameter.n_values)
            }
            config = configs.ChoiceParameterConfig(
                name=name,
                values=list(below),
                parameter_type=label.__name__,
                is_ordered=parameter.ordered,
                dependent_parameters={o: names for o, names in below.items() if names} or None,
            )
        else:
            grid = is_grid(parameter)
            config = configs.RangeParameterConfig(
                name=name,
                bounds=(0, parameter.n_values - 1) if grid else (parameter.low, parameter.high),
                parameter_type="int" if grid or isinstance(parameter, Int) else "float",
                scaling="log" if parameter.log else "linear",
            )
        declared.append(config)
        return name

    declare(0)
    return declared, dimensions


PEERS: dict[str, Peer] = {
    "optuna-tpe": _optuna_tpe,
    "optuna-tpe-group": _optuna_tpe_group,
    "optuna-gp-flat": _optuna_gp_flat,
    "smac": _smac,
    "hyperopt-tpe": _hyperopt_tpe,
    "ax": _ax,
    "hebo": hebo.minimize,
}
_MODULES = {
    "optuna-tpe": ("optuna",),
    "optuna-tpe-group": ("optuna",),
    "optuna-gp-flat": ("optuna", "torch"),
    "smac": ("smac", "ConfigSpace"),
    "hyperopt-tpe": ("hyperopt",),
    "ax": ("ax",),
}


_APART = {"torch": "torch", "ax": "ax-platform"}  # no part of bosquet[peers]


def require(method: str) -> None:
    """Raises ImportError when a peer cannot run; says nothing about our own strategies."""
    if method == "hebo":
        hebo.python()
    for module in _MODULES.get(method, ()):
        _load(module, _APART.get(module, "bosquet[peers]"))
