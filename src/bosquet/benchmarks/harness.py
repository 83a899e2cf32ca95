"""Runs methods on problems over seeds, and keeps what happened as JSON lines.

A *method* is one of our strategies or a peer, or a strategy to which an experiment or a file of the
user's gives a name. Every run is one process-independent unit of work, so a harness that was killed
goes on where it stopped.
"""

from __future__ import annotations

import json
import math
import os
import platform
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from importlib import metadata
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from typing import Any

import numpy as np

from bosquet.benchmarks import GROUPS, PROBLEMS, Factory
from bosquet.benchmarks.files import FromFile
from bosquet.benchmarks.peer import Elsewhere
from bosquet.benchmarks.peers import PEERS, peer_versions
from bosquet.benchmarks.problem import Problem
from bosquet.benchmarks.simulated import simulate
from bosquet.space import Config
from bosquet.strategies import STRATEGIES, Strategy, is_name
from bosquet.study import minimize
from bosquet.text import must_be_one_of

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_TOLD = ("engine", "subregion")  # of a trial's info: what BOinG's experiments look at
_INITIAL = 10  # a stream of random numbers apart from those of the methods
Strategies = Mapping[str, Strategy | Callable[[], Strategy]]


@dataclass(frozen=True)
class Job:
    """One run to make; its fields identify it in a results file."""

    method: str
    problem: str
    seed: int
    n_trials: int
    noise: float = 0.0
    workers: int = 1
    """How many evaluations run at once, on a simulated clock."""
    initial: int = 0
    """Random configurations that come first, the same for every method of ours."""

    def check(
        self,
        problems: Mapping[str, Factory] = PROBLEMS,
        strategies: Strategies | None = None,
    ) -> None:
        """Raises ValueError when a field is wrong."""
        ours = [*(strategies or {}), *STRATEGIES]
        known_method = self.method in ours or is_name(self.method)
        if not known_method and self.method not in PEERS:
            known = [*ours, *PEERS]
            raise ValueError(must_be_one_of("method", self.method, known, ", or FILE.py:NAME"))
        if self.problem not in problems:
            groups = GROUPS if problems.keys() >= PROBLEMS.keys() else ()
            known = [*groups, *problems]
            raise ValueError(must_be_one_of("problem", self.problem, known, ", or FILE.py:NAME"))
        if not 0 <= self.noise < math.inf:
            raise ValueError(f"noise={self.noise!r} must be a standard deviation")
        if self.workers < 1 or (self.workers > 1 and self.method in PEERS):
            raise ValueError(f"workers={self.workers!r} must be positive, and 1 for a peer")
        if self.initial < 0 or (self.initial and (self.method in PEERS or self.workers > 1)):
            raise ValueError(
                f"initial={self.initial!r} must not be negative, and 0 for a peer or many workers"
            )


@dataclass(frozen=True)
class Run:
    """What a job gave."""

    job: Job
    minimum: float | None
    values: list[float]
    """The true value of each evaluated configuration, in the order in which they ended; infinite
    where the evaluation failed."""
    ask_seconds: list[float]
    """CPU time the method spent before each evaluation (telling and asking)."""
    seconds: float
    versions: dict[str, str] = field(default_factory=dict)
    evaluation_seconds: list[float] = field(default_factory=list)
    """CPU time of each evaluation; files of old lack it."""
    told: list[dict[str, Any]] = field(default_factory=list)
    """Who proposed each trial, and from where, if the strategy has several engines."""

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> Run:
        data = json.loads(line)
        return cls(**(data | {"job": Job(**data["job"])}))


class _Recorder:
    """An objective that notes values, and the CPU time within and between its calls."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.values: list[float] = []
        self.ask_seconds: list[float] = []
        self.evaluation_seconds: list[float] = []
        self._last = time.process_time()

    def __call__(self, config: Config) -> float:
        started = time.process_time()
        self.ask_seconds.append(started - self._last)
        value = math.inf  # of an evaluation that fails
        try:
            seen = self.problem.objective(config)
            value = self.problem.function(config) if self.problem.observe is not None else seen
        finally:
            self.values.append(value)
            self._last = time.process_time()
            self.evaluation_seconds.append(self._last - started)
        return seen

    def for_peers(self, config: Config) -> float:
        """NaN where an evaluation fails, which every peer is told in its own way."""
        try:
            return self(config)
        except Exception:
            if not self.problem.fails:
                raise
            return math.nan


def run(
    job: Job,
    factory: Factory | None = None,
    strategy: Strategy | Callable[[], Strategy] | None = None,
) -> Run:
    """Makes one run in this process; raises when it did not come to its end.

    Problem and strategy are the registered ones of their names, unless they are given.
    """
    made = strategy if isinstance(strategy, Strategy | None) else strategy()
    problem = (factory or PROBLEMS[job.problem])(job.seed)
    if job.noise:
        problem = problem.with_noise(job.noise, job.seed)
    if problem.candidates is not None and (job.method in PEERS or job.workers > 1 or job.initial):
        raise ValueError(f"{job.problem} has candidates: for our methods, one worker, initial=0")
    started = time.monotonic()
    recorder = _Recorder(problem)
    elsewhere, told = None, []
    if job.method in PEERS:
        elsewhere = PEERS[job.method](problem.space, recorder.for_peers, job.n_trials, job.seed)
    elif job.workers > 1:
        simulate(recorder, problem.space, made or job.method, job.seed, job.n_trials, job.workers)
    else:
        first = problem.space.sample(np.random.default_rng([_INITIAL, job.seed]), job.initial)
        result = minimize(
            recorder,
            problem.space,
            n_trials=job.n_trials,
            strategy=made or job.method,
            seed=job.seed,
            initial=first,
            candidates=problem.candidates,
            on_failure="continue" if problem.fails else "stop",
            progress=False,
        )
        if result.stopped == "interrupted":
            raise KeyboardInterrupt
        if result.history.failed and not problem.fails:
            raise RuntimeError(result.history.failed[0].reason)
        told = [{key: t.info[key] for key in _TOLD if key in t.info} for t in result.trials]
    there = elsewhere or Elsewhere([0.0] * len(recorder.values), {})
    return Run(
        job,
        problem.minimum,
        recorder.values,
        [here + more for here, more in zip(recorder.ask_seconds, there.seconds, strict=True)],
        time.monotonic() - started,
        versions() | there.versions | _digests(factory, strategy),
        recorder.evaluation_seconds,
        told if any(told) else [],
    )


def versions() -> dict[str, str]:
    """Of everything that can change a result; packages that are not installed are left out."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for name in ("bosquet", "numpy", "scipy", "scikit-learn"):
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found | peer_versions()


def _digests(*sources: object) -> dict[str, str]:
    """The versions of the files of the user's that a run came from."""
    return {source.name: source.digest for source in sources if isinstance(source, FromFile)}


def is_current(
    run: Run, problems: Mapping[str, Factory] = PROBLEMS, strategies: Strategies | None = None
) -> bool:
    """Whether a run was made by the files of its method and problem as they are now."""
    job = run.job
    digests = _digests(problems.get(job.problem), (strategies or {}).get(job.method))
    return digests.items() <= run.versions.items()


def read_runs(path: Path) -> list[Run]:
    """The runs of a results file; a last line that a kill cut short is left out."""
    return _read(path)[0]


def _read(path: Path) -> tuple[list[Run], int]:
    """The runs of a results file, and the bytes that their lines take."""
    if not path.exists():
        return [], 0
    text = path.read_bytes()
    whole, newline, cut = text.rpartition(b"\n")
    runs = []
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            runs.append(Run.from_json(line.decode()))
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{path}, line {number}: not a benchmark run") from None
    if cut and not cut.startswith(b'{"job"'):
        raise ValueError(f"{path} does not hold benchmark runs")
    return runs, len(whole + newline)


def run_all(
    jobs: Sequence[Job],
    path: Path,
    workers: int = 1,
    ended: Callable[[Run], Any] = lambda _: None,
    problems: Mapping[str, Factory] = PROBLEMS,
    strategies: Strategies | None = None,
) -> Iterator[tuple[Job, BaseException]]:
    """Makes the jobs that the file lacks, appends each run to it, and yields those that failed.

    Worker processes are single-threaded, so that CPU times compare. When the caller stops early
    or is interrupted, they end at once; so they do when this process is killed. Factories of
    ``problems`` that are not registered are sent to them, so these must pickle; so must the
    ``strategies`` (or functions that make them), which stand for methods of their names. Runs of
    a file of the user's that has been edited since are made again.
    """
    strategies = strategies or {}
    for job in jobs:
        job.check(problems, strategies)
    runs, size = _read(path)
    done = {run.job for run in runs if is_current(run, problems, strategies)}
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        os.truncate(path, size)
    spawn = get_context("spawn")
    pool = ProcessPoolExecutor(workers, spawn, initializer=_follow_parent)
    try:
        with _single_threaded():
            futures = {
                pool.submit(
                    run,
                    job,
                    _unregistered(job.problem, problems),
                    strategies.get(job.method),
                ): job
                for job in dict.fromkeys(jobs)
                if job not in done
            }
            for future in as_completed(futures):
                error = future.exception()
                if error is not None:
                    yield futures[future], error
                    continue
                with path.open("a", encoding="utf-8") as file:
                    file.write(future.result().to_json() + "\n")
                ended(future.result())
    except BaseException:
        for worker in active_children():
            worker.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _unregistered(name: str, problems: Mapping[str, Factory]) -> Factory | None:
    """What has to be sent to a worker: those that are registered do not pickle."""
    factory = problems[name]
    return None if PROBLEMS.get(name) is factory else factory


def _follow_parent() -> None:
    """Leaves Ctrl-C to the parent, and ends when the parent does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


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
