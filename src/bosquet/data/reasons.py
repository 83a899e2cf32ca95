"""Reasons of failures: which ones have the same cause."""

from __future__ import annotations

import json
import re
from functools import lru_cache

from bosquet.space import Choice, Space

_FOLDERS = r"(?:[\w.~+-]*[/\\])"
_VARYING = (  # what may change from trial to trial in a reason; of several that fit, the first
    rf'"{_FOLDERS}*(?P<module>[\w-]+\.py)", line \d+',  # of a traceback
    r"\b(?P<code>(?:code|errno|status|signal)\W?\d+)(?![.\w])",
    r"""[\[({'"][^'"\n]*?\.{3}(?!\S)""",  # a value that was cut short
    r"""(?<!\w)(?:'[^'\n]*'|"[^"\n]*"|`[^`\n]*`)(?!\w)""",
    r"\{[^{}]*\}",  # a configuration
    rf"(?P<folders>{_FOLDERS}+)",
    r"\br?tmp[\w.]{6,}",  # a temporary file
    r"\b[\da-f-]*\d[\da-f-]{6,}\b",  # a digest
    r"(?<!\w)[+-]?(?:0x[\da-f]+|(?:\d[\d_,]*\.?\d*|\.\d+)(?:e[+-]?\d+)?|nan|inf(?:inity)?)(?!\w)",
    r"\b\w*\d[a-z]\w*",  # a random name, a number with its unit
    r"\d+",
)
_SERIES = re.compile(r"(?:\w+=)?#(?:[\s,;|]*(?:\w+=)?#)+")  # x=#, y=#
_LONG, _BEGINNING = 1000, 200  # of a longer reason only the beginning counts
_END = 60  # of a text whose beginning was cut off only the end counts


def alike(reason: str, space: Space | None = None) -> str:
    """A reason without what changes from trial to trial: the same for failures of one cause.

    Numbers, quoted texts, configurations, temporary names and the options of ``space`` become
    ``#``, folders go. Exit codes stay, and so do the names of files and functions.
    """
    varying = _varying(() if space is None else _option_texts(space))
    before, cut, rest = (
        _SERIES.sub("#", varying.sub(_without, part))
        for part in reason[:_LONG].partition(": ...")  # where `Command` shortens
    )
    if len(reason) > _LONG:
        return before[:_BEGINNING]
    return before + cut + rest[-_END:].partition(" ")[2]


def _without(varying: re.Match[str]) -> str:
    return varying["module"] or varying["code"] or ("" if varying["folders"] else "#")


def _option_texts(space: Space) -> tuple[str, ...]:
    choices = [d.parameter for d in space.dimensions if isinstance(d.parameter, Choice)]
    options = [option for choice in choices for option in choice.options]
    texts = {text for option in options for text in (str(option), json.dumps(option)) if text}
    return tuple(sorted(texts, key=lambda text: (-len(text), text)))


@lru_cache(maxsize=16)
def _varying(options: tuple[str, ...]) -> re.Pattern[str]:
    named = [rf"(?<!\w)(?:{'|'.join(map(re.escape, options))})(?!\w)"] if options else []
    return re.compile("|".join([*_VARYING[:2], *named, *_VARYING[2:]]), re.IGNORECASE)
