"""Kills a stored study by SIGKILL at random moments until it is done, again and again.

    python experiments/faults.py --kills 200 --strategy random,add-tree

A study writes down each trial after it has been told. Afterwards: trials told and not stored
(lost), told or stored twice (duplicates), and studies that did not end exactly as the one that
nobody killed. A trial whose process died twice counts as failed by design; such studies are shown
on their own, since they cannot end as the unkilled one.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import bosquet as bq
from bosquet.study import load_history

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


def study(file: Path, told: Path, options: dict[str, Any]) -> None:
    """The process to be killed."""

    def note(_: bq.Optimizer, trial: bq.Trial) -> None:
        with told.open("a") as log:
            log.write(f"{trial.number}\n")

    def objective(config: dict[str, Any]) -> float:
        time.sleep(0.01)
        return value(config)

    bq.minimize(objective, SPACE, storage=file, callbacks=note, progress=False, **options)


def killed_study(directory: Path, options: dict[str, Any], rng: random.Random) -> Counter[str]:
    """One study, killed after every few trials."""
    file, told = directory / "runs.db", directory / "told"
    told.touch()
    counts: Counter[str] = Counter(studies=1)
    while True:
        process = multiprocessing.get_context("fork").Process(
            target=study, args=(file, told, options)
        )
        process.start()
        process.join(rng.expovariate(1 / 0.4))
        if process.exitcode is None:
            assert process.pid is not None
            os.kill(process.pid, signal.SIGKILL)
            counts["kills"] += 1
            process.join()
        else:
            counts["errors"] += process.exitcode != 0
            break
    numbers = Counter(int(line) for line in told.read_text().split())
    stored = load_history(file).trials
    complete = {trial.number for trial in stored if trial.state == "complete"}
    counts["told"] += len(numbers)
    counts["lost"] += len(set(numbers) - complete)
    counts["duplicates"] += sum(n - 1 for n in numbers.values())
    counts["duplicates"] += len(stored) - len({trial.key for trial in stored})
    whole = bq.minimize(value, SPACE, **options).trials
    if any(trial.state == "failed" for trial in stored):
        counts["died twice"] += 1
    else:
        counts["same" if stored == whole else "different"] += 1
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--strategy", default="random,add-tree")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    columns = ["studies", "kills", "told", "lost", "duplicates", "errors", "same", "different"]
    columns.append("died twice")
    with tempfile.TemporaryDirectory() as directory:  # imports what the forks need
        study(Path(directory) / "r.db", Path(directory) / "told", {"n_trials": 1})
    print("| strategy | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for strategy in options.strategy.split(","):
        rng = random.Random(options.seed)
        total: Counter[str] = Counter()
        while total["kills"] < options.kills:
            run = {"n_trials": options.trials, "seed": total["studies"], "strategy": strategy}
            with tempfile.TemporaryDirectory() as directory:
                total += killed_study(Path(directory), run, rng)
        print(f"| {strategy} | " + " | ".join(str(total[name]) for name in columns) + " |")


if __name__ == "__main__":
    main()
