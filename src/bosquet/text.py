"""Text of messages: fit for a terminal, of bearable length, with a hint where a name is close."""

from __future__ import annotations

import difflib
import json
import math
import statistics
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any

_CONTROLS = frozenset(
    {
        "Cc",  # control characters: escape sequences, carriage returns, bells
        "Cf",  # formats: text that runs backwards, characters without width
        "Cs",  # halves of characters, which no terminal can be sent
        "Zl",  # separators of lines and paragraphs
        "Zp",
    }
)


def printable(text: str, *, lines: bool = False) -> str:
    """The text with its control characters written as JSON writes them, such as ``\\u001b``.

    Names, options and failure reasons may come from anybody's file: shown as they are, control
    characters could retitle a terminal, hide what follows or rewrite what was there. Where the text
    is JSON its meaning stays. ``lines`` keeps line ends and tabs.
    """
    if text.isprintable():
        return text
    kept = "\n\t" if lines else ""
    return "".join(
        _escaped(char) if unicodedata.category(char) in _CONTROLS and char not in kept else char
        for char in text
    )


def _escaped(char: str) -> str:
    written = json.dumps(char)[1:-1]
    return written if written != char else f"\\u{ord(char):04x}"  # DEL


def json_text(value: Any, *, indent: int | None = None) -> str:
    """A value as JSON that people can read: letters of any language as they are."""
    return printable(json.dumps(value, ensure_ascii=False, indent=indent), lines=True)


def did_you_mean(given: object, known: Iterable[str]) -> str:
    """``; did you mean 'add-tree'?`` for a name that is close to a known one, else nothing."""
    by_lower = {name.lower(): name for name in known}
    close = difflib.get_close_matches(str(given).lower(), by_lower, n=1)
    return f"; did you mean {by_lower[close[0]]!r}?" if close else ""


def must_be_one_of(what: str, given: object, known: Iterable[str], more: str = "") -> str:
    """The message for a name that is not known: what there is, and which was perhaps meant."""
    names = list(known)
    hint = did_you_mean(given, names)
    return f"{what}={given!r} must be one of {', '.join(names)}{more}{hint}"


def listed(texts: Iterable[str], *, separator: str = ", ", width: int = 200) -> str:
    """Texts in a row, each cut when it is very long; of too many, the first and how many more."""
    parts = [text if len(text) <= 80 else f"{text[:60]}...{text[-10:]}" for text in texts]
    shown = 0
    while shown < len(parts) and (shown == 0 or len(separator.join(parts[: shown + 1])) <= width):
        shown += 1
    more = [f"... ({len(parts) - shown} more)"] if shown < len(parts) else []
    return separator.join([*parts[:shown], *more])


def in_brackets(notes: Sequence[str]) -> str:
    """Notes behind a text, such as `` (log, default 0.1)``; nothing where there are none."""
    return f" ({', '.join(notes)})" if notes else ""


def counted_text(n: int, what: str) -> str:
    """``1 trial``, ``2 trials``."""
    return f"{n} {what}{'s' * (n != 1)}"


def duration_text(seconds: float) -> str:
    """A duration with its units: ``42 ms``, ``1.2 s``, ``12 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if 0.0 < seconds < 0.0995:
        return f"{seconds * 1000:.2g} ms"
    if seconds < 9.95:
        return f"{seconds:.2g} s"
    whole = round(seconds)
    for unit, size, below, small in (("d", 86400, "h", 3600), ("h", 3600, "min", 60)):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // small} {below}"
    return f"{whole // 60} min {whole % 60} s" if whole >= 60 else f"{whole} s"


def value_format(values: Iterable[float]) -> Callable[[float], str]:
    """How to write values that are compared: with the digits in which most of them differ.

    Three digits of the typical distance to the median are shown, however many digits all of them
    share in front; a few values that are far away do not count.
    """
    known = sorted(value for value in values if math.isfinite(value))
    middle = statistics.median(known) if known else 0.0
    apart = [abs(value - middle) for value in known if value != middle]
    spread = statistics.median(apart) if apart else abs(middle)
    decimals = 2 - math.floor(math.log10(spread)) if spread else 0

    def text(value: float) -> str:
        if not math.isfinite(value) or value == 0.0:
            return f"{value:g}"
        size = math.floor(math.log10(abs(value)))
        if size + decimals < 0:  # so few decimals would leave nothing of it
            return f"{value:.3g}"
        if -5 <= size < 7 and decimals <= 9:
            return f"{value:.{max(0, decimals)}f}"
        return f"{value:.{min(max(size + decimals, 2), 15)}e}"

    return text
