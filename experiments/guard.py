"""Whether a change of the code changes what is proposed: every strategy, bit by bit.

python experiments/guard.py record FILE [--histories DIR]    # with the code as it was
python experiments/guard.py compare FILE [--histories DIR]   # with the code as it is now

Every strategy and its paper's version runs on five kinds of spaces with two seeds, with failures
and batches of pending trials, and once each with candidates and with noise; some options have runs
of their own. FILE has a line per run: all configurations with the acquisition values, floats in
hexadecimal. A later run is compared with it trial by trial.

``--histories`` are directories with a stored history per run, and check another promise: what is
proposed next from a history that the old code wrote is what the old code proposed.

``--only add-tree`` takes the runs whose name contains that, ``--trials 12`` the first trials of
each (the comparison is then of these), ``--jobs 2`` processes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import bosquet as bq
from bosquet.data import History
from bosquet.strategies import STRATEGIES, Strategy

TRIALS = 25
FAILED = (6, 17)
ASKS = [(1,)] * 12 + [(3, 1)] + [(1,)] * 4 + [(2,)] + [(1,)] * 3
"""Sizes of the asks that are made before their trials are told."""
SPARE = 20  # candidates beyond the number of trials
KNOWN = 105  # points told before a late run begins


def flat() -> bq.Space:
    return bq.Space({"x": bq.Float(-1, 1), "y": bq.Float(1e-3, 1e3, log=True), "z": bq.Float(0, 5)})


def tree() -> bq.Space:
    return bq.Space(
        {
            "lr": bq.Float(1e-4, 1e-1, log=True, default=1e-2),
            "model": bq.Choice(
                {
                    "svm": {
                        "C": bq.Float(1e-3, 1e3, log=True),
                        "kernel": bq.Choice(
                            {"linear": {}, "rbf": {"gamma": bq.Float(1e-4, 10, log=True)}}
                        ),
                    },
                    "forest": {"depth": bq.Int(1, 20)},
                }
            ),
        },
        constraints=[bq.Constraint(lambda c: c["lr"] < 0.05, on=("lr",))],
    )


def and_or() -> bq.Space:
    return bq.Space(
        {
            "a": bq.Choice({"off": {}, "on": {"u": bq.Float(0, 1), "n": bq.Int(0, 9, step=3)}}),
            "b": bq.Choice({"p": {"v": bq.Float(-2, 2)}, "q": {"w": bq.Choice([1, 2.5, None])}}),
        }
    )


def tuple_keys() -> bq.Space:
    return bq.Space(
        {
            "model": bq.Choice(
                {
                    "linear": {"l1": bq.Float(0, 1)},
                    "forest": {"depth": bq.Int(1, 20)},
                    "boosting": {"eta": bq.Float(0.01, 1.0, log=True)},
                    ("forest", "boosting"): {"trees": bq.Int(10, 500, log=True)},
                }
            )
        }
    )


def discrete() -> bq.Space:
    return bq.Space(
        {
            "level": bq.Choice(["low", "mid", "high"], ordered=True),
            "n": bq.Int(0, 40),
            "kind": bq.Choice({"a": {"k": bq.Choice(["r", "s", "t"])}, "b": {"m": bq.Int(1, 8)}}),
        }
    )


def plain() -> bq.Space:
    """No variable is shared by several paths, which `marginal` needs."""
    return bq.Space(
        {
            "kind": bq.Choice(
                {"a": {"x": bq.Float(-1, 1), "n": bq.Int(0, 9)}, "b": {"y": bq.Int(1, 30)}}
            )
        }
    )


def wide() -> bq.Space:
    """Enough variables for `auto` to take `additive`, and later `boing+`."""
    return bq.Space({f"x{i}": bq.Float(-1, 1) for i in range(9)})


SPACES = {s.__name__: s for s in (flat, tree, and_or, tuple_keys, discrete, plain, wide)}


def named(name: str) -> Strategy:
    return bq.strategies.get(name)


PAPERS = ("add-tree", "additive", "boing", "boing+", "htbo", "tree-ei", "turbo")
MAKERS: dict[str, Callable[[], Strategy]] = {
    name: partial(named, name) for name in [*STRATEGIES, *(f"{name}.paper" for name in PAPERS)]
}
S = bq.strategies
VARIANTS: dict[str, Callable[[], Strategy]] = {
    "add-tree ucb": lambda: S.AddTree(acquisition="ucb"),
    "add-tree warp": lambda: S.AddTree(warp=True),
    "add-tree beta warp": lambda: S.AddTree(warp="beta", interactions=False),
    "arc warp": lambda: S.Arc(warp=True),
    "additive disjoint": lambda: S.Additive(graph="disjoint"),
    "additive random-tree": lambda: S.Additive(graph="random-tree"),
    "additive full": lambda: S.Additive(graph="full", kernel="se"),
    "additive ucb": lambda: S.Additive(acquisition="ucb"),
    "auto boing": lambda: S.Auto(boing_from=16),
    "auto boing+": lambda: S.Auto(boing_per_variable=12),
    "boing full": lambda: S.BOinG(model="full"),
    "boing local": lambda: S.BOinG(model="local", points_per_dimension=4),
    "boing+ soon": lambda: S.BOinGPlus(points_per_dimension=2, explore_every=None),
    "htbo mcmc": lambda: S.HTBO(inference="mcmc"),
    "htbo leaf_only": lambda: S.HTBO(leaf_only=True, earned=False, warp=True),
    "htbo grid": lambda: S.HTBO(search="grid"),
    "tree-ei full": lambda: S.TreeEI(search="full", leaf="path"),
    "tree-ei linear": lambda: S.TreeEI(features="linear", k=2),
    "turbo small": lambda: S.Turbo(least_length=0.3),
}
EVERY = MAKERS | VARIANTS
LATE = {
    "htbo",
    "htbo.paper",
    "additive",
    "boing",
    "boing+",
    "add-tree",
    "arc",
    "auto",
    "tree-ei",
    "turbo",
}
"""Makers with runs that begin with many known points, where models are no longer fitted anew."""


@dataclass(frozen=True)
class Job:
    maker: str
    space: str
    seed: int
    kind: str = "plain"

    @property
    def name(self) -> str:
        return f"{self.maker} | {self.space} | {self.seed} | {self.kind}"

    @property
    def file(self) -> str:
        return self.name.replace(" | ", "--").replace(" ", "_") + ".jsonl"


def jobs() -> Iterator[Job]:
    for maker in MAKERS:
        for space in SPACES:
            if space != "wide" and (space != "plain" or maker == "marginal"):
                yield from (Job(maker, space, seed) for seed in (0, 1))
        for space, kind in (("tree", "candidates"), ("flat", "candidates"), ("tree", "noisy")):
            yield Job(maker, space, 0, kind)
        if maker in LATE:
            yield from (Job(maker, space, 0, "late") for space in ("flat", "tree"))
    for maker in VARIANTS:
        yield from (Job(maker, space, 0) for space in ("flat", "tree"))
    for maker in ("auto", "auto boing+", "additive.paper"):
        yield Job(maker, "wide", 0, "late")


def objective(config: dict[str, Any]) -> float:
    """Some function of every parameter that is there, to the last bit the same everywhere."""
    total = 0.3 * len(config)
    for name, value in config.items():
        if isinstance(value, (int, float)):
            u = math.log1p(abs(value))
            total += (u - 0.7) ** 2 + 0.25 * u * len(name)
        else:
            total += 0.2 * (len(str(value)) % 3)
    return total


def run(job: Job, trials: int) -> tuple[list[Any], History] | None:
    """The proposals of a run; None where the strategy refuses the space."""
    space = SPACES[job.space]()
    candidates = space.sample(5, TRIALS + SPARE) if job.kind == "candidates" else None
    try:
        optimizer = bq.Optimizer(space, EVERY[job.maker](), seed=job.seed, candidates=candidates)
    except bq.SpaceError:
        return None
    known = KNOWN if job.kind == "late" else 0
    for config in space.sample(7, known):
        optimizer.tell(config, objective(config))
    found: list[Any] = []
    for sizes in ASKS[10:15] if known else ASKS:
        if len(found) >= trials:
            break
        batch = [trial for n in sizes for trial in optimizer.ask(n)]
        found += [[exact(trial.config), exact(trial.info.get("acquisition"))] for trial in batch]
        for trial in batch[::-1]:
            if trial.number in FAILED:
                optimizer.tell_failure(trial, "as planned")
            elif job.kind == "noisy":
                value = objective(trial.config) + 0.01 * (trial.number % 3 - 1)
                optimizer.tell(trial, value, noise_variance=1e-4)
            else:
                optimizer.tell(trial, objective(trial.config))
    return found, optimizer.history


def exact(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: exact(v) for name, v in value.items()}
    return value.hex() if isinstance(value, float) else value


def goes_on(job: Job, path: Path) -> Any:
    """What is proposed next from a stored history."""
    space = SPACES[job.space]()
    history = History.from_jsonl(path, space)
    trial = bq.Optimizer(space, EVERY[job.maker](), seed=job.seed, history=history).ask()
    return [exact(trial.config), exact(trial.info.get("acquisition"))]


def do(job: Job, trials: int, histories: Path | None, recording: bool) -> dict[str, Any]:
    started = time.process_time()
    done = run(job, trials)
    entry: dict[str, Any] = {"run": job.name, "trials": None, "next": None}
    if done is not None:
        entry["trials"], history = done
        text = json.dumps(entry["trials"])
        entry["digest"] = hashlib.sha256(text.encode()).hexdigest()[:16]
        if histories is not None and job.seed == 0 and job.kind == "plain":
            path = histories / job.file
            if recording:
                history.to_jsonl(path)
            entry["next"] = goes_on(job, path)
    return entry | {"seconds": round(time.process_time() - started, 2)}


def difference(old: dict[str, Any], new: dict[str, Any], whole: bool) -> str | None:
    if (old["trials"] is None) != (new["trials"] is None):
        return "one of them refuses the space"
    for i, (a, b) in enumerate(zip(old["trials"] or (), new["trials"] or (), strict=False)):
        if a != b:
            return f"trial {i}: {a} was, {b} is"
    if whole and len(old["trials"] or ()) != len(new["trials"] or ()):
        return "more or fewer trials"
    if old["next"] and new["next"] and old["next"] != new["next"]:
        return f"from the stored history: {old['next']} was, {new['next']} is"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--histories", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    recording = args.what == "record"
    if args.histories is not None:
        args.histories.mkdir(parents=True, exist_ok=True)
    wanted = [job for job in jobs() if args.only in job.name]
    work = partial(do, trials=args.trials, histories=args.histories, recording=recording)
    with ProcessPoolExecutor(args.jobs) as pool:
        found = list(pool.map(work, wanted))
    print(f"{len(found)} runs, {sum(entry['seconds'] for entry in found):.0f} s of CPU")
    if recording:
        args.file.write_text("".join(json.dumps(entry) + "\n" for entry in found))
        return 0
    before = {e["run"]: e for e in map(json.loads, args.file.read_text().splitlines())}
    differ = 0
    for entry in found:
        if entry["run"] not in before:
            print(f"{entry['run']}: not recorded")
        elif why := difference(before[entry["run"]], entry, args.trials == TRIALS):
            differ += 1
            print(f"{entry['run']}: {why}")
    print(f"{differ} of {len(found)} runs differ" if differ else "all the same, to the last bit")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
