"""What strategies that search a region share: their model, and the best point of the region."""

from __future__ import annotations

from bosquet.acquisition.base import LogEI
from bosquet.models.add_tree import add_tree
from bosquet.models.covariance import Covariance
from bosquet.models.feasibility import Feasibility
from bosquet.search.mixed import feasible
from bosquet.search.region import Region
from bosquet.search.tree_path import PathSearch
from bosquet.space import Space
from bosquet.strategies.choosing import Ask, Found, best_candidate, first_free
from bosquet.strategies.fitting import P

_MORE = 500  # random rows of a region, where constraints leave little of it


def local_covariance(space: Space) -> Covariance:
    """The Add-Tree covariance, so that on trees shared variables inform; Matern-5/2."""
    return Covariance(space, *add_tree(space))


def improve(ask: Ask[P], region: Region, feasibility: Feasibility | None) -> Found | None:
    """The free and feasible configuration in a region with the highest LogEI, and its value."""
    task, taken = ask.task, ask.taken
    acquisition = LogEI(ask.best, ask.fitted.noise)
    belief_on = ask.fitted.posterior.on_path
    search = PathSearch(
        task.space, belief_on, acquisition, feasibility, region=region, taken=ask.taken_rows
    )
    if task.candidates is not None:
        return best_candidate(
            task, task.candidates, taken, lambda X: search.score(region.path, X), region
        )
    found = ask.free(search.maximise([region.path], ask.good, ask.rng))
    if found is None and task.space.constraints:  # the best rows all violate one
        rows = region.draw(_MORE, ask.rng)
        rows = rows[feasible(task.space, rows)]
        found = first_free(task, [search.score(region.path, rows)], taken) if len(rows) else None
    return found
