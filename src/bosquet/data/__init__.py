"""Trials, their results, and what models see of them."""

from bosquet.data.history import Dataset, Direction, History
from bosquet.data.reasons import alike
from bosquet.data.trial import (
    Evaluation,
    Key,
    State,
    Trial,
    as_number,
    as_time,
    jsonable,
    key_of,
    now,
    stored_info,
    time_text,
)

__all__ = [
    "Dataset",
    "Direction",
    "Evaluation",
    "History",
    "Key",
    "State",
    "Trial",
    "alike",
    "as_number",
    "as_time",
    "jsonable",
    "key_of",
    "now",
    "stored_info",
    "time_text",
]
