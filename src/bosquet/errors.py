"""The errors bosquet raises on purpose. Their messages name the culprit and what would be right."""

from __future__ import annotations


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


class ModelError(RuntimeError):
    """There is nothing to explain yet: a model needs more trials, or values that differ."""


class StorageError(OSError):
    """A stored study cannot be read or written; what is in it stays as it is."""
