"""Small pieces of HTML for notebooks. Whatever is put into them is text, never markup."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bosquet.text import printable

_CELL = "text-align:left;padding:1px 12px 1px 0;border:0"


def block(*parts: str) -> str:
    """Pieces of HTML below each other."""
    return f"<div>{''.join(parts)}</div>"


def heading(text: str) -> str:
    return f"<p><b>{_escaped(text)}</b></p>"


def line(text: str) -> str:
    return f"<p>{_escaped(text)}</p>"


def progress(done: int, total: int | None) -> str:
    """A bar; one that only moves where the end is not known."""
    value = "" if total is None else f' value="{done}" max="{total}"'
    return f'<progress style="width:20em"{value}></progress>'


def preformatted(text: str) -> str:
    return f'<pre style="line-height:1.2">{html.escape(text)}</pre>'


def named_values(values: Mapping[str, Any]) -> str:
    """A configuration: a name and a value a row."""
    return _table((_row("td", (name, shown(value))) for name, value in values.items()))


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return _table([_row("th", columns), *(_row("td", row) for row in rows)])


def shown(value: Any) -> str:
    """A value as people read it: floats with six digits, texts as they are."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _table(rows: Iterable[str]) -> str:
    return f"<table>{''.join(rows)}</table>"


def _row(kind: str, cells: Iterable[str]) -> str:
    written = (f'<{kind} style="{_CELL}">{_escaped(cell)}</{kind}>' for cell in cells)
    return f"<tr>{''.join(written)}</tr>"


def _escaped(text: str) -> str:
    return html.escape(printable(text))
