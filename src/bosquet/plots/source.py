"""What can be plotted: a result, a history, a stored study, an optimizer, or a fitted model."""

from __future__ import annotations

import os
from typing import Any

from bosquet.data import History
from bosquet.errors import ModelError
from bosquet.explain import Model, model_of


def history_of(source: Any) -> History:
    """The trials of whatever can be plotted; a text or a path is the name of a storage."""
    if isinstance(source, History):
        return source
    if isinstance(source, str | os.PathLike):
        from bosquet.study.reading import read_study  # loads Optuna

        return read_study(os.fspath(source)).history
    history = getattr(source, "history", None)
    if isinstance(history, History):
        return history
    raise TypeError(
        "a plot is of a Result, History, Study, Optimizer, Model, or the name of a storage, "
        f"not of {type(source).__name__} {source!r}"
    )


def model_for(source: Any) -> Model:
    """The model of whatever can be plotted; ModelError where there are too few trials."""
    if isinstance(source, Model):
        return source
    made = getattr(source, "model", None)
    return made() if callable(made) else model_of(history_of(source))


def model_or_reason(source: Any) -> tuple[Model | None, str]:
    """The model, or None and why there is none yet."""
    try:
        return model_for(source), ""
    except ModelError as error:
        return None, str(error)
