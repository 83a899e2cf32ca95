"""A random forest on any space: mean and variance of a target, and trees that can be walked.

Glossary (n rows, d unit coordinates, c columns)
    X  (n, d)  unit rows of the space
    E  (n, c)  the rows as the trees read them, in single precision: an ordered coordinate is one
               column, below 0 where it is inactive; a category has a column of zeros and ones per
               option, and where it can be inactive one more for that. So one split can tell
               "inactive" apart, and the options a region allows can be any set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bosquet.arrays import Array
from bosquet.models.transform import exponent
from bosquet.space import Space

Encoded = NDArray[np.float32]

INACTIVE = -1
"""The value of an inactive ordered coordinate, and the option of the column that marks it."""
_TREES = 10
_LEAST_IN_LEAF = 3
_COLUMNS_PER_SPLIT = 5 / 6  # looked at, of all columns
_LEAST_VARIANCE = 1e-8  # of standardised targets: leaves of equal values are not certain


@dataclass(frozen=True)
class Column:
    """What a split looks at: a coordinate, or whether a category has one option."""

    dimension: int
    option: int | None = None


class Encoding:
    """Unit rows of a space as columns for trees."""

    def __init__(self, space: Space) -> None:
        self._space = space
        columns: list[Column] = []
        for d in space.dimensions:
            if d.parameter.is_category:
                options = list(range(int(d.parameter.n_values))) + [INACTIVE] * (d.node > 0)
                columns += [Column(d.index, option) for option in options]
            else:
                columns.append(Column(d.index))
        self.columns = tuple(columns)

    def __call__(self, X: Array) -> Encoded:
        ordered = np.where(self._space.activity(X), X, float(INACTIVE))
        E = np.empty((len(X), len(self.columns)), dtype=np.float32)
        for i, column in enumerate(self.columns):
            j = column.dimension
            if column.option is None:
                E[:, i] = ordered[:, j]
            else:
                option = self._space.tree.choice(j).option_index(X[:, j])
                E[:, i] = np.where(ordered[:, j] < 0, INACTIVE, option) == column.option
        return E


class Forest:
    """Regression trees on bootstrap samples of rows and standardised targets."""

    def __init__(
        self,
        space: Space,
        X: Array,
        z: Array,
        rng: np.random.Generator,
        *,
        n_trees: int = _TREES,
        least_in_leaf: int = _LEAST_IN_LEAF,
        columns_per_split: float = _COLUMNS_PER_SPLIT,
    ) -> None:
        """``columns_per_split`` is the share of the columns that a split looks at."""
        self.encode = Encoding(space)
        E = self.encode(X)
        tree = _tree_class()
        # As RandomForestRegressor does, without its overhead, which for one ask is most of a fit.
        self.trees: list[Any] = []
        for _ in range(n_trees):
            grown = tree(
                min_samples_leaf=least_in_leaf,
                max_features=columns_per_split,
                random_state=int(rng.integers(2**31)),
            )
            drawn = np.bincount(rng.integers(len(z), size=len(z)), minlength=len(z))
            grown.fit(E, z, sample_weight=drawn.astype(float), check_input=False)
            self.trees.append(grown.tree_)
        """scikit-learn's arrays: children_left, children_right, feature (a column), threshold."""

    def moments(self, X: Array) -> tuple[Array, Array]:
        """Mean over the trees; variance across the trees plus the mean one within their leaves."""
        E = self.encode(X)
        leaves = [tree.apply(E) for tree in self.trees]
        pairs = list(zip(self.trees, leaves, strict=True))
        means = np.array([tree.value[leaf, 0, 0] for tree, leaf in pairs])
        within = np.array([tree.impurity[leaf] for tree, leaf in pairs])
        variance = means.var(axis=0) + within.mean(axis=0)
        return means.mean(axis=0), np.maximum(variance, _LEAST_VARIANCE)


def _tree_class() -> Any:
    try:
        from sklearn.tree import DecisionTreeRegressor
    except ImportError as error:
        raise ImportError("forests need scikit-learn: pip install 'bosquet[forest]'") from error
    return DecisionTreeRegressor


def log_costs(y: Array) -> Array:
    """Logarithms of costs above a floor just below the lowest: for heavy upper tails.

    The floor is as far below the lowest cost as the 5 % quantile is above it, as in SMAC3.
    """
    y = np.ldexp(y, -exponent(y))
    low, quantile, high = np.quantile(y, (0.0, 0.05, 1.0))
    if low == high:
        return np.zeros(len(y))
    return np.asarray(np.log(y - low + max(quantile - low, 1e-10 * (high - low))))
