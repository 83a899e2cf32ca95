"""Effects and interactions against functions where they are known."""

import numpy as np
import pytest

from bosquet import Float, Space
from bosquet.explain import Model
from bosquet.explain.effects import interaction_share
from tests.explain.studies import studied

SPACE = Space({name: Float(0, 1) for name in ("a", "b", "c")})


@pytest.fixture(scope="module")
def model():
    """a and b only together, c alone."""
    return Model(
        studied(SPACE, lambda c: 8 * (c["a"] - 0.5) * (c["b"] - 0.5) + 3 * c["c"] ** 2, 60)
    )


def test_effects_are_the_centred_averages(model):
    effects = {effect.parameter: effect for effect in model.effects()}
    assert model.effects()[0].parameter == "c"
    c = effects["c"]
    truth = 3 * np.array(c.values, dtype=float) ** 2
    np.testing.assert_allclose(c.mean, truth - truth.mean(), atol=0.1)
    assert (c.low <= c.mean).all()
    assert (c.mean <= c.high).all()
    assert c.mean.mean() == pytest.approx(0.0, abs=1e-9)
    assert c.level == pytest.approx(1.0, abs=0.15)
    assert effects["a"].spread < 0.2 * c.spread


def test_intervals_of_effects_shrink_with_data(model):
    few = Model(studied(SPACE, lambda c: 3 * c["c"] ** 2 + c["a"] * c["b"], 6))
    wide = {effect.parameter: float((effect.high - effect.low).mean()) for effect in few.effects()}
    narrow = {e.parameter: float((e.high - e.low).mean()) for e in model.effects()}
    assert narrow["c"] < wide["c"]


def test_interacting_parameters_are_named_first(model):
    first, *rest = model.interactions()
    assert first.parameters == ("a", "b")
    # Var(8 a' b') = 64 / 144, and 3 c^2 has 9 (1/5 - 1/9).
    assert first.share == pytest.approx((64 / 144) / (64 / 144 + 9 * 4 / 45), abs=0.12)
    assert first.low <= first.share <= first.high
    assert all(pair.share < 0.05 for pair in rest)


def test_a_surface_has_both_effects(model):
    surface = model.surface("a", "b", points=5)
    assert surface.mean.shape == surface.sd.shape == (5, 5)
    a, b = np.meshgrid(np.array(surface.x, float), np.array(surface.y, float))
    truth = 8 * (a - 0.5) * (b - 0.5) + 1.0
    np.testing.assert_allclose(surface.mean, truth, atol=0.5)


def test_the_share_of_an_interaction_is_zero_of_a_sum_and_one_of_a_product():
    a, b = np.linspace(-1, 1, 5), np.linspace(-1, 1, 6)
    added = (a[:, None] + b)[None, :, :, None]
    product = (a[:, None] * b)[None, :, :, None]
    assert interaction_share(added)[0] == pytest.approx(0.0, abs=1e-12)
    assert interaction_share(product)[0] == pytest.approx(1.0)
