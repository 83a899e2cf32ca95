"""The real suite: problems to choose defaults on, and others to report them on.

It was split by name, in every family alternately, before any method had run on it. Choose on
``DEVELOP``; run ``REPORT`` once, at the end, with seeds that were not used for choosing. Data are
read in place, from the directory that ``BOSQUET_DATA`` names (``bosquet bench --data``).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from bosquet.benchmarks.compression import compression_problem
from bosquet.benchmarks.learners import boosting_problem, selection_problem
from bosquet.benchmarks.mlp import mlp_problem
from bosquet.benchmarks.problem import Problem
from bosquet.benchmarks.real import sklearn_pipeline
from bosquet.benchmarks.systems import system

DATA_VARIABLE = "BOSQUET_DATA"
_DATA = Path("..") / "shared" / "data"

FromData = Callable[[Path], Problem]


def data_directory() -> Path:
    """Where the data of the real suite are."""
    data = Path(os.environ.get(DATA_VARIABLE) or _DATA)
    if not data.is_dir():
        raise FileNotFoundError(
            f"the data of the real suite are not in {data}: name their directory by --data DIR or "
            f"in the environment variable {DATA_VARIABLE}"
        )
    return data


def _from_data(name: str, make: FromData, _seed: int) -> Problem:
    return replace(make(data_directory()), name=name)


def _pipeline(dataset: str, _seed: int) -> Problem:
    return sklearn_pipeline(dataset)


def _suite(
    systems: tuple[str, ...],
    log_loss: tuple[str, ...],
    error: tuple[str, ...],
    boosting: tuple[str, ...],
    networks: tuple[str, ...],
    pipelines: tuple[str, ...],
) -> dict[str, Callable[[int], Problem]]:
    made: dict[str, FromData] = {f"system-{name}": partial(system, name=name) for name in systems}
    for dataset in log_loss:
        make = partial(selection_problem, dataset=dataset, loss="log loss")
        made[f"select-{dataset}-logloss"] = make
    for dataset in error:
        made[f"select-{dataset}-error"] = partial(selection_problem, dataset=dataset, loss="error")
    made |= {f"boosting-{name}": partial(boosting_problem, dataset=name) for name in boosting}
    made |= {f"mlp-{name}": partial(mlp_problem, dataset=name, shared=True) for name in networks}
    problems: dict[str, Callable[[int], Problem]] = {
        name: partial(_from_data, name, make) for name, make in made.items()
    }
    return problems | {f"pipeline-{name}": partial(_pipeline, name) for name in pipelines}


DEVELOP = _suite(
    systems=("7z", "dconvert", "hsmgp", "PostgreSQL"),
    log_loss=("australian", "ionosphere"),
    error=("german_numer", "spect_heart"),
    boosting=("diabetes", "phoneme"),
    networks=("banknote", "retinopathy"),
    pipelines=("breast_cancer", "digits"),
)
REPORT = _suite(
    systems=("Apache", "hipacc", "MariaDB"),
    log_loss=("cylinder_bands", "sonar"),
    error=("ilpd", "vertebral"),
    boosting=("liver_disorders", "svmguide3"),
    networks=("magic_gamma", "spambase"),
    pipelines=("diabetes", "wine"),
)
COMPRESSION: dict[str, Callable[[int], Problem]] = {
    "fc3": partial(_from_data, "fc3", compression_problem)
}
"""Of the Add-Tree paper; no part of the suite."""
