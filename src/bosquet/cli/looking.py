"""Commands that look at a stored study and change nothing: `show`, `best`, `export`, `report`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bosquet.cli.arguments import add_command, add_study, complain
from bosquet.text import counted_text, printable

if TYPE_CHECKING:
    from bosquet.study.reading import StoredStudy

_SHOW_EXAMPLES = """\
examples:
  bosquet show runs.db
  bosquet show runs.db --study second
  bosquet show postgresql://host/database

Nothing is changed, also while the study runs.

exit codes: 0 shown; 2 no such file or study.
"""

_BEST_EXAMPLES = """\
examples:
  bosquet best runs.db
  bosquet best runs.db --as json > best.json
  bosquet best runs.db --as command > run-best.sh

exit codes:
  0    shown
  1    no trial has returned a value
  2    no such file or study, or --as command for a study without a command
"""

_EXPORT_EXAMPLES = """\
examples:
  bosquet export runs.db -o trials.csv
  bosquet export runs.db -o trials.json
  bosquet export runs.db -o - | column -s, -t

One row a trial that has ended: number, state, value, noise_variance, reason,
started, ended, duration in seconds, then the parameters (by qualified names,
model=svm/C, where several have the same short one). Inactive ones are
empty in CSV and left out in JSON. In CSV a text that begins with = + - @ or '
has a ' in front, lest a spreadsheet compute it.

exit codes: 0 written; 2 no such file or study.
"""

_REPORT_EXAMPLES = """\
examples:
  bosquet report runs.db -o report.html
  bosquet report postgresql://host/database --study second -o second.html

The file has everything in it: pictures, the model's advice, all trials. It
loads nothing from elsewhere, so it can be kept and sent.

Needs: pip install 'bosquet[plots]'

exit codes: 0 written; 2 no such file or study.
"""

_MANY = 200  # trials from which on a model takes its time

SPACE_HELP = "the space of a study that an Optuna sampler ran (default: inferred from its trials)"


def add_looking(commands: Any) -> None:
    _add_show(commands)
    _add_best(commands)
    _add_export(commands)
    _add_report(commands)


def _add_show(commands: Any) -> None:
    show = add_command(
        commands,
        "show",
        help="show a stored study: best, branches, failures",
        description="Shows the best configuration, the best of each branch, failures by cause and\n"
        "running trials.",
        epilog=_SHOW_EXAMPLES,
    )
    add_study(show, space=SPACE_HELP)
    show.set_defaults(run=_show)


def _add_best(commands: Any) -> None:
    best = add_command(
        commands,
        "best",
        help="print the best configuration of a stored study",
        description="Prints the best configuration of a stored study.",
        epilog=_BEST_EXAMPLES,
    )
    add_study(best, space=SPACE_HELP)
    best.add_argument(
        "--as",
        dest="form",
        choices=("text", "json", "python", "command"),
        default="text",
        help="text (the default), JSON, a Python dict, or the command line of a study of --command",
    )
    best.add_argument(
        "--json", dest="form", action="store_const", const="json", help="the same as --as json"
    )
    best.set_defaults(run=_best)


def _add_export(commands: Any) -> None:
    export = add_command(
        commands,
        "export",
        help="write the trials of a stored study as CSV or JSON",
        description="Writes the trials of a stored study as CSV or JSON.",
        epilog=_EXPORT_EXAMPLES,
    )
    add_study(export, space=SPACE_HELP)
    export.add_argument(
        "-o",
        "--out",
        type=_table_file,
        required=True,
        metavar="FILE",
        help="FILE.csv, FILE.json, or - for CSV on stdout",
    )
    export.set_defaults(run=_export)


def _add_report(commands: Any) -> None:
    report = add_command(
        commands,
        "report",
        help="write one HTML file with the best, pictures and all trials",
        description="Writes one HTML file: the best configuration, what to do next, pictures of\n"
        "the search and of what the model has learned, failures by cause, all trials.",
        epilog=_REPORT_EXAMPLES,
    )
    add_study(report, space=SPACE_HELP)
    report.add_argument(
        "-o",
        "--out",
        type=Path,
        default=Path("report.html"),
        metavar="FILE",
        help="default: %(default)s",
    )
    report.set_defaults(run=_report)


def _report(options: argparse.Namespace) -> int:
    from bosquet.report.page import write_report
    from bosquet.study.progress import say

    study = _read(options)
    if len(study.history.complete) >= _MANY:
        say(f"fitting a model to {len(study.history.complete)} trials, which may take a minute")
    written = write_report(study, options.out)
    print(f"report written to {printable(str(written))}", file=sys.stderr)
    return 0


def _table_file(text: str) -> Path | None:
    if text == "-":
        return None
    if Path(text).suffix not in (".csv", ".json"):
        raise argparse.ArgumentTypeError(f"{text!r} must end in .csv or .json, or be -")
    return Path(text)


def _read(options: argparse.Namespace, *, tell: bool = True) -> StoredStudy:
    """The study that is looked at; on stderr, what to know about how it was read."""
    from bosquet.study import read_study
    from bosquet.study.files import load_space
    from bosquet.study.progress import say

    space = None if options.space is None else load_space(options.space)
    study = read_study(options.storage, options.study, space)
    for note in study.notes if tell else ():
        say(note)
    return study


def _show(options: argparse.Namespace) -> int:
    from bosquet.report.show import print_study

    print_study(_read(options, tell=False))
    return 0


def _best(options: argparse.Namespace) -> int:
    from bosquet.report.show import best_command, best_json, best_python, best_text

    study = _read(options)
    best = study.history.best
    if best is None:
        complain(f"{study.where}: no trial has returned a value")
        return 1
    if options.form == "text":
        found = best_text(study, best)
    elif options.form == "json":
        found = best_json(best)
    elif options.form == "python":
        found = best_python(best)
    else:
        found = best_command(study, best)
    print(printable(found, lines=True))
    return 0


def _export(options: argparse.Namespace) -> int:
    from bosquet.report.export import to_csv, to_json

    history = _read(options).history
    if options.out is None:
        written = to_csv(history)
        print(printable(written, lines=True) if sys.stdout.isatty() else written, end="")
    else:
        written = to_json(history) if options.out.suffix == ".json" else to_csv(history)
        options.out.write_text(written, encoding="utf-8")
        print(
            f"{counted_text(len(history), 'trial')} written to {printable(str(options.out))}",
            file=sys.stderr,
        )
    return 0
