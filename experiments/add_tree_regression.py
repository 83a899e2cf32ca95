"""Figure 4 of the Add-Tree paper: test error against training size, models side by side.

The small balanced tree with shared variables; options by fair coins, values uniform; 50 test rows.
``independent`` is a GP per leaf over that leaf's variables, ``flat`` one GP over all variables with
the middle of the range where they do not exist, both with the default's priors and its choice of
kernel by evidence. ``independent, untied`` has the same priors leaf by leaf, so that leaves do not
learn each other's length-scales; ``tree`` is the model of Jenatton et al. (2017), Eq. 1, with
squared exponentials as in the figure. A second table has as many training rows in every leaf.
Writes docs/results/add-tree-regression.md; what was measured is kept in
results/add-tree-regression.json.

    python experiments/add_tree_regression.py [--seeds 20]
    python experiments/add_tree_regression.py --page    writes the page from what is kept
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from kept_script import KeptSeeds
from numpy.typing import NDArray

import bosquet as bq
from bosquet.kernels.components import Kind
from bosquet.kernels.features import features_of
from bosquet.models import add_tree as model
from bosquet.models.base import PathModel, PathPosterior
from bosquet.models.covariance import Covariance, SpaceGP
from bosquet.models.priors import Hyperparameters, SumBuilder
from bosquet.models.transform import transform
from bosquet.models.tree_linear import TreeGP, TreeLinear
from bosquet.space import Space

SIZES = (10, 15, 20, 24, 30, 40, 50)
BALANCED_SIZES = (12, 16, 20, 24, 28, 32)
PROBLEM = bq.benchmarks.small_balanced(shared=True)
FloatArray = NDArray[np.float64]
PATHS = [PROBLEM.space.tree.path_label(path) for path in PROBLEM.space.tree.paths()]
HEAD = """\
# Add-Tree as a regression model

Written by `experiments/add_tree_regression.py` from `experiments/results/add-tree-regression.json`:
log10 test error (mean squared) on 50 points of the small balanced tree with shared variables, after
n random training points; median (quartiles) worst of {seeds} seeds.

In Figure 4 of the paper Add-Tree has 1e-3 with 20 points and 1e-4 with 24, independent GPs 1e-1
with 20 and 1e-4 with 44. `tree` is Eq. 1 of Jenatton et al. (2017); `independent` GPs tie the
hyper-parameters of their leaves by a prior, `independent, untied` do not.

{drawn}

Options are fair coins, so leaves get different numbers of points: with 20 of them the emptiest leaf
has {few:.0f} (median), with 30 it has {more:.0f}. A parabola takes
three, and its leaf's error decides the mean. With as many points in every leaf:

{balanced}
"""
Make = Callable[[FloatArray, FloatArray, Kind], PathModel[PathPosterior]]


def independent(space: Space, kind: Kind, *, tied: bool = True) -> Covariance:
    """One component per leaf over everything on its path, and a constant: nothing is shared."""
    builder = SumBuilder(kind, tied=tied)
    for node in space.nodes:
        if node.variables == node.dimensions:  # no choice branches below it
            builder.add(f"leaf {node.index}", node.index, model.chain_features(space, node), "own")
            builder.add(f"constant {node.index}", node.index, (), "constant")
    return Covariance(space, builder.components, builder.hyperparameters())


def flat(space: Space, kind: Kind) -> Covariance:
    """One component over all variables, active everywhere; choices are categories."""
    builder = SumBuilder(kind)
    features = tuple(f for d in space.dimensions for f in features_of(d))
    builder.add("flat", 0, features, "own")
    return Covariance(space, builder.components, builder.hyperparameters())


def tree(X: FloatArray, z: FloatArray, kind: Kind) -> TreeGP:
    """Eq. 1 of the 2017 paper, by maximum likelihood."""
    assert kind == "se"
    space = PROBLEM.space
    paths = list(space.tree.rows_by_path(X))
    linear = TreeLinear(
        space, paths, features="raw", hierarchical=False, offsets="scalar", kind=kind
    )
    return TreeGP(linear, X, z)


def additive(make: Callable[[Kind], Covariance]) -> Make:
    return lambda X, z, kind: SpaceGP(make(kind), X, z)


BOTH: tuple[Kind, ...] = ("matern52", "se")
MODELS: dict[str, tuple[Make, tuple[Kind, ...]]] = {
    "add-tree": (
        additive(lambda kind: Covariance(PROBLEM.space, *model.add_tree(PROBLEM.space, kind=kind))),
        BOTH,
    ),
    "add-tree.paper": (
        additive(lambda _: Covariance(PROBLEM.space, *model.paper_add_tree(PROBLEM.space))),
        ("se",),
    ),
    "tree": (tree, ("se",)),
    "independent": (additive(lambda kind: independent(PROBLEM.space, kind)), BOTH),
    "independent, untied": (
        additive(lambda kind: independent(PROBLEM.space, kind, tied=False)),
        BOTH,
    ),
    "flat": (additive(lambda kind: flat(PROBLEM.space, kind)), BOTH),
}


def test_error(name: str, configs: list[dict[str, object]], n: int) -> float:
    """log10 of the mean squared error on the last 50 configurations."""
    make, kinds = MODELS[name]
    space = PROBLEM.space
    X = space.to_unit(configs)
    y = np.array([PROBLEM(config) for config in configs])
    targets = transform(y[:n], np.full(n, np.nan))
    fits = []
    for kind in kinds:
        gp = make(X[:n], targets.z, kind)
        theta, evidence = gp.fit(starts(gp.hyper, n))
        fits.append((evidence, gp.posterior(theta)))
    posterior = max(fits, key=lambda fit: fit[0])[1]
    z = np.empty(50)
    for path, rows in space.tree.rows_by_path(X[-50:]).items():
        z[rows] = posterior.on_path(path).moments(X[-50:][rows])[0]
    return float(np.log10(np.mean((z * y[:n].std() + y[:n].mean() - y[-50:]) ** 2)))


def starts(hyper: Hyperparameters, seed: int) -> list[FloatArray]:
    """The prior mean and two random points about it."""
    rng = np.random.default_rng(seed)
    spread = np.where(np.isfinite(hyper.sd), hyper.sd, 1.0)
    return [hyper.mean + k * spread * rng.standard_normal(len(hyper.mean)) for k in (0.0, 1.0, 1.0)]


def sample(n: int, seed: int, balanced: bool) -> list[dict[str, object]]:
    """n training rows and 50 test rows."""
    rng = np.random.default_rng([4, seed])
    configs = PROBLEM.space.sample(rng, n + 50)
    if not balanced:
        return configs
    by_path: dict[str, list[dict[str, object]]] = {}
    for config in PROBLEM.space.sample(rng, 20 * n):
        by_path.setdefault(PROBLEM.space.path_label(config), []).append(config)
    return [row[i] for i in range(n // 4) for row in by_path.values()] + configs[n:]


def measure(seed: int) -> dict[str, Any]:
    def errors(name: str, sizes: Sequence[int], balanced: bool) -> list[float]:
        return [round(test_error(name, sample(n, seed, balanced), n), 4) for n in sizes]

    return {
        "drawn": {name: errors(name, SIZES, False) for name in MODELS},
        "balanced": {name: errors(name, BALANCED_SIZES, True) for name in MODELS},
        "fewest": {str(n): fewest(n, seed) for n in SIZES},
    }


def fewest(n: int, seed: int) -> int:
    """The number of training rows in the emptiest leaf."""
    labels = [PROBLEM.space.path_label(config) for config in sample(n, seed, False)[:n]]
    return min(labels.count(label) for label in PATHS)


def page(runs: list[dict[str, Any]]) -> str:
    few, more = (np.median([run["fewest"][str(n)] for run in runs]) for n in (20, 30))
    tables = {
        "drawn": table(SIZES, [run["drawn"] for run in runs]),
        "balanced": table(BALANCED_SIZES, [run["balanced"] for run in runs]),
    }
    return HEAD.format(seeds=len(runs), few=few, more=more, **tables)


def table(sizes: Sequence[int], found: Sequence[dict[str, list[float]]]) -> str:
    lines = ["| model | " + " | ".join(f"n = {n}" for n in sizes) + " |"]
    lines.append("|---" * (len(sizes) + 1) + "|")
    for name in MODELS:
        errors = np.array([of_seed[name] for of_seed in found])
        quartiles = np.quantile(errors, [0.25, 0.5, 0.75], axis=0).T
        cells = [
            f"{mid:.2f} ({low:.2f}, {high:.2f}) {worst:.2f}"
            for (low, mid, high), worst in zip(quartiles, errors.max(axis=0), strict=True)
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


SCRIPT = KeptSeeds("add-tree-regression", measure, page, seeds=20)
kept_page = SCRIPT.kept_page


if __name__ == "__main__":
    SCRIPT.main(__doc__)
