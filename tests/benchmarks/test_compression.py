"""Compressing a small network: what is counted, and what nothing changes."""

from itertools import pairwise

import numpy as np
import pytest

from bosquet.benchmarks.compression import Compression, Network, compression_space


@pytest.fixture(scope="module")
def network():
    rng = np.random.default_rng(0)
    sizes = [12, 20, 20, 3]
    shapes = list(pairwise(sizes))
    weights = tuple(rng.standard_normal(shape) for shape in shapes)
    return Network(weights, tuple(rng.standard_normal(n) for _, n in shapes))


@pytest.fixture(scope="module")
def objective(network):
    return Compression(network, np.random.default_rng(1).random((50, 12)))


N_WEIGHTS = 12 * 20 + 20 * 20 + 20 * 3


def test_a_threshold_of_zero_keeps_everything(objective):
    config = {"layer1": "prune", "threshold1": 0.0, "layer2": "prune", "threshold2": 0.0}
    assert objective(config) == pytest.approx(1.0)


def test_a_full_rank_loses_nothing_and_costs_more(objective):
    config = {"layer1": "svd", "rank1": 12, "layer2": "prune", "threshold2": 0.0}
    kept = 12 * (12 + 20) + 20 * 20 + 20 * 3
    assert objective(config) == pytest.approx(kept / N_WEIGHTS)


def test_pruned_weights_are_counted_and_their_loss_is_that_of_the_outputs(objective, network):
    config = {"layer1": "prune", "threshold1": 0.5, "layer2": "svd", "rank2": 10}
    W1 = np.where(np.abs(network.weights[0]) > 0.5, network.weights[0], 0.0)
    U, s, V = np.linalg.svd(network.weights[1])
    W2 = U[:, :10] @ np.diag(s[:10]) @ V[:10]
    X = np.random.default_rng(1).random((50, 12))
    small = Network((W1, W2, network.weights[2]), network.biases)
    gaps = small.outputs(X) - network.outputs(X)
    kept = np.count_nonzero(W1) + 10 * 40 + 60
    expected = 0.01 * (gaps**2).sum(axis=1).mean() + kept / N_WEIGHTS
    assert objective(config) == pytest.approx(expected)


def test_the_space_has_four_paths_and_every_configuration_a_value(objective):
    space = compression_space(most=12)
    assert space.n_paths == 4
    assert all(np.isfinite(objective(config)) for config in space.sample(0, 20))
