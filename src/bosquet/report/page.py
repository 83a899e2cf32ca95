"""The report: one HTML file that needs nothing else, neither a network nor a server."""

from __future__ import annotations

import base64
import gzip
import html
import json
import os
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from bosquet.optimizer import Optimizer
from bosquet.report.content import Source, pictures, summary
from bosquet.study.reading import StoredStudy
from bosquet.study.result import Result
from bosquet.text import printable

# What could end a script element, or begin another one.
# All that is not ASCII is escaped anyway: so are U+2028 and U+2029, and halves of characters,
# which no file could hold.
_ESCAPED = {ord(char): f"\\u{ord(char):04x}" for char in "<>&"}


Reported = StoredStudy | Result | Optimizer | Source


def write_report(source: Reported, path: str | os.PathLike[str]) -> Path:
    """Writes the report of a study, and returns where it is. An existing file is replaced."""
    target = Path(path)
    # Said before the models are fitted.
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target}: there is no directory {target.parent}")
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a directory; give the name of a file in it")
    written = report_html(_source(source))
    partial = target.with_name(target.name + ".partial")
    partial.write_text(written, encoding="utf-8")
    partial.replace(target)
    return target


def _source(source: Reported) -> Source:
    if isinstance(source, StoredStudy):
        return Source.of_study(source)
    if isinstance(source, Optimizer):
        return Source.of_optimizer(source)
    return Source.of_result(source) if isinstance(source, Result) else source


def report_html(source: Source) -> str:
    """The page with everything in it."""
    return page(source.title, summary(source), pictures(source))


def live_html(title: str, home: str) -> str:
    """The page of a study that a dashboard serves: what it shows is fetched, again and again.

    ``home`` is the address of the list of studies.
    """
    return page(title, None, None, live={"home": home})


def page(
    title: str,
    content: dict[str, Any] | None,
    drawn: dict[str, Any] | None,
    live: dict[str, Any] | None = None,
) -> str:
    """The template, filled. All that comes from a study is in JSON: the script shows it as text."""
    return Template(asset("report.html")).substitute(
        title=_text(title),
        connect="'none'" if live is None else "'self'",
        css=asset("report.css"),
        content=script_json(content),
        live=script_json(live),
        pictures=packed(json.dumps(drawn, allow_nan=False)),
        plotly=plotly_js(),
        table_js=asset("table.js"),
        js=asset("report.js"),
    )


def asset(name: str) -> str:
    return (files("bosquet.report") / "assets" / name).read_text(encoding="utf-8")


def script_json(value: Any) -> str:
    """JSON that stays JSON within a script element, whatever texts are in it."""
    return json.dumps(value, allow_nan=False).translate(_ESCAPED)


def packed(text: str) -> str:
    """A long text, compressed; the page unpacks it with DecompressionStream."""
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode("ascii")


@lru_cache(maxsize=1)
def plotly_js() -> str:
    """plotly.js of the installed plotly, packed."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ImportError("a report needs plotly: pip install 'bosquet[plots]'") from error
    return packed(get_plotlyjs())


def _text(text: str) -> str:
    return html.escape(printable(text))
