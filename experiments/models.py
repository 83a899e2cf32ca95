"""What a model is worth before any search: which of some configurations would it try next?

Writes docs/results/models.md. For every learning problem of the development half of the real suite
there are 120 random configurations and three runs of TPE, evaluated once and kept in
experiments/results/evaluations.jsonl.xz. A model is given the first n trials of one of these runs
and ranks everything else.

    python experiments/models.py [--data DIR] [--problems a,b]    evaluates what is missing
"""

from __future__ import annotations

import argparse
import itertools
import json
import lzma
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import logsumexp
from scipy.stats import rankdata, spearmanr

from bosquet.acquisition.base import LogEI
from bosquet.arrays import Array, Bools
from bosquet.benchmarks import GROUPS, PROBLEMS
from bosquet.benchmarks.peers import PEERS
from bosquet.benchmarks.suite import DATA_VARIABLE
from bosquet.data import History, Trial
from bosquet.kernels.features import Feature, features_of
from bosquet.models.add_tree import chain_features, own_features
from bosquet.models.baselines import ArcCovariance
from bosquet.models.covariance import Covariance
from bosquet.models.priors import SumBuilder
from bosquet.space import Space
from bosquet.strategies import AddTree, Arc
from bosquet.strategies.base import Task
from bosquet.strategies.fitting import Fitted, Setting
from bosquet.strategies.gp_strategy import CovarianceStrategy, GPStrategy

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "experiments" / "results" / "evaluations.jsonl.xz"
TRIALS = (12, 18, 25, 45)
N_RANDOM, N_RUNS, N_TRIALS, TOP = 120, 3, 60, 5
TEMPERATURE = 4.0  # of the evidence, as in `auto`
LEARNERS = tuple(name for name in GROUPS["real-develop"] if not name.startswith("system-"))

Evaluated = list[tuple[dict[str, Any], float]]

HEAD = """\
# Which model chooses best

Written by `experiments/models.py`: {problems} problems of the development half of the real suite.
A model is fitted to the first n trials of a run of TPE, and ranks some 300 other configurations of
the problem by expected improvement. In the table: how good the five it would try first are (the
share of configurations that are better, 0 is best), and the rank correlation of its predictions
with the values. Means over {sets} sets of trials.

"""


# -- the evaluations -------------------------------------------------------------------------


def evaluated(problem: str) -> dict[str, Evaluated]:
    """Random configurations and runs of TPE with their values."""
    made = PROBLEMS[problem](0)
    drawn = made.space.sample(np.random.default_rng(7), N_RANDOM)
    runs: dict[str, Evaluated] = {"random": [(dict(c), made(c)) for c in drawn]}
    for i in range(N_RUNS):
        trials: Evaluated = []

        def objective(config: dict[str, Any], trials: Evaluated = trials) -> float:
            trials.append((dict(config), made(config)))
            return trials[-1][1]

        PEERS["optuna-tpe"](made.space, objective, N_TRIALS, 100 + i)
        runs[f"tpe {i}"] = trials
    return runs


def all_evaluated(problems: Iterable[str]) -> dict[str, dict[str, Evaluated]]:
    kept: dict[str, dict[str, Evaluated]] = {}
    if KEPT.exists():
        for line in lzma.decompress(KEPT.read_bytes()).decode().splitlines():
            problem, runs = json.loads(line)
            kept[problem] = {name: [(c, v) for c, v in run] for name, run in runs.items()}
    for problem in problems:
        if problem not in kept:
            print("evaluating", problem, flush=True)
            kept[problem] = evaluated(problem)
            text = "".join(json.dumps([name, runs]) + "\n" for name, runs in kept.items())
            KEPT.write_bytes(lzma.compress(text.encode(), preset=9))
    return {problem: kept[problem] for problem in problems}


# -- the models ------------------------------------------------------------------------------


class Ranked(NamedTuple):
    """What a model says of some configurations."""

    mean: Array
    log_ei: Array
    evidence: float = 0.0


Model = Callable[[Space, Evaluated, Evaluated], Ranked]


def by(strategy: GPStrategy[Any]) -> Model:
    """The model of a strategy; it is fitted until what evidence chooses no longer changes."""

    def ranked(space: Space, train: Evaluated, test: Evaluated) -> Ranked:
        trials = [Trial(i, c, state="complete", value=v) for i, (c, v) in enumerate(train)]
        fitted: Fitted[Any] | None = None
        for _ in range(4):
            history = History(space, trials)
            last, fitted = (
                fitted,
                strategy.fit(Task(space, history), history.dataset(), np.random.default_rng(0)),
            )
            if last is not None and last.record.setting == fitted.record.setting:
                break
            trials[-1] = replace(trials[-1], memory=fitted.memory)
        assert fitted is not None
        X = space.to_unit([config for config, _ in test])
        mean, log_ei = np.empty(len(X)), np.empty(len(X))
        acquisition = LogEI(float(fitted.z.min()))
        for path, rows in space.tree.rows_by_path(X).items():
            moments = fitted.posterior.on_path(path).moments(X[rows])
            mean[rows], log_ei[rows] = moments[0], acquisition.value(*moments)
        return Ranked(mean, log_ei, fitted.record.evidence)

    return ranked


def averaged(models: Sequence[Model]) -> Model:
    """Expected improvement averaged over models, weighted by tempered evidence."""

    def ranked(space: Space, train: Evaluated, test: Evaluated) -> Ranked:
        all_ranked = [model(space, train, test) for model in models]
        evidence = np.array([one.evidence for one in all_ranked]) / TEMPERATURE
        log_weights = evidence - logsumexp(evidence)
        log_ei = logsumexp(
            [r.log_ei + w for r, w in zip(all_ranked, log_weights, strict=True)], axis=0
        )
        mean = np.exp(log_weights) @ np.array([one.mean for one in all_ranked])
        return Ranked(mean, np.asarray(log_ei))

    return ranked


def settings_of(strategy: type[GPStrategy[Any]]) -> list[Model]:
    """One model for each kernel, with and without a transform of the targets."""
    return [
        by(strategy(kernel=kernel, transforms=transforms))
        for kernel in ("matern52", "se")
        for transforms in (True, False)
    ]


@dataclass(kw_only=True, eq=False)
class OneSum(CovarianceStrategy):
    """The components of Add-Tree and one of the arc kernel; perhaps one for every variable."""

    name: ClassVar[str] = "one-sum"
    singles: bool = False

    def covariance(self, space: Space, setting: Setting) -> Covariance:
        return SumCovariance(space, setting, self.singles)


class SumCovariance(ArcCovariance):
    """Rows are themselves, followed by their arc embedding."""

    def __init__(self, space: Space, setting: Setting, singles: bool) -> None:
        super().__init__(space, setting.kernel, 0.5)
        (arc,) = self.components
        builder = SumBuilder(setting.kernel)
        for node in space.nodes:
            if own := own_features(space, node):
                builder.add(f"own {node.index}", node.index, own, "own")
            if len(node.variables) > 1 and singles:
                for v in node.variables:
                    features = tuple(features_of(space.dimensions[v]))
                    builder.add(f"single {v}", node.index, features, "own")
        for node in space.nodes[1:]:
            implied = chain_features(space, node)
            if len(implied) > len(own_features(space, node)):
                builder.add(f"chain {node.index}", node.index, implied, "chain")
            if len(node.options) == 1:
                builder.add(f"constant {node.index}", node.index, (), "constant")
        if len(space.nodes) > 1:
            shifted = [Feature(f.dimension + len(space), f.kind) for f in arc.features]
            for sine, cosine in itertools.pairwise(shifted):
                if cosine.dimension >= 2 * len(space):
                    builder.share(sine, cosine)
            builder.add("arc", 0, tuple(shifted), "own")
        Covariance.__init__(self, space, builder.components, builder.hyperparameters())

    def embed(self, X: Array, active: Bools) -> Array:
        return np.hstack([X, super().embed(X, active)])

    def pull_back(self, X: Array, gradient: Array) -> Array:
        d = len(self.space)
        return gradient[:, :d] + super().pull_back(X, gradient[:, d:])


def compressed(strategy: type[GPStrategy[Any]]) -> Model:
    """Values above the median are compressed by a logarithm; the evidence says how strongly."""
    model = by(strategy(transforms=False))

    def ranked(space: Space, train: Evaluated, test: Evaluated) -> Ranked:
        y = np.array([value for _, value in train])
        median = np.median(y)
        below = y[y < median]
        spread = np.sqrt(np.mean((below - median) ** 2)) if len(below) else max(np.std(y), 1e-12)
        s = (y - median) / spread
        found = []
        for strength in (0.0, 1 / 3, 1.0, 3.0, 10.0):
            squeezed = np.log1p(strength * np.maximum(s, 0.0))
            t = np.where(s > 0, squeezed / strength, s) if strength else s
            z = (t - t.mean()) / t.std()
            one = model(space, [(c, float(v)) for (c, _), v in zip(train, z, strict=True)], test)
            jacobian = -float(squeezed.sum()) - len(y) * np.log(spread * t.std())
            found.append(one._replace(evidence=one.evidence + jacobian))
        return max(found, key=lambda one: one.evidence)

    return ranked


MODELS: Mapping[str, Model] = {
    "add-tree": by(AddTree()),
    "arc": by(Arc()),
    "average of both (`auto`)": averaged([by(AddTree()), by(Arc())]),
    "one sum of both": by(OneSum()),
    "one sum, and a term per variable": by(OneSum(singles=True)),
    "arc, averaged over settings": averaged(settings_of(Arc)),
    "arc without transforms": by(Arc(transforms=False)),
    "arc, bad values compressed": compressed(Arc),
}


# -- the table -------------------------------------------------------------------------------


def scores(model: Model, space: Space, train: Evaluated, test: Evaluated) -> tuple[float, float]:
    """The mean rank of the first few, from 0 to 1; the rank correlation."""
    y = np.array([value for _, value in test])
    ranked = model(space, train, test)
    better = (rankdata(y) - 1) / (len(y) - 1)
    first = np.argsort(-ranked.log_ei, kind="stable")[:TOP]
    return float(better[first].mean()), float(spearmanr(ranked.mean, y)[0])


def sets_of(runs: Mapping[str, Evaluated], n: int) -> Iterable[tuple[Evaluated, Evaluated]]:
    """The first n trials of a run, and everything else that is not among them."""
    for i in range(N_RUNS):
        train = runs[f"tpe {i}"][:n]
        seen = {json.dumps(config, sort_keys=True) for config, _ in train}
        others = {
            key: (config, value)
            for run in runs.values()
            for config, value in run
            if (key := json.dumps(config, sort_keys=True)) not in seen
        }
        yield train, list(others.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--problems", type=lambda text: text.split(","), default=LEARNERS)
    options = parser.parse_args()
    if options.data is not None:
        os.environ[DATA_VARIABLE] = str(options.data.absolute())
    space_of = cache(lambda problem: PROBLEMS[problem](0).space)
    kept = all_evaluated(options.problems)
    lines = ["| model | " + " | ".join(f"n = {n}" for n in TRIALS) + " |"]
    lines.append("|---" * (1 + len(TRIALS)) + "|")
    for name, model in MODELS.items():
        cells = []
        for n in TRIALS:
            found = np.array(
                [
                    scores(model, space_of(problem), train, test)
                    for problem, runs in kept.items()
                    for train, test in sets_of(runs, n)
                ]
            )
            first, correlation = np.nanmean(found, axis=0)
            cells.append(f"{first:.3f}, {correlation:.2f}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    head = HEAD.format(problems=len(kept), sets=len(kept) * N_RUNS)
    (ROOT / "docs" / "results" / "models.md").write_text(
        head + "\n".join(lines) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
