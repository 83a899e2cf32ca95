"""What is left of a parallel study one second after a SIGKILL; a part of experiments/faults.py.

    python experiments/orphans.py [--kills 20]

Processes of a study are known by a variable in their environment, whatever has become of their
parents.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import bosquet as bq

SEED = 0
WORKERS = 2
TAG = "BOSQUET_ORPHANS"
BEGUN = "BOSQUET_BEGUN"  # a directory in which each evaluation leaves a file
SLEEP = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
DAEMON = [sys.executable, "-S", "-c", "import os, time; os.fork() or time.sleep(600)"]
SECONDS_LATER = 0.5  # a kill comes up to so long after evaluations have begun

CASES = {
    "starting": "while its workers start",
    "sleep": "in `time.sleep`",
    "gil": "in C code that holds the GIL",
    "child": "with a subprocess",
    "session": "with a subprocess in a session of its own",
    "daemon": "with a daemon (a session of its own, and its parent has ended)",
    "deaf": "with a subprocess in a session of its own, in C code that holds the GIL",
}
COLUMNS = {
    "kills": "kills",
    "processes": "processes to be ended",
    "left": "left after 1 s",
    "kills that left some": "kills that left some",
    "slowest": "all gone after at most (ms)",
}


def objective(_: dict[str, Any]) -> float:
    """Never ends."""
    case = os.environ[TAG].partition(":")[0]
    if case in ("child", "session", "deaf"):
        subprocess.Popen(SLEEP, start_new_session=case != "child")
    if case == "daemon":
        subprocess.run(DAEMON, start_new_session=True)
    (Path(os.environ[BEGUN]) / str(os.getpid())).touch()
    if case in ("gil", "deaf"):
        ctypes.PyDLL(None).sleep(600)
    time.sleep(600)
    return 0.0


def run_study() -> None:
    """The process to be killed."""
    space = bq.Space({"x": bq.Float(0, 1)})
    bq.minimize(objective, space, n_trials=10, n_jobs=WORKERS, strategy="random", progress=False)


def living(tag: str) -> set[int]:
    """The processes of one study."""
    wanted = f"{TAG}={tag}".encode()
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            state = (process / "stat").read_bytes().rpartition(b")")[2].split()[0]
            if state not in b"ZX" and wanted in (process / "environ").read_bytes().split(b"\0"):
                found.add(int(process.name))
        except OSError:  # it has just ended
            continue
    return found


def end(processes: set[int]) -> None:
    for pid in processes:
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            os.kill(pid, signal.SIGKILL)


class Study:
    """A running study and all its processes."""

    def __init__(self, case: str, begun: str) -> None:
        self._tag = f"{case}:{uuid.uuid4().hex}"
        self._begun = Path(begun)
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--study"],
            env=os.environ | {TAG: self._tag, BEGUN: begun},
        )

    def living(self) -> set[int]:
        return living(self._tag)

    def await_start(self) -> None:
        """Until it starts its first worker."""
        while len(self.living()) < 2:
            assert self.process.poll() is None, "the study has ended by itself"
            time.sleep(0.001)

    def await_evaluations(self) -> None:
        """Until all workers evaluate."""
        while len(list(self._begun.iterdir())) < WORKERS:
            assert self.process.poll() is None, "the study has ended by itself"
            time.sleep(0.01)


def killed(case: str, starting: float, rng: random.Random) -> Counter[str]:
    """One study, killed at a random moment; and what is left of it."""
    with tempfile.TemporaryDirectory() as begun:
        study = Study(case, begun)
        if case == "starting":
            study.await_start()
            time.sleep(rng.uniform(0, starting))
        else:
            study.await_evaluations()
            time.sleep(rng.uniform(0, SECONDS_LATER))
        counts = Counter(kills=1, processes=len(study.living()) - 1)
        study.process.kill()
        killed_at = time.monotonic()
        study.process.wait()
        left = study.living()
        while left and time.monotonic() < killed_at + 1:
            time.sleep(0.01)
            left = study.living()
        counts["slowest"] = round(1000 * (time.monotonic() - killed_at))
        counts["left"] = len(left)
        counts["kills that left some"] = bool(left)
        end(left)
    return counts


def time_of_start() -> float:
    """Seconds from the first worker process of a study until its workers evaluate."""
    with tempfile.TemporaryDirectory() as begun:
        study = Study("sleep", begun)
        study.await_start()
        began = time.monotonic()
        study.await_evaluations()
        seconds = time.monotonic() - began
        end(study.living())
        study.process.wait()
    return seconds


def orphans(kills: int) -> dict[str, Counter[str]]:
    """For each case, what ``kills`` kills have left."""
    rng = random.Random(SEED)
    starting = time_of_start()
    rows: dict[str, Counter[str]] = {}
    for case, name in CASES.items():
        total: Counter[str] = Counter()
        for _ in range(kills):
            counts = killed(case, starting, rng)
            slowest = max(total["slowest"], counts.pop("slowest"))
            total.update(counts)
            total["slowest"] = slowest
        rows[name] = total
        print(name, dict(total), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--kills", type=int, default=20, help="of each case")
    parser.add_argument("--study", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.study:
        run_study()
    else:
        orphans(options.kills)


if __name__ == "__main__":
    main()
