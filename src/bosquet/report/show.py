"""What the command line prints about a study."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.console import Console

from bosquet.data import History, Trial
from bosquet.report.tables import branches_table, config_text, escape, failures_table
from bosquet.study.progress import say
from bosquet.study.reading import StoredStudy
from bosquet.study.result import Result
from bosquet.text import printable


def print_study(study: StoredStudy) -> None:
    """The best, the best of each branch, the failures, and what is running."""
    history = study.history
    console = Console(highlight=False)
    seed = f"{history.direction}, strategy {study.strategy}, seed {study.seed}"
    console.print(f"[bold]{escape(study.where)}[/] ({escape(seed)})", soft_wrap=True)
    console.print(_counts(study))
    print_found(console, history)
    _print_open(console, "Running", study.running)
    _print_open(console, "Left by a process that ended; the next run takes them up", study.left)


def print_result(result: Result, again: str, show: str) -> None:
    """What a run has found, why it ended, and the commands to go on and to see it again."""
    console = Console(highlight=False)
    history = result.history
    before = f", {result.resumed} of them from before" if result.resumed else ""
    console.print(
        f"{len(history)} trials{before}, {len(history.failed)} failed, in {result.seconds:.1f} s "
        f"({escape(result.stopped)})",
        soft_wrap=True,
    )
    print_found(console, history)
    if result.stopped == "interrupted":
        print_interrupted(again)
    else:
        console.print(f"\nSee again: {escape(show)}", soft_wrap=True)


def print_interrupted(again: str) -> None:
    say(f"interrupted; what has ended is stored. To go on:\n  {again}")


def print_found(console: Console, history: History) -> None:
    """The best, the best of each branch, and the failures."""
    best = history.best
    if best is not None:
        console.print(
            f"Best: [bold]{best.value:.6g}[/] in trial {best.number}: {escape(config_text(best))}",
            soft_wrap=True,
        )
    if best is not None and history.space.n_paths > 1:
        console.print()
        console.print(branches_table(history))
    if history.failed:
        console.print()
        console.print(failures_table(history.failed))


def best_text(trial: Trial) -> str:
    """The best trial for people, with all digits."""
    shown = {printable(name): printable(str(value)) for name, value in trial.config.items()}
    width = max(map(len, shown))
    lines = [f"  {name:<{width}}  {value}" for name, value in shown.items()]
    return "\n".join([f"{trial.value} in trial {trial.number}", *lines])


def best_json(trial: Trial) -> str:
    """The best trial for programs."""
    data = {
        "number": trial.number,
        "value": trial.value,
        "noise_variance": trial.noise_variance,
        "config": trial.config,
    }
    return json.dumps(data, indent=2)


def _counts(study: StoredStudy) -> str:
    history = study.history
    parts = [f"{len(history.complete)} complete", f"{len(history.failed)} failed"]
    if study.running:
        parts.append(f"{len(study.running)} running")
    if study.left:
        parts.append(f"{len(study.left)} to be taken up again")
    total = len(history) + len(study.running) + len(study.left)
    return f"{total} trial{'s' * (total != 1)}: {', '.join(parts)}"


def _print_open(console: Console, title: str, trials: Sequence[Trial]) -> None:
    if trials:
        console.print(f"\n{title}:")
    for trial in trials:
        console.print(f"  trial {trial.number}: {escape(config_text(trial))}", soft_wrap=True)
