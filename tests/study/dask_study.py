"""Studies on a Dask cluster of two processes; one dies in an evaluation. Run by test_workers."""

import json
import logging
import os
import signal
import sys
from functools import partial
from pathlib import Path

import dask
from distributed import Client, LocalCluster

import bosquet as bq

SPACE = bq.Space({"n": bq.Int(0, 99)})
DEADLY = range(0, 100, 7)


def objective(config, died):
    """The first evaluation of a deadly number takes its worker down."""
    if config["n"] in DEADLY and not died.exists():
        died.write_text(str(config["n"]))
        os.kill(os.getpid(), signal.SIGKILL)
    return config["n"]


def main(directory):
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        workers = {worker.pid for worker in cluster.workers.values()}
        assert cluster.scheduler.allowed_failures == 0
        for allowed in (0, 3):
            cluster.scheduler.allowed_failures = allowed
            died = directory / f"died-{allowed}"
            with Client(cluster) as client, client.get_executor() as executor:
                result = bq.minimize(
                    partial(objective, died=died),
                    SPACE,
                    n_trials=16,
                    seed=0,
                    strategy="random",
                    storage=directory / f"{allowed}.db",
                    executor=executor,
                    n_jobs=2,
                    progress=False,
                )
            gone = workers - {worker.pid for worker in cluster.workers.values()}
            trials = [[trial.config["n"], trial.value, trial.reason] for trial in result.trials]
            seen = {"gone": len(gone), "deadly": int(died.read_text()), "trials": trials}
            (directory / f"{allowed}.json").write_text(json.dumps(seen))


if __name__ == "__main__":
    # As a user writes it, before the cluster is there; the second study resets it.
    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    main(Path(sys.argv[1]))
