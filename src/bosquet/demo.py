"""The demo: tunes a real conditional scikit-learn pipeline and shows what was found."""

from __future__ import annotations

import os
import sys

from rich.console import Console

from bosquet.benchmarks import sklearn_pipeline
from bosquet.report.tables import branches_table, config_text
from bosquet.study import Result, minimize


def run_demo(dataset: str, n_trials: int, strategy: str, seed: int) -> Result:
    """Runs the study and prints the best configuration of each branch."""
    console = Console()
    problem = sklearn_pipeline(dataset)
    measure = "error / standard deviation" if dataset == "diabetes" else "share of wrong answers"
    console.print(
        f"Tuning a scikit-learn pipeline on {dataset!r}: {measure} over 5 folds, {n_trials} "
        f"trials, strategy {strategy!r}, seed {seed}.\nOne choice decides which others exist:\n",
        highlight=False,
    )
    console.print(str(problem.space), highlight=False, markup=False)
    console.print()
    result = minimize(
        problem.objective, problem.space, n_trials=n_trials, strategy=strategy, seed=seed
    )
    console.print(branches_table(result.history))
    if result.history.best is not None:
        best = result.best_trial
        console.print(
            f"\nBest: [bold]{result.best_value:.4g}[/] in trial number {best.number} "
            f"({len(result.trials)} trials, {result.seconds:.0f} s): {config_text(best)}",
            highlight=False,
        )
    program = os.path.relpath(sys.argv[0]) if os.sep in sys.argv[0] else "bosquet"
    console.print(
        "\nTry next: declare your own space and call "
        "[bold]bosquet.minimize(objective, space, n_trials=40)[/] (README.md), another data set "
        f"with [bold]{program} demo --dataset digits[/], or measure strategies with "
        f"[bold]{program} bench[/].",
        highlight=False,
    )
    return result
