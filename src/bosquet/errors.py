"""The errors bosquet raises on purpose. Their messages name the culprit and what would be right."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SpaceError(ValueError):
    """A space is declared wrongly, or its constraints leave nothing to sample."""


class NothingFound(SpaceError):
    """No configuration that satisfies the constraints was found, though there may be some."""


class ConfigError(ValueError):
    """A configuration does not belong to its space."""


class SpaceExhausted(RuntimeError):
    """Every configuration of a finite space (or candidate set) has been proposed already."""


NOTHING_LEFT = (SpaceExhausted, NothingFound)
"""What ends a search for a further configuration."""


class EvaluationError(RuntimeError):
    """An evaluation has failed in a run that was told not to accept that."""


class StorageError(OSError):
    """A stored study cannot be read or written; what is in it stays as it is."""


def did_you_mean(given: object, known: Iterable[str]) -> str:
    """``; did you mean 'add-tree'?`` for a name that is close to a known one, else nothing."""
    by_lower = {name.lower(): name for name in known}
    close = difflib.get_close_matches(str(given).lower(), by_lower, n=1)
    return f"; did you mean {by_lower[close[0]]!r}?" if close else ""


def must_be_one_of(what: str, given: object, known: Iterable[str], more: str = "") -> str:
    """The message for a name that is not known: what there is, and which was perhaps meant."""
    names = list(known)
    known = ", ".join(map(repr, names))
    return f"{what}={given!r} must be one of {known}{more}{did_you_mean(given, names)}"


def listed(texts: Iterable[str], width: int = 200) -> str:
    """Texts in a row, each cut when it is very long; of too many, the first and how many more."""
    parts = [text if len(text) <= 80 else f"{text[:60]}...{text[-10:]}" for text in texts]
    shown = 0
    while shown < len(parts) and (shown == 0 or len(", ".join(parts[: shown + 1])) <= width):
        shown += 1
    more = f", ... ({len(parts) - shown} more)" if shown < len(parts) else ""
    return ", ".join(parts[:shown]) + more
