"""The demo: tunes a real conditional scikit-learn pipeline and shows what was found."""

from __future__ import annotations

from rich.console import Console

from bosquet.benchmarks import sklearn_pipeline
from bosquet.report.tables import branches_table, config_text
from bosquet.study import Result, minimize


def run_demo(dataset: str, n_trials: int, strategy: str, seed: int, program: str) -> Result:
    """Runs the study and prints the best configuration of each branch.

    ``program`` is what to type for this command line.
    """
    console = Console(highlight=False)
    problem = sklearn_pipeline(dataset)
    measure = "error / standard deviation" if dataset == "diabetes" else "share of wrong answers"
    console.print(
        f"Tuning a scikit-learn pipeline on {dataset!r}: {measure} over 5 folds, {n_trials} "
        f"trials, strategy {strategy!r}, seed {seed}.\n"
        "Some choices decide which other parameters exist:\n"
    )
    console.print(str(problem.space), markup=False)
    console.print()
    result = minimize(
        problem.objective, problem.space, n_trials=n_trials, strategy=strategy, seed=seed
    )
    console.print(branches_table(result.history))
    if result.best is not None:
        console.print(
            f"\nBest: [bold]{result.best_value:.4g}[/] in trial {result.best.number} "
            f"({len(result.trials)} trials, {result.seconds:.0f} s): {config_text(result.best)}"
        )
    console.print(
        "\nTry next: declare your own space and call "
        "[bold]bosquet.minimize(objective, space, n_trials=40)[/] (README.md), another data set "
        f"with [bold]{program} demo --dataset digits[/], or measure strategies with "
        f"[bold]{program} bench[/]."
    )
    return result
