"""What the commands have in common: types of arguments, and how they complain."""

from __future__ import annotations

import argparse
import shutil
import sys
from typing import Any

from bosquet.text import printable


def add_command(commands: Any, name: str, **texts: str) -> argparse.ArgumentParser:
    """A command; its description and epilog are printed as they are: at most 80 columns."""
    return commands.add_parser(  # type: ignore[no-any-return]
        name, formatter_class=argparse.RawDescriptionHelpFormatter, **texts
    )


def add_study(parser: argparse.ArgumentParser, space: str) -> None:
    """The arguments that say which study; ``space`` says when its space is to be given."""
    parser.add_argument("storage", metavar="FILE|URL", help="SQLite file or database URL")
    parser.add_argument("--study", metavar="NAME", help="needed if there are several")
    parser.add_argument("--space", metavar="FILE.json|FILE.py:NAME", help=space)


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be a positive integer")
    return int(text)


def seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} must be a non-negative integer")
    return int(text)


def program() -> list[str]:
    """What to type for this program."""
    if sys.argv[0].endswith(".py"):
        return ["python", "-m", "bosquet"]
    return ["bosquet"] if shutil.which("bosquet") == sys.argv[0] else [sys.argv[0]]


def complain(text: str) -> None:
    print(f"bosquet: {fit_to_show(text)}", file=sys.stderr)


def fit_to_show(text: str) -> str:
    from bosquet.study.addresses import without_passwords

    return printable(without_passwords(text), lines=True)
