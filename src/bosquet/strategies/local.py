"""What strategies that search a region share: a local GP, and the best point of the region."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from bosquet.acquisition.base import LogEI
from bosquet.arrays import Array
from bosquet.data import Key
from bosquet.models.add_tree import add_tree
from bosquet.models.base import PathModel
from bosquet.models.covariance import Covariance
from bosquet.models.feasibility import Feasibility
from bosquet.search.mixed import feasible
from bosquet.search.region import Region
from bosquet.search.tree_path import PathSearch, Scored
from bosquet.space import Config, Space
from bosquet.strategies.base import Task
from bosquet.strategies.gp_strategy import Ask, Fitted, first_free

_COLD_EVERY = 10  # trials; between, a fit goes on from that of the last trial
_ITERATIONS = 20
_COLD_ITERATIONS = 50
_MORE = 500  # random rows of a region, where constraints leave little of it


def local_covariance(space: Space) -> Covariance:
    """The Add-Tree covariance, so that on trees shared variables inform; Matern-5/2."""
    return Covariance(space, *add_tree(space))


def fit_local(task: Task, model: PathModel, z: Array, noise: Array) -> Fitted:
    """The posterior of a model of targets ``z``, from the fit of the last trial on."""
    recalled = None
    for trial in reversed(task.history.complete):
        recalled = model.hyper.recall(trial.info.get("fits", {}).get("local"))
        if recalled is not None:
            break
    starts = [model.hyper.mean] if recalled is None else [recalled]
    cold = recalled is None or len(task.history) % _COLD_EVERY == 0
    if recalled is not None and cold:
        starts.append(model.hyper.mean)
    theta, _ = model.fit(starts, _COLD_ITERATIONS if cold else _ITERATIONS)
    posterior = model.posterior(theta)
    expected = 0.0
    if task.history.noisy:
        known = not np.isnan(noise).any()
        expected = float(np.median(noise) if known else np.exp(posterior.eta[-1]))
    info = {"fits": {"local": model.hyper.remember(theta)}}
    fitted = Fitted(task.space, posterior, z, expected, info, np.zeros((0, len(task.space))))
    return fitted.with_pending(pending_rows(task))


def pending_rows(task: Task) -> Array:
    return task.space.to_unit([trial.config for trial in task.pending])


def improve(
    ask: Ask, region: Region, feasibility: Feasibility | None
) -> tuple[Config, float] | None:
    """The free and feasible configuration in a region with the highest LogEI, and its value."""
    task, taken = ask.task, ask.taken
    acquisition = LogEI(ask.best, ask.fitted.noise)
    belief_on = ask.fitted.posterior.on_path
    search = PathSearch(task.space, belief_on, acquisition, feasibility, region=region)
    if task.candidates is not None:
        return best_candidate(task, taken, lambda X: search.score(region.path, X), region)
    found = ask.free(search.maximise([region.path], ask.good, ask.rng))
    if found is None and task.space.constraints:  # the best rows all violate one
        rows = region.draw(_MORE, ask.rng)
        rows = rows[feasible(task.space, rows)]
        found = first_free(task, [search.score(region.path, rows)], taken) if len(rows) else None
    return found


def best_candidate(
    task: Task,
    taken: Collection[Key],
    score: Callable[[Array], Scored],
    region: Region | None = None,
) -> tuple[Config, float] | None:
    """The free candidate (in a region) with the highest score, and that."""
    left = task.left(taken)
    X = task.space.to_unit(left)
    if region is not None and left:
        inside = region.contains(X)
        left, X = [c for c, ok in zip(left, inside, strict=True) if ok], X[inside]
    if not left:
        return None
    configs = {x.tobytes(): config for x, config in zip(X, left, strict=True)}
    return first_free(task, [score(X)], taken, lambda x: configs[x.tobytes()])
