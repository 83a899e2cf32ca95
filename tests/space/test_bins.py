"""Equal bins of [0, 1]: every centre lies in its own bin, the edges in the outer ones."""

import numpy as np

from bosquet.space.bins import bin_centre, bin_index


def test_centres_lie_in_their_bins():
    for n in (1, 2, 3, 7, 1000):
        bins = np.arange(n)
        np.testing.assert_array_equal(bin_index(bin_centre(bins, n), n), bins)
    assert bin_centre(0, 4) == 0.125


def test_the_ends_belong_to_the_outer_bins():
    assert bin_index(np.array([-1e-9, 0.0, 0.25, 1.0, 1.5]), 4).tolist() == [0, 0, 1, 3, 3]
