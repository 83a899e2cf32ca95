"""Several workers without waiting for them: an asynchronous run on a simulated clock."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from bosquet.benchmarks.problem import Function
from bosquet.data import Trial
from bosquet.errors import SpaceExhausted
from bosquet.optimizer import Optimizer
from bosquet.space import Space
from bosquet.strategies import Strategy

_TAG = 1971  # keeps the durations apart from the random numbers of methods and problems
_SPREAD = 1.0  # standard deviation of the log duration: one in six takes 2.7 times the median


def durations(seed: int, n_trials: int) -> NDArray[np.float64]:
    """How long each trial takes, in units of the median; the same however many workers."""
    return np.random.default_rng([_TAG, seed]).lognormal(0.0, _SPREAD, n_trials)


def simulate(
    objective: Function,
    space: Space,
    strategy: str | Strategy,
    seed: int,
    n_trials: int,
    workers: int,
) -> None:
    """Evaluates ``n_trials`` configurations, each when its worker would have finished it.

    A worker that is free gets a new trial at once, and the strategy sees those still running.
    """
    optimizer = Optimizer(space, strategy, seed=seed)
    lasts = durations(seed, n_trials)
    running: list[tuple[float, int]] = []
    trials: dict[int, Trial] = {}
    now = 0.0
    while len(trials) < n_trials or running:
        while len(trials) < n_trials and len(running) < workers:
            try:
                trial = optimizer.ask()
            except SpaceExhausted:
                n_trials = len(trials)
                break
            trials[trial.number] = trial
            heappush(running, (now + lasts[trial.number], trial.number))
        if running:
            now, number = heappop(running)
            optimizer.tell(trials[number], objective(trials[number].config))
