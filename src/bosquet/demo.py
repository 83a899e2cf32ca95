"""The demo: tunes a real conditional scikit-learn pipeline and shows what was found."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from bosquet.benchmarks import sklearn_pipeline
from bosquet.benchmarks.problem import Problem
from bosquet.report.page import write_report
from bosquet.report.tables import branches_table, config_text, escape
from bosquet.study import Result, minimize
from bosquet.text import duration_text, value_format


def run_demo(
    dataset: str, n_trials: int, strategy: str, seed: int, program: str, report: Path
) -> Result:
    """Runs the study, prints the best configuration of each branch, and writes a report.

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
    console.print(
        branches_table(result.history, width=console.width if console.is_terminal else None)
    )
    if result.best is not None:
        console.print(
            f"\nBest: [bold]{result.best_value:.4g}[/] in trial {result.best.number} "
            f"({len(result.trials)} trials in {duration_text(result.seconds)}): "
            f"{config_text(result.best)}"
        )
    if result.stopped != "interrupted" and result.best is not None:
        if strategy != "random":
            console.print(_beside_random(problem, result, n_trials, seed))
        written = write_report(result, report)
        console.print(f"\nReport: [bold]{escape(str(written.resolve()))}[/]", soft_wrap=True)
    console.print(
        "\nTry next: declare your own space and call "
        "[bold]bosquet.minimize(objective, space, n_trials=40)[/] (README.md), another data set "
        f"with [bold]{program} demo --dataset digits[/], or measure strategies with "
        f"[bold]{program} bench[/]."
    )
    return result


def _beside_random(problem: Problem, result: Result, n_trials: int, seed: int) -> str:
    """What random search finds in as many trials, and when this run had found as much."""
    random = minimize(
        problem.objective, problem.space, n_trials=n_trials, strategy="random", seed=seed
    )
    if random.best is None:
        return "Random search found nothing in as many trials."
    text = value_format(t.value for t in result.history.complete if t.value is not None)
    found = f"Random search found {text(random.best_value)} in {len(random.trials)} trials"
    as_good = [t for t in result.history.complete if (t.value or 0.0) <= random.best_value]
    if not as_good:
        return f"{found}, which is better: on this data set the seed decides."
    trials = as_good[0].number + 1
    return f"{found}; this run was as good after {trials}."
