"""The integrations beside what their hosts have: searches of Optuna, scikit-learn and Ray Tune.

Optuna: the same study code for TPE, for BosquetSampler with the space, and for BosquetSampler that
has to infer it. scikit-learn: a pipeline whose steps are swapped, with an equal number of fits.
Ray: four workers, with trials that take a while; only this part and the page need Ray.
Runs are kept in results/integrations.jsonl; --report makes none. Writes
docs/results/integrations.md.

    python experiments/integrations.py [--seeds 5] [--strategy add-tree] [--only ray] [--report]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from collections import defaultdict
from functools import partial
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

from bosquet.benchmarks import GROUPS, PROBLEMS, Problem
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
RAY_TREES = ("small-shared-shifted", "interaction-shifted", "unbalanced-4-shifted")
RAY_SEARCHES = ("random", "OptunaSearch", "BosquetSearch")
WORKERS, SLEEP = 4, 0.5


def sampler(name: str, problem: Any, strategy: str, seed: int) -> optuna.samplers.BaseSampler:
    if name == "tpe":
        return optuna.samplers.TPESampler(seed=seed)
    return BosquetSampler(problem.space if name == "space" else None, strategy, seed=seed)


def optuna_run(name: str, on: str, seed: int, strategy: str) -> list[float]:
    """log10 distances to the minimum, trial by trial."""
    problem = PROBLEMS[on](seed)
    study = optuna.create_study(sampler=sampler(name, problem, strategy, seed))
    study.optimize(lambda trial: problem(suggest_config(trial, problem.space)), n_trials=TRIALS)
    return distances([trial.value for trial in study.trials], problem)


def distances(values: list[float], problem: Problem) -> list[float]:
    """log10 of how far the best value so far is from the minimum."""
    best = np.minimum.accumulate(values) - problem.minimum
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


def ask_optuna(on: str, seed: int, trial: Any) -> dict[str, Any]:
    """A problem as a define-by-run space of OptunaSearch."""
    return {"config": suggest_config(trial, PROBLEMS[on](seed).space)}


def ray_run(name: str, on: str, seed: int, strategy: str) -> list[float]:
    """Seconds, then distances in the order in which trials were suggested."""
    import ray
    from ray import tune
    from ray.tune.search.basic_variant import BasicVariantGenerator
    from ray.tune.search.optuna import OptunaSearch

    from bosquet.integrations.ray_tune import BosquetSearch

    def train(config: dict[str, Any]) -> None:
        time.sleep(SLEEP)
        tune.report({"loss": PROBLEMS[on](seed)(config.get("config", config))})

    if not ray.is_initialized():
        ray.init(address="local", num_cpus=WORKERS, include_dashboard=False, log_to_driver=False)
    problem = PROBLEMS[on](seed)
    goal: dict[str, Any] = {"metric": "loss", "mode": "min"}
    param_space: dict[str, Any] = {}
    search: Any
    if name == "random":
        rng = np.random.default_rng(seed)
        param_space["config"] = tune.sample_from(lambda _: problem.space.sample(rng))
        search = BasicVariantGenerator()
    elif name == "OptunaSearch":
        search = OptunaSearch(partial(ask_optuna, on, seed), seed=seed, **goal)
    else:
        search = BosquetSearch(problem.space, strategy=strategy, seed=seed, **goal)
    with tempfile.TemporaryDirectory() as folder:
        tuner = tune.Tuner(
            train,
            param_space=param_space,
            # No max_concurrent_trials: the CPUs limit, and Ray reuses processes of ended trials
            # only for a trial that waits already.
            tune_config=tune.TuneConfig(search_alg=search, num_samples=TRIALS, reuse_actors=True),
            run_config=tune.RunConfig(storage_path=folder, verbose=0),
        )
        start = time.perf_counter()
        results = tuner.fit()
        seconds = time.perf_counter() - start
    return [seconds, *distances([result.metrics["loss"] for result in results], problem)]


RUNS = {
    "optuna": (optuna_run, SAMPLERS, TREES),
    "sklearn": (sklearn_run, SEARCHES, DATA),
    "ray": (ray_run, RAY_SEARCHES, RAY_TREES),
}


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
    page = ROOT / "docs" / "results" / "integrations.md"
    page.write_text(report(found, options.strategy), encoding="utf-8")


Found = dict[tuple[Any, ...], list[float]]


def read() -> Found:
    if not OUT.exists():
        return {}
    lines = OUT.read_text(encoding="utf-8").splitlines()
    return {tuple(job): values for job, values in map(json.loads, lines)}


def report(found: Found, strategy: str) -> str:
    by: dict[tuple[str, str, str], list[list[float]]] = defaultdict(list)
    for (host, method, problem, seed, used), values in sorted(found.items()):
        others = ((host, other, problem, seed, used) for other in RUNS[host][1])
        if used == strategy and all(other in found for other in others):
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
        "one at trial 40. Below 1e-8 further digits are a matter of chance, so is a delay measured "
        "there: the last column has the trials until the medians (space, inferred) are below 1e-4.",
        "",
        "| problem | seeds | TPE | space | inferred | delay | to 1e-4 |",
        "|---" * 7 + "|",
    ]
    for problem in TREES:
        curves = {m: np.median(by["optuna", problem, m], axis=0) for m in SAMPLERS}
        if any(np.ndim(curve) == 0 for curve in curves.values()):
            continue
        cells = [at_trials(curves[m]) for m in SAMPLERS]
        reached = trials_to(curves["inferred"], curves["space"][39])
        delay = f"more than {TRIALS - 40}" if reached is None else str(reached - 40)
        both = ", ".join(str(trials_to(curves[m], -4) or "-") for m in ("space", "inferred"))
        seeds = len(by["optuna", problem, "tpe"])
        lines.append(f"| {problem} | {seeds} | {' | '.join(cells)} | {delay} | {both} |")
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
    lines += [
        "",
        f"## Ray Tune: {WORKERS} workers",
        "",
        f"{TRIALS} trials of {SLEEP} seconds each. log10 distance to the minimum as above, trials "
        f"in the order of suggestion; and median seconds of the whole run. {WORKERS} workers need "
        f"{TRIALS / WORKERS * SLEEP:.1f} for the trials alone; most of the rest is Ray starting "
        "processes, on two cores that had other work to do.",
        "",
        f"| problem | seeds | {' | '.join(RAY_SEARCHES)} |",
        "|---" * 5 + "|",
    ]
    for problem in RAY_TREES:
        runs = [np.array(by["ray", problem, search]) for search in RAY_SEARCHES]
        if all(map(len, runs)):
            medians = [np.median(of, axis=0) for of in runs]
            cells = [f"{at_trials(m[1:])} ({m[0]:.1f} s)" for m in medians]
            lines.append(f"| {problem} | {len(runs[0])} | {' | '.join(cells)} |")
    names = ("bosquet", "optuna", "scikit-learn", "ray", "numpy", "scipy")
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in names)
    return "\n".join([*lines, "", f"Versions: {versions}.", ""])


def trials_to(curve: Any, level: float) -> int | None:
    reached = np.flatnonzero(curve <= level)
    return int(reached[0]) + 1 if len(reached) else None


def at_trials(curve: Any) -> str:
    return " / ".join(f"{curve[t - 1]:.2f}" for t in (20, 40, 60))


if __name__ == "__main__":
    main()
