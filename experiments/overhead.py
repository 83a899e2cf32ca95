"""What a trial costs beside its evaluation. Writes docs/results/overhead.md.

Trials per second, and CPU time a trial, of `minimize` with an objective that does nothing and
strategy `random`, beside Optuna's own `optimize` with its RandomSampler; and how long `add-tree`
thinks while trials are pending. Trials per second are by the clock, so leave the machine alone.

    python experiments/overhead.py throughput latency [--repeats 3]
    python experiments/overhead.py --page    writes the page from what is kept

Runs the parts named, keeps their tables in experiments/results/overhead.json with the versions of
the last run, and writes the page from all that is there.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import statistics
import tempfile
import time
import uuid
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import sqlalchemy
from postgres import Postgres

import bosquet as bq
from bosquet.benchmarks import PROBLEMS

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "experiments" / "results" / "overhead.json"
N_TRIALS = {"in memory": 1_000, "SQLite": 100, "PostgreSQL": 100}
WORKERS = (1, 2, 4, 8)
PENDING = (0, 10, 50)
TOLD = (50, 200)
ASK_PROBLEMS = ("small-shared-shifted", "large-shared-shifted")
SEEDS = 5

SPACE = bq.Space(
    {
        "model": bq.Choice(
            {
                "svm": {"C": bq.Float(1e-3, 1e3, log=True), "gamma": bq.Float(1e-4, 10, log=True)},
                "forest": {"depth": bq.Int(1, 20), "share": bq.Float(0.1, 1)},
            }
        )
    }
)


def free(_: dict[str, Any]) -> float:
    return 0.0


def free_in_optuna(trial: optuna.Trial) -> float:
    if trial.suggest_categorical("model", ["svm", "forest"]) == "svm":
        trial.suggest_float("C", 1e-3, 1e3, log=True)
        trial.suggest_float("gamma", 1e-4, 10, log=True)
    else:
        trial.suggest_int("depth", 1, 20)
        trial.suggest_float("share", 0.1, 1)
    return 0.0


# -- trials per second -----------------------------------------------------------------------

Moments = list[tuple[float, float]]
"""When each trial of one process ended: by the clock, and by the CPU time of the process."""


def now() -> tuple[float, float]:
    return time.time(), time.process_time()


def bosquet_run(storage: str | None, n_trials: int, n_jobs: int) -> Moments:
    moments: Moments = []
    bq.minimize(
        free,
        SPACE,
        n_trials=n_trials,
        seed=0,
        strategy="random",
        storage=storage,
        n_jobs=n_jobs,
        callbacks=lambda _optimizer, _trial: moments.append(now()),
        progress=False,
    )
    return moments


def optuna_run(storage: str | None, n_trials: int, n_jobs: int) -> Moments:
    moments: Moments = []
    study = optuna.create_study(
        storage=storage,
        study_name="overhead",
        sampler=optuna.samplers.RandomSampler(0),
        load_if_exists=True,
    )

    def ended(study: optuna.Study, _: optuna.trial.FrozenTrial) -> None:
        moments.append(now())
        if storage is not None and n_jobs == 1:  # others may work on it too
            states = (optuna.trial.TrialState.COMPLETE,)
            if len(study.get_trials(deepcopy=False, states=states)) >= n_trials:
                study.stop()

    study.optimize(free_in_optuna, n_trials=n_trials, n_jobs=n_jobs, callbacks=[ended])
    return moments


Run = Callable[[str | None, int, int], Moments]


def measure(processes: list[Moments]) -> tuple[float, float]:
    """Trials per second, and CPU milliseconds a trial, from the first trial's end to the last's."""
    clock = [moment for moments in processes for moment, _ in moments]
    cpu = sum(moments[-1][1] - moments[0][1] for moments in processes if moments)
    trials = len(clock)
    return (trials - 1) / (max(clock) - min(clock)), 1e3 * cpu / (trials - len(processes))


def in_processes(run: Run, storage: str, n_trials: int, processes: int) -> list[Moments]:
    """What several processes on one study did."""
    with tempfile.TemporaryDirectory() as directory:
        files = [Path(directory) / str(i) for i in range(processes)]
        fork = multiprocessing.get_context("fork")
        started = [
            fork.Process(target=_note, args=(run, storage, n_trials, file)) for file in files
        ]
        for process in started:
            process.start()
        for process in started:
            process.join()
            assert process.exitcode == 0
        return [json.loads(file.read_text()) for file in files]


def _note(run: Run, storage: str, n_trials: int, file: Path) -> None:
    file.write_text(json.dumps(run(storage, n_trials, 1)))


def new_storage(kind: str, directory: str, postgres: Postgres) -> str | None:
    """The URL of a storage that has its tables and nothing in them."""
    if kind == "in memory":
        return None
    url = f"sqlite:///{directory}/{uuid.uuid4().hex}.db"
    if kind == "PostgreSQL":
        url = postgres.new_database()
    optuna.storages.RDBStorage(url).engine.dispose()
    return url


def throughput(new: Callable[[str], str | None], repeats: int) -> str:
    lines = [
        "| storage | workers | bosquet `n_jobs` | Optuna `n_jobs` (threads) | bosquet, processes "
        "| Optuna, processes |",
        "|---|---|---|---|---|---|",
    ]
    for kind, n_trials in N_TRIALS.items():
        for workers in WORKERS:
            found: dict[tuple[Run, bool], list[tuple[float, float]]] = defaultdict(list)
            for _ in range(repeats):  # by turns: the machine is shared
                for run in (bosquet_run, optuna_run):
                    found[run, False].append(measure([run(new(kind), n_trials, workers)]))
                    if kind != "in memory" and workers > 1:
                        shared = in_processes(run, str(new(kind)), n_trials, workers)
                        found[run, True].append(measure(shared))
            columns = [(run, apart) for apart in (False, True) for run in (bosquet_run, optuna_run)]
            cells = [cell(found[column]) for column in columns]
            lines.append(f"| {kind} | {workers} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    return "\n".join(lines)


def cell(measured: list[tuple[float, float]]) -> str:
    if not measured:
        return ""
    rates, cpu = zip(*measured, strict=True)
    return f"{statistics.median(rates):.0f} ({statistics.median(cpu):.1f})"


# -- asking with pending trials --------------------------------------------------------------


def ask_seconds(problem: str, told: int, pending: int, seed: int) -> float:
    """CPU time of one ask, once `add-tree` has a fit of before to start from."""
    made = PROBLEMS[problem](seed)
    configs = made.space.sample(np.random.default_rng(seed), told + pending)
    optimizer = bq.Optimizer(made.space, "add-tree", seed=seed)
    for config in configs[: told - 3]:
        optimizer.tell(config, made.function(config))
    for _ in range(3):
        trial = optimizer.ask()
        optimizer.tell(trial, made.function(trial.config))
    running = [bq.Trial(told + i, config) for i, config in enumerate(configs[told:])]
    optimizer.follow(optimizer.history.trials, running)
    started = time.process_time()
    optimizer.ask()
    return time.process_time() - started


def latency() -> str:
    lines = [
        f"| problem | told | {' | '.join(f'{p} pending' for p in PENDING)} |",
        "|---" * (len(PENDING) + 2) + "|",
    ]
    for problem in ASK_PROBLEMS:
        for told in TOLD:
            cells = []
            for pending in PENDING:
                asks = [1e3 * ask_seconds(problem, told, pending, seed) for seed in range(SEEDS)]
                cells.append(f"{statistics.median(asks):.0f} ({max(asks):.0f})")
            lines.append(f"| {problem} | {told} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    return "\n".join(lines)


PAGE = """\
# What a trial costs beside its evaluation

Written by `experiments/overhead.py` (Python {python}, Optuna {optuna}, SQLAlchemy {sqlalchemy},
NumPy {numpy}, bosquet {bosquet}; a shared machine with {cores} cores).

## Trials per second

An objective that does nothing, strategy `random`, beside Optuna's own `optimize` with its
`RandomSampler`, by turns; in brackets CPU milliseconds a trial (of the processes that keep the
study; not of the server, nor of workers). Trials a run: {sizes}; medians of {repeats} run(s), from
the end of the first trial to the end of the last. bosquet's `n_jobs` are processes, which the
configurations are sent to, and Optuna's are threads; *processes* are separate processes that share
one study, each with one worker. The machine was busy with other work: compare within a row.

{throughput}

Processes of bosquet that share a study take turns proposing, so that no proposal repeats a trial
that is still running and every one is computed once; Optuna's propose at the same time, each
without knowing what the others are about to try.

## How long `add-tree` thinks while trials are pending

Milliseconds of CPU time of one ask, on one thread: median of {seeds} seeds (slowest).

{latency}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("parts", nargs="*", help="throughput, latency; none: the page alone")
    parser.add_argument("--page", action="store_true", help="run nothing, as without parts")
    parser.add_argument("--repeats", type=int, default=3, help="of throughput (default: 3)")
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    if "throughput" in options.parts:
        with tempfile.TemporaryDirectory() as directory, Postgres() as postgres:
            kept["throughput"] = throughput(
                lambda kind: new_storage(kind, directory, postgres), options.repeats
            )
        kept["repeats"] = options.repeats
    if "latency" in options.parts:
        kept["latency"] = latency()
    if options.parts and not options.page:
        kept["versions"] = versions()
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    text = kept_page()
    (ROOT / "docs" / "results" / "overhead.md").write_text(text, encoding="utf-8")
    print(text)


def versions() -> dict[str, Any]:
    """Of what is measured, and of the machine."""
    return {
        "python": platform.python_version(),
        "optuna": optuna.__version__,
        "sqlalchemy": sqlalchemy.__version__,
        "numpy": np.__version__,
        "bosquet": bq.__version__,
        "cores": os.cpu_count(),
    }


def kept_page() -> str:
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))
    return PAGE.format(
        **kept.pop("versions"),
        sizes=", ".join(f"{n} {kind}" for kind, n in N_TRIALS.items()),
        seeds=SEEDS,
        **kept,
    )


if __name__ == "__main__":
    main()
