"""Compressing a network, layer by layer (section 5.2 of the Add-Tree paper).

X. Ma and M. B. Blaschko. Additive Tree-Structured Covariance Function for Conditional Parameter
Spaces in Bayesian Optimization. AISTATS 2020.

==============================  ==============================================================
in the paper                    here
==============================  ==============================================================
FC3, trained on MNIST           784-1000-1000-10 with rectifiers, trained on 10,000 images by
                                scikit-learn; kept in a cache, since training takes minutes
SVD or WP for layers 1 and 2    ``layer1``, ``layer2``: ``"svd"`` with ``rank``, 10 to 500, or
                                ``"prune"`` with ``threshold``, 0 to 1, of the size of a weight
f(x)                            the outputs before the softmax
L, by 50 samples                mean squared distance of outputs, at the first 50 test images
R                               weights left (r (m + n) of a layer of rank r) of all weights
Eq. (11), gamma = 0.01          the objective
==============================  ==============================================================
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bosquet.arrays import Array
from bosquet.benchmarks.problem import Problem
from bosquet.space import Choice, Config, Float, Int, Space

CACHE_VARIABLE = "BOSQUET_CACHE"
_HIDDEN = (1000, 1000)
_EPOCHS = 12
_SAMPLES = 50
_GAMMA = 0.01


def compression_space(most: int = 500) -> Space:
    """Two choices side by side: four paths."""

    def layer(number: int) -> Choice:
        return Choice(
            {
                "svd": {f"rank{number}": Int(10, most)},
                "prune": {f"threshold{number}": Float(0.0, 1.0)},
            }
        )

    return Space({"layer1": layer(1), "layer2": layer(2)})


@dataclass(frozen=True)
class Network:
    """A network with rectifiers between its layers."""

    weights: tuple[Array, ...]
    """By layer: (inputs, outputs)."""
    biases: tuple[Array, ...]

    def outputs(self, X: Array) -> Array:
        for W, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            X = np.maximum(X @ W + b, 0.0)
        return np.asarray(X @ self.weights[-1] + self.biases[-1])


class Compression:
    """The objective of Eq. (11) for one network at some inputs."""

    def __init__(self, network: Network, X: Array) -> None:
        self._network = network
        self._X = X
        self._outputs = network.outputs(X)
        self._svd = [np.linalg.svd(W, full_matrices=False) for W in network.weights[:2]]

    def __call__(self, config: Config) -> float:
        layers = [self._compressed(config, i) for i in range(2)]
        small = Network((*(W for W, _ in layers), *self._network.weights[2:]), self._network.biases)
        loss = float(np.mean(np.sum((small.outputs(self._X) - self._outputs) ** 2, axis=1)))
        kept = sum(n for _, n in layers) + sum(W.size for W in self._network.weights[2:])
        return _GAMMA * loss + kept / sum(W.size for W in self._network.weights)

    def _compressed(self, config: Config, layer: int) -> tuple[Array, int]:
        """The weights of a layer after compression, and how many numbers it takes to keep them."""
        W = self._network.weights[layer]
        if config[f"layer{layer + 1}"] == "svd":
            rank = config[f"rank{layer + 1}"]
            U, s, V = self._svd[layer]
            return (U[:, :rank] * s[:rank]) @ V[:rank], rank * sum(W.shape)
        kept = np.abs(W) > config[f"threshold{layer + 1}"]
        return np.where(kept, W, 0.0), int(kept.sum())


def compression_problem(data: Path) -> Problem:
    """Compressing the network that was trained on ``data/mnist_12k.npz``."""
    with np.load(data / "mnist_12k.npz") as file:
        X = {part: file[f"X_{part}"].reshape(-1, 784) / 255.0 for part in ("train", "test")}
        labels = file["y_train"]
    network = _cached(lambda: _trained(X["train"], labels))
    objective = Compression(network, X["test"][:_SAMPLES])
    return Problem("fc3", compression_space(), objective, None)


def _trained(X: Array, labels: Any) -> Network:
    try:
        from sklearn.neural_network import MLPClassifier
    except ImportError as error:
        raise ImportError(
            "training the network needs scikit-learn: pip install 'bosquet[bench]'"
        ) from error
    made = MLPClassifier(
        _HIDDEN, max_iter=_EPOCHS, n_iter_no_change=_EPOCHS, tol=0.0, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that it has not converged
        made.fit(X, labels)
    return Network(tuple(made.coefs_), tuple(made.intercepts_))


def _cached(train: Callable[[], Network]) -> Network:
    """The network of an earlier run, else one that is trained now and kept."""
    folder = Path(os.environ.get(CACHE_VARIABLE) or Path.home() / ".cache" / "bosquet")
    path = folder / f"fc3-{'-'.join(map(str, _HIDDEN))}-{_EPOCHS}.npz"
    if not path.exists():
        network = train()
        folder.mkdir(parents=True, exist_ok=True)
        arrays: dict[str, Any] = {f"W{i}": W for i, W in enumerate(network.weights)}
        arrays |= {f"b{i}": b for i, b in enumerate(network.biases)}
        with tempfile.NamedTemporaryFile(dir=folder, suffix=".npz", delete=False) as file:
            np.savez(file, **arrays)
        Path(file.name).replace(path)  # whole or not at all, whoever else is training
    with np.load(path) as file:
        n = len(file.files) // 2
        return Network(
            tuple(file[f"W{i}"] for i in range(n)), tuple(file[f"b{i}"] for i in range(n))
        )
