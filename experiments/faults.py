"""Kills studies and Dask workers by SIGKILL at random moments. Writes docs/results/faults.md.

    python experiments/faults.py studies birth shared dask orphans
    python experiments/faults.py --page    writes the page from what is kept

Runs the sections named, keeps their counts in experiments/results/faults.json with the versions of
the last run, and writes the page from all that is there.

A study writes down each trial after it has been told. Afterwards: trials told and not stored
(lost), told or stored twice (duplicates), and studies that did not end exactly as the one that
nobody killed.
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import os
import platform
import random
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import dask
import distributed
import numpy as np
import optuna
from orphans import COLUMNS as ORPHAN_COLUMNS
from orphans import orphans
from postgres import Postgres

import bosquet as bq
from bosquet.study import load_history

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "experiments" / "results" / "faults.json"
KILLS = {"studies": 200, "birth": 200, "shared": 100, "dask": 40, "orphans": 20}
SEED = 0
TRIALS = 20  # of a study that is killed
SHARE = 0.25  # of the time of an unkilled study, between two kills in the mean
BIRTH_SECONDS = 0.4  # in which a new study is killed
SHARED_PROCESSES = 4
SHARED_TRIALS = 60
SHARED_SECONDS = 1.0  # between two kills of a process that shares a study, in the mean
DASK_WORKERS = 3
DASK_TRIALS = 40
DASK_SECONDS = 1.5  # between two kills of a worker, in the mean: each is replaced meanwhile

SPACE = bq.Space(
    {
        "scale": bq.Choice(["none", "standard"]),
        "model": bq.Choice(
            {
                "svm": {"C": bq.Float(1e-3, 1e3, log=True), "gamma": bq.Float(1e-4, 10, log=True)},
                "forest": {"depth": bq.Int(1, 20), "trees": bq.Int(10, 500, log=True)},
            }
        ),
    }
)


def value(config: dict[str, Any]) -> float:
    if config["model"] == "svm":
        return float(abs(config["C"] - 1) ** 0.3 + abs(config["gamma"] - 0.1) ** 0.5)
    return float(abs(config["depth"] - 8) / 10 + abs(config["trees"] - 200) / 500)


def short(config: dict[str, Any]) -> float:
    time.sleep(0.01)
    return value(config)


def longer(config: dict[str, Any]) -> float:
    time.sleep(0.5)
    return value(config)


def noted(told: Path) -> Callable[[bq.Optimizer, bq.Trial], None]:
    """A callback that writes down what has been told."""

    def note(_: bq.Optimizer, trial: bq.Trial) -> None:
        with told.open("a") as log:
            log.write(f"{trial.number} {trial.state}\n")

    return note


def check(storage: Any, told: Path) -> tuple[Counter[str], tuple[bq.Trial, ...]]:
    """What of the told trials is stored, and what is stored."""
    lines = told.read_text().splitlines()
    stored = load_history(storage).trials
    counts: Counter[str] = Counter(studies=1, told=len(lines))
    counts["lost"] = len(set(lines) - {f"{trial.number} {trial.state}" for trial in stored})
    counts["duplicates"] = len(lines) - len({line.split()[0] for line in lines})
    counts["duplicates"] += len(stored) - len({trial.key for trial in stored})
    return counts, stored


# -- a killed study --------------------------------------------------------------------------


def study(storage: Any, told: Path, options: dict[str, Any]) -> None:
    """The process to be killed."""
    bq.minimize(short, SPACE, storage=storage, callbacks=noted(told), progress=False, **options)


def started(storage: Any, told: Path, options: dict[str, Any]) -> BaseProcess:
    fork = multiprocessing.get_context("fork")
    process = fork.Process(target=study, args=(storage, told, options))
    process.start()
    return process


def killed_study(
    whole: Any, storage: Any, told: Path, options: dict[str, Any], rng: random.Random
) -> Counter[str]:
    """A whole study that nobody kills, and the same one killed again and again until it is done."""
    began = time.monotonic()
    started(whole, told.with_name("whole"), options).join()
    seconds = SHARE * (time.monotonic() - began)
    told.touch()
    kills = errors = 0
    while True:
        process = started(storage, told, options)
        process.join(rng.expovariate(1 / seconds))
        if process.exitcode is None:
            assert process.pid is not None
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
            process.join()
        else:
            errors += process.exitcode != 0
            break
    counts, stored = check(storage, told)
    counts.update(kills=kills, errors=errors)
    if any(trial.state == "failed" for trial in stored):
        counts["died twice"] += 1
    else:
        counts["same" if stored == load_history(whole).trials else "different"] += 1
    return counts


def killed_studies(strategy: str, kills: int, postgres: Postgres | None) -> Counter[str]:
    rng = random.Random(SEED)
    total: Counter[str] = Counter()
    while total["kills"] < kills:
        options = {"n_trials": TRIALS, "seed": total["studies"], "strategy": strategy}
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            whole, storage = (
                postgres.new_database() if postgres else directory / file
                for file in ("whole.db", "runs.db")
            )
            total += killed_study(whole, storage, directory / "told", options, rng)
        print(strategy, "PostgreSQL" if postgres else "SQLite", dict(total), flush=True)
    return total


# -- a study killed while it is being made ---------------------------------------------------


def killed_at_birth(kills: int) -> Counter[str]:
    """New studies killed within their first moments; the next start must finish each of them."""
    rng = random.Random(SEED)
    options = {"n_trials": 2, "seed": 0, "strategy": "random"}
    total: Counter[str] = Counter()
    while total["kills"] < kills:
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            storage, told = directory / "runs.db", directory / "told"
            told.touch()
            for _ in range(3):
                process = started(storage, told, options)
                process.join(rng.uniform(0, BIRTH_SECONDS))
                if process.exitcode is None and process.pid is not None:
                    os.kill(process.pid, signal.SIGKILL)
                    total["kills"] += 1
                    process.join()
            last = started(storage, told, options)
            last.join()
            total["errors"] += last.exitcode != 0
            total += check(storage, told)[0]
            total["files left"] += sum(file.name.startswith(".") for file in directory.iterdir())
    return total


# -- processes that share a study, killed ----------------------------------------------------


def shared_study(storage: Any, told: Path, seed: int, rng: random.Random) -> Counter[str]:
    """A study of several processes; one of them is killed and replaced now and then."""
    options = {"n_trials": SHARED_TRIALS, "seed": seed, "strategy": "random"}
    told.touch()
    study(storage, told, options | {"n_trials": 1})
    processes = [started(storage, told, options) for _ in range(SHARED_PROCESSES)]
    kills = errors = 0
    while all(process.exitcode is None for process in processes):
        time.sleep(rng.expovariate(1 / SHARED_SECONDS))
        victim = rng.randrange(SHARED_PROCESSES)
        pid = processes[victim].pid
        if processes[victim].exitcode is None and pid is not None:
            os.kill(pid, signal.SIGKILL)
            kills += 1
            processes[victim].join()
            processes[victim] = started(storage, told, options)
    for process in processes:
        process.join()
        errors += process.exitcode != 0
    counts, _ = check(storage, told)
    counts.update(kills=kills, errors=errors, withdrawn=withdrawn(storage))
    return counts


def withdrawn(storage: Any) -> int:
    """How many rows lost races have left behind."""
    url = storage if isinstance(storage, str) else f"sqlite:///{storage}"
    opened = optuna.storages.RDBStorage(url)
    rows = opened.get_all_trials(opened.get_study_id_from_name("bosquet"))
    opened.engine.dispose()
    return sum("withdrawn" in row.user_attrs.get("bosquet:reason", "") for row in rows)


def shared_studies(kills: int, postgres: Postgres | None) -> Counter[str]:
    rng = random.Random(SEED)
    total: Counter[str] = Counter()
    while total["kills"] < kills:
        with tempfile.TemporaryDirectory() as name:
            storage = postgres.new_database() if postgres else Path(name) / "runs.db"
            total += shared_study(storage, Path(name) / "told", total["studies"], rng)
        print("shared", "PostgreSQL" if postgres else "SQLite", dict(total), flush=True)
    return total


# -- killed workers --------------------------------------------------------------------------


def study_on_dask(cluster: distributed.LocalCluster, rng: random.Random, seed: int) -> Counter[str]:
    """One study on a cluster of which a worker is killed now and then."""
    over = threading.Event()
    kills: list[int] = []

    def kill() -> None:
        while not over.wait(rng.expovariate(1 / DASK_SECONDS)):
            pids = [worker.pid for worker in cluster.workers.values() if worker.pid is not None]
            if len(pids) == DASK_WORKERS:  # else the last one is being replaced
                kills.append(rng.choice(pids))
                os.kill(kills[-1], signal.SIGKILL)

    with tempfile.TemporaryDirectory() as name:
        storage, told = Path(name) / "runs.db", Path(name) / "told"
        told.touch()
        killer = threading.Thread(target=kill)
        with distributed.Client(cluster) as client, client.get_executor() as executor:
            killer.start()
            result = bq.minimize(
                longer,
                SPACE,
                n_trials=DASK_TRIALS,
                seed=seed,
                strategy="random",
                storage=storage,
                executor=executor,
                n_jobs=DASK_WORKERS,
                callbacks=noted(told),
                progress=False,
            )
            over.set()
            killer.join()
        counts, stored = check(storage, told)
    counts.update(kills=len(kills), failed=sum(trial.state == "failed" for trial in stored))
    values = all(t.value == value(t.config) for t in stored if t.state == "complete")
    complete = [trial.number for trial in stored] == list(range(DASK_TRIALS)) and values
    counts["complete"] += complete and stored == result.trials
    return counts


def killed_workers(allowed: int, kills: int) -> Counter[str]:
    rng = random.Random(SEED)
    total: Counter[str] = Counter()
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": allowed}),
        distributed.LocalCluster(
            n_workers=DASK_WORKERS, threads_per_worker=1, dashboard_address=None
        ) as cluster,
    ):
        while total["kills"] < kills:
            total += study_on_dask(cluster, rng, total["studies"])
    return total


# -- the page --------------------------------------------------------------------------------

STUDY_COLUMNS = {
    "studies": "studies",
    "kills": "kills",
    "told": "trials told",
    "lost": "lost",
    "duplicates": "told twice",
    "errors": "ended with an error",
    "same": "as the unkilled one",
    "different": "NOT as the unkilled one",
    "died twice": "a trial died twice",
}
BIRTH_COLUMNS = {
    "studies": "studies",
    "kills": "kills",
    "told": "trials told",
    "lost": "lost",
    "duplicates": "told twice",
    "errors": "not finished by the next start",
    "files left": "temporary files left",
}
SHARED_COLUMNS = {
    "studies": "studies",
    "kills": "kills",
    "told": "trials told",
    "lost": "lost",
    "duplicates": "told twice",
    "errors": "ended with an error",
    "withdrawn": "rows left by lost races",
}
WORKER_COLUMNS = {
    "studies": "studies",
    "kills": "kills",
    "told": "trials told",
    "failed": "failed trials",
    "lost": "lost",
    "duplicates": "told twice",
    "complete": "complete studies",
}

PAGE = """\
# Killed at random moments

Written by `experiments/faults.py` (Python {python}, Optuna {optuna}, Dask distributed
{distributed}, NumPy {numpy}, bosquet {bosquet}; {cores} cores). What happens to a trial whose
process dies: [studies](../guides/studies.md). Random spaces and odd values: [fuzz](fuzz.md).

## Killed studies

Studies of {trials} trials, killed by SIGKILL at random moments, a quarter of the time of a study
apart in the mean, and started again until done. A trial is *lost* when it had been told and is not
stored, and told *twice* when it was told, stored or proposed more than once.

{studies}

**Not every killed study ends as the unkilled one**: a trial that was being evaluated at two kills
has failed, and is not tried a third time, since an evaluation that takes the machine down could do
so for ever. What comes after it then rests on one result less. Kills as frequent as these hit the
same trial twice in the studies of the last column; all others ended exactly as the unkilled one.

## Killed while the study is being made

New studies, killed up to three times within their first {birth_seconds} s (while the database, its
tables, the study and its description are being made), then started once more.

{birth}

## Killed processes that share a study

{shared_processes} processes on one study of {shared_trials} trials with the strategy `random`; one
of them is killed by SIGKILL {shared_seconds} s apart in the mean, also while it proposes, and
replaced.

{shared}

## Killed Dask workers

`minimize` on a cluster of {workers} worker processes, one of which is killed by SIGKILL
{dask_seconds} s apart in the mean, {dask_trials} trials of 0.5 s a study. A study is *complete*
when each trial is stored once, with its value or as failed.

{dask_table}

With `allowed-failures: 0` a kill costs the trial that was running on that worker, or none if it was
idle. By default Dask evaluates such a trial again elsewhere, up to three times.

These rows are of November 2026, before processes took turns proposing. A later run, on a machine
with five times as much work as cores, waited without end for a result from Dask after a kill;
whether Dask or bosquet lost it is not known yet.

## Orphans

`minimize(n_jobs=2)` killed by SIGKILL at random moments; which of its processes are left a second
later, those included that its evaluations have started (`experiments/orphans.py`).

{orphans}
"""


def table(title: str, columns: dict[str, str], rows: dict[str, Counter[str]]) -> str:
    lines = [f"| {title} | {' | '.join(columns.values())} |", "|---" * (len(columns) + 1) + "|"]
    for name, total in rows.items():
        lines.append(f"| {name} | {' | '.join(str(total[key]) for key in columns)} |")
    return "\n".join(lines)


# -- results ---------------------------------------------------------------------------------

Rows = dict[str, Counter[str]]


def run_section(name: str, kills: int) -> Rows:
    """The counts of one section, by the title of the row."""
    if name == "orphans":
        return orphans(kills)
    if name == "birth":
        return {"SQLite": killed_at_birth(kills)}
    if name == "dask":
        return {
            "0": killed_workers(0, kills),
            "3 (the default)": killed_workers(3, kills),
        }
    with Postgres() as postgres:
        if name == "shared":
            return {
                "SQLite": shared_studies(kills, None),
                "PostgreSQL": shared_studies(kills, postgres),
            }
        return {
            "`random`, SQLite": killed_studies("random", kills, None),
            "`add-tree`, SQLite": killed_studies("add-tree", kills, None),
            "`random`, PostgreSQL": killed_studies("random", kills, postgres),
        }


def versions() -> dict[str, Any]:
    """Of what is killed, and of the machine."""
    return {
        "python": platform.python_version(),
        "optuna": optuna.__version__,
        "distributed": distributed.__version__,
        "numpy": np.__version__,
        "bosquet": bq.__version__,
        "cores": os.cpu_count(),
    }


def kept() -> dict[str, Any]:
    """``versions``, and by section and row the counts."""
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}


def kept_page() -> str:
    stored = kept()
    of_machine = stored.pop("versions")
    results: dict[str, Rows] = {
        section: {row: Counter(counts) for row, counts in rows.items()}
        for section, rows in stored.items()
    }
    return PAGE.format(
        **of_machine,
        trials=TRIALS,
        studies=table("strategy, storage", STUDY_COLUMNS, results.get("studies", {})),
        birth_seconds=BIRTH_SECONDS,
        birth=table("storage", BIRTH_COLUMNS, results.get("birth", {})),
        shared_processes=SHARED_PROCESSES,
        shared_trials=SHARED_TRIALS,
        shared_seconds=SHARED_SECONDS,
        shared=table("storage", SHARED_COLUMNS, results.get("shared", {})),
        workers=DASK_WORKERS,
        dask_seconds=DASK_SECONDS,
        dask_trials=DASK_TRIALS,
        dask_table=table("`allowed-failures`", WORKER_COLUMNS, results.get("dask", {})),
        orphans=table("killed", ORPHAN_COLUMNS, results.get("orphans", {})),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(KILLS)}; none: the page alone")
    parser.add_argument("--page", action="store_true", help="run nothing, as without sections")
    parser.add_argument("--kills", type=int, help="in each row; by default as many as are needed")
    options = parser.parse_args()
    if options.sections and not options.page:
        run(options.sections, options.kills)
    text = kept_page()
    (ROOT / "docs" / "results" / "faults.md").write_text(text, encoding="utf-8")
    print(text)


def run(sections: list[str], kills: int | None) -> None:
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # it mourns every worker
    with tempfile.TemporaryDirectory() as directory:  # imports what the forks need
        study(Path(directory) / "r.db", Path(directory) / "told", {"n_trials": 1})
    stored = kept()
    for section in sections:
        stored[section] = run_section(section, kills or KILLS[section])
        stored["versions"] = versions()
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
