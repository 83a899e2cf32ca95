"""Figure 4 of the Add-Tree paper: test error against training size, models side by side.

The small balanced tree with shared variables; options by fair coins, values uniform; 50 test rows.
``independent`` is a GP per leaf over that leaf's variables, ``flat`` one GP over all variables with
the middle of the range where they do not exist, both with the default's priors. Writes
docs/add-tree-regression.md.

    python experiments/add_tree_regression.py [--seeds 20]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import bosquet as bq
from bosquet.kernels.components import Component, Hyperparameters
from bosquet.kernels.features import features_of
from bosquet.models import add_tree as model
from bosquet.models.gp import AdditiveGP
from bosquet.models.transform import transform
from bosquet.space import Space
from bosquet.strategies.add_tree import posterior_means

ROOT = Path(__file__).parent.parent
SIZES = (10, 15, 20, 24, 30, 40, 50)
Model = tuple[list[Component], Hyperparameters]


def independent(space: Space) -> Model:
    """One component per leaf over everything on its path, and a constant: nothing is shared."""
    builder = model._Builder("matern52")
    for node in space.nodes:
        if not any(index in space.tree.children for index in node.dimensions):
            builder.add(f"leaf {node.index}", node, model.chain_features(space, node), builder.own)
            builder.add(f"constant {node.index}", node, (), builder.constant)
    return builder.components, builder.hyperparameters()


def flat(space: Space) -> Model:
    """One component over all variables, active everywhere; choices are categories."""
    builder = model._Builder("matern52")
    features = tuple(f for d in space.dimensions for f in features_of(d))
    builder.add("flat", space.nodes[0], features, builder.own)
    return builder.components, builder.hyperparameters()


MODELS = {
    "add-tree": model.add_tree,
    "add-tree.paper": model.paper_add_tree,
    "independent": independent,
    "flat": flat,
}


def test_error(make: Model, space: Space, configs: list[dict[str, object]], n: int) -> float:
    """log10 of the mean squared error on the last 50 configurations."""
    components, hyper = make
    X = space.to_unit(configs)
    y = np.array([PROBLEM(config) for config in configs])
    targets = transform(y[:n], np.full(n, np.nan))
    Z = space.tree.node_activity(X[:n])
    gp = AdditiveGP(components, hyper, X[:n], Z, targets.z)
    theta, _ = gp.fit(starts(hyper, n))
    z = posterior_means(space, gp.posterior(theta), X[-50:])
    return float(np.log10(np.mean((z * y[:n].std() + y[:n].mean() - y[-50:]) ** 2)))


def starts(hyper: Hyperparameters, seed: int) -> list[NDArray[np.float64]]:
    """The prior mean and two random points about it."""
    rng = np.random.default_rng(seed)
    spread = np.where(np.isfinite(hyper.sd), hyper.sd, 1.0)
    return [hyper.mean + k * spread * rng.standard_normal(len(hyper.mean)) for k in (0.0, 1.0, 1.0)]


PROBLEM = bq.benchmarks.small_balanced(shared=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    seeds = parser.parse_args().seeds
    lines = ["| model | " + " | ".join(f"n = {n}" for n in SIZES) + " |"]
    lines.append("|---" * (len(SIZES) + 1) + "|")
    for name, build in MODELS.items():
        made = build(PROBLEM.space)
        cells = []
        for n in SIZES:
            samples = [
                PROBLEM.space.sample(np.random.default_rng([4, seed]), n + 50)
                for seed in range(seeds)
            ]
            errors = [test_error(made, PROBLEM.space, configs, n) for configs in samples]
            low, mid, high = np.quantile(errors, [0.25, 0.5, 0.75])
            cells.append(f"{mid:.2f} ({low:.2f}, {high:.2f}) {max(errors):.2f}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    text = f"""\
# Add-Tree as a regression model

Written by `experiments/add_tree_regression.py`: log10 test error (mean squared) on 50 points of the
small balanced tree with shared variables, after n random training points; median (quartiles) worst
of {seeds} seeds. bosquet {bq.__version__}, NumPy {np.__version__}.

""" + "\n".join(lines)
    (ROOT / "docs" / "add-tree-regression.md").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
