"""BOinG, BOinG+ and TuRBO as they are by default, beside `auto`, one Gaussian process and peers.

What the supplement of the 2022 paper compares on, as far as it is at hand: Ackley's and Levy's
functions in ten dimensions, Lunar Lander (needs 'bosquet[lander]'), the Adult data (read from
DATA/adult.npz). Writes docs/results/boing.md; runs are kept in results/boing.jsonl.xz. The
published versions are in paper_boing.py, time and memory in boing_speed.py.

    pip install 'bosquet[peers,lander]'
    python experiments/boing.py [--seeds 110] [--first-seed 100] [--problems a,b] [--methods a,b]
    python experiments/boing.py --page    writes the page from the runs that are kept
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from kept_script import KeptScript, every_seed, longest, seeded
from lander import lunar

import bosquet as bq
from bosquet.benchmarks import PROBLEMS, Factory, Problem, summary
from bosquet.benchmarks.harness import Run
from bosquet.benchmarks.suite import data_directory

METHODS = ("boing", "boing+", "turbo", "auto", "flat-gp", "smac", "optuna-tpe", "random")
N_TRIALS = {"ackley-10-shifted": 300, "levy-10-shifted": 300, "lunar": 300, "adult": 100}
AFTER = (50, 100, 150, 200, 300)
TRAINED, VALIDATED = 4000, 2000  # people

HEAD = """\
# BOinG, BOinG+ and TuRBO, measured

Written by `experiments/boing.py` from the runs in `experiments/results/boing.jsonl.xz`: the
defaults, not the [published versions](paper-boing.md), on problems of the supplement that are at
hand. Seeds from 100 on, on which nothing was chosen. [Time and memory](boing-speed.md) of an ask
are on a page of their own.

"""
NOTES = ""


def adult(seed: int) -> Problem:
    """Validation error of boosted trees, of six hyper-parameters; a seed draws the people."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    file = np.load(data_directory() / "adult.npz")
    people = np.random.default_rng(seed).permutation(len(file["train_y"]))[: TRAINED + VALIDATED]
    X = np.hstack([file["train_num"], file["train_cat"]]).astype(float)[people]
    y = file["train_y"][people]

    def error(config: dict[str, Any]) -> float:
        model = HistGradientBoostingClassifier(random_state=0, early_stopping=False, **config)
        model.fit(X[:TRAINED], y[:TRAINED])
        return float(1.0 - model.score(X[TRAINED:], y[TRAINED:]))

    space = bq.Space(
        {
            "learning_rate": bq.Float(1e-3, 1.0, log=True),
            "max_iter": bq.Int(10, 200, log=True),
            "max_leaf_nodes": bq.Int(2, 64, log=True),
            "min_samples_leaf": bq.Int(1, 200, log=True),
            "l2_regularization": bq.Float(1e-8, 100.0, log=True),
            "max_features": bq.Float(0.1, 1.0),
        }
    )
    return Problem("adult", space, error, None)


FACTORIES: Mapping[str, Factory] = {**PROBLEMS, "lunar": lunar, "adult": adult}


def page(runs: Sequence[Run]) -> str:
    order = {name: i for i, name in enumerate([*N_TRIALS, *METHODS])}
    runs = sorted(longest(runs), key=lambda r: (order[r.job.problem], order[r.job.method]))
    return f"{HEAD}{NOTES}\n{summary.markdown(runs, AFTER)}"


SCRIPT = KeptScript("boing", page, every_seed(N_TRIALS), problems=FACTORIES)
kept_page = SCRIPT.kept_page


def main() -> None:
    SCRIPT.main(seeded(__doc__, range(100, 110), N_TRIALS, METHODS))


if __name__ == "__main__":
    main()
