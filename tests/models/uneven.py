"""Spaces and targets for trees whose leaves differ."""

import numpy as np

import bosquet as bq


def box(d=1):
    return bq.Space({f"x{i}": bq.Float(0, 1) for i in range(d)})


def tree_space():
    return bq.Space(
        {
            "s": bq.Float(0, 1),
            "m": bq.Choice(
                {
                    "a": {"x": bq.Float(0, 1)},
                    "b": {"n": bq.Int(1, 9)},
                    "c": {},
                    ("b", "c"): {"t": bq.Float(0, 1)},
                }
            ),
        }
    )


def jagged(n=24, seed=0):
    """Smooth on the left, rough on the right."""
    X = np.random.default_rng(seed).random((n, 1))
    z = np.where(X[:, 0] < 0.5, X[:, 0], 2 * np.sin(60 * X[:, 0]))
    return X, (z - z.mean()) / z.std()
