"""G-Add-GP-UCB: additive models with overlapping groups, message passing, learned graphs.

P. Rolland, J. Scarlett, I. Bogunovic and V. Cevher. High-Dimensional Bayesian Optimization via
Additive Models with Overlapping Groups. AISTATS 2018.

==============================  ==============================================================
in the paper                    here
==============================  ==============================================================
groups G^(i), f^(i), graph G    cliques, components: ``models.additive_graph``
kappa^(i), sigma^(i) (sec. 5)   ``models.additive_graph.paper_additive``
mu^(j), sigma^(j) (4)           ``Posterior.of`` one component
phi_t (5), (6)                  a `LowerBound` of a ``CliqueSum``
Algorithm 1                     ``Additive.paper``, through `GPStrategy.proposals`
Algorithm 2, (7)                ``search.junction_tree``
Algorithm 3, (8), N_Gibbs, p    ``models.graph_learning``
"No Overlap"                    ``graph="disjoint"``
==============================  ==============================================================

Algorithm 1, G-Add-GP-UCB, with what section 4 adds for a graph that is not known::

    1       D_0 <- N_init points at random                                 the design
    2       for t = 1, ..., N_iter                                         an ask
    sec. 4      every N_cyc trials: Z, L <- Algorithm 3, from the last ones on   `structured`
    3           mu^(j), sigma^(j) given D_t-1                              `fit`, `Posterior.of`
    4           x_t <- argmax phi_t, by Algorithm 2                        `_best_of_grid`
    5, 6        y_t <- f(x_t) + noise, D_t <- D_t-1 and (x_t, y_t)         `Optimizer.tell`

Where we differ by default, and why: expected improvement of the whole posterior takes the place of
a sum of bounds, since only sums of components are observed and their own bounds never become tight;
message passing then says where to start. Graphs learned from few trials are often wrong, so a
component of all variables, shrunk away unless the data need it, explains what the graph does not
(``residual``); fewer edges are expected a priori, and more likelihoods are computed. Length-scales
and scales are then fitted under priors. Grids are refined.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np

from bosquet.acquisition.base import LowerBound
from bosquet.arrays import Array
from bosquet.data import Dataset, key_of
from bosquet.graphs import Edge, edges_of, random_tree
from bosquet.kernels.components import Kind
from bosquet.models.additive_graph import (
    GraphCovariance,
    clique_components,
    cliques_by_node,
    paper_additive,
    variables_of,
)
from bosquet.models.clique_sum import CliqueSum
from bosquet.models.covariance import Covariance, SpaceGP, SpacePosterior
from bosquet.models.good_places import GoodPlaces
from bosquet.models.graph_learning import (
    GraphLearning,
    GraphState,
    Learned,
    first_state,
    learn_graph,
)
from bosquet.models.graph_likelihood import GraphLikelihood
from bosquet.models.transform import Targets, transform
from bosquet.search.junction_tree import CliqueSearch, TableEffort
from bosquet.search.node_sum import best_path
from bosquet.search.tree_path import PathSearch, on_path
from bosquet.space import Space
from bosquet.space.tree import Path
from bosquet.strategies.base import Proposal, Task
from bosquet.strategies.choosing import Ask, feasibility_of, places_of
from bosquet.strategies.fitting import Fitted, Setting
from bosquet.strategies.gp_strategy import GPStrategy, told_of_sum
from bosquet.strategies.groups import checked_groups, indices_of
from bosquet.strategies.options import ModelName, one_of, whole

GraphName = Literal["learned", "random-tree", "disjoint", "full"]

_PAPER_INITIAL = 10
_PAPER_LEARNING = GraphLearning(
    edge_probability=0.5, likelihoods=200, every=30, max_clique=None, max_treewidth=None
)
_PAPER_EVALUATIONS, _EVALUATIONS = 1_000, 400
_VIOLATING = 256  # points of the grid that constraints rule out, before it is given up
_TOLD = 0.05  # edges at least this probable are named in Info


@dataclass(frozen=True)
class GraphSetting(Setting):
    """A graph beside what every GP strategy chooses by evidence."""

    edges: tuple[Edge, ...] = ()
    """Of a learned or random graph: pairs of coordinates."""
    lengths: tuple[float, ...] = ()
    """By coordinate, as Algorithm 3 left them; none before it has run."""
    noise: float = 0.0
    learned_at: int = 0
    """Complete trials when Algorithm 3 ran last."""

    def __post_init__(self) -> None:  # JSON has lists
        object.__setattr__(self, "edges", tuple((int(i), int(j)) for i, j in self.edges))
        object.__setattr__(self, "lengths", tuple(self.lengths))


@dataclass(kw_only=True, eq=False)
class Additive(GPStrategy[SpacePosterior]):
    """An additive GP over groups of variables that may overlap.

    On conditional spaces groups join variables of one node. Other arguments: `GPStrategy`.

    Args:
        acquisition: ``"logei"``, or ``"ucb"``: the sum of the groups' own bounds.
        groups: names of parameters that interact, such as ``[("a", "b"), ("b", "c")]``; others
            stand alone. Groups that connect some variables pairwise count as one group of these.
        graph: where groups come from: ``"learned"`` from the trials (Algorithm 3), ``"disjoint"``
            likewise without overlap, ``"random-tree"`` in every ask, ``"full"``: one group of all.
        learning: how and how often a graph is learned.
        residual: whether there is also a component of all variables (not with ``"ucb"``).
        max_eval: evaluations of a group's bound in message passing; None: 400 (paper: 1,000).
        model: ``"hierarchical"``, or ``"paper"``: sampled, and a grid of sqrt(max_eval) levels.
        near_good: as of `CovarianceStrategy`.
    """

    name: ClassVar[str] = "additive"
    setting_class: ClassVar[type[Setting]] = GraphSetting

    groups: Iterable[Sequence[str]] | None = None
    graph: GraphName | None = None
    learning: GraphLearning = field(default_factory=GraphLearning)
    residual: bool | None = None
    max_eval: int | None = None
    model: ModelName = "hierarchical"
    near_good: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("model", self.model, get_args(ModelName))
        if self.model == "paper" and self.kernel == "matern52":
            raise ValueError(
                "kernel='matern52': model='paper' has squared exponentials, kernel='se'"
            )
        whole("max_eval", self.max_eval, 9, none=True)
        if self.graph is not None:
            one_of("graph", self.graph, get_args(GraphName))
            if self.groups is not None:
                raise ValueError(
                    f"graph={self.graph!r} and groups={self.groups!r}: give one of them"
                )
        if self.groups is not None:
            self.groups = checked_groups(self.groups)
        elif self.graph is None:
            self.graph = "learned"
        has_place = self.model != "paper" and self.acquisition != "ucb"
        if self.residual and not has_place:
            raise ValueError(
                "residual=True goes with model='hierarchical' and acquisition='logei': "
                "the sum of bounds has no place for a component of all variables"
            )
        if self.residual is None:
            self.residual = has_place

    @classmethod
    def paper(cls) -> Self:
        """Algorithms 1 to 3 with the settings of section 5.1, on a grid that is not refined."""
        return cls(
            acquisition="ucb",
            learning=_PAPER_LEARNING,
            model="paper",
            explore_every=None,
            defaults_first=False,
            near_good=False,
            transforms=False,
        )

    @property
    def kernels(self) -> tuple[Kind, ...]:
        return ("se",) if self.model == "paper" else super().kernels

    def check_space(self, space: Space) -> None:
        self._declared(space)

    def initial_trials(self, space: Space) -> int:
        return super().initial_trials(space) if self.model != "paper" else _PAPER_INITIAL

    # -- the graph ---------------------------------------------------------------------------

    def _declared(self, space: Space) -> tuple[Edge, ...] | None:
        """The edges that do not depend on trials; None where they do."""
        if self.groups is not None:
            return tuple(edges_of(indices_of(space, group) for group in self.groups))
        return tuple(edges_of(variables_of(space))) if self.graph == "full" else None

    def _edges(self, space: Space, setting: GraphSetting) -> tuple[Edge, ...]:
        declared = self._declared(space)
        return setting.edges if declared is None else declared

    def fit(self, task: Task, data: Dataset, rng: np.random.Generator) -> Fitted[SpacePosterior]:
        last = self.last_fit(task)
        assert isinstance(last.setting, GraphSetting)
        setting, graph = self.structured(task, data, last.setting, rng)
        if setting != last.setting:  # what was fitted is not what is there now
            last = replace(last, setting=setting, fitted_at=0)
        return replace(self.fit_from(last, task, data), about=graph)

    def structured(
        self, task: Task, data: Dataset, setting: GraphSetting, rng: np.random.Generator
    ) -> tuple[GraphSetting, dict[str, Any]]:
        """The graph to use now, learned when that is due, else the last one; and its groups."""
        marginals = {}
        learns = self.model == "paper" or self.graph in ("learned", "disjoint")
        n = len(data.y)
        if learns and (not setting.lengths or n - setting.learned_at >= self.learning.every):
            learned = self._learn(task.space, data, setting, rng)
            marginals = {
                f"{task.space.dimensions[i].qualified_name} - "
                f"{task.space.dimensions[j].qualified_name}": round(p, 3)
                for (i, j), p in learned.marginals.items()
                if p >= _TOLD
            }
            state = learned.state
            setting = replace(
                setting,
                edges=() if self._declared(task.space) is not None else state.edges,
                lengths=state.lengths,
                noise=state.noise,
                learned_at=n,
            )
        if self.graph == "random-tree":
            drawn = [edge for own in variables_of(task.space) for edge in random_tree(own, rng)]
            setting = replace(setting, edges=tuple(drawn))
        groups = [
            [task.space.dimensions[v].qualified_name for v in clique]
            for cliques in cliques_by_node(task.space, self._edges(task.space, setting))
            for clique in cliques
        ]
        graph = {"groups": groups} | ({"marginals": marginals} if marginals else {})
        return setting, {"graph": graph}

    def _learn(
        self, space: Space, data: Dataset, setting: GraphSetting, rng: np.random.Generator
    ) -> Learned:
        """Algorithm 3, from the last state on."""
        targets = transform(data.y, data.noise, setting.lam)
        likelihood = GraphLikelihood(
            space,
            data.X,
            targets.z,
            targets.noise,
            setting.kernel,
            free_scale=self.model != "paper",
        )
        start = GraphState(self._edges(space, setting), setting.lengths, setting.noise)
        if not setting.lengths:
            start = replace(first_state(space, likelihood), edges=start.edges)
        kind: Literal["overlap", "disjoint", "fixed"] = "fixed"
        if self.graph in ("learned", "disjoint"):
            kind = "overlap" if self.graph == "learned" else "disjoint"
        return learn_graph(space, likelihood, start, self.learning, rng, kind)

    def model_on(self, space: Space, X: Array, targets: Targets, setting: Setting) -> SpaceGP:
        assert isinstance(setting, GraphSetting)
        edges = self._edges(space, setting)
        if self.model != "paper":
            covariance = GraphCovariance(space, edges, setting.kernel, residual=bool(self.residual))
            return SpaceGP(covariance, X, targets.z, targets.noise)
        lengths = dict(enumerate(setting.lengths))
        components, hyper = paper_additive(space, edges, lengths, setting.noise)
        return SpaceGP(Covariance(space, components, hyper), X, targets.z, targets.noise)

    # -- the acquisition ---------------------------------------------------------------------

    def bound(self, task: Task) -> LowerBound:
        """beta_t = 0.5 log 2t (Table 1)."""
        t = max(len(task.history) + 1 - self.initial_trials(task.space), 1)
        return LowerBound(0.5 * float(np.log(2.0 * t)))

    def path_search(self, ask: Ask[SpacePosterior]) -> PathSearch:
        if self.acquisition != "ucb":
            return super().path_search(ask)
        on_path = clique_sums(ask.fitted)
        task = ask.task
        feasibility, taken = feasibility_of(task), ask.taken_rows
        return PathSearch(task.space, on_path, self.bound(task), feasibility, taken=taken)

    def told(self, fitted: Fitted[SpacePosterior], X: Array) -> dict[str, Any]:
        return told_of_sum(fitted.posterior, X)

    def places(self, task: Task) -> GoodPlaces | None:
        return places_of(task) if self.near_good and self.acquisition == "logei" else None

    def clique_search(self, ask: Ask[SpacePosterior]) -> CliqueSearch:
        additive = ask.fitted.posterior.additive
        if self.model == "paper":  # pairs of variables have the whole grid as their table
            n = self.max_eval or _PAPER_EVALUATIONS
            effort = TableEffort(evaluations=n, refine=False, levels=math.isqrt(n))
        else:  # what is refined need not begin on a fine grid: it ends at the same maximum
            effort = TableEffort(evaluations=self.max_eval or _EVALUATIONS)
        components = clique_components(additive.components)
        return CliqueSearch(ask.task.space, additive, components, effort)

    def next(self, ask: Ask[SpacePosterior]) -> Proposal | None:
        task = ask.task
        if task.candidates is not None:
            return super().next(ask)
        if self.acquisition == "ucb" and feasibility_of(task) is None:
            paper = self.model == "paper"
            found = self._best_of_grid(ask) if paper else self._by_message_passing(ask)
            if found is not None:
                return found
        cliques = self.clique_search(ask)
        found = self.best_found(ask, self.path_search(ask), self.starts(ask, cliques))
        return found and replace(found, about=found.about | {"search": cliques.summary})

    def starts(self, ask: Ask[SpacePosterior], cliques: CliqueSearch) -> Array | None:
        """Where the search by paths starts: the optima of the summed bounds and of the mean.

        Where messages cannot be passed there are random rows, which that search has anyway; and it
        climbs by itself.
        """
        if not cliques.passes:
            return None
        bounds = (self.bound(ask.task), LowerBound(0.0))
        return np.array(
            [cliques.maximise(bound, ask.rng, polished=False).rows[0] for bound in bounds]
        )

    def _best_of_grid(self, ask: Ask[SpacePosterior]) -> Proposal | None:
        """Algorithm 1, line 4: the best point of the grid that is free."""
        space, cliques = ask.task.space, self.clique_search(ask)
        taken = len(ask.taken)
        points = cliques.ranked(self.bound(ask.task), ask.rng, taken + 1)
        for value, path, x in islice(points, taken + _VIOLATING):
            config = space.from_unit(on_path(space, path, x[None]))[0]
            if key_of(config) not in ask.taken and space.violation(config) is None:
                found = self.proposal(config, value, {space.path_label(config): value})
                return replace(found, about=found.about | {"search": cliques.summary})
        return None

    def _by_message_passing(self, ask: Ask[SpacePosterior]) -> Proposal | None:
        """The maximum of the summed bounds, unless it is taken or violates a constraint."""
        space, bound = ask.task.space, self.bound(ask.task)
        optimum = self.clique_search(ask).maximise(bound, ask.rng)
        path = space.tree.path_of(best_path(space, optimum.values)[1])
        rows = on_path(space, path, optimum.rows.copy())
        values = bound.value(*clique_sums(ask.fitted)(path).moments(rows))
        configs = space.from_unit(rows)
        for config, value in zip(configs, values, strict=True):  # the refined one first
            if key_of(config) not in ask.taken and space.violation(config) is None:
                found = self.proposal(
                    config, float(value), {space.path_label(config): float(value)}
                )
                return replace(found, about=found.about | {"search": optimum.summary})
        return None


def clique_sums(fitted: Fitted[SpacePosterior]) -> Callable[[Path], CliqueSum]:
    """By path, the belief in which each component has a confidence of its own."""
    additive = fitted.posterior.additive

    def on_path(path: Path) -> CliqueSum:
        return CliqueSum(additive, [c for c in additive.components if c.node in path])

    return on_path
