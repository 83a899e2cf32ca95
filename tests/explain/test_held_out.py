"""Trials put aside ask for wider intervals where a model is too sure, and for nothing elsewhere."""

import numpy as np
import pytest
from scipy.special import ndtri

from bosquet import Float, Space
from bosquet.explain.held_out import FEW, PARTS, asked_of, odds_of, with_odds
from bosquet.explain.model import Model
from tests.explain.studies import studied

SPACE = Space({"x": Float(0, 1)})
X = np.linspace(0, 1, 200)[:, None]
CAUTION = ndtri(0.5 + (0.9 + np.sqrt(0.09 / 200)) / 2) / ndtri(0.95)  # of 200 trials


class Certain:
    """A posterior of zero whose variance is what it is told."""

    def __init__(self, variance):
        self.variance = variance

    def on_path(self, path):
        assert path == (0,)
        return self

    def moments(self, rows):
        return np.zeros(len(rows)), np.full(len(rows), self.variance)


def found(z, *variances, noise=np.nan, learned=0.0):
    """With posteriors that have these variances."""
    asked = []

    def refitted(rows):
        asked.append(rows)
        return [(Certain(variance), learned) for variance in variances]

    factor = asked_of(SPACE, X[: len(z)], z, np.full(len(z), noise), refitted).wider
    everything = np.arange(len(z))
    times = 2 if len(z) <= FEW else 1
    aside = np.concatenate([np.setdiff1d(everything, rows) for rows in asked])
    assert sorted(aside) == sorted(times * list(everything))
    assert len(asked) == times * min(PARTS, len(z))
    return factor


def test_the_factor_is_what_the_errors_are_too_large_by():
    z = 2.0 * np.random.default_rng(0).standard_normal(200)
    assert found(z, 1.0) == pytest.approx(2.0 * CAUTION, rel=0.1)
    assert found(z, 4.0) == pytest.approx(CAUTION, rel=0.1)
    assert found(z, 100.0) == 1.0
    assert found(1e6 * z, 1.0) == 5.0
    assert found(z[:3], 1.0) >= 1.0


def test_few_trials_ask_for_more_caution():
    """The share that is to be held: 0.9 and the standard error of a share of n trials."""
    z = np.random.default_rng(1).permutation(ndtri((np.arange(100) + 0.5) / 100))
    few = ndtri((np.arange(25) + 0.5) / 25)
    assert found(z, 1.0) == pytest.approx(ndtri(0.965) / ndtri(0.95), rel=0.03)
    assert found(few, 1.0) == pytest.approx(ndtri(0.98) / ndtri(0.95), rel=0.05)


def test_what_is_asked_is_the_average_over_hyper_parameters():
    """One that is too sure is no reason to widen where another one is not."""
    z = 4.0 * np.random.default_rng(0).standard_normal(200)
    sure, unsure, both = found(z, 1.0), found(z, 9.0), found(z, 1.0, 9.0)
    assert unsure < both < sure
    # Of N(0, 1) and N(0, 9) together, 95 % are below 3.85; of the errors, below 4 times 1.645.
    assert both == pytest.approx(4.0 * 1.645 / 3.85, rel=0.2)


def test_odds_agree_with_how_often_trials_were_new_bests():
    happened = np.arange(100) < 10
    much = odds_of(np.full(100, 0.5), happened, 1.0)
    assert with_odds(np.array([0.5]), much)[0] == pytest.approx(0.1, abs=0.02)
    assert odds_of(np.full(100, 0.1), happened, 1.0) == 1.0
    assert odds_of(np.full(100, 0.05), happened, 1.0) == 1.0  # never more hope than before
    few = odds_of(np.full(4, 0.2), np.zeros(4, dtype=bool), 1.0)
    assert 0.1 < few < 0.8  # nothing happened, yet four trials prove little
    assert with_odds(np.array([0.0, 1.0]), few).tolist() == [0.0, 1.0]


def test_noise_is_part_of_what_is_expected():
    z = 2.0 * np.random.default_rng(0).standard_normal(200)
    assert found(z, 1.0, learned=3.0) == pytest.approx(found(z, 4.0))
    assert found(z, 1.0, noise=3.0, learned=50.0) == pytest.approx(found(z, 4.0))


def test_a_model_that_is_too_sure_is_widened_and_says_so():
    """A valley whose curve a few trials do not show: fitted to all of them, it looks settled."""
    space = Space({"x": Float(-1, 1), "r": Float(-1, 1)})
    history = studied(space, lambda c: (c["x"] - 2 * c["r"] ** 2 + 1) ** 2, 20, seed=0)
    model = Model(history)
    assert model.beliefs[0].widening > 1.1
    assert f"intervals wider by {model.beliefs[0].widening:.2f}" in str(model)
    _, sd = model.predict(history.trials[0].config | {"x": 0.9, "r": -0.9})
    assert sd[0] > 0.0
