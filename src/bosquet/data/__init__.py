"""Trials, their results, and what models see of them."""

from bosquet.data.history import Dataset, Direction, History
from bosquet.data.reasons import alike
from bosquet.data.trial import (
    Evaluation,
    Key,
    State,
    Trial,
    as_number,
    jsonable,
    key_of,
    stored_info,
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
    "jsonable",
    "key_of",
    "stored_info",
]
