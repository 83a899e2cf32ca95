"""The integrations beside what their hosts have: Optuna's TPE, scikit-learn's own searches.

Optuna: the same study code for TPE, for BosquetSampler with the space, and for BosquetSampler that
has to infer it. scikit-learn: a pipeline whose steps are swapped, with an equal number of fits.
Runs are kept in results/integrations.jsonl; --report makes none. Writes docs/integrations.md.

    python experiments/integrations.py [--seeds 5] [--strategy add-tree] [--only optuna] [--report]
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections import defaultdict
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from scipy import stats
from sklearn import datasets
from sklearn.ensemble import RandomForestClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import HalvingRandomSearchCV, RandomizedSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from bosquet.benchmarks import GROUPS, PROBLEMS
from bosquet.integrations.optuna import BosquetSampler, suggest_config
from bosquet.integrations.sklearn import BosquetSearchCV

ROOT = Path(__file__).parent.parent
OUT = ROOT / "results" / "integrations.jsonl"
TREES = tuple(GROUPS["shifted"])
SAMPLERS = ("tpe", "space", "inferred")
TRIALS = 60
DATA = ("breast_cancer", "wine", "digits")
SEARCHES = ("random", "halving", "bosquet")
ITERATIONS, FOLDS = 20, 3
MOST_SAMPLES = 500


def sampler(name: str, problem: Any, strategy: str, seed: int) -> optuna.samplers.BaseSampler:
    if name == "tpe":
        return optuna.samplers.TPESampler(seed=seed)
    return BosquetSampler(problem.space if name == "space" else None, strategy, seed=seed)


def optuna_run(name: str, on: str, seed: int, strategy: str) -> list[float]:
    """log10 distances to the minimum, trial by trial."""
    problem = PROBLEMS[on](seed)
    study = optuna.create_study(sampler=sampler(name, problem, strategy, seed))
    study.optimize(lambda trial: problem(suggest_config(trial, problem.space)), n_trials=TRIALS)
    best = np.minimum.accumulate([trial.value for trial in study.trials]) - problem.minimum
    return np.log10(np.maximum(best, 1e-12)).tolist()  # type: ignore[no-any-return]


def sklearn_run(name: str, on: str, seed: int, strategy: str) -> list[float]:
    """The best mean score, and how many fits of a fold on all samples it took."""
    X, y = getattr(datasets, f"load_{on}")(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(len(y))[:MOST_SAMPLES]
    X, y = X[rows], y[rows]
    pipeline = Pipeline([("scale", StandardScaler()), ("model", SVC())])
    scale = [StandardScaler(), MinMaxScaler(), "passthrough"]
    space: list[dict[str, Any]] = [
        {
            "scale": scale,
            "model": [SVC()],
            "model__C": stats.loguniform(1e-3, 1e3),
            "model__gamma": stats.loguniform(1e-5, 10),
        },
        {"scale": scale, "model": [KNeighborsClassifier()], "model__n_neighbors": range(1, 31)},
        {
            "scale": scale,
            "model": [RandomForestClassifier(n_estimators=30, random_state=0)],
            "model__max_depth": range(1, 21),
            "model__max_features": stats.uniform(0.05, 0.95),
        },
    ]
    common: dict[str, Any] = {"cv": FOLDS, "random_state": seed}
    if name == "random":
        search = RandomizedSearchCV(pipeline, space, n_iter=ITERATIONS, **common).fit(X, y)
    elif name == "bosquet":
        search = BosquetSearchCV(
            pipeline, space, n_iter=ITERATIONS, strategy=strategy, **common
        ).fit(X, y)
    else:  # as many candidates as give the same number of samples fitted
        search = halving(pipeline, space, common, X, y)
    fits = float(FOLDS * ITERATIONS)
    if name == "halving":
        fits = FOLDS * float(search.cv_results_["n_resources"].sum()) / len(y)
    return [float(search.best_score_), float(fits)]


def halving(pipeline: Any, space: Any, common: dict[str, Any], X: Any, y: Any) -> Any:
    """Three rounds; a third of the candidates goes on with three times the samples."""
    first = ITERATIONS * len(y) // 3  # samples of all candidates of one round
    smallest = len(y) // 9
    return HalvingRandomSearchCV(
        pipeline,
        space,
        n_candidates=first // smallest,
        factor=3,
        min_resources=smallest,
        **common,
    ).fit(X, y)


RUNS = {"optuna": (optuna_run, SAMPLERS, TREES), "sklearn": (sklearn_run, SEARCHES, DATA)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--strategy", default="add-tree")
    parser.add_argument("--only", choices=tuple(RUNS))
    parser.add_argument("--report", action="store_true", help="make no runs, only write the page")
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    OUT.parent.mkdir(exist_ok=True)
    found = read()
    for seed in range(0 if options.report else options.seeds):
        for host, (run, methods, problems) in RUNS.items():
            for problem in problems if options.only in (None, host) else ():
                for method in methods:
                    job = (host, method, problem, seed, options.strategy)
                    if job not in found:
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore")
                            found[job] = run(method, problem, seed, options.strategy)
                        with OUT.open("a", encoding="utf-8") as file:
                            file.write(json.dumps([job, found[job]]) + "\n")
    page = ROOT / "docs" / "integrations.md"
    page.write_text(report(found, options.strategy), encoding="utf-8")


Found = dict[tuple[Any, ...], list[float]]


def read() -> Found:
    if not OUT.exists():
        return {}
    lines = OUT.read_text(encoding="utf-8").splitlines()
    return {tuple(job): values for job, values in map(json.loads, lines)}


def report(found: Found, strategy: str) -> str:
    by: dict[tuple[str, str, str], list[list[float]]] = defaultdict(list)
    for (host, method, problem, _, used), values in sorted(found.items()):
        if used == strategy:
            by[host, problem, method].append(values)
    lines = [
        "# The integrations, measured",
        "",
        f"Written by `experiments/integrations.py`, strategy `{strategy}`.",
        "",
        "## Optuna: TPE, a declared space, an inferred one",
        "",
        "The same study code. log10 distance to the minimum: median over seeds at trials 20, 40 "
        "and 60. Delay: how many trials later the inferred run reaches the median of the declared "
        "one at trial 40.",
        "",
        "| problem | seeds | TPE | space | inferred | delay |",
        "|---" * 6 + "|",
    ]
    for problem in TREES:
        curves = {m: np.median(by["optuna", problem, m], axis=0) for m in SAMPLERS}
        if any(np.ndim(curve) == 0 for curve in curves.values()):
            continue
        cells = [" / ".join(f"{curves[m][t - 1]:.2f}" for t in (20, 40, 60)) for m in SAMPLERS]
        reached = np.flatnonzero(curves["inferred"] <= curves["space"][39])
        delay = str(reached[0] + 1 - 40) if len(reached) else f"more than {TRIALS - 40}"
        seeds = len(by["optuna", problem, "tpe"])
        lines.append(f"| {problem} | {seeds} | {' | '.join(cells)} | {delay} |")
    lines += [
        "",
        "## scikit-learn: a pipeline with swapped steps",
        "",
        f"Mean accuracy over {FOLDS} folds of the best candidate, at most {MOST_SAMPLES} samples; "
        "mean over seeds, and the worst seed. Fits of a fold on all samples in brackets.",
        "",
        "| data | seeds | RandomizedSearchCV | HalvingRandomSearchCV | BosquetSearchCV |",
        "|---" * 5 + "|",
    ]
    for data in DATA:
        cells = []
        for search in SEARCHES:
            scores = np.array(by["sklearn", data, search])
            if len(scores):
                best, fits = scores.T
                cells.append(f"{best.mean():.4f} / {best.min():.4f} ({fits.mean():.0f})")
        if len(cells) == len(SEARCHES):
            seeds = len(by["sklearn", data, "random"])
            lines.append(f"| {data} | {seeds} | {' | '.join(cells)} |")
    names = ("bosquet", "optuna", "scikit-learn", "numpy", "scipy")
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in names)
    return "\n".join([*lines, "", f"Versions: {versions}.", ""])


if __name__ == "__main__":
    main()
