"""What the command line prints about a study."""

from __future__ import annotations

import pprint
import shlex
import statistics
from collections.abc import Sequence
from datetime import datetime

from rich.console import Console

from bosquet.data import History, Trial, now
from bosquet.errors import StorageError
from bosquet.report.tables import (
    branches_table,
    config_text,
    escape,
    failures_table,
    tree_with_counts,
)
from bosquet.study.fingerprint import Fingerprint
from bosquet.study.progress import say
from bosquet.study.reading import StoredStudy
from bosquet.study.result import Result
from bosquet.study.template import Template, as_word
from bosquet.text import counted_text, duration_text, json_text, printable, value_format


def print_study(study: StoredStudy) -> None:
    """The best, the best of each branch, the failures, and what is running."""
    history = study.history
    console = Console(highlight=False)
    how = (
        f"strategy {study.strategy}, seed {study.seed}"
        if study.strategy
        else "run by an Optuna sampler"
    )
    print_line(console, f"[bold]{escape(study.where)}[/] ({history.direction}, {escape(how)})")
    if study.objective is not None:
        print_line(console, f"Evaluates {escape(_objective_text(study.objective))}")
    print_line(console, _counts(study))
    for note in study.notes:
        print_line(console, escape(note))
    if history.space.n_paths > 1:
        console.print()
        console.print(tree_with_counts(history), markup=False, soft_wrap=True)
        console.print()
    print_found(console, history)
    _print_open(console, "Running", study.running)
    _print_open(console, "Asked for, and waiting to be told", study.asked)
    left = "Given back, or left by a process that ended; the next run takes them up"
    _print_open(console, left, study.left, timed=False)


def print_result(result: Result, again: str, show: str) -> None:
    """What a run has found, why it ended, and the commands to go on and to see it again."""
    console = Console(highlight=False)
    history = result.history
    before = f", {result.resumed} of them from before" if result.resumed else ""
    print_line(
        console,
        f"{counted_text(len(history), 'trial')}{before}, {len(history.failed)} failed; "
        "this run took "
        f"{duration_text(result.seconds)}{_in_objective(history)} ({escape(result.stopped)})",
    )
    print_found(console, history)
    if result.stopped == "interrupted":
        print_interrupted(again)
    else:
        console.print(f"\nSee again: {escape(show)}", soft_wrap=True)


def _in_objective(history: History) -> str:
    durations = [trial.duration for trial in history.trials if trial.duration is not None]
    if not durations:
        return ""
    return f", the median trial {duration_text(statistics.median(durations))}"


def print_interrupted(again: str) -> None:
    say(f"interrupted; what has ended is stored. To go on:\n  {again}")


def print_found(console: Console, history: History) -> None:
    """The best, the best of each branch, and the failures."""
    best = history.best
    if best is not None:
        print_line(
            console,
            f"Best: [bold]{_best_value(history, best)}[/] in trial {best.number}: "
            f"{escape(config_text(best))}",
        )
    if best is not None and history.space.n_paths > 1:
        console.print()
        console.print(branches_table(history, width=console.width if console.is_terminal else None))
    if history.failed:
        console.print()
        console.print(failures_table(history))


def _best_value(history: History, best: Trial) -> str:
    """With the digits that tell it from the other values, and at least six where it has them."""
    assert best.value is not None
    text = value_format(trial.value for trial in history.complete if trial.value is not None)
    short = f"{best.value:.6g}"
    return short if float(short) == best.value else max(short, text(best.value), key=len)


def print_line(console: Console, text: str) -> None:
    """Markup, wrapped between words at a terminal; elsewhere one line, for programs."""
    console.print(text, soft_wrap=not console.is_terminal, highlight=False)


def best_text(study: StoredStudy, trial: Trial) -> str:
    """The best trial for people, with all digits; values as the objective received them."""
    as_words = (study.objective or {}).get("kind") == "command"
    return f"{trial.value} in trial {trial.number}\n{_config_lines(trial, as_words=as_words)}"


def trial_text(trial: Trial) -> str:
    """A trial to be evaluated, for people, with all digits."""
    return f"trial {trial.number}\n{_config_lines(trial)}"


def _config_lines(trial: Trial, *, as_words: bool = False) -> str:
    word = as_word if as_words else str
    shown = {printable(name): printable(word(value)) for name, value in trial.config.items()}
    width = max(map(len, shown))
    return "\n".join(f"  {name:<{width}}  {value}" for name, value in shown.items())


def best_json(trial: Trial) -> str:
    """The best trial for programs."""
    data = {
        "number": trial.number,
        "value": trial.value,
        "noise_variance": trial.noise_variance,
        "config": trial.config,
    }
    return json_text(data, indent=2)


def trial_json(trial: Trial) -> str:
    """A trial to be evaluated, for programs: one line."""
    return json_text({"number": trial.number, "config": trial.config})


def best_python(trial: Trial) -> str:
    """The configuration as a dict that Python evaluates."""
    return pprint.pformat(trial.config, width=88, sort_dicts=False)


def best_command(study: StoredStudy, trial: Trial) -> str:
    """The command that the trial ran, for a shell."""
    objective = study.objective or {}
    if objective.get("kind") != "command":
        what = _objective_text(objective) if objective else "not stored"
        raise ValueError(
            f"{study.where}: its objective is {what}, so there is no command; "
            "use --as json or --as python"
        )
    try:
        template = Template(str(objective.get("template")), study.history.space)
    except ValueError as error:
        raise StorageError(f"{study.where}: the stored command cannot be used: {error}") from None
    return " ".join(map(_quoted, template.words(trial.config, trial.number)))


def _quoted(word: str) -> str:
    """A word for a shell, and harmless to a terminal."""
    if all(character.isprintable() or character in "\n\t" for character in word):
        return shlex.quote(word)
    return f"$'{''.join(map(_escaped, word))}'"


def _escaped(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x80 else f"\\U{code:08x}"


def _objective_text(objective: Fingerprint) -> str:
    if objective.get("kind") == "command":
        return f"the command {objective.get('template')}"
    return f"the Python function {objective.get('name')}"


def _counts(study: StoredStudy) -> str:
    history = study.history
    parts = [f"{len(history.complete)} complete", f"{len(history.failed)} failed"]
    if study.running:
        parts.append(f"{len(study.running)} running")
    if study.asked:
        parts.append(f"{len(study.asked)} waiting to be told")
    if study.left:
        parts.append(f"{len(study.left)} to be taken up again")
    total = len(history) + len(study.running) + len(study.asked) + len(study.left)
    return f"{total} trial{'s' * (total != 1)}: {', '.join(parts)}"


def _print_open(
    console: Console, title: str, trials: Sequence[Trial], *, timed: bool = True
) -> None:
    if trials:
        console.print(f"\n{title}:")
    for trial in trials:
        since = "" if trial.started is None or not timed else f" (for {_age(trial.started)})"
        print_line(console, f"  trial {trial.number}{since}: {escape(config_text(trial))}")


def _age(moment: datetime) -> str:
    return duration_text(max(0.0, (now() - moment).total_seconds()))
