"""Trials put aside ask for wider intervals where a model is too sure, and for nothing elsewhere."""

import numpy as np
import pytest

from bosquet import Float, Space
from bosquet.explain.held_out import PARTS, widening
from bosquet.explain.model import Model
from tests.explain.studies import studied

SPACE = Space({"x": Float(0, 1)})
X = np.linspace(0, 1, 200)[:, None]


class Certain:
    """A posterior of zero whose variance is what it is told."""

    def __init__(self, variance):
        self.variance = variance

    def on_path(self, path):
        assert path == (0,)
        return self

    def moments(self, rows):
        return np.zeros(len(rows)), np.full(len(rows), self.variance)


def found(z, variance, noise=np.nan, learned=0.0):
    asked = []

    def refitted(rows):
        asked.append(rows)
        return Certain(variance), learned

    factor = widening(SPACE, X[: len(z)], z, np.full(len(z), noise), refitted)
    everything = np.arange(len(z))
    aside = np.concatenate([np.setdiff1d(everything, rows) for rows in asked])
    assert sorted(aside) == list(everything)  # each once
    assert len(asked) == min(PARTS, len(z))
    return factor


def test_the_factor_is_what_the_errors_are_too_large_by():
    z = 2.0 * np.random.default_rng(0).standard_normal(200)
    assert found(z, 1.0) == pytest.approx(2.0, rel=0.15)
    assert found(z, 4.0) == pytest.approx(1.0, abs=0.15)
    assert found(z, 100.0) == 1.0
    assert found(1e6 * z, 1.0) == 5.0
    assert found(z[:3], 1.0) >= 1.0


def test_noise_is_part_of_what_is_expected():
    z = 2.0 * np.random.default_rng(0).standard_normal(200)
    assert found(z, 1.0, learned=3.0) == pytest.approx(found(z, 4.0))
    assert found(z, 1.0, noise=3.0, learned=50.0) == pytest.approx(found(z, 4.0))


def test_a_model_that_is_too_sure_is_widened_and_says_so():
    """A valley whose curve a few trials do not show: fitted to all of them, it looks settled."""
    space = Space({"x": Float(-1, 1), "r": Float(-1, 1)})
    history = studied(space, lambda c: (c["x"] - 2 * c["r"] ** 2 + 1) ** 2, 20, seed=1)
    model = Model(history)
    assert model.beliefs[0].widening > 1.1
    assert f"intervals wider by {model.beliefs[0].widening:.2f}" in str(model)
    _, sd = model.predict(history.trials[0].config | {"x": 0.9, "r": -0.9})
    assert sd[0] > 0.0
