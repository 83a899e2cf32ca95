"""BOinG+, Appendix B.2: when to hand over from BOinG to TuRBO, and back.

``c_fail`` grows by one for every d trials of an engine that find nothing better, falls by one when
something better is found, and both are halved when the engine changes. The probability of a change
is 0.1 c_fail, Eq. (1).

It is drawn at every ask; as the authors draw it (`Switching.due`), after every d trials of BOinG
that found nothing better, and when a trust region of TuRBO has collapsed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bosquet.data import History

_PER_FAILURE = 0.1  # Eq. (1)
_ENGINES = ("boing", "turbo")


@dataclass(frozen=True)
class Switching:
    """Appendix B.2: which engine proposed the last trial, and how often each has failed."""

    engine: str = "boing"
    improved: bool = False
    """Whether the last trial was the best so far."""
    counts: tuple[float, float] = (0.0, 0.0)
    """c_fail of BOinG and of TuRBO."""
    idle: tuple[int, int] = (0, 0)
    """Trials of each since it last found something better."""
    dimension: int = 1

    def due(self, collapsed: bool) -> bool:
        """Whether the authors draw now; TuRBO's success needs no draw."""
        if self.engine == "turbo":
            return collapsed or self.improved
        return self.idle[0] > 0 and self.idle[0] % self.dimension == 0

    def after(self, engine: str, improved: bool, dimension: int) -> Switching:
        """The state after one more trial of an engine."""
        counts, idle = list(self.counts), list(self.idle)
        if engine != self.engine:
            counts = [count / 2.0 for count in counts]
        i = _ENGINES.index(engine)
        if improved:
            counts[i], idle[i] = max(counts[i] - 1.0, 0.0), 0
        else:
            idle[i] += 1
            counts[i] += idle[i] % dimension == 0
        return Switching(engine, improved, (counts[0], counts[1]), (idle[0], idle[1]), dimension)

    @property
    def probability(self) -> float:
        """Of handing over to the other engine, Eq. (1); TuRBO does so at once on success."""
        if self.engine == "turbo" and self.improved:
            return 1.0
        return min(_PER_FAILURE * self.counts[_ENGINES.index(self.engine)], 1.0)

    def next(self, rng: np.random.Generator) -> str:
        switch = rng.random() < self.probability
        return _ENGINES[(_ENGINES.index(self.engine) + switch) % 2]


def switching(history: History, dimension: int) -> Switching:
    """The state after all trials that ended; only those that an engine proposed count."""
    state, best = Switching(), math.inf
    for trial in history.trials:
        loss = history.loss(trial) if trial.state == "complete" else math.inf
        if trial.memory.get("engine") in _ENGINES:
            state = state.after(trial.memory["engine"], loss < best, max(dimension, 1))
        best = min(best, loss)
    return state
