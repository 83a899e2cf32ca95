"""Text that is fit for a terminal."""

from __future__ import annotations

import unicodedata

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
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))
