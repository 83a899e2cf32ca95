"""What a finished study hands back."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from bosquet.data import History, Trial
from bosquet.data.views import history_html
from bosquet.explain import Model, model_of
from bosquet.space import Config
from bosquet.text import counted_text, duration_text, listed, printable


@dataclass(frozen=True, repr=False)
class Result:
    """The trials of a study, in the user's own sign. `minimize` and `maximize` make one."""

    history: History
    """The trials that have ended, with the space and the direction."""
    seed: int
    """The seed that was used; with the same trials it gives the same proposals."""
    stopped: str
    """Why the study ended."""
    seconds: float
    """How long this run took."""
    resumed: int = 0
    """How many trials the stored study had when this run began."""

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials that have ended, by number."""
        return self.history.trials

    @property
    def best(self) -> Trial | None:
        """The best trial, or None if no trial returned a value, as `Optimizer.best`."""
        return self.history.best

    @property
    def best_trial(self) -> Trial:
        """The best trial; RuntimeError with the last failure if no trial returned a value."""
        best = self.best
        if best is None:
            counts = f"none of the {len(self.trials)} trials" if self.trials else "no trial"
            raise RuntimeError(f"{counts} has returned a value{self._why}")
        return best

    @property
    def best_config(self) -> Config:
        """The configuration of `best_trial`."""
        return self.best_trial.config

    @property
    def best_value(self) -> float:
        """The value of `best_trial`."""
        value = self.best_trial.value
        assert value is not None
        return value

    def model(self) -> Model:
        """What the trials say about the objective; ModelError where they are too few."""
        return model_of(self.history)

    def report(self, path: str | os.PathLike[str] = "report.html") -> Path:
        """Writes one HTML file with the answer, pictures and all trials; returns where it is.

        Args:
            path: the file to write; one that is there is replaced.
        """
        from bosquet.report.page import write_report  # loads rich and plotly

        return write_report(self, path)

    @property
    def _why(self) -> str:
        """The reason of the last failure."""
        failed = self.history.failed
        return (
            f"; trial {failed[-1].number} failed with: {_shown(failed[-1].reason)}"
            if failed
            else ""
        )

    def __repr__(self) -> str:
        best = self.best
        config = "" if best is None else f": {listed(_pairs(best.config))}"
        return printable(f"<Result of {self.history.summary}{config}>")

    def _repr_html_(self) -> str:
        return history_html(
            self.history,
            f"Result of {self.history.summary}",
            f"Took {duration_text(self.seconds)}, seed {self.seed}; ended: {self.stopped}.",
        )

    def __str__(self) -> str:
        counts = counted_text(len(self.history), "trial")
        if self.history.failed:
            counts += f", {len(self.history.failed)} failed,"
        if self.resumed:
            counts += f"{'' if self.history.failed else ','} {self.resumed} of them from before,"
        best = self.history.best
        if best is None:
            # Where the last reason is why the run stopped, it is said already.
            said = bool(self.history.failed) and str(self.history.failed[-1].reason) in self.stopped
            found = f"nothing found{'' if said else self._why}"
        else:
            found = f"best {best.value:.6g} with {best.config}"
        return f"{counts} in {duration_text(self.seconds)} ({_shown(self.stopped)}): {found}"


def _pairs(config: Config) -> list[str]:
    return [f"{name}={value!r}" for name, value in config.items()]


def _shown(text: str | None) -> str:
    return printable(str(text), lines=True)
