"""Configurations that have not been tried yet, down to the last one.

Random draws come first. Where they find too few, a finite space is enumerated, and any other one is
looked through: its discrete part systematically (`space.skeleton`), its continuous part by draws on
what the constraints leave of that, and by moves from the configurations known to be feasible. So
"exhausted" means that there is nothing left; where that cannot be known, `NothingFound` says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

import numpy as np

from bosquet.arrays import Array
from bosquet.data import Key, key_of
from bosquet.errors import NothingFound, SpaceError, SpaceExhausted
from bosquet.space import Config, Space
from bosquet.space.sampling import unit_stream

if TYPE_CHECKING:
    from bosquet.strategies.base import Task

_DRAWS = 1_000  # samples to find a new configuration, before it is searched for
_ENUMERABLE = 100_000  # largest finite space that is enumerated
_BATCH = 200  # rows looked at together
_ROUNDS = 24  # of one batch of each kind
_FARTHEST, _NEAREST = 0.1, 1e-12  # moves from known rows, in unit coordinates


def fresh_configs(
    task: Task, n: int, rng: np.random.Generator, taken: Collection[Key] | None = None
) -> list[Config]:
    """Up to ``n`` distinct random configurations that are not taken; at least one.

    With noise nothing is taken, and the same configuration may come twice. Raises SpaceExhausted
    when all are taken, NothingFound when none was found although there may be some, and SpaceError
    when the constraints allow nothing at all.

    Args:
        task: says what has been tried, what is pending, and which candidates there are.
        n: how many are wanted.
        rng: where everything random comes from.
        taken: keys of configurations not to be returned; by default `Task.taken`.
    """
    taken = task.taken if taken is None else taken
    if task.candidates is not None:
        left = task.left(taken)
        if not left:
            raise _exhausted(task, taken)
        if task.history.noisy:
            return [left[i] for i in rng.integers(len(left), size=n)]
        return [left[i] for i in rng.permutation(len(left))[:n]]
    if task.history.noisy:
        return _with_repeats(task, n, rng)
    found = _drawn(task.space, n, rng, taken)
    looked_at = 0
    if len(found) < n and task.space.size <= _ENUMERABLE:
        configs = [c for c in task.space.configs() if key_of(c) not in taken]
        found = {key_of(configs[i]): configs[i] for i in rng.permutation(len(configs))}
    elif len(found) < n:
        looked_at = _search(task, n, rng, taken, found)
    if not found:
        raise _nothing_found(task, looked_at) if looked_at else _exhausted(task, taken)
    return list(found.values())[:n]


def _with_repeats(task: Task, n: int, rng: np.random.Generator) -> list[Config]:
    """Random configurations; where hardly any is feasible, some that are known to be."""
    try:
        return task.space.sample(rng, n)
    except NothingFound:
        known = task.history.trials
        return [dict(known[i].config) for i in rng.integers(len(known), size=n)]


def _drawn(
    space: Space, n: int, rng: np.random.Generator, taken: Collection[Key]
) -> dict[Key, Config]:
    """What so many draws have that is not taken."""
    found: dict[Key, Config] = {}
    drawn = 0
    while len(found) < n and drawn < max(_DRAWS, 10 * n):
        try:
            batch = space.sample(rng, max(n - len(found), min(drawn, 100)))
        except NothingFound:  # hardly anything is feasible
            break
        drawn += len(batch)
        found |= {key: c for c in batch if (key := key_of(c)) not in taken}
    return found


def _search(
    task: Task,
    n: int,
    rng: np.random.Generator,
    taken: Collection[Key],
    found: dict[Key, Config],
) -> int:
    """Looks for more configurations of a space that cannot be enumerated, until there are n.

    Returns how many rows were drawn for that; none where all configurations are known.
    """
    known = task.space.skeletons
    free = [c for c in known.configs if key_of(c) not in taken]
    found |= {key_of(free[i]): free[i] for i in rng.permutation(len(free))}
    looked_at = 0
    if len(found) < n and (len(known.open) or not known.complete):
        for rows in _rows(task, known.open, rng):
            looked_at += len(rows)
            configs = [c for c in task.space.from_unit(rows) if key_of(c) not in taken]
            found |= {key_of(c): c for c in configs if task.space.violation(c) is None}
            if len(found) >= n:
                break
    return looked_at


def _rows(task: Task, skeletons: Array, rng: np.random.Generator) -> Iterator[Array]:
    """Batches of unit rows to look at: draws by path and by skeleton, and ever smaller moves."""
    draw = unit_stream(task.space.tree, rng, "path", "random")
    for step in np.geomspace(_FARTHEST, _NEAREST, _ROUNDS):
        yield draw(_BATCH)
        if len(skeletons):
            rows = skeletons[rng.integers(len(skeletons), size=_BATCH)]
            yield np.where(np.isnan(rows), rng.random(rows.shape), rows)
        if len(task.visited):
            yield _moved(task, float(step), rng)


def _moved(task: Task, step: float, rng: np.random.Generator) -> Array:
    """Rows next to known ones: moved in one active coordinate, or in all, half of them each.

    A category takes another value by chance, as a step to the next one may be needed.
    """
    here = task.visited[rng.integers(len(task.visited), size=_BATCH)]
    active = task.space.activity(here)
    one = np.argmax(np.where(active, rng.random(active.shape), -1.0), axis=1)
    moves = active.copy()
    moves[::2] = False
    moves[np.arange(len(here)), one] = True
    discrete = np.isfinite([float(d.parameter.n_values) for d in task.space.dimensions])
    moves &= ~discrete | (np.arange(len(here)) % 2 == 0)[:, None]
    nearby = np.clip(here + step * rng.standard_normal(here.shape), 0.0, 1.0)
    moved = np.where(moves, np.where(discrete, rng.random(here.shape), nearby), here)
    born = task.space.activity(moved) & ~active
    return np.asarray(np.where(born, rng.random(here.shape), moved))


def _exhausted(task: Task, taken: Collection[Key]) -> SpaceExhausted | SpaceError:
    if task.candidates is None and not taken:
        return SpaceError(
            "the constraints of the space allow no configuration at all: "
            + "; ".join(str(constraint) for constraint in task.space.constraints)
        )
    what = "space" if task.candidates is None else "candidate set"
    return SpaceExhausted(f"every configuration of the {what} has been proposed: {_so_far(task)}")


def _nothing_found(task: Task, looked_at: int) -> NothingFound:
    constraints = "; ".join(str(constraint) for constraint in task.space.constraints)
    return NothingFound(
        f"no further configuration that satisfies the constraints ({constraints}) was found in "
        f"{looked_at} draws, though there may be some: {_so_far(task)}. The feasible part is empty "
        "or too small to be found by chance; describe it by bounds and branches instead"
    )


def _so_far(task: Task) -> str:
    return f"{len(task.history)} ended, {len(task.pending)} pending"
