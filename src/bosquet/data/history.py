"""The trials that have ended, and what models see of them.

Users see values in their own sign; everything from `Dataset` on is *minimised*. The sign is
turned in one place, `History.loss`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from bosquet.arrays import Array, Bools
from bosquet.data.rows import data_frame
from bosquet.data.trial import Key, Trial, stored_info
from bosquet.space import Space
from bosquet.text import json_text, must_be_one_of

if TYPE_CHECKING:
    import pandas as pd

Direction = Literal["minimize", "maximize"]

_SCHEMA = 1
_FORMAT = "bosquet-history"


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
    """The trials that have ended, by number. Immutable: `with_trial` returns another one.

    Args:
        space: the space of their configurations.
        trials: in any order; their numbers must differ.
        direction: ``"minimize"`` or ``"maximize"``: which values are better.
    """

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
        """The history with one more trial.

        Args:
            trial: one that has ended, with a number that is not taken.
        """
        longer = History(self.space, (*self.trials, trial), self.direction)
        if longer.trials[-1] is trial and "units" in self.__dict__:  # saves encoding all again
            longer.__dict__["units"] = np.vstack([self.units, self.space.to_unit(trial.config)])
        return longer

    def __iter__(self) -> Iterator[Trial]:
        return iter(self.trials)

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
        return f"<History of {self.summary}>"

    def _repr_html_(self) -> str:
        from bosquet.data.views import history_html

        return history_html(self, f"History of {self.summary}")

    @property
    def summary(self) -> str:
        """How many trials, and the best of them, in one line."""
        n = len(self)
        counts = f"{n} trial{'s' * (n != 1)}, {len(self.failed)} failed"
        best = self.best
        return counts if best is None else f"{counts}; best {best.value:.6g} in trial {best.number}"

    @cached_property
    def complete(self) -> tuple[Trial, ...]:
        """The trials with a value."""
        return tuple(trial for trial in self.trials if trial.state == "complete")

    @cached_property
    def failed(self) -> tuple[Trial, ...]:
        """The trials without a value, each with its ``reason``."""
        return tuple(trial for trial in self.trials if trial.state == "failed")

    @cached_property
    def units(self) -> Array:
        """The unit vectors of all trials: (trials, dimensions)."""
        return self.space.to_unit([trial.config for trial in self.trials])

    def loss(self, trial: Trial) -> float:
        """The value of a complete trial with the sign that is minimised.

        Args:
            trial: a complete one.
        """
        assert trial.value is not None
        return trial.value if self.direction == "minimize" else -trial.value

    @property
    def best(self) -> Trial | None:
        """The complete trial with the best value; None before there is one."""
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
        """The complete trials as arrays, to be minimised: what models are fitted to."""
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
        """Writes a header line and one line a trial, in JSON (docs/reference/formats.md).

        Args:
            path: the file; one that is there is replaced at once.
        """
        header = {
            "format": _FORMAT,
            "schema": _SCHEMA,
            "direction": self.direction,
            "space": self.space.to_dict(),
        }
        lines = [json_text(entry) for entry in (header, *map(Trial.to_dict, self.trials))]
        target = Path(path)
        partial = target.with_name(target.name + ".partial")
        partial.write_text("\n".join(lines) + "\n", encoding="utf-8")
        partial.replace(target)

    @classmethod
    def from_jsonl(cls, path: str | os.PathLike[str], space: Space | None = None) -> History:
        """Reads what `to_jsonl` wrote; nothing in the file is executed.

        Args:
            path: the file.
            space: needed if constraints are functions, which are not stored; it must be the one
                that the history was written for.
        """
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
        name of a trial's own column gets the prefix ``config.``. Integers stay integers, also where
        a parameter is not active in every trial.
        """
        return data_frame(self.space, self.trials)


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
