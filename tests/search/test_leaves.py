"""Leaves as regions: on any space they are inside their cell, and every path that fits has one."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bosquet.models.cart import Cart
from bosquet.search.leaves import regions
from tests.space.strategies import spaces


@settings(max_examples=15, deadline=None)
@given(space=spaces, seed=st.integers(0, 9))
def test_regions_of_leaves(space, seed):
    rng = np.random.default_rng(seed)
    X = space.snap(rng.random((40, len(space))))
    tree = Cart(space, X, rng.standard_normal(40), least=3)
    by_path = space.tree.rows_by_path(X)
    for i, leaf in enumerate(tree.leaves):
        found = {region.path: region for region in regions(space, leaf.cell, list(by_path))}
        for path, rows in by_path.items():
            inside = np.intersect1d(rows, leaf.cell.rows)
            assert path in found or not len(inside)
            if path in found:
                region = found[path]
                assert region.contains(region.centre[None]).all()
                assert region.contains(X[inside]).all()
                drawn = region.draw(5, rng)
                assert region.contains(drawn).all()
                edge = (drawn == region.lower).any(axis=1)  # which belong to the left leaf
                assert (tree.leaf_of(drawn[~edge]) == i).all()
