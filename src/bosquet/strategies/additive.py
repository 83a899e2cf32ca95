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
Algorithm 1                     ``Additive.paper``, through `GPStrategy.propose`
Algorithm 2, (7)                ``search.junction_tree``
Algorithm 3, (8), N_Gibbs, p    ``models.graph_learning``
"No Overlap"                    ``graph="disjoint"``
==============================  ==============================================================

Where we differ by default, and why: expected improvement of the whole posterior takes the place of
a sum of bounds, since only sums of components are observed and their own bounds never become tight;
message passing then says where to start. Graphs learned from few trials are often wrong, so a
component of all variables, shrunk away unless the data need it, explains what the graph does not
(``residual``); fewer edges are expected a priori, and more likelihoods are computed. Length-scales
and scales are then fitted under priors. Grids are refined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self, cast, get_args

import numpy as np
from numpy.typing import NDArray

from bosquet.acquisition.base import Acquisition, LowerBound
from bosquet.data import Dataset, key_of
from bosquet.errors import ConfigError, SpaceError
from bosquet.graphs import Edge, edges_of, random_tree
from bosquet.models.additive_graph import (
    GraphGP,
    GraphSurrogate,
    clique_components,
    cliques_by_node,
    paper_additive,
    variables_of,
)
from bosquet.models.base import Belief, PathModel
from bosquet.models.clique_sum import CliqueSum
from bosquet.models.graph_learning import (
    GraphLearning,
    GraphLikelihood,
    GraphState,
    Learned,
    first_state,
    learn_graph,
)
from bosquet.models.surrogate import Surrogate, SurrogateGP, SurrogatePosterior
from bosquet.models.transform import transform
from bosquet.search.junction_tree import CliqueSearch, Effort
from bosquet.search.node_sum import best_path
from bosquet.search.tree_path import Path, on_path
from bosquet.space import Space
from bosquet.space.structure import Dimension
from bosquet.strategies.base import Proposal, Task
from bosquet.strategies.gp_strategy import (
    AcquisitionName,
    Ask,
    Fitted,
    GPStrategy,
    KernelName,
    Setting,
    feasibility_of,
)
from bosquet.text import must_be_one_of

Array = NDArray[np.float64]
GraphName = Literal["learned", "random-tree", "disjoint", "full"]

_PAPER_INITIAL = 10
_PAPER_LEARNING = GraphLearning(edge_probability=0.5, likelihoods=200, every=30)
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


class Additive(GPStrategy):
    """An additive GP over groups of variables that may overlap.

    The groups are given by name (``groups=[("a", "b"), ("b", "c")]``; whoever is in none is alone),
    or ``graph`` says where they come from: ``"learned"`` from the trials (Algorithm 3, every so
    often: ``learning``), ``"disjoint"`` likewise but without overlap, ``"random-tree"`` drawn anew
    in every ask, ``"full"`` one group of all. Groups that together connect some variables pairwise
    count as one group of these.

    ``acquisition="ucb"`` is the sum of the groups' own bounds, maximised by message passing, which
    has no place for a ``residual``. ``hierarchical=False`` is the paper's model. On conditional
    spaces groups join variables of the same node.
    """

    name: ClassVar[str] = "additive"
    setting_class: ClassVar[type[Setting]] = GraphSetting

    def __init__(
        self,
        *,
        groups: Iterable[Sequence[str]] | None = None,
        graph: GraphName | None = None,
        acquisition: AcquisitionName = "logei",
        learning: GraphLearning | None = None,
        residual: bool | None = None,
        kernel: KernelName = "evidence",
        hierarchical: bool = True,
        explore_every: int | None = 6,
        transforms: bool = True,
    ) -> None:
        super().__init__(
            acquisition=acquisition,
            kernel=kernel,
            explore_every=explore_every,
            transforms=transforms,
        )
        if graph is not None and graph not in get_args(GraphName):
            raise ValueError(must_be_one_of("graph", graph, get_args(GraphName)))
        if graph is not None and groups is not None:
            raise ValueError(f"graph={graph!r} and groups={groups!r}: give one of them")
        if residual and (acquisition == "ucb" or not hierarchical):
            raise ValueError(
                "residual=True goes with hierarchical=True and acquisition='logei' or 'ei': "
                "the sum of bounds has no place for a component of all variables"
            )
        if not hierarchical and (kernel != "se" or transforms):
            raise ValueError(
                "hierarchical=False is the paper's model: it goes with kernel='se' and "
                "transforms=False"
            )
        self.groups = None if groups is None else _checked_groups(groups)
        self.graph: GraphName | None = "learned" if graph is None and groups is None else graph
        self.learning = GraphLearning() if learning is None else learning
        self.residual = hierarchical and acquisition != "ucb" if residual is None else residual
        self.hierarchical = hierarchical

    @classmethod
    def paper(cls) -> Self:
        """Algorithms 1 to 3 with the settings of section 5.1, on a grid that is not refined."""
        return cls(
            acquisition="ucb",
            learning=_PAPER_LEARNING,
            kernel="se",
            hierarchical=False,
            explore_every=None,
            transforms=False,
        )

    def check_space(self, space: Space) -> None:
        self._declared(space)

    def initial_trials(self, space: Space) -> int:
        return super().initial_trials(space) if self.hierarchical else _PAPER_INITIAL

    # -- the graph ---------------------------------------------------------------------------

    def _declared(self, space: Space) -> tuple[Edge, ...] | None:
        """The edges that do not depend on trials; None where they do."""
        if self.groups is not None:
            return tuple(edges_of(_indices(space, group) for group in self.groups))
        return tuple(edges_of(variables_of(space))) if self.graph == "full" else None

    def _edges(self, space: Space, setting: Setting) -> tuple[Edge, ...]:
        declared = self._declared(space)
        return cast(GraphSetting, setting).edges if declared is None else declared

    def structured(
        self, task: Task, data: Dataset, last: Setting, rng: np.random.Generator
    ) -> tuple[Setting, dict[str, Any]]:
        """The graph to use now: learned when that is due, else the last one."""
        setting = cast(GraphSetting, last)
        marginals = {}
        learns = not self.hierarchical or self.graph in ("learned", "disjoint")
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
            free_scale=self.hierarchical,
        )
        start = GraphState(self._edges(space, setting), setting.lengths, setting.noise)
        if not setting.lengths:
            start = replace(first_state(space, likelihood), edges=start.edges)
        kind: Literal["overlap", "disjoint", "fixed"] = "fixed"
        if self.graph in ("learned", "disjoint"):
            kind = "overlap" if self.graph == "learned" else "disjoint"
        return learn_graph(space, likelihood, start, self.learning, rng, kind)

    def model(self, space: Space, X: Array, z: Array, noise: Array, setting: Setting) -> PathModel:
        edges = self._edges(space, setting)
        if self.hierarchical:
            surrogate = GraphSurrogate(space, edges, setting.kernel, residual=self.residual)
            return GraphGP(surrogate, X, z, noise)
        last = cast(GraphSetting, setting)
        components, hyper = paper_additive(space, edges, dict(enumerate(last.lengths)), last.noise)
        return SurrogateGP(Surrogate(space, components, hyper), X, z, noise)

    # -- the acquisition ---------------------------------------------------------------------

    def _bound(self, task: Task) -> LowerBound:
        """beta_t = 0.5 log 2t (Table 1)."""
        t = max(len(task.history) + 1 - self.initial_trials(task.space), 1)
        return LowerBound(0.5 * float(np.log(2.0 * t)))

    def acquisition_at(self, task: Task, fitted: Fitted, best: float) -> Acquisition:
        return (
            self._bound(task)
            if self.acquisition == "ucb"
            else super().acquisition_at(task, fitted, best)
        )

    def belief_on(self, fitted: Fitted) -> Callable[[Path], Belief]:
        if self.acquisition != "ucb":
            return super().belief_on(fitted)
        additive = cast(SurrogatePosterior, fitted.posterior).additive

        def clique_sum(path: Path) -> Belief:
            return CliqueSum(additive, [c for c in additive.components if c.node in path])

        return clique_sum

    def _clique_search(self, task: Task, fitted: Fitted) -> CliqueSearch:
        additive = cast(SurrogatePosterior, fitted.posterior).additive
        # What is refined need not begin on a fine grid: it ends at the same maximum.
        effort = Effort(evaluations=400) if self.hierarchical else Effort(refine=False)
        return CliqueSearch(task.space, additive, clique_components(additive.components), effort)

    def starts(
        self,
        task: Task,
        fitted: Fitted,
        acquisition: Acquisition,
        rng: np.random.Generator,
    ) -> tuple[Array, dict[str, Any]]:
        """The optima of the summed bounds and of the mean, by message passing."""
        search = self._clique_search(task, fitted)
        if not search.passes:  # random rows are what the search by paths begins with anyway
            return super().starts(task, fitted, acquisition, rng)[0], {"search": search.said}
        rows = [search.maximise(b, rng).rows[0] for b in (self._bound(task), LowerBound(0.0))]
        return np.array(rows), {"search": search.said}

    def _next(self, ask: Ask) -> Proposal | None:
        task = ask.task
        if self.acquisition == "ucb" and task.candidates is None and feasibility_of(task) is None:
            bound = self._bound(task)
            optimum = self._clique_search(task, ask.fitted).maximise(bound, ask.rng)
            path = task.space.tree.path_of(best_path(task.space, optimum.values)[1])
            rows = on_path(task.space, path, optimum.rows.copy())
            values = bound.value(*self.belief_on(ask.fitted)(path).moments(rows))
            configs = task.space.from_unit(rows)
            for config, value in zip(configs, values, strict=True):  # the refined one first
                if key_of(config) not in ask.taken and task.space.violation(config) is None:
                    label = task.space.path_label(config)
                    proposal = self.proposal(task.space, config, {label: float(value)})
                    return replace(proposal, info=proposal.info | {"search": optimum.said})
        return super()._next(ask)


def _checked_groups(groups: Iterable[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Tuples of names, none of them twice in one group."""
    try:
        checked = tuple(() if isinstance(group, str) else tuple(group) for group in groups)
    except TypeError:
        checked = ((),)
    for group in checked:
        names = all(isinstance(name, str) for name in group)
        if isinstance(groups, str) or not group or not names or len(set(group)) < len(group):
            raise ValueError(
                f"groups={groups!r} must be a list of tuples of different parameter names, "
                'as in [("a", "b"), ("b", "c")]'
            )
    return checked


def _indices(space: Space, group: Sequence[str]) -> list[int]:
    """The coordinates of a group's variables, which must be of one node."""
    found = [_dimension(space, name) for name in group]
    if len({dimension.node for dimension in found}) > 1:
        raise SpaceError(
            f"groups: {group!r} joins parameters that do not always exist together; "
            "a group is of one branch"
        )
    return [dimension.index for dimension in found]


def _dimension(space: Space, name: str) -> Dimension:
    """The dimension of a short or qualified name."""
    try:
        space.is_active(name, {})
    except ConfigError as error:
        raise SpaceError(f"groups: {error}") from None
    found = [d for d in space.dimensions if name in (d.name, d.qualified_name)]
    if len(found) > 1:
        names = ", ".join(repr(d.qualified_name) for d in found)
        raise SpaceError(f"groups: {name!r} is the name of several parameters; use one of {names}")
    if found[0].index in space.tree.children:
        raise SpaceError(
            f"groups: {name!r} decides which parameters exist, and cannot be in a group"
        )
    return found[0]
