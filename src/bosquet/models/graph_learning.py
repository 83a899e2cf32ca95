"""Learning a dependency graph from evaluations: Gibbs sampling (Rolland et al., 2018, Algorithm 3).

Glossary
    Z_ij     whether an edge joins variables i and j; Bernoulli(p) a priori
    L        a length-scale for each variable, and the noise: uniform on grids
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Literal

import numpy as np

from bosquet.arrays import Array
from bosquet.graphs import Clique, Edge, components, connected, edges_of, maximal_cliques, treewidth
from bosquet.models.additive_graph import variables_of
from bosquet.models.graph_likelihood import GraphLikelihood
from bosquet.space import Space

LENGTHS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
NOISES = (1e-6, 1e-4, 1e-2, 1e-1)
_BUDGETS = (800, 3_000)  # of likelihoods, where none is given


@dataclass(frozen=True)
class GraphLearning:
    """How a graph is learned."""

    edge_probability: float | None = None
    """p. None: two neighbours a variable are expected, 2 / D, or 1/2 if that is less."""
    likelihoods: int | None = None
    """N_Gibbs: how many are computed each time. None: two sweeps, but 800 to 3,000."""
    every: int = 30
    """N_cyc: trials from one time to the next."""
    max_clique: int | None = 4
    """Variables of one component at most (d_max of disjoint groups); None: any number."""
    max_treewidth: int | None = 4
    """None: any."""
    max_groups: int | None = None
    """M of disjoint groups, on every node; None: any number."""

    def __post_init__(self) -> None:
        p = self.edge_probability
        if p is not None and not 0.0 < p < 1.0:
            raise ValueError(f"edge_probability={p!r} must be between 0 and 1, exclusive")
        for name in ("likelihoods", "every", "max_clique", "max_treewidth", "max_groups"):
            value = getattr(self, name)
            if value is None and name != "every":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                more = "" if name == "every" else ", or None"
                raise ValueError(f"{name}={value!r} must be a positive integer{more}")

    def log_odds(self, n_variables: int) -> float:
        """log p / (1 - p)"""
        p = self.edge_probability
        p = min(0.5, 2.0 / n_variables) if p is None else p
        return float(np.log(p / (1.0 - p)))

    def budget(self, n_variables: int) -> int:
        """How many likelihoods may be computed."""
        if self.likelihoods is not None:
            return self.likelihoods
        sweep = n_variables * (n_variables - 1) // 2 + (len(LENGTHS) - 1) * n_variables
        return int(np.clip(2 * sweep, *_BUDGETS))


@dataclass(frozen=True)
class GraphState:
    """theta of Algorithm 3."""

    edges: tuple[Edge, ...]
    lengths: tuple[float, ...]
    """One per coordinate of the space."""
    noise: float


@dataclass(frozen=True)
class Learned:
    state: GraphState
    """Of all states looked at, drawn or not, the one of the highest likelihood times prior."""
    log_likelihood: float
    marginals: dict[Edge, float]
    """The mean probability of each edge given all else, where it was looked at."""
    likelihoods: int


def first_state(space: Space, likelihood: GraphLikelihood) -> GraphState:
    """No edges, and the best common length-scale and noise for that."""
    cliques = [[(v,) for v in own] for own in variables_of(space) if own]
    d = len(space)

    def value(pair: tuple[float, float]) -> float:
        return likelihood(cliques, [pair[0]] * d, pair[1])

    length, noise = max(((one, r) for one in LENGTHS for r in NOISES), key=value)
    return GraphState((), (length,) * d, noise)


def learn_graph(
    space: Space,
    likelihood: GraphLikelihood,
    start: GraphState,
    learning: GraphLearning,
    rng: np.random.Generator,
    kind: Literal["overlap", "disjoint", "fixed"] = "overlap",
) -> Learned:
    """Algorithm 3: overlapping groups, the disjoint ones of the comparison, or L alone."""
    samplers = {"overlap": _Overlapping, "disjoint": _Disjoint, "fixed": _Gibbs}
    return samplers[kind](space, likelihood, start, learning).run(rng)


Move = Callable[[np.random.Generator], None]


class _Gibbs:
    """The chain: a current state, the best one seen, and a budget of likelihoods."""

    def __init__(
        self, space: Space, likelihood: GraphLikelihood, start: GraphState, learning: GraphLearning
    ) -> None:
        self._likelihood = likelihood
        self._learning = learning
        self._own = [own for own in variables_of(space) if own]
        n_variables = sum(map(len, self._own))
        self._log_odds = learning.log_odds(n_variables)
        self._budget = learning.budget(n_variables)
        self._probabilities: dict[Edge, list[float]] = {}
        self._used = 0
        self._state = start
        self._cliques = self._cliques_of(start.edges)
        self._score = self._evaluate(start, self._cliques)
        self._best, self._best_score = start, self._score

    def run(self, rng: np.random.Generator) -> Learned:
        moves = self._moves()
        while self._left():  # Algorithm 3, line 2
            before = self._used
            for i in rng.permutation(len(moves)):  # line 3
                if not self._left():
                    break
                moves[i](rng)  # lines 4-7; in place of Theta the best state looked at is kept
            if self._used == before:  # nothing can move
                break
        prior = self._log_odds * len(self._best.edges)
        return Learned(
            self._best,
            self._best_score - prior,
            {edge: float(np.mean(ps)) for edge, ps in sorted(self._probabilities.items())},
            self._used,
        )

    def _left(self) -> bool:
        return self._used < self._budget

    def _moves(self) -> list[Move]:
        """One for each parameter: given all others, it is drawn anew."""
        variables = [v for own in self._own for v in own]
        return [*(partial(self._draw_length, v) for v in variables), self._draw_noise]

    def _draw_length(self, v: int, rng: np.random.Generator) -> None:  # Eq. (8)
        options = [
            replace(
                self._state,
                lengths=(*self._state.lengths[:v], length, *self._state.lengths[v + 1 :]),
            )
            for length in LENGTHS
        ]
        self._draw(options, [self._cliques] * len(options), rng)

    def _draw_noise(self, rng: np.random.Generator) -> None:
        options = [replace(self._state, noise=noise) for noise in NOISES]
        self._draw(options, [self._cliques] * len(options), rng)

    def _draw(
        self,
        options: Sequence[GraphState],
        cliques: Sequence[list[list[Clique]]],
        rng: np.random.Generator,
    ) -> Array:
        """Moves to one of the options, drawn by likelihood times prior; their probabilities."""
        scores = np.array(
            [
                self._score if option == self._state else self._evaluate(option, its_cliques)
                for option, its_cliques in zip(options, cliques, strict=True)
            ]
        )
        if scores.max() == -np.inf:  # no covariance has a factor: stay
            return np.array([float(option == self._state) for option in options])
        probabilities = np.exp(scores - scores.max())
        probabilities /= probabilities.sum()
        drawn = int(rng.choice(len(options), p=probabilities))
        self._state, self._cliques = options[drawn], cliques[drawn]
        self._score = float(scores[drawn])
        top = int(np.argmax(scores))
        if scores[top] > self._best_score:
            self._best, self._best_score = options[top], float(scores[top])
        return np.asarray(probabilities)

    def _evaluate(self, state: GraphState, cliques: list[list[Clique]]) -> float:
        self._used += 1
        value = self._likelihood(cliques, state.lengths, state.noise)
        return value + self._log_odds * len(state.edges)

    def _cliques_of(self, edges: Iterable[Edge]) -> list[list[Clique]]:
        edges = list(edges)
        return [
            maximal_cliques(own, [edge for edge in edges if edge[0] in own]) for own in self._own
        ]


class _Overlapping(_Gibbs):
    """Z_ij is drawn edge by edge."""

    def _moves(self) -> list[Move]:
        edges = [edge for own in self._own for edge in combinations(own, 2)]
        return [*(partial(self._draw_edge, edge) for edge in edges), *super()._moves()]

    def _draw_edge(self, edge: Edge, rng: np.random.Generator) -> None:
        there = edge in self._state.edges
        flipped = set(self._state.edges) ^ {edge}
        cliques = self._cliques_of(flipped)
        if not there and not self._allowed(edge, flipped, cliques):
            self._probabilities.setdefault(edge, []).append(0.0)
            return
        other = replace(self._state, edges=tuple(sorted(flipped)))
        options, both = [self._state, other], [self._cliques, cliques]
        if there:
            options, both = options[::-1], both[::-1]
        probabilities = self._draw(options, both, rng)
        self._probabilities.setdefault(edge, []).append(float(probabilities[1]))

    def _allowed(self, edge: Edge, edges: Iterable[Edge], cliques: list[list[Clique]]) -> bool:
        """Whether cliques and treewidth stay within their caps when an edge is added."""
        size, width = self._learning.max_clique, self._learning.max_treewidth
        if size is not None and max(len(clique) for own in cliques for clique in own) > size:
            return False
        if width is None or not connected(self._state.edges, *edge):  # joining parts widens nothing
            return True
        own = next(own for own in self._own if edge[0] in own)
        own_edges = [one for one in edges if one[0] in own]
        return treewidth(own, own_edges) <= width


class _Disjoint(_Gibbs):
    """Each variable is drawn into one of the groups, or into a new group (Wang et al., 2017)."""

    def __init__(
        self, space: Space, likelihood: GraphLikelihood, start: GraphState, learning: GraphLearning
    ) -> None:
        if learning.max_groups is not None:
            groups = [
                group
                for own in variables_of(space)
                for group in self._dealt(own, start.edges, learning.max_groups)
            ]
            start = replace(start, edges=tuple(edges_of(groups)))
        super().__init__(space, likelihood, start, learning)

    @staticmethod
    def _dealt(own: Clique, edges: Sequence[Edge], most: int) -> list[Clique]:
        """The groups to start from: as they are if they are few enough, else dealt like cards."""
        groups = components(own, [edge for edge in edges if edge[0] in own])
        return groups if len(groups) <= most else [own[i::most] for i in range(most)]

    def _moves(self) -> list[Move]:
        variables = [v for own in self._own for v in own]
        return [*(partial(self._draw_group, v) for v in variables), *super()._moves()]

    def _draw_group(self, v: int, rng: np.random.Generator) -> None:
        own = next(own for own in self._own if v in own)
        elsewhere = [edge for edge in self._state.edges if edge[0] not in own]
        groups = components(own, [edge for edge in self._state.edges if edge[0] in own])
        rest = [left for group in groups if (left := tuple(u for u in group if u != v))]
        largest = self._learning.max_clique
        joined = [
            [*rest[:i], tuple(sorted((*group, v))), *rest[i + 1 :]]
            for i, group in enumerate(rest)
            if largest is None or len(group) < largest
        ]
        most = self._learning.max_groups
        if most is None or len(rest) < most:
            joined.append([*rest, (v,)])
        options = [
            replace(self._state, edges=tuple(sorted([*elsewhere, *edges_of(partition)])))
            for partition in joined
        ]
        if self._state not in options:  # a start beyond the caps
            options.append(self._state)
        probabilities = self._draw(options, [self._cliques_of(o.edges) for o in options], rng)
        for u in own:
            if u != v:
                edge = (min(u, v), max(u, v))
                chance = sum(
                    p for p, o in zip(probabilities, options, strict=True) if edge in o.edges
                )
                self._probabilities.setdefault(edge, []).append(float(chance))
