"""The default beside the Gaussian processes of other libraries, on four real problems.

Writes docs/results/bayesian-peers.md. Runs are kept in experiments/results/bayesian-peers.jsonl.xz:
what is there is not made again. Ax and PyTorch want an environment of their own, where all methods
run; HEBO wants another one (the page says what is in it), whose Python BOSQUET_HEBO names:

    pip install torch ax-platform 'optuna>=5.0' -e '.[bench,forest]'
    BOSQUET_HEBO=.venv-hebo/bin/python python experiments/bayesian_peers.py [--data DIR]
        [--seeds 3] [--trials 60] [--hebo-trials 60] [--ax-trials 30]
    python experiments/bayesian_peers.py --page    writes the page from the runs that are kept
    python experiments/bayesian_peers.py --add FILE.jsonl --commit HASH    keeps runs made elsewhere
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

import numpy as np
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
`experiments/results/bayesian-peers.jsonl.xz`. Objectives were evaluated in one environment, with
the same seeds; HEBO proposed from an environment of its own. The four problems are of the reported
half of the real suite ([real problems](real.md)):

{problems}

There are {seeds} at most, and fewer of HEBO and Ax: an ask of their models takes seconds of CPU
time, and the machine had little to spare. The tables say how many of each there are; a method
without a line has no whole run of that problem. Differences of medians are not shown to be more
than chance, and one seed shows nothing but that the method runs. On `system-hipacc` three asks of
Ax's model took 13, 36 and 120 seconds on the busy machine (not CPU time), the longest because Ax
proposed known configurations five times and then took a Sobol point.

Some runs of `auto` are those of [real problems](real.md), of the same problems, seeds and versions
of libraries; the commits are at the end of the page, and CPU times are those of the code of that
time.

## Results

Medians over the seeds, in brackets the worst seed. The column of seeds has their number after
{budgets} evaluations, that of CPU time the mean per ask (telling included) up to there; a dash
where no run is so long. The machine had two cores and a load of about ten: CPU times compare within
this page, and are longer than on a quiet machine.

{tables}

HEBO's asks cost nearly nothing while it draws its first points, one more than there are parameters:
up to 30 evaluations it has no model on `select-sonar-logloss`, and up to 15 none on `mlp-spambase`.

## On the same seeds

Mean of the best value, over those seeds that every method of the line has.

{same}

## What each library models on these spaces

- **`auto`** (bosquet): the conditions are part of the model; a parameter that several options share
  is one parameter, and forbidden configurations are never proposed.
- **`optuna-gp-flat`**: Optuna's `GPSampler` has a Gaussian process over the parameters that every
  trial has. On conditional spaces nothing else would be modelled, so every trial suggests all
  parameters, and those that are not active are ignored: the model sees their values as if they
  mattered. Forbidden configurations are reported through `set_constraint` and not evaluated.
- **`hebo`**: HEBO with its defaults: Sobol points, one more than there are parameters, then a
  Gaussian process of GPyTorch on transformed values, and NSGA-II on three acquisition functions. It
  has no conditional parameters: every proposal has all parameters, and those that are not active
  are ignored, as with `optuna-gp-flat`. It has no constraints either: a forbidden configuration is
  not evaluated and answered with the worst value so far (before there is one, not at all).
  Parameters on a grid and ordered options are integers, those on a log scale `pow` and `pow_int`.
- **`ax`**: Ax's `Client` with its default strategy (centre, Sobol points up to five trials, then a
  Gaussian process of BoTorch). Conditions are given as `dependent_parameters`. Ax accepts trees
  only, so a parameter that several options share is declared once for each of them. By default Ax
  flattens the tree before it fits: categories of more than two options are one-hot encoded, and
  parameters that are not active keep the values that were proposed for them. Forbidden
  configurations cannot be given to Ax in general (its parameter constraints are linear inequalities
  of numbers); they are not evaluated and reported as a second outcome with the constraint
  `violation <= 0.5`, for which Ax fits a second model.

## HEBO's environment

HEBO 0.3.6 requires `numpy<1.25` and `pymoo==0.6.0`, bosquet `numpy>=1.26`: the two do not install
into one environment, so HEBO runs as a process that `bosquet.benchmarks.hebo` talks to, and its CPU
time is measured there. `pip install HEBO` builds old packages from source; what it imports installs
in a minute from wheels, with pymoo 0.6.1 in place of 0.6.0, which has no wheel for Python 3.11, and
without GPy and CatBoost, which its default model does not need:

    pip install --no-deps HEBO==0.3.6
    pip install --only-binary :all: 'numpy<1.25' 'scipy<1.13' 'scikit-learn<1.6' 'pandas<2.3' \\
        'matplotlib<3.10' torch==2.13.0 gpytorch==1.14 pymoo==0.6.1 disjoint-set networkx

HEBO fits by gradient steps with noise that grows where gradients vanish. In a trial on a function
of four parameters it drove a length scale to zero and the covariance matrix to NaN after eleven
values; HEBO then prints `jitter is too large, output random predictions` and searches on random
numbers. Its users know the message (huawei-noah/HEBO, issue 106); nothing was changed about it
here. What HEBO prints is not kept with the runs of this page.
"""


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
    n_seeds = len({run.job.seed for run in runs})
    return HEAD.format(
        problems=problems,
        seeds=f"{n_seeds} seeds" if n_seeds != 1 else "one seed",
        budgets=_listed(BUDGETS),
        tables="\n\n".join(_table(problem, runs) for problem in PROBLEMS),
        same=_same_seeds(runs),
    ) + (f"\n{len(runs)} runs; one thread each. Versions: {summary.versions_text(runs)}.\n")


def _table(problem: str, runs: list[Run]) -> str:
    """A line for each method, with what there is at each budget."""
    methods = summary.by_problem(runs)[problem]
    rows = {(r.method, r.after): r for r in summary.rows(runs, BUDGETS) if r.problem == problem}
    score = next(iter(rows.values())).score
    lines = _header("method", "seeds", *(f"after {b}" for b in BUDGETS), "CPU s per ask")
    for method, same in methods.items():
        cells = [rows.get((method, budget)) for budget in BUDGETS]
        values = [f"{c.median:.{c.digits}f} ({c.worst:.{c.digits}f})" if c else "" for c in cells]
        counts = " / ".join(str(cell.n_seeds if cell else 0) for cell in cells)
        lines.append(_line(method, counts, *values, _ask_seconds(same)))
    return f"### {problem}\n\n{score}: median (worst seed)\n\n" + "\n".join(lines)


def _ask_seconds(same: list[Run]) -> str:
    cells = []
    for budget in BUDGETS:
        times = [run.ask_seconds[:budget] for run in same if run.job.n_trials >= budget]
        cells.append(f"{np.mean(times):.2f}" if times else "-")
    return " / ".join(cells)


def _same_seeds(runs: list[Run]) -> str:
    """Means over common seeds; a method without a run so long is left out of its line."""
    lines = _header("problem", "evaluations", "seeds", *METHODS)
    for problem, methods in summary.by_problem(runs).items():
        for after in BUDGETS:
            best = {
                method: {r.job.seed: min(r.values[:after]) for r in same if r.job.n_trials >= after}
                for method, same in methods.items()
            }
            best = {method: values for method, values in best.items() if values}
            seeds = sorted(set.intersection(*(set(values) for values in best.values())))
            if not seeds:
                continue
            means = {m: f"{np.mean([values[s] for s in seeds]):.4f}" for m, values in best.items()}
            cells = [means.get(method, "") for method in METHODS]
            lines.append(_line(problem, str(after), _listed(seeds), *cells))
    return "\n".join(lines)


def _header(*cells: str) -> list[str]:
    return [_line(*cells), "|---" * len(cells) + "|"]


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


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
