"""One trial: a configuration, and what became of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Literal

import numpy as np

from bosquet import notebook
from bosquet.space import Config
from bosquet.text import duration_text, listed, printable

State = Literal["pending", "complete", "failed"]
Key = tuple[tuple[str, Any], ...]


def key_of(config: Config) -> Key:
    """The identity of a configuration in canonical form: `Space.key` without the validation."""
    return tuple(config.items())


def jsonable(value: Any) -> Any:
    """What JSON gives back of a value: lists for tuples, texts as keys, plain numbers.

    A number that is not finite becomes None: JSON has no place for it.
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): jsonable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(entry) for entry in value]
    if value is None or isinstance(value, str | int):
        return value
    raise TypeError(f"{value!r} of type {type(value).__name__} cannot be stored as JSON")


def as_number(value: object, what: str = "the value") -> float:
    """A plain float; NaN and infinities pass, text, None and arrays do not."""
    if value is None or isinstance(value, (str, bytes)):
        raise TypeError(f"{what} must be a number, not {value!r}")
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{what} must be a number, not {type(value).__name__} {value!r}") from None


def now() -> datetime:
    """This moment, as trials note it: in UTC, so that machines in several zones agree."""
    return datetime.now(UTC)


def as_time(value: object, what: str) -> datetime | None:
    """A moment in UTC from a datetime or its ISO text; without a zone it is local time."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise ValueError(
                f"{what}={value!r} must be a time such as 2026-01-31T09:30:00+00:00"
            ) from None
    if value is not None and not isinstance(value, datetime):
        raise TypeError(f"{what} must be a datetime or None, not {value!r}")
    return None if value is None else value.astimezone(UTC)


@dataclass(frozen=True)
class Evaluation:
    """What an objective may return instead of a float: a value and how noisy it is.

    Args:
        value: the number that is minimised or maximised. NaN and infinities count as a failure.
        noise_variance: the variance of the value itself (of a mean, not of a single sample); None
            if it is not known, 0 if the value is exact.
    """

    value: float
    noise_variance: float | None = None

    def __post_init__(self) -> None:
        # Adding zero makes 0 of -0, which -loss gives at a loss of 0 and nobody wants to read.
        object.__setattr__(self, "value", as_number(self.value) + 0.0)
        if self.noise_variance is not None:
            variance = as_number(self.noise_variance, "noise_variance")
            if not 0.0 <= variance < math.inf:
                raise ValueError(f"noise_variance={variance} must be finite and not negative")
            object.__setattr__(self, "noise_variance", variance)


@dataclass(frozen=True, repr=False)
class Trial:
    """A configuration that was proposed (or added), and what became of it."""

    number: int
    """Counted from 0 in the order of the proposals."""
    config: Config
    """The active parameters, in the space's canonical form."""
    state: State = "pending"
    """``"pending"``, ``"complete"`` or ``"failed"``."""
    value: float | None = None
    """What the objective returned, in its own sign; None unless complete."""
    noise_variance: float | None = None
    """The variance of the value, where it was given."""
    reason: str | None = None
    """Why it failed."""
    info: dict[str, Any] = field(default_factory=dict)
    """What the strategy says about its choice, for people: docs/reference/trial-info.md."""
    memory: dict[str, Any] = field(default_factory=dict)
    """What the strategy will read in later asks, and nobody else: JSON-able."""
    # When a trial ran does not make it another trial: replayed runs compare as equal.
    started: datetime | None = field(default=None, compare=False)
    """When it was handed out to be evaluated; None where nobody knows, as of added points."""
    ended: datetime | None = field(default=None, compare=False)
    """When its result was told."""

    def __post_init__(self) -> None:
        if isinstance(self.number, bool) or not isinstance(self.number, int) or self.number < 0:
            raise ValueError(f"number={self.number!r} must be a non-negative integer")
        if self.state not in ("pending", "complete", "failed"):
            raise ValueError(f"state={self.state!r} must be 'pending', 'complete' or 'failed'")
        for name in ("info", "memory"):
            try:
                object.__setattr__(self, name, jsonable(getattr(self, name)))
            except TypeError as error:
                raise TypeError(f"{name} of trial {self.number}: {error}") from None
        for name in ("started", "ended"):
            object.__setattr__(self, name, as_time(getattr(self, name), name))
        if self.state == "complete":
            value = as_number(self.value)
            if not math.isfinite(value):
                raise ValueError(f"value={value} of a complete trial must be finite")
            Evaluation(value, self.noise_variance)

    def __repr__(self) -> str:
        config = listed(f"{name}={value!r}" for name, value in self.config.items())
        why = f" ({self.info['why']})" if self.info.get("why") else ""
        return printable(f"<Trial {self.number} {self.outcome}: {config}{why}>")

    def _repr_html_(self) -> str:
        why = str(self.info.get("why", ""))
        return notebook.block(
            notebook.heading(f"Trial {self.number} {self.outcome}"),
            notebook.named_values(self.config),
            notebook.line(f"Why it was proposed: {why}") if why else "",
        )

    @property
    def outcome(self) -> str:
        """What became of it, in words: ``complete, 0.25 in 1.2 s``."""
        took = "" if self.duration is None else f" in {duration_text(self.duration)}"
        if self.state == "complete":
            return f"complete, {self.value:.6g}{took}"
        return self.state if self.reason is None else f"{self.state}{took}, {listed([self.reason])}"

    @property
    def duration(self) -> float | None:
        """Seconds from start to end; None while it runs, and where one of them is not known."""
        if self.started is None or self.ended is None:
            return None
        return max(0.0, (self.ended - self.started).total_seconds())  # a clock may be set back

    @cached_property
    def key(self) -> Key:
        """The identity of its configuration: equal where configurations are."""
        return key_of(self.config)

    def completed(self, evaluation: Evaluation) -> Trial:
        """This trial with its result.

        Args:
            evaluation: what the objective returned; one that is not finite makes it a failure.
        """
        if not math.isfinite(evaluation.value):
            return self.failed(f"the objective returned {evaluation.value}")
        return replace(
            self,
            state="complete",
            value=evaluation.value,
            noise_variance=evaluation.noise_variance,
        )

    def failed(self, reason: str | BaseException) -> Trial:
        """This trial without a result.

        Args:
            reason: why, for people, as a text or the exception.
        """
        if not isinstance(reason, str | BaseException):
            raise TypeError(f"reason={reason!r} must be a text that says why, or an exception")
        text = str(reason) or type(reason).__name__
        return replace(self, state="failed", reason=text)

    def to_dict(self) -> dict[str, Any]:
        """All its fields, JSON-able: times as ISO texts. ``Trial(**fields)`` takes them back."""
        return asdict(self) | {"started": time_text(self.started), "ended": time_text(self.ended)}


def time_text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="microseconds")


def stored_info(
    info: dict[str, Any], memory: dict[str, Any] | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Info and memory of a stored trial.

    Trials of version 0.1 have no memory: it was part of the info, and local fits were plain lists.
    """
    if memory is not None:
        return info, memory
    memory = {name: info[name] for name in ("fits", "engine", "turbo") if name in info}
    if isinstance(theta := memory.get("fits", {}).get("local"), list):
        setting = {"kernel": "matern52", "lam": 1.0}
        local = {"theta": theta, "setting": setting, "fitted_at": 0, "evidence": 0.0}
        memory["fits"] = memory["fits"] | {"local": local}
    return {name: value for name, value in info.items() if name not in ("fits", "turbo")}, memory
