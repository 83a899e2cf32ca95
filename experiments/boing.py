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
NOTES = """\
## What it shows

Commits 7504a40 and 244cd7f, seeds 100 to 104 for every method.

- **Ten variables.** On Ackley's function `boing` and `boing+` are ahead of all others from 100
  evaluations on, on all seeds but one against `auto` (log10 distances of -1.18 and -1.00 after 300,
  `auto` 0.18, TPE 0.92, SMAC3 1.23). On Levy's function `boing` ends in a local minimum on three of
  five seeds, `boing+` on two and `auto` on none (worst -0.93); SMAC3 and TPE are at 1.0 and above.
- **`turbo` alone** loses two of five seeds of Ackley's function to the plateau (16 and 17 after 300
  evaluations). These runs were not traced.
- **Lunar Lander** is won by who finds the 1 % of the space in which all five landings succeed.
  After 300 evaluations `boing+` has a reward above 250 on four seeds and 169 on one; `boing` loses
  one seed (-29), as `flat-gp` (-20) and `turbo` (34) do, on the same terrain, seed 103; SMAC3 has
  214 or more on all, later: 50 after 100. **`auto` is behind** (180 in the median, 93 and 146 on
  the worst two; after 100 behind TPE on all five seeds): its second belief, a sum over groups,
  comes in after 20 trials here, and `flat-gp`, which is its first belief alone, is ahead (267).
  `additive` alone is behind `add-tree` on four of the five seeds after 120 evaluations (scratch
  runs of c14e049, not kept).
- What happens on lost seeds is not noise that the model takes for real. Traces of earlier code,
  every fifth or sixth ask: the learned noise is 0.001 to 0.4 (variance 1), mostly below 0.2, and a
  tenth of a standard deviation or more seems left to gain. The models follow a slope of the
  plateau (values from 60 to 18, from 67 to 9), on which nothing tells of the landing.
- **Adult**: `auto` and `flat-gp`, the same up to 100 evaluations of six variables, are ahead of all
  others on every seed after 100, by 0.001 to 0.006: two to twelve of the 2,000 people.
- Tried earlier and not adopted, with `add-tree` on 100 evaluations of Lunar Lander: a start of the
  fit from much noise (preferred by 10 to 20 in log posterior; 8 seeds), and an expected improvement
  that counts what is taken for noise as what may be gained (19 seeds). Neither was better in the
  median, nor on the worst seed. Targets whose zero is the mean of the trials inside: on Ackley's
  function a run then stayed at 4.0 for 300 evaluations, asking at the edges of its subregions.

CartPole (a PPO agent trained for every evaluation) and robot pushing were not run.

"""


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
