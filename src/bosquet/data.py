"""Trials, their results, and what models see of them.

Users see values in their own sign; everything from `Dataset` on is *minimised*. The sign is
turned in one place, `History.loss`.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from bosquet.arrays import Array, Bools
from bosquet.space import Choice, Config, Space
from bosquet.text import json_text, must_be_one_of

if TYPE_CHECKING:
    import pandas as pd

Direction = Literal["minimize", "maximize"]
State = Literal["pending", "complete", "failed"]
Key = tuple[tuple[str, Any], ...]

_SCHEMA = 1
_FORMAT = "bosquet-history"


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


@dataclass(frozen=True)
class Evaluation:
    """What an objective may return instead of a float: a value and how noisy it is.

    ``noise_variance`` is the variance of the value itself (of a mean, not of a single sample).
    """

    value: float
    noise_variance: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", as_number(self.value))
        if self.noise_variance is not None:
            variance = as_number(self.noise_variance, "noise_variance")
            if not 0.0 <= variance < math.inf:
                raise ValueError(f"noise_variance={variance} must be finite and not negative")
            object.__setattr__(self, "noise_variance", variance)


@dataclass(frozen=True)
class Trial:
    """A configuration that was proposed (or added), and what became of it."""

    number: int
    config: Config
    """The active parameters, in the space's canonical form."""
    state: State = "pending"
    value: float | None = None
    noise_variance: float | None = None
    reason: str | None = None
    """Why it failed."""
    info: dict[str, Any] = field(default_factory=dict)
    """What the strategy says about its choice, for people (docs/optimizer.md): JSON-able."""
    memory: dict[str, Any] = field(default_factory=dict, repr=False)
    """What the strategy will read in later asks, and nobody else: JSON-able."""

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
        if self.state == "complete":
            value = as_number(self.value)
            if not math.isfinite(value):
                raise ValueError(f"value={value} of a complete trial must be finite")
            Evaluation(value, self.noise_variance)

    @cached_property
    def key(self) -> Key:
        return key_of(self.config)

    def completed(self, evaluation: Evaluation) -> Trial:
        """This trial with its result; a value that is not finite makes it a failed one."""
        if not math.isfinite(evaluation.value):
            return self.failed(f"the objective returned {evaluation.value}")
        return replace(
            self,
            state="complete",
            value=evaluation.value,
            noise_variance=evaluation.noise_variance,
        )

    def failed(self, reason: str) -> Trial:
        return replace(self, state="failed", reason=str(reason))


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


@dataclass(frozen=True)
class Dataset:
    """Completed trials as arrays, to be minimised; n rows, d unit coordinates."""

    X: Array
    """(n, d) unit coordinates; inactive ones hold a fixed filler."""
    y: Array
    """(n,) values, smaller is better."""
    noise: Array
    """(n,) variances of y; NaN where unknown."""
    active: Bools
    """(n, d) which coordinates of X exist."""

    def __post_init__(self) -> None:
        n, d = self.X.shape
        if not (self.y.shape == self.noise.shape == (n,) and self.active.shape == (n, d)):
            raise ValueError("X, y, noise and active disagree in shape")


class History:
    """The trials that have ended, by number. Immutable: `with_trial` returns another one."""

    def __init__(
        self, space: Space, trials: Iterable[Trial] = (), direction: Direction = "minimize"
    ) -> None:
        if direction not in get_args(Direction):
            raise ValueError(must_be_one_of("direction", direction, get_args(Direction)))
        self.space = space
        self.direction: Direction = direction
        self.trials = tuple(sorted(trials, key=lambda trial: trial.number))
        numbers = [trial.number for trial in self.trials]
        if len(set(numbers)) < len(numbers):
            raise ValueError(f"trial numbers are not unique: {numbers}")

    def with_trial(self, trial: Trial) -> History:
        longer = History(self.space, (*self.trials, trial), self.direction)
        if longer.trials[-1] is trial and "units" in self.__dict__:  # saves encoding all again
            longer.__dict__["units"] = np.vstack([self.units, self.space.to_unit(trial.config)])
        return longer

    def __len__(self) -> int:
        return len(self.trials)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, History):
            return NotImplemented
        return (self.space, self.direction, self.trials) == (
            other.space,
            other.direction,
            other.trials,
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<History of {len(self.complete)} complete and {len(self.failed)} failed trials>"

    @cached_property
    def complete(self) -> tuple[Trial, ...]:
        return tuple(trial for trial in self.trials if trial.state == "complete")

    @cached_property
    def failed(self) -> tuple[Trial, ...]:
        return tuple(trial for trial in self.trials if trial.state == "failed")

    @cached_property
    def units(self) -> Array:
        """The unit vectors of all trials: (trials, dimensions)."""
        return self.space.to_unit([trial.config for trial in self.trials])

    def loss(self, trial: Trial) -> float:
        """The value of a complete trial with the sign that is minimised."""
        assert trial.value is not None
        return trial.value if self.direction == "minimize" else -trial.value

    @property
    def best(self) -> Trial | None:
        return min(self.complete, key=self.loss, default=None)

    def best_by_path(self) -> dict[str, Trial]:
        """The best trial of every path that has one, best path first; keys are path labels."""
        best: dict[str, Trial] = {}
        for trial in sorted(self.complete, key=self.loss):
            best.setdefault(self.space.path_label(trial.config), trial)
        return best

    @cached_property
    def noisy(self) -> bool:
        """Whether results are known to vary: a stated variance, or a repeat that differed."""
        first: dict[Key, float | None] = {}
        return any(
            bool(trial.noise_variance) or first.setdefault(trial.key, trial.value) != trial.value
            for trial in self.complete
        )

    def dataset(self) -> Dataset:
        trials = self.complete
        X = self.units[[trial.state == "complete" for trial in self.trials]]
        noise = [np.nan if t.noise_variance is None else t.noise_variance for t in trials]
        return Dataset(
            X=X,
            y=np.array([self.loss(trial) for trial in trials], dtype=float),
            noise=np.array(noise, dtype=float),
            active=self.space.activity(X),
        )

    # -- files -------------------------------------------------------------------------------

    def to_jsonl(self, path: str | os.PathLike[str]) -> None:
        """Writes a header line and one line a trial; an existing file is replaced at once."""
        header = {
            "format": _FORMAT,
            "schema": _SCHEMA,
            "direction": self.direction,
            "space": self.space.to_dict(),
        }
        lines = [json_text(entry) for entry in (header, *map(asdict, self.trials))]
        target = Path(path)
        partial = target.with_name(target.name + ".partial")
        partial.write_text("\n".join(lines) + "\n", encoding="utf-8")
        partial.replace(target)

    @classmethod
    def from_jsonl(cls, path: str | os.PathLike[str], space: Space | None = None) -> History:
        """Reads what `to_jsonl` wrote. ``space`` is needed if it has constraint functions."""
        header, *entries = _read_json_lines(Path(path))
        if header.get("format") != _FORMAT or header.get("schema") != _SCHEMA:
            raise ValueError(f"{path} is not a bosquet history of schema {_SCHEMA}")
        if space is None:
            try:
                space = Space.from_dict(header["space"])
            except (KeyError, ValueError) as error:
                raise ValueError(
                    f"{path}: the stored space cannot be made ({error}); give space=..."
                ) from None
        elif header.get("space") != json.loads(json.dumps(space.to_dict())):
            raise ValueError(f"{path} was written for another space than the one given")
        trials = []
        for entry in entries:
            try:
                info, memory = stored_info(entry.get("info", {}), entry.get("memory"))
                trial = Trial(**entry | {"info": info, "memory": memory})
                trials.append(replace(trial, config=space.validate(trial.config)))
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"{path}: trial {entry.get('number')} does not belong here: {error}"
                ) from None
        return cls(space, trials, header.get("direction"))  # type: ignore[arg-type]

    def to_dataframe(self) -> pd.DataFrame:
        """One row a trial, one column a parameter.

        A name used in several branches appears under its qualified names; one that is also the
        name of a trial's own column gets the prefix ``config.``.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_dataframe needs pandas: pip install 'bosquet[dataframe]'") from (
                error
            )
        fixed = ["number", "state", "value", "noise_variance", "reason"]
        by_name = self.space.tree.by_name
        column = {}
        for d in self.space.dimensions:
            name = d.name if len(by_name[d.name]) == 1 else d.qualified_name
            column[d.qualified_name] = f"config.{name}" if name in fixed else name
        rows = [
            {name: getattr(trial, name) for name in fixed}
            | {column[name]: value for name, value in self.space.qualify(trial.config).items()}
            for trial in self.trials
        ]
        return pd.DataFrame(rows, columns=[*fixed, *column.values()])


def _read_json_lines(path: Path) -> list[dict[str, Any]]:
    entries = []
    text = path.read_bytes().decode("utf-8").rstrip("\n")
    # Not splitlines: a text may hold other characters that end a line, as JSON allows them.
    for number, line in enumerate(text.split("\n") if text else (), start=1):
        try:
            entry = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(f"{path}, line {number}: not JSON ({error})") from None
        if not isinstance(entry, Mapping):
            raise ValueError(f"{path}, line {number}: {line!r} is not a JSON object")
        entries.append(dict(entry))
    if not entries:
        raise ValueError(f"{path} is empty")
    return entries


# -- reasons of failures ---------------------------------------------------------------------

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
