import numpy as np
import pytest

from bosquet.kernels.stationary import PROPORTIONAL, SHAPES, WRITTEN

R2 = np.concatenate([[0.0], np.geomspace(1e-9, 50.0, 40)])


@pytest.mark.parametrize("kind", WRITTEN)
def test_what_is_written_is_the_shape(kind):
    value, slope = SHAPES[kind](R2)
    for wanted in (None, np.empty_like(R2)):
        written = R2.copy()
        WRITTEN[kind](written, wanted)
        np.testing.assert_allclose(written, value, rtol=1e-14)
        if wanted is not None:
            np.testing.assert_allclose(wanted, slope, rtol=1e-14)


@pytest.mark.parametrize("kind", PROPORTIONAL)
def test_slopes_that_are_proportional(kind):
    value, slope = SHAPES[kind](R2)
    np.testing.assert_allclose(PROPORTIONAL[kind] * value, slope, rtol=1e-14)
