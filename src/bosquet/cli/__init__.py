"""The command line: argument parsing only."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from bosquet import __version__
from bosquet.cli.arguments import complain, fit_to_show
from bosquet.cli.asking import add_asking
from bosquet.cli.looking import add_looking
from bosquet.cli.serving import add_serving
from bosquet.cli.trying import add_trying
from bosquet.cli.tune import add_tune

_NEGATIVE = re.compile(r"-((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity|nan)$", re.IGNORECASE)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    given = sys.argv[1:] if arguments is None else list(arguments)
    if not given:
        parser.print_help(sys.stderr)
        return 2
    options = parser.parse_args(given)
    options.arguments = given
    try:
        code = int(options.run(options))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, ImportError, OSError) as error:
        complain(_said(error))
        return 2


def _said(error: Exception) -> str:
    """Without the number of the system's error, which says nothing to people."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)


class _Parser(argparse.ArgumentParser):
    """A parser whose errors repeat arguments only in a form fit to be shown.

    It knows every way to write a negative number: argparse takes ``-1e-5`` for an option.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._negative_number_matcher = _NEGATIVE

    def error(self, message: str) -> NoReturn:
        super().error(fit_to_show(message))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="bosquet",
        description="Bayesian optimization that uses the structure of a search space.",
        epilog="'bosquet COMMAND --help' has examples and exit codes.",
    )
    parser.add_argument("--version", action="version", version=f"bosquet {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    add_tune(commands)
    add_looking(commands)
    add_serving(commands)
    add_asking(commands)
    add_trying(commands)
    return parser
