"""Tuning of a multi-layer perceptron for binary classification (section 4.2 of the 2017 paper).

R. Jenatton, C. Archambeau, J. Gonzalez and M. Seeger. Bayesian Optimization with Tree-structured
Dependencies. ICML 2017.

==============================  ==============================================================
in the paper                    here
==============================  ==============================================================
L, u_j, lambda_k                ``layers``, ``units_j``, ``l2`` (one for each number of layers)
eta, epsilon                    ``learning_rate``, ``tolerance`` of Adam
nor, act                        ``normalisation``, ``activation`` (of all layers alike)
Figure 3, top and bottom        ``mlp_space(shared=False)`` and ``mlp_space(shared=True)``
5 minutes of CPU, else 1.0      ``cap`` seconds
==============================  ==============================================================
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bosquet.arrays import Array
from bosquet.benchmarks.problem import Problem
from bosquet.space import Choice, Config, Float, Int, Space
from bosquet.space.parameter import Parameter
from bosquet.text import must_be_one_of

DEEPEST = 4
_MOST_TRAIN, _MOST_TEST = 1_000, 10_000
EPOCHS = 200  # scikit-learn's own maximum: a second or two for the largest networks
_PATIENCE = 10  # and its epochs without progress
_WORST = 1.0


class Split(NamedTuple):
    """Rows to train on and rows to count errors on; labels are 0 and 1."""

    X_train: Array
    y_train: NDArray[np.int8]
    X_test: Array
    y_test: NDArray[np.int8]


def mlp_space(shared: bool) -> Space:
    """Figure 3: five paths, on which parameters are either shared or each path's own.

    In both topologies every number of layers has its own ``l2``, since it regularises matrices of
    different sizes.
    """
    depths = range(DEEPEST + 1)
    always: dict[str, Parameter] = {
        "learning_rate": Float(1e-5, 1e-1, log=True),
        "tolerance": Float(1e-5, 1e-2, log=True),
        "normalisation": Choice(["none", "rows-l2", "max-abs", "standard"]),
    }
    activation = Choice(["identity", "logistic", "tanh", "relu"])
    l2 = Float(1e-6, 1e-1, log=True)
    units = Int(1, 30)
    branches: dict[Any, dict[str, Parameter]] = {depth: {"l2": l2} for depth in depths}
    if shared:
        for k in range(1, DEEPEST):
            branches[tuple(depths[k:])] = {f"units_{k}": units}
        branches[DEEPEST][f"units_{DEEPEST}"] = units
        branches[tuple(depths[1:])]["activation"] = activation
        return Space({**always, "layers": Choice(branches)})
    for depth in depths:
        branches[depth] |= always
        branches[depth] |= {f"units_{k}": units for k in range(1, depth + 1)}
        if depth:
            branches[depth]["activation"] = activation
    return Space({"layers": Choice(branches)})


def mlp_problem(data: Path, dataset: str, shared: bool, cap: float = 10.0) -> Problem:
    """The test error of a network, on one of the sets in ``data/binary``.

    An evaluation that needs more than ``cap`` seconds of CPU, or diverges, has error 1.
    """
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "the MLP problems need scikit-learn: pip install 'bosquet[bench]'"
        ) from error
    split = read_split(data, dataset)
    return Problem(
        problem_name(dataset, shared),
        mlp_space(shared),
        partial(error_of, split=split, cap=cap),
        None,
    )


def problem_name(dataset: str, shared: bool) -> str:
    return f"mlp:{'shared' if shared else 'duplicated'}:{dataset}"


def binary_sets(data: Path) -> list[str]:
    """The names of the sets in ``data/binary``."""
    found = sorted(path.stem for path in (data / "binary").glob("*.npz"))
    if not found:
        raise FileNotFoundError(f"no NAME.npz in {data / 'binary'}")
    return found


def read_split(data: Path, dataset: str) -> Split:
    """A fixed random fifth of the rows to test on, the others to train on, both capped."""
    known = binary_sets(data)
    if dataset not in known:
        raise ValueError(must_be_one_of("dataset", dataset, known))
    with np.load(data / "binary" / f"{dataset}.npz") as file:
        X, y = file["X"].astype(np.float64), file["y"].astype(np.int8)
    order = np.random.default_rng(0).permutation(len(y))
    test, train = order[: len(y) // 5][:_MOST_TEST], order[len(y) // 5 :][:_MOST_TRAIN]
    return Split(X[train], y[train], X[test], y[test])


def error_of(config: Config, split: Split, cap: float) -> float:
    """Trains the network of a configuration and gives its share of wrong answers."""
    from sklearn import preprocessing
    from sklearn.neural_network import MLPClassifier

    started = time.process_time()
    scale = {
        "none": preprocessing.FunctionTransformer,
        "rows-l2": preprocessing.Normalizer,
        "max-abs": preprocessing.MaxAbsScaler,
        "standard": preprocessing.StandardScaler,
    }[config["normalisation"]]().fit(split.X_train)
    X_train, X_test = scale.transform(split.X_train), scale.transform(split.X_test)
    layers = range(1, config["layers"] + 1)
    network = MLPClassifier(
        [config[f"units_{k}"] for k in layers],  # none: a logistic regression
        activation=config.get("activation", "identity"),
        alpha=config["l2"],
        learning_rate_init=config["learning_rate"],
        # An instance, since a number would shuffle alike in every epoch of partial_fit.
        random_state=np.random.RandomState(0),
    )
    best, idle = np.inf, 0
    with np.errstate(all="ignore"):
        for _ in range(EPOCHS):
            try:
                network.partial_fit(X_train, split.y_train, classes=(0, 1))
            except ValueError:
                if all(np.isfinite(w).all() for w in getattr(network, "coefs_", ())):
                    raise  # not for an overflow
                return _WORST
            if time.process_time() - started > cap:
                return _WORST
            # The rule of MLPClassifier.fit, which partial_fit leaves to its caller.
            idle = idle + 1 if network.loss_ > best - config["tolerance"] else 0
            best = min(best, network.loss_)
            if idle > _PATIENCE:
                break
    return float(np.mean(network.predict(X_test) != split.y_test))
