"""`bosquet tune`."""

from __future__ import annotations

import argparse
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bosquet.cli.arguments import add_command, complain, positive, program, seed
from bosquet.errors import EvaluationError
from bosquet.strategies import STRATEGIES

_INTERRUPTED = 130  # the exit code, as of shells
_EXAMPLES = """\
examples:
  bosquet tune train.py:objective --space train.py:space --trials 60
  bosquet tune train.py:objective --space space.json --timeout 2h --jobs 4 \\
      --trial-timeout 10m
  bosquet tune --space space.json --trials 100 --direction maximize \\
      --command "solver --alpha {alpha} {?restarts:--restarts {restarts}}"
  bosquet tune --space space.json --trials 100 --read "stdout:objective:" \\
      --command "solver --alpha {alpha} {?fast=true:--fast}"
  bosquet tune --space space.json --trials 100 --jobs 4 \\
      --command "sim --x {x} --out out/{trial}.json" \\
      --read json:out/{trial}.json:metrics.loss

templates (--command), which are split into words first and run without a shell:
  {name}         the value of a parameter
  {?name:...}    only where that parameter is active; may hold several words
  {?name=true:-x}  only where that choice has this value: flags
  {trial}        the number of the trial
  {{ and }}      braces

The same command again goes on with the stored study, until it has --trials
trials in all.

exit codes:
  0    done
  1    no trial has returned a value, or one failed with --on-failure raise
  2    bad input
  130  interrupted (Ctrl-C); the message says how to go on
  143  the same, by SIGTERM (kill, a batch system)
"""


def add_tune(commands: Any) -> None:
    tune = add_command(
        commands,
        "tune",
        help="tune a Python function, or any program",
        description="Searches a space for the configuration with the best value. Every trial is\n"
        "stored at once: a kill costs at most what was running.",
        epilog=_EXAMPLES,
    )
    _add_objective(tune)
    _add_limits(tune)
    _add_study(tune)
    tune.set_defaults(run=_tune, error=tune.error)


def _add_objective(tune: argparse.ArgumentParser) -> None:
    """What is tuned."""
    tune.add_argument(
        "objective",
        nargs="?",
        metavar="FILE.py:NAME",
        help="a function that takes a configuration (a dict) and returns a number",
    )
    tune.add_argument("--command", metavar="TEMPLATE", help="a program to run instead")
    tune.add_argument(
        "--read",
        metavar="WHERE",
        help="the value of --command: 'stdout' (its last line that is not empty; the default), "
        "'stdout:TEXT' (the number after the last TEXT that it prints), 'json:FILE' or "
        "'json:FILE:key.below' (a file it writes; {trial} in FILE is the number of the trial)",
    )
    tune.add_argument("--space", required=True, metavar="FILE.json|FILE.py:NAME")


def _add_limits(tune: argparse.ArgumentParser) -> None:
    """How long, and how many trials at once."""
    tune.add_argument("--trials", type=positive, metavar="N", help="trials of the study in all")
    tune.add_argument(
        "--timeout", type=_duration, metavar="TIME", help="start no trial after: 90s, 30m, 2h, 1d"
    )
    tune.add_argument(
        "--trial-timeout", type=_duration, metavar="TIME", help="end a trial that takes longer"
    )
    tune.add_argument(
        "--jobs", type=positive, default=1, metavar="K", help="trials at once (default: 1)"
    )


def _add_study(tune: argparse.ArgumentParser) -> None:
    """Where the trials are kept, what proposes them, and what happens when they fail."""
    tune.add_argument(
        "--storage",
        default="runs.db",
        metavar="FILE|URL",
        help="SQLite file or database URL (default: %(default)s)",
    )
    tune.add_argument("--study", metavar="NAME", help="to tell studies of one storage apart")
    tune.add_argument(
        "--direction",
        choices=("minimize", "maximize"),
        default="minimize",
        help="default: minimize",
    )
    tune.add_argument(
        "--strategy",
        default="auto",
        metavar="NAME",
        help=f"{', '.join(STRATEGIES)}, or FILE.py:NAME (default: auto)",
    )
    tune.add_argument("--seed", type=seed, metavar="N", help="default: drawn, and stored")
    tune.add_argument(
        "--force",
        action="store_true",
        help="go on with a stored study though its objective or command has changed",
    )
    tune.add_argument(
        "--on-failure",
        choices=("stop", "continue", "raise"),
        default="stop",
        help="stop when five trials have failed in the same way and none has returned a value "
        "(the default), continue whatever fails, or raise: end at the first failure",
    )


def _duration(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", text)
    if not match or not float(match[1]):
        raise argparse.ArgumentTypeError(
            f"{text!r} must be a time such as 90 (seconds), 90s, 30m, 2h or 1d"
        )
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}[match[2]]


@contextmanager
def _terminated() -> Iterator[list[int]]:
    """Makes SIGTERM an interruption like Ctrl-C; the list has its number once it has come."""
    come: list[int] = []

    def interrupt(number: int, _: Any) -> None:
        come.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # which alone hears of signals
        yield come
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield come
    finally:
        signal.signal(signal.SIGTERM, before)


def _tune(options: argparse.Namespace) -> int:
    with _terminated() as come:
        code = _tuned(options)
    return 128 + come[0] if come and code == _INTERRUPTED else code


def _tuned(options: argparse.Namespace) -> int:
    if (options.objective is None) == (options.command is None):
        options.error("give FILE.py:NAME or --command, one of them")
    if options.read is not None and options.command is None:
        options.error("--read needs --command; a function returns its value")
    if options.trials is None and options.timeout is None:
        options.error("give --trials, --timeout or both: the search must end")
    from bosquet.report.show import print_interrupted, print_result
    from bosquet.study.addresses import command_line, parse_address
    from bosquet.study.tune import tune

    address = parse_address(options.storage)
    again = command_line([*program(), *options.arguments], address)
    try:
        result = tune(
            options.objective,
            options.command,
            options.read or "stdout",
            options.space,
            n_trials=options.trials,
            timeout=options.timeout,
            trial_timeout=options.trial_timeout,
            n_jobs=options.jobs,
            storage=options.storage,
            study_name=options.study,
            direction=options.direction,
            strategy=options.strategy,
            seed=options.seed,
            allow_changed=options.force,
            on_failure=options.on_failure,
        )
    except KeyboardInterrupt:  # before the first trial
        print_interrupted(again)
        return _INTERRUPTED
    except EvaluationError as error:
        complain(str(error))
        return 1
    study = options.study or ""
    name = [f"--study={study}"] if study.startswith("-") else ["--study", study] if study else []
    show = command_line([*program(), "show", options.storage, *name], address)
    print_result(result, again, show)
    if result.stopped == "interrupted":
        return _INTERRUPTED
    return 0 if result.history.best is not None else 1
