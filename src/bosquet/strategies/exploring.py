"""Trials that a model does not choose: insurance against a model that is sure of itself too early.

They are points of the space-filling design on a path visited least.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bosquet.errors import NOTHING_LEFT
from bosquet.space import Space
from bosquet.strategies.base import Batch, Proposal, design

IDLE = math.log(1e-4)  # an expected improvement, in standard deviations of the targets


def explores(space: Space, number: int, every: int | None) -> bool:
    """Whether a trial explores, every so often: not on one box of continuous variables."""
    if every is None or number % every != every - 1:
        return False
    return space.n_paths > 1 or any(not d.parameter.is_continuous for d in space.dimensions)


def next_or_explored(
    batch: Batch,
    every: int | None,
    rng: np.random.Generator,
    find: Callable[[], Proposal | None],
    log_gain: Callable[[Proposal], float | None],
) -> Proposal | None:
    """What ``find`` gives, unless it is time to explore.

    That is every so often, and every second time while the model sees nothing left to gain:
    ``log_gain`` is the logarithm of the expected improvement of a proposal, where it is known.
    """
    if explores(batch.task.space, batch.index, every):
        return explored(batch, "every so often", rng)
    found = find()
    if found is None or every is None or batch.index % 2 == 0:
        return found
    gain = log_gain(found)
    if gain is not None and gain < IDLE:
        return explored(batch, "nothing seems left to gain", rng)
    return found


def explored(batch: Batch, why_now: str, rng: np.random.Generator) -> Proposal | None:
    """A point of the design; None where nothing is left."""
    try:
        (found,) = design(batch.now, 1, rng)
    except NOTHING_LEFT:
        return None
    return replace(found, why=f"exploration, {why_now}: the design on a path visited least")
