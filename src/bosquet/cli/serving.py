"""`bosquet dashboard`."""

from __future__ import annotations

import argparse
from typing import Any

from bosquet.cli.arguments import add_command, add_study
from bosquet.cli.looking import SPACE_HELP

_EXAMPLES = """\
examples:
  bosquet dashboard runs.db
  bosquet dashboard postgresql://host/database --port 8000

The page is the report, and follows the study while other processes write to
it. Nothing can be changed there. Only this machine can open it, unless --host
names an address that others reach: everybody who does can read the studies.

Needs: pip install 'bosquet[dashboard]'

exit codes: 0 ended with Ctrl-C; 2 no such file, or the port is taken.
"""


def add_serving(commands: Any) -> None:
    dashboard = add_command(
        commands,
        "dashboard",
        help="serve the report as a page that follows the study",
        description="Serves the reports of the studies in a storage, which update while they run.",
        epilog=_EXAMPLES,
    )
    add_study(dashboard, space=SPACE_HELP)
    dashboard.add_argument(
        "--port", type=_port, default=8080, metavar="N", help="default: %(default)s; 0: any free"
    )
    dashboard.add_argument("--host", default="127.0.0.1", help="default: %(default)s")
    dashboard.set_defaults(run=_dashboard)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} must be a port: 0 to 65535")
    return int(text)


def _dashboard(options: argparse.Namespace) -> int:
    from bosquet.report.dashboard import serve
    from bosquet.study.files import load_space

    space = None if options.space is None else load_space(options.space)
    serve(options.storage, options.study, space, host=options.host, port=options.port)
    return 0
