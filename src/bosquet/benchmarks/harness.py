"""Runs methods on problems over seeds, and keeps what happened as JSON lines.

A *method* is one of our strategies or a peer. Every run is one process-independent unit of work,
so a harness that was killed goes on where it stopped.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from bosquet.benchmarks import PROBLEMS
from bosquet.benchmarks.peers import PEERS, peer_versions
from bosquet.benchmarks.problem import Problem
from bosquet.space import Config
from bosquet.strategies import STRATEGIES
from bosquet.study import minimize

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Job:
    """One run to make; its fields identify it in a results file."""

    method: str
    problem: str
    seed: int
    n_trials: int
    noise: float = 0.0

    def __post_init__(self) -> None:
        if self.method not in STRATEGIES and self.method not in PEERS:
            known = ", ".join([*STRATEGIES, *PEERS])
            raise ValueError(f"method={self.method!r} must be one of {known}")
        if self.problem not in PROBLEMS:
            raise ValueError(f"problem={self.problem!r} must be one of {', '.join(PROBLEMS)}")


@dataclass(frozen=True)
class Run:
    """What a job gave."""

    job: Job
    minimum: float | None
    values: list[float]
    """The true value of each evaluated configuration, in order."""
    ask_seconds: list[float]
    """CPU time the method spent before each evaluation (telling and asking)."""
    seconds: float
    versions: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> Run:
        data = json.loads(line)
        return cls(**(data | {"job": Job(**data["job"])}))


class _Recorder:
    """An objective that notes values, and the CPU time that passes between its calls."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.values: list[float] = []
        self.ask_seconds: list[float] = []
        self._last = time.process_time()

    def __call__(self, config: Config) -> float:
        self.ask_seconds.append(time.process_time() - self._last)
        seen = self.problem.objective(config)
        noisy = self.problem.observe is not None
        self.values.append(self.problem.function(config) if noisy else seen)
        self._last = time.process_time()
        return seen


def run(job: Job) -> Run:
    """Makes one run in this process."""
    problem = PROBLEMS[job.problem](job.seed)
    if job.noise:
        problem = problem.with_noise(job.noise, job.seed)
    started = time.monotonic()
    recorder = _Recorder(problem)
    if job.method in PEERS:
        PEERS[job.method](problem.space, recorder, job.n_trials, job.seed)
    else:
        minimize(
            recorder,
            problem.space,
            n_trials=job.n_trials,
            strategy=job.method,
            seed=job.seed,
            progress=False,
        )
    return Run(
        job,
        problem.minimum,
        recorder.values,
        recorder.ask_seconds,
        time.monotonic() - started,
        versions(),
    )


def versions() -> dict[str, str]:
    ours = {name: metadata.version(name) for name in ("bosquet", "numpy", "scipy")}
    return {"python": platform.python_version()} | ours | peer_versions()


def read_runs(path: Path) -> list[Run]:
    """The runs of a results file; a last line that a kill cut short is left out."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    whole, _, cut = text.rpartition("\n")
    if cut:
        path.write_text(whole + "\n" if whole else "", encoding="utf-8")
    return [Run.from_json(line) for line in whole.splitlines()]


def run_all(
    jobs: Sequence[Job], path: Path, workers: int = 1, ended: Callable[[Run], Any] = lambda _: None
) -> Iterator[tuple[Job, BaseException]]:
    """Makes the jobs that the file lacks, appends each run to it, and yields those that failed.

    Worker processes are single-threaded, so that CPU times compare.
    """
    done = {run.job for run in read_runs(path)}
    path.parent.mkdir(parents=True, exist_ok=True)
    with _single_threaded(), ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        futures = {pool.submit(run, job): job for job in jobs if job not in done}
        for future in as_completed(futures):
            error = future.exception()
            if error is not None:
                yield futures[future], error
                continue
            with path.open("a", encoding="utf-8") as file:
                file.write(future.result().to_json() + "\n")
            ended(future.result())


@contextmanager
def _single_threaded() -> Iterator[None]:
    """Sets the thread variables for processes started inside, and restores them."""
    before = dict(os.environ)
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name in _THREAD_VARIABLES:
            os.environ.pop(name)
            if name in before:
                os.environ[name] = before[name]
