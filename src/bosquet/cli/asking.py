"""Commands that ask and tell on a stored study: `ask`, `tell`, `release`."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from bosquet.cli.arguments import add_command, add_study, complain, positive, seed
from bosquet.strategies import STRATEGIES
from bosquet.text import printable

if TYPE_CHECKING:
    from bosquet.study import Study

_ASK_EXAMPLES = """\
examples:
  bosquet ask runs.db --space space.json --direction maximize   a new study
  bosquet ask runs.db                                           the next trial
  bosquet ask runs.db -n 4 --as json > batch.json               four at once
  bosquet ask runs.db --list                                    what is pending

A trial stays pending, also after a reboot, until it is told or released. Trials
that were released come first. Other processes ('bosquet tune' too) may work on
the same study.

exit codes:
  0    shown
  1    the space is exhausted
  2    bad input, or no such file or study
"""

_TELL_EXAMPLES = """\
examples:
  bosquet tell runs.db 17 0.31
  bosquet tell runs.db 17 0.31 --noise-variance 1e-4
  bosquet tell runs.db 17 --failed "the sample broke"
  bosquet tell runs.db '{"method": "newton", "damping": 0.5}' 0.2   known before

exit codes: 0 stored; 2 bad input, or a trial that is not waiting to be told.
"""

_RELEASE_EXAMPLES = """\
examples:
  bosquet release runs.db 17
  bosquet release runs.db 17 18 19

exit codes: 0 released; 2 bad input, or a trial that is not waiting to be told.
"""


def add_asking(commands: Any) -> None:
    _add_ask(commands)
    _add_tell(commands)
    _add_release(commands)


def _add_ask(commands: Any) -> None:
    ask = add_command(
        commands,
        "ask",
        help="ask a stored study for trials that you evaluate yourself",
        description="Prints the next trials of a stored study and keeps them as pending, for\n"
        "evaluations that bosquet does not run: by hand, in a laboratory, by a scheduler.",
        epilog=_ASK_EXAMPLES,
    )
    add_study(ask, space="for a new study, or where constraints are functions")
    ask.add_argument("-n", type=positive, default=1, metavar="N", help="trials (default: 1)")
    ask.add_argument("--list", action="store_true", help="show what is pending, ask for nothing")
    ask.add_argument(
        "--as",
        dest="form",
        choices=("text", "json"),
        default="text",
        help="text (the default), or a JSON object a line: number and config",
    )
    new = ask.add_argument_group("for a new study")
    new.add_argument("--direction", choices=("minimize", "maximize"), help="default: minimize")
    new.add_argument("--strategy", metavar="NAME", help=f"{', '.join(STRATEGIES)} (default: auto)")
    new.add_argument("--seed", type=seed, metavar="N", help="default: drawn, and stored")
    ask.set_defaults(run=_ask)


def _add_tell(commands: Any) -> None:
    tell = add_command(
        commands,
        "tell",
        help="tell a stored study the result of a trial that was asked for",
        description="Stores the result of a trial that 'bosquet ask' printed.",
        epilog=_TELL_EXAMPLES,
    )
    add_study(tell, space="where constraints are functions")
    tell.add_argument(
        "trial",
        type=_trial,
        metavar="TRIAL",
        help="its number; or a configuration as JSON, to add a known point",
    )
    tell.add_argument("value", nargs="?", type=_number, metavar="VALUE")
    tell.add_argument("--noise-variance", type=_number, metavar="V", help="of the value itself")
    tell.add_argument("--failed", metavar="REASON", help="it brought no value, and why")
    tell.set_defaults(run=_tell, error=tell.error)


def _add_release(commands: Any) -> None:
    release = add_command(
        commands,
        "release",
        help="give pending trials of a stored study back",
        description="Gives trials back that were asked for: the next ask or run takes them up.",
        epilog=_RELEASE_EXAMPLES,
    )
    add_study(release, space="where constraints are functions")
    release.add_argument("trials", nargs="+", type=_trial_number, metavar="TRIAL")
    release.set_defaults(run=_release)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} must be a number") from None


def _trial_number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} must be the number of a trial")
    return int(text)


def _trial(text: str) -> int | dict[str, Any]:
    """The number of a trial, or a configuration."""
    if not text.lstrip().startswith("{"):
        return _trial_number(text)
    try:
        return dict(json.loads(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a configuration in JSON: {error}"
        ) from None


def _open(options: argparse.Namespace, **new: Any) -> Study:
    from bosquet.study import Study
    from bosquet.study.files import load_space

    space = None if options.space is None else load_space(options.space)
    return Study(options.storage, options.study, space=space, **new)


def _ask(options: argparse.Namespace) -> int:
    from bosquet.errors import NOTHING_LEFT
    from bosquet.report.show import trial_json, trial_text

    new = {"direction": options.direction, "strategy": options.strategy, "seed": options.seed}
    with _open(options, **new) as study:
        try:
            trials = study.pending if options.list else study.ask(options.n)
        except NOTHING_LEFT as nothing:
            complain(str(nothing))
            return 1
    for trial in trials:
        shown = trial_json(trial) if options.form == "json" else trial_text(trial)
        print(printable(shown, lines=True))
    return 0


def _tell(options: argparse.Namespace) -> int:
    if (options.value is None) == (options.failed is None):
        options.error("give VALUE or --failed REASON, one of them")
    if options.failed is not None and not isinstance(options.trial, int):
        options.error("--failed needs the number of a trial that was asked for")
    with _open(options) as study:
        if options.failed is not None:
            told = study.tell_failure(options.trial, options.failed)
        else:
            told = study.tell(options.trial, options.value, noise_variance=options.noise_variance)
    what = f"{told.value!r}" if told.state == "complete" else f"failed, {told.reason}"
    print(printable(f"trial {told.number}: {what}"))
    return 0


def _release(options: argparse.Namespace) -> int:
    with _open(options) as study:
        for number in options.trials:
            study.release(number)
            print(f"trial {number}: released")
    return 0
