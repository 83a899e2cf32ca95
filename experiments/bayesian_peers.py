"""The default beside the Gaussian processes of other libraries, on four real problems.

Writes docs/results/bayesian-peers.md. Runs are kept in experiments/results/bayesian-peers.jsonl.xz:
what is there is not made again. Ax and PyTorch want an environment of their own, where all methods
run:

    pip install torch ax-platform 'optuna>=5.0' -e '.[bench,forest]'
    python experiments/bayesian_peers.py [--data DIR] [--seeds 3] [--trials 60] [--ax-trials 30]
    python experiments/bayesian_peers.py --page    writes the page from the runs that are kept
    python experiments/bayesian_peers.py --add FILE.jsonl --commit HASH    keeps runs made elsewhere
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from kept_script import KeptScript, listed, longest

from bosquet.benchmarks import summary
from bosquet.benchmarks.harness import Job, Run

METHODS = ("auto", "optuna-gp-flat", "hebo", "ax")
PROBLEMS = {
    "select-sonar-logloss": "conditional: 34 parameters, 144 paths",
    "mlp-spambase": "conditional: 14 parameters, 5 paths",
    "system-hipacc": "a discrete table with one condition and three forbidden clauses",
    "boosting-svmguide3": "flat: 10 parameters",
}
BUDGETS = (15, 30, 60)

HEAD = """\
# Gaussian processes of other libraries

Written by `experiments/bayesian_peers.py` from the runs in
`experiments/results/bayesian-peers.jsonl.xz`. All methods ran in one environment with the same
seeds. The four problems are of the reported half of the real suite ([real problems](real.md)):

{problems}

{state}
Few seeds: differences of medians are not shown to be more than chance. Ax's runs were stopped after
15 evaluations for want of time. On `system-hipacc` Ax has no whole run: three asks of its model
took 13, 36 and 120 seconds on the busy machine (not CPU time), the longest because Ax
proposed known configurations five times and then took a Sobol point.

## On the same seeds

Best value after {common} evaluations, the mean over those seeds that every method of the line has.

{same}

## What each library models on these spaces

- **`auto`** (bosquet): the conditions are part of the model; a parameter that several options share
  is one parameter, and forbidden configurations are never proposed.
- **`optuna-gp-flat`**: Optuna's `GPSampler` has a Gaussian process over the parameters that every
  trial has. On conditional spaces nothing else would be modelled, so every trial suggests all
  parameters, and those that are not active are ignored: the model sees their values as if they
  mattered. Forbidden configurations are reported through `set_constraint` and not evaluated.
- **`ax`**: Ax's `Client` with its default strategy (centre, Sobol points up to five trials, then a
  Gaussian process of BoTorch). Conditions are given as `dependent_parameters`. Ax accepts trees
  only, so a parameter that several options share is declared once for each of them. By default Ax
  flattens the tree before it fits: categories of more than two options are one-hot encoded, and
  parameters that are not active keep the values that were proposed for them. Forbidden
  configurations cannot be given to Ax in general (its parameter constraints are linear inequalities
  of numbers); they are not evaluated and reported as a second outcome with the constraint
  `violation <= 0.5`, for which Ax fits a second model.
- **HEBO** is not in the tables. {hebo}

## Results

A cell without a number: no run of that length was made. A distance of -11.18 is the minimum itself,
up to the rounding of kept values. The machine had two cores and a load of about ten: CPU times
compare within this page, and are longer than on a quiet machine.

"""
HEBO = """Version 0.3.6 requires `numpy<1.25,>=1.16` and `pymoo==0.6.0`, bosquet requires
  `numpy>=1.26`: the two do not install into one environment. In an environment of its own, `pip
  install HEBO` (Python 3.11) was still trying older versions of matplotlib, built from source, when
  it was stopped after nine minutes; an installation with pinned versions had not ended after nine
  more, on a busy machine. Whether it imports with other versions was not seen."""


def jobs(options: argparse.Namespace) -> Iterable[Job]:
    for seed in range(options.seeds):
        for problem in PROBLEMS:
            for method in options.methods:
                slow = {"ax": options.ax_trials, "hebo": options.hebo_trials}
                yield Job(method, problem, seed, slow.get(method, options.trials))


def in_order(runs: Iterable[Run]) -> list[Run]:
    """The longest run of each method, problem and seed, in the order of the page."""
    order = {(p, m): i for i, (p, m) in enumerate((p, m) for p in PROBLEMS for m in METHODS)}
    return sorted(longest(runs), key=lambda r: (order[r.job.problem, r.job.method], r.job.seed))


def page(kept: list[Run]) -> str:
    runs = in_order(kept)
    problems = "\n".join(f"- `{name}`, {what}" for name, what in PROBLEMS.items())
    head = HEAD.format(
        problems=problems,
        state=_state(runs),
        common=BUDGETS[0],
        same=_same_seeds(runs, BUDGETS[0]),
        hebo=HEBO,
    )
    return head + summary.markdown(runs, BUDGETS)


def _state(runs: list[Run]) -> str:
    """How many seeds there are of what length; nothing is compared beyond it."""
    header = ["seeds with at least so many evaluations", *METHODS]
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for problem in PROBLEMS:
        cells = [problem]
        for method in METHODS:
            same = [r for r in runs if (r.job.problem, r.job.method) == (problem, method)]
            counts = [sum(r.job.n_trials >= budget for r in same) for budget in BUDGETS]
            cells.append(" / ".join(map(str, counts)))
        lines.append(f"| {' | '.join(cells)} |")
    after = " / ".join(map(str, BUDGETS))
    return f"Runs that there are, by length ({after} evaluations):\n\n" + "\n".join(lines) + "\n"


def _same_seeds(runs: list[Run], after: int) -> str:
    """Means over common seeds; a method without a run of a problem is left out of its line."""
    lines = [f"| problem | seeds | {' | '.join(METHODS)} |", "|---" * (2 + len(METHODS)) + "|"]
    for problem, methods in summary.by_problem(runs).items():
        best = {
            method: {run.job.seed: min(run.values[:after]) for run in same}
            for method, same in methods.items()
        }
        seeds = sorted(set.intersection(*(set(values) for values in best.values())))
        cells = [
            f"{sum(best[m][s] for s in seeds) / len(seeds):.4f}" if m in best and seeds else ""
            for m in METHODS
        ]
        lines.append(f"| {problem} | {', '.join(map(str, seeds))} | {' | '.join(cells)} |")
    return "\n".join(lines)


SCRIPT = KeptScript("bayesian-peers", page, jobs)
kept_page = SCRIPT.kept_page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--ax-trials", type=int, default=30, help="its asks take seconds")
    parser.add_argument("--hebo-trials", type=int, default=60, help="its asks take seconds, too")
    parser.add_argument("--methods", type=listed, default=METHODS)
    SCRIPT.main(parser)


if __name__ == "__main__":
    main()
