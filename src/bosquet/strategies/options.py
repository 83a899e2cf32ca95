"""What the arguments of strategies may be, and the errors where they are something else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from bosquet.text import must_be_one_of

AcquisitionName = Literal["logei", "ucb", "node-ucb"]
KernelName = Literal["evidence", "matern52", "se"]
IncumbentName = Literal["predicted", "observed"]
ModelName = Literal["hierarchical", "paper"]


def one_of(name: str, value: object, allowed: Sequence[str]) -> None:
    """Raises where an argument has none of the allowed values."""
    if value not in allowed:
        raise ValueError(must_be_one_of(name, value, allowed))


def whole(name: str, value: object, least: int = 1, *, none: bool = False) -> None:
    """Raises where an argument is no integer from ``least`` on; ``none``: None is allowed too."""
    integer = isinstance(value, int) and not isinstance(value, bool)
    if not (integer and value >= least) and not (none and value is None):  # type: ignore[operator]
        what = "a positive integer" if least == 1 else f"an integer of at least {least}"
        raise ValueError(f"{name}={value!r} must be {what}{', or None' * none}")
