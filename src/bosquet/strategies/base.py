"""What every strategy is given, and what is done for all of them: designs and duplicates.

A strategy is a pure function of its `Task` and of the generator it is handed; it keeps nothing
between calls. So a replayed or resumed run proposes the same points.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from bosquet.arrays import Array, Index
from bosquet.data import History, Key, Trial, as_number, jsonable, key_of
from bosquet.errors import NOTHING_LEFT, ConfigError
from bosquet.space import Choice, Config, Space
from bosquet.space.defaults import default_of_path, default_units
from bosquet.space.sobol import sobol
from bosquet.space.tree import Path
from bosquet.strategies.candidates import Candidates
from bosquet.strategies.fresh import fresh_configs

COUNTED_PATHS = 128  # up to here a design counts visits by path, beyond it by option
_HOPELESS = 40  # failures without a success; more change nothing


@dataclass(frozen=True)
class Task:
    """Everything a strategy knows."""

    space: Space
    """What is searched."""
    history: History
    """The trials that have ended."""
    pending: tuple[Trial, ...] = ()
    """Trials asked for and not yet told."""
    candidates: Candidates | None = None
    """The only configurations allowed, when given."""
    seed: int = 0
    """The seed of the whole run."""
    index: int = 0
    """The number of the first trial to be proposed."""

    @cached_property
    def seen(self) -> frozenset[Key]:
        """The configurations evaluated, failed or pending."""
        return frozenset(trial.key for trial in (*self.history.trials, *self.pending))

    @property
    def taken(self) -> frozenset[Key]:
        """The configurations not to be proposed again: none once results are known to be noisy."""
        return frozenset() if self.history.noisy else self.seen

    @cached_property
    def pending_rows(self) -> Array:
        """Unit vectors of the pending trials."""
        return self.space.to_unit([trial.config for trial in self.pending])

    @cached_property
    def visited(self) -> Array:
        """Unit vectors of all trials, ended or pending."""
        return np.vstack([self.history.units, self.pending_rows])

    @cached_property
    def failed_alone(self) -> Index:
        """By node: how many trials failed or are pending where none succeeded, else 0.

        All are 0 as long as nothing has succeeded anywhere.
        """
        states = np.array([trial.state for trial in (*self.history.trials, *self.pending)])
        active = self.space.tree.node_activity(self.visited)
        succeeded, failed = (active[states == state] for state in ("complete", "failed"))
        alone = failed.any(axis=0) & ~succeeded.any(axis=0) & bool(len(succeeded))
        return np.where(alone, active.sum(axis=0), 0)

    @cached_property
    def resting(self) -> frozenset[int]:
        """Nodes where f trials failed and none succeeded, until there are 2^f trials in all.

        A branch that never works is so tried again whenever the number of trials has doubled.
        """
        rests = as_visits(self.failed_alone) >= max(len(self.visited), 1)
        return frozenset(np.flatnonzero(rests).tolist())

    def left(self, taken: Collection[Key]) -> list[Config]:
        """The candidates that are not taken.

        Args:
            taken: keys of configurations (`Trial.key`).
        """
        if self.candidates is None:
            return []
        return [self.candidates.configs[i] for i in np.flatnonzero(self.candidates.free(taken))]


def as_visits(failures: Index) -> Index:
    """As how many visits failures count where nothing succeeded: each as one more than all before.

    Args:
        failures: their number.
    """
    return np.asarray(2 ** np.minimum(failures, _HOPELESS) - 1)


@dataclass(frozen=True)
class Proposal:
    """A configuration to try, what to tell people about it, and what to remember."""

    config: Config
    """The active parameters."""
    value: float | None = None
    """Of the acquisition function, where there is one."""
    why: str = ""
    """In one sentence."""
    memory: dict[str, Any] = field(default_factory=dict, repr=False)
    """What later asks of the strategy read: JSON-able, and not for people."""
    about: dict[str, Any] = field(default_factory=dict)
    """What else there is to tell, by name: JSON-able."""
    strategy: str | None = None
    """The name of the strategy whose choice it is."""

    def __post_init__(self) -> None:
        if self.value is not None:
            as_number(self.value, "the value of a Proposal")

    def info(self, space: Space) -> dict[str, Any]:
        """What people read in `Trial.info`.

        Args:
            space: that of the configuration.
        """
        info: dict[str, Any] = {"path": space.path_label(self.config), "why": self.why}
        if self.strategy is not None:
            info["strategy"] = self.strategy
        if self.value is not None:
            info["acquisition"] = self.value
        return dict(jsonable(info | self.about))


class Batch:
    """The proposals made so far in one ask, and what they mean for the next one.

    Args:
        task: as it was before the first proposal.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        """As it was before the first proposal."""
        self.proposals: list[Proposal] = []
        self.taken = set(task.taken)

    def add(self, proposal: Proposal) -> None:
        self.proposals.append(proposal)
        if not self.task.history.noisy:
            self.taken.add(key_of(proposal.config))

    def fill(self, proposals: Iterable[Proposal], n: int) -> list[Proposal]:
        """Adds up to ``n`` proposals, each before the next one is made."""
        for proposal in proposals:
            self.add(proposal)
            if len(self.proposals) == n:
                break
        return self.proposals

    @property
    def index(self) -> int:
        """The number of the next trial."""
        return self.task.index + len(self.proposals)

    @property
    def now(self) -> Task:
        """The task with the proposals made so far pending."""
        trials = [Trial(self.task.index + i, p.config) for i, p in enumerate(self.proposals)]
        return replace(self.task, pending=(*self.task.pending, *trials), index=self.index)


class Strategy(ABC):
    """Chooses what to evaluate next: a pure function of a `Task` and a random generator."""

    name: ClassVar[str]
    """What the strategy is called, in ``strategy=`` and in ``trial.info``."""
    versions: ClassVar[tuple[str, ...]] = ("paper",)
    """Constructors that can follow the name behind a dot, as in ``"add-tree.paper"``."""

    @abstractmethod
    def propose(self, task: Task, n: int, rng: np.random.Generator) -> list[Proposal]:
        """Configurations to try next, which satisfy the constraints.

        Args:
            task: all that is known; when it has candidates, proposals are among them.
            n: how many are wanted; there may be fewer when fewer are left.
            rng: where everything random comes from.

        Raises:
            SpaceExhausted: when no configuration is left.
        """

    def check_space(self, space: Space) -> None:  # noqa: B027 - most take any space
        """Raises SpaceError where the strategy cannot work, before anything is evaluated.

        Args:
            space: what is to be searched.
        """

    @classmethod
    def paper(cls) -> Self:
        """The strategy as published; its page lists where it still differs."""
        return cls()


class SequentialStrategy(Strategy):
    """A strategy that makes one proposal after the other, each with those before it pending."""

    @abstractmethod
    def proposals(self, batch: Batch, rng: np.random.Generator) -> Iterator[Proposal]:
        """As many proposals as are taken; the ones already made are in ``batch``.

        It ends where nothing more is found. When it ends without any, as while there are too few
        trials for a model, the space-filling design proposes.

        Args:
            batch: the task (``batch.task``; ``batch.now`` with the proposals made so far pending)
                and what is not to be proposed again (``batch.taken``).
            rng: where everything random comes from.
        """

    def propose(self, task: Task, n: int, rng: np.random.Generator) -> list[Proposal]:
        batch = Batch(task)
        return batch.fill(self.proposals(batch, rng), n) or self.first(task, n, rng)

    def first(self, task: Task, n: int, rng: np.random.Generator) -> list[Proposal]:
        """What is tried while there are too few trials for a model."""
        return design(task, n, rng)


def propose(strategy: Strategy, task: Task, n: int, rng: np.random.Generator) -> list[Proposal]:
    """Asks a strategy, and draws at random what it proposes twice or not at all.

    Whether anything is left is decided here, by the space and not by the strategy. Raises what
    `fresh_configs` does when nothing is.
    """
    batch = Batch(task)
    try:
        for proposal in _wanted(strategy, task, n, rng):
            if key_of(proposal.config) in batch.taken:
                config = fresh_configs(task, 1, rng, batch.taken)[0]
                why = {"replaced": "a configuration already taken, by a random one"}
                proposal = replace(proposal, config=config, about=proposal.about | why)
            batch.add(proposal)
        if len(batch.proposals) < n:
            why_random = f"random draw: strategy {strategy.name!r} proposed nothing else"
            for config in fresh_configs(task, n - len(batch.proposals), rng, batch.taken):
                batch.add(Proposal(config, why=why_random, strategy=strategy.name))
    except NOTHING_LEFT:
        if not batch.proposals:
            raise
    return batch.proposals


def _wanted(strategy: Strategy, task: Task, n: int, rng: np.random.Generator) -> list[Proposal]:
    """What a strategy proposes, checked; nothing where it gives up."""
    try:
        proposals = strategy.propose(task, n, rng)[:n]
    except NOTHING_LEFT:
        return []
    wanted = []
    for proposal in proposals:
        if not isinstance(proposal, Proposal):
            raise TypeError(
                f"strategy {strategy.name!r} proposed {proposal!r}; it must be a Proposal(config)"
            )
        try:
            config = task.space.validate(proposal.config)
        except ConfigError as error:
            raise ConfigError(f"strategy {strategy.name!r} proposed a bad one: {error}") from error
        if task.candidates is not None and config not in task.candidates:
            raise ConfigError(f"strategy {strategy.name!r} proposed {config}: not a candidate")
        by = proposal.strategy or strategy.name
        memory = jsonable(proposal.memory)
        wanted.append(replace(proposal, config=config, strategy=by, memory=memory))
    return wanted


# -- initial designs -------------------------------------------------------------------------


def design(
    task: Task, n: int, rng: np.random.Generator, *, defaults_first: bool = False
) -> list[Proposal]:
    """Space-filling proposals that visit every path equally often, least visited ones first.

    Coordinates follow the scrambled Sobol sequence of the run's seed, at the trial's number. Of the
    paths visited least, those whose options have been seen least come first. With very many paths,
    it is the options of each choice that are visited evenly. What has only failed counts as visited
    more often (`as_visits`).

    With ``defaults_first``, coordinates are the declared defaults, or the middle of a range, until
    every branch has been seen: a good branch is then not judged by an unlucky draw. Categories
    without a default take turns, since no option of theirs is in the middle.

    Args:
        task: all that is known.
        n: how many are wanted; there may be fewer when fewer are left.
        rng: breaks ties between paths, and draws where a point is taken or forbidden.
        defaults_first: whether to begin at the defaults of every branch.
    """
    points = sobol(len(task.space), task.seed, task.index, n)
    visits = _Visits(task)
    batch = Batch(task)
    for point in points:
        at_default = defaults_first and visits.has_unseen
        try:
            config, exact = _near(task, visits, None if at_default else point, rng, batch.taken)
        except NOTHING_LEFT:
            if batch.proposals:
                break
            raise
        visits.add(config)
        if not at_default:
            why = "space-filling design"
        elif task.candidates is not None:
            why = "near the defaults of a new branch"
        elif exact:
            why = "defaults of a new branch"
        else:
            why = "a new branch; its defaults were not possible"
        batch.add(Proposal(config, why=why))
    return batch.proposals


def _near(
    task: Task,
    visits: _Visits,
    point: Array | None,
    rng: np.random.Generator,
    taken: Collection[Key],
) -> tuple[Config, bool]:
    """A free configuration near a unit point (None: the defaults), on a path visited least.

    Beside it whether it is the one wanted, which candidates are not asked.
    """
    space, candidates = task.space, task.candidates
    units_of_point = default_units(space) if point is None else point
    free = np.zeros(0, dtype=int) if candidates is None else np.flatnonzero(candidates.free(taken))
    if candidates is not None and len(free):
        counts = visits.of([candidates.paths[i] for i in free])
        least = free[counts == counts.min()]
        distances = np.sum((candidates.units[least] - units_of_point) ** 2, axis=1)
        return dict(candidates.configs[int(least[np.argmin(distances)])]), False
    for options in visits.least(rng) if task.candidates is None else ():
        # The point first; where it is infeasible or taken, random ones of the same path.
        units = np.vstack([units_of_point, rng.random((20, len(space)))])
        for choice, option in options.items():
            units[:, choice] = space.tree.choice(choice).unit_of(option)
        configs = space.from_unit(units)
        if point is None:
            configs[0] = default_of_path(space, visits.least_categories() | options)
        for i, config in enumerate(configs):
            if key_of(config) not in taken and space.violation(config) is None:
                return dict(config), i == 0
    return fresh_configs(task, 1, rng, taken)[0], False


class _Visits:
    """How often each path, and each option of a choice, has been tried.

    Failures where nothing succeeded count as more (`as_visits`), shared among the paths there: what
    never works is soon left alone.
    """

    def __init__(self, task: Task) -> None:
        self._tree = task.space.tree
        self._space = task.space
        self._rows = task.visited
        self._alone = as_visits(task.failed_alone)
        visits = self._tree.node_activity(task.visited).sum(axis=0)
        self._by_node = np.maximum(self._alone, visits)
        self._by_path = Counter(self._tree.paths_of_rows(task.visited))

    @property
    def has_unseen(self) -> bool:
        """Whether there is a branch without a trial."""
        return bool((self._by_node == 0).any())

    def add(self, config: Config) -> None:
        path = self._space.path(config)
        self._by_path[path] += 1
        self._by_node[list(path)] += 1
        self._rows = np.vstack([self._rows, self._space.to_unit([config])])

    def least_categories(self) -> dict[int, int]:
        """The option seen least, by dimension, of categories without a default."""
        active = self._space.activity(self._rows)
        least = {}
        for d in self._space.dimensions:
            choice = d.parameter
            if isinstance(choice, Choice) and choice.is_category and choice.default is None:
                seen = choice.option_index(self._rows[active[:, d.index], d.index])
                counts = np.bincount(seen, minlength=choice.n_values)
                least[d.index] = int(np.argmin(counts))
        return least

    def of(self, paths: Sequence[Path]) -> Array:
        visits = np.array([float(self._by_path[path]) for path in paths])
        if self._alone.any() and self._tree.n_paths <= COUNTED_PATHS:
            through = Counter(node for path in self._tree.paths() for node in path)
            share = np.array([self._alone[i] / max(through[i], 1) for i in range(len(self._alone))])
            visits = np.maximum(visits, [share[list(path)].max() for path in paths])
        return visits

    def least(self, rng: np.random.Generator) -> list[dict[int, int]]:
        """Options of the branching choices, for paths in the order in which to try them."""
        if self._tree.n_paths > COUNTED_PATHS:
            return [self._least_options(rng) for _ in range(3)]
        paths = list(self._tree.paths())
        options = np.zeros(len(paths))
        if self._tree.n_paths > self._tree.cover:  # of paths side by side, the freshest options
            options = np.array([float(self._by_node[list(path)].sum()) for path in paths])
        own = np.array([self._by_path[path] for path in paths])
        order = np.lexsort((rng.random(len(paths)), options, own, self.of(paths)))
        return [self._tree.options_of(paths[i]) for i in order]

    def _least_options(self, rng: np.random.Generator) -> dict[int, int]:
        """From the root down, the option visited least for the number of paths below it."""
        options: dict[int, int] = {}
        for choice in sorted(self._tree.children):
            if self._tree.is_active(self._tree.dimensions[choice].node, options):
                paths = self._tree.paths_per_option[choice]
                visits = {
                    node.options[0]: int(self._by_node[node.index])
                    for node in self._tree.children[choice]
                    if len(node.options) == 1
                }
                ratios = [Fraction(visits[i], paths[i]) for i in range(len(paths))]
                least = [i for i, ratio in enumerate(ratios) if ratio == min(ratios)]
                options[choice] = int(rng.choice(least))
        return options
