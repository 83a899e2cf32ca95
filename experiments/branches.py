"""Does a wrong branch hold `boing` and `turbo`? Before and after a model that shares chose it.

`steep` has 12 parameters and four branches; shifted trees beside it, on which nothing may be lost.
Writes docs/results/branches.md; runs are kept in results/branches.jsonl.xz.

    python experiments/branches.py [--seeds 110] [--first-seed 100] [--problems a,b] [--methods a,b]
    python experiments/branches.py --page    writes the page from the runs that are kept

Methods whose name ends in "before" or "between" are of earlier commits, which the page names: make
their runs there, and add them with --add FILE.jsonl --as "boing before" --commit 4ae2554.
"""

from __future__ import annotations

from collections.abc import Sequence

from kept_script import KeptScript, every_seed, longest, seeded

from bosquet.benchmarks import summary
from bosquet.benchmarks.harness import Run

METHODS = ("boing", "boing+", "turbo", "add-tree", "auto", "random")
N_TRIALS = {
    "steep": 120,
    "small-shared-shifted": 60,
    "large-shared-shifted": 60,
    "unbalanced-8-shifted": 60,
    "and-or-3": 60,
}
AFTER = (40, 60, 90, 120)

CHOSEN_LATER = 120  # seeds from here on: of what came after those before had been looked at

HEAD = """\
# The branch that `boing` and `turbo` look in

Written by `experiments/branches.py` from the runs in `experiments/results/branches.jsonl.xz`.
"before" is commit 4ae2554 of `boing` and `boing+`, in which the forest alone chose the branch, and
9ee29b2 or a9c84c1, the same code, of `turbo`, which kept the branch of its run's best trial. Now
the additive tree chooses ([why](../strategies/boing.md#what-it-does)). "between" is 7e9ba5f to
a9c84c1: the tree chose for `boing`, and no rule said what to do when nothing seems left to gain.

"""
NOTES = """\
## What it shows

**`boing`, `boing+`** on `steep`, seeds 100 to 109, after 120 evaluations:

- With the forest's branch `boing` was in a wrong one on three of ten seeds (-2.50 in the median,
  worst -0.70). With the additive tree's ("between") it is in the best one on all ten (-5.35, worst
  -3.87), as `boing+` is, and `add-tree`. `auto` is on eight: two of its seeds are in the
  second-best branch, 0.1 above the minimum. Of seed 100 a trace shows all four branches visited.
- How it was chosen, on seeds 0 to 2: before -0.70, -0.75, -1.25; with the model's x_g in a
  subregion of the forest, whatever the branch, -2.27, -2.12, -4.10; with what was adopted, by which
  the model of all trials proposes on a branch of fewer than n_min trials, -4.61 and -4.90 on seeds
  0 and 1: in the example of `tests/strategies/test_sharing.py` the local model of such a branch has
  the length-scales of other branches' trials, and asked at the ends of the branch's own variable.
- An ask takes more time: 0.33 s instead of 0.19 after 500 trials of `steep`, 0.64 instead of 0.46
  after 1,500 (CPU, median of five).
- The other problems have one seed of `boing`, which decides nothing.

**Nothing left to gain.** On `steep` the expected improvement of most local models was below 1e-4
standard deviations, and highest at an edge. Now `boing` then looks near the best trial of the
subregion:

- On seeds 100 to 109 it is ahead of "between" on five, level on three and behind on two: -5.90 in
  the median instead of -5.35, worst -3.47 instead of -3.87. On seeds 120 to 124 it is ahead on
  four and behind on one (-6.09 instead of -4.70). On seed 122 "between" was in another branch,
  which may be chance: the rule polishes what was found, and chooses no branch.
- Chosen on seeds 0 to 4, at -4.47, -4.82, -6.01, -5.07, -6.73 without it. TuRBO's own step, with
  a model of the trials inside: -6.06, -4.93, -6.01, -5.07, -5.59. With the local model, in a box
  that may leave the subregion: -6.09, -7.05, -6.01, -5.07, -5.59. In one that may not (adopted):
  -7.00, -6.03, -6.01, -5.07, -6.98.
- Without conditions the case did not occur in seven runs of Ackley's function and Lunar Lander
  that were compared (seeds 100 and 101; abc45b8): all were the same.

**`turbo`**, seeds 120 to 129:

- It kept the branch of its run's best trial, and had found the best one of `steep` on two of ten
  seeds after 120 evaluations (on three of ten of 100 to 109). With the tree's branch, of which the
  tree itself proposes the first 5 d trials, and every twelfth trial one of the design, it has on
  **nine of ten** (-6.25 in the median instead of -0.85). Seed 128, found before, now ends in the
  second-best branch.
- `and-or-3`, four seeds (100 to 103), 60 evaluations: -6.31 instead of -0.65 in the median.
  `small-shared-shifted`: -9.20 instead of -8.45, one seed behind (-7.61 instead of -8.25).
- In 120 evaluations most trials of a branch are the tree's own: it is then nearly `add-tree`.
- Chosen on seeds 0 to 5 and 20 to 25, with a look at 100 to 119. The tree's own trials up to 2 d
  found the best branch on seven of ten of 100 to 109; with exploration as well, on all of 0 to 5
  but on four of ten of 110 to 119. A trace of a lost seed: after forty trials of polishing in one
  branch the tree is sure of itself, and sees less than 1e-4 to gain anywhere. What did not help: a
  tree of this run's trials only, a length or a run for each branch, exploration every second time
  while the tree sees nothing left, the tree's proposal where it lies outside the box. 5 d instead
  of 2 d found it on all of 20 to 25, and on three of four seeds lost before.
"""


def page(runs: Sequence[Run]) -> str:
    """Problems in the order in which they are listed above."""
    listed_first = sorted(longest(runs), key=lambda run: list(N_TRIALS).index(run.job.problem))
    first, later = (
        [run for run in listed_first if (run.job.seed >= CHOSEN_LATER) == is_later]
        for is_later in (False, True)
    )
    return (
        f"{HEAD}{NOTES}\n## Seeds 100 to 109\n\n{summary.markdown(first, AFTER)}\n"
        f"## Seeds 120 to 129\n\n{summary.markdown(later, AFTER)}"
    )


SCRIPT = KeptScript("branches", page, every_seed(N_TRIALS))
kept_page = SCRIPT.kept_page


def main() -> None:
    SCRIPT.main(seeded(__doc__, range(100, 110), N_TRIALS, METHODS))


if __name__ == "__main__":
    main()
