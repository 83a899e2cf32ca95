"""Space: a conditional search space, its configurations and their unit vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from bosquet import notebook
from bosquet.arrays import Array
from bosquet.errors import ConfigError, SpaceError
from bosquet.space import configs, draw, encoding, sampling, serial
from bosquet.space.configs import Config
from bosquet.space.constraints import Constraint, Forbid, as_constraints, checked
from bosquet.space.defaults import default_config
from bosquet.space.names import ByName, unknown
from bosquet.space.parameter import Parameter, named_parameters
from bosquet.space.sampling import By, Method
from bosquet.space.skeleton import Walk, walk
from bosquet.space.tree import Dimension, Node, Parameters, Tree
from bosquet.text import counted_text, did_you_mean

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

Rng = np.random.Generator | int | None

_WALKED = 100_000  # values tried to list what constraints leave of the discrete part


class Space(ByName):
    """A search space in which some choices decide which other parameters exist.

    A configuration is a plain dict of the *active* parameters. The space itself can be used as a
    dict of its parameters: ``space["lr"]``, ``"lr" in space``, ``for name in space``.

    Args:
        parameters: from names to `Float`, `Int` or `Choice`; the options of a `Choice` may hold
            sub-spaces of the same form.
        constraints: each a `Forbid`, a `Constraint` or a plain function of a configuration that
            returns whether it is allowed.

    Raises:
        SpaceError: for a declaration that makes no sense; the message says what would be right.
    """

    def __init__(
        self, parameters: Mapping[str, Parameter], constraints: Iterable[Any] = ()
    ) -> None:
        self.parameters: Parameters = named_parameters(parameters, "a space")
        if not self.parameters:
            raise SpaceError("a space needs at least one parameter")
        try:
            self.tree = Tree(self.parameters)
        except RecursionError:
            raise SpaceError("the choices of this space are nested too deeply") from None
        self.constraints = tuple(
            checked(constraint, self.tree) for constraint in as_constraints(constraints)
        )
        if self.constraints and self.has_defaults:
            self.default_config()  # to refuse those that no configuration can have

    # -- shape -------------------------------------------------------------------------------

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """The parameters at their places in the tree: one unit coordinate each."""
        return self.tree.dimensions

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The sets of parameters with the same activity; the root first."""
        return self.tree.nodes

    @property
    def n_paths(self) -> int:
        """How many complete assignments of the branching choices there are."""
        return self.tree.n_paths

    @property
    def size(self) -> float:
        """How many distinct configurations there are, constraints aside (inf if continuous)."""
        return self.tree.size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Space):
            return NotImplemented
        return self.parameters == other.parameters and self.constraints == other.constraints

    def __hash__(self) -> int:
        return hash(self.parameters)

    def __str__(self) -> str:
        return self.drawn()

    def drawn(self, note: draw.Note = draw.no_note) -> str:
        """The tree as text, as `print` shows it.

        Args:
            note: what to write behind an option of a choice.
        """
        return draw.tree_text(self.parameters, self.constraints, self.n_paths, note)

    def __repr__(self) -> str:
        parameters = counted_text(len(self), "parameter")
        return f"<Space of {parameters}, {counted_text(self.n_paths, 'path')}>"

    def _repr_html_(self) -> str:
        return notebook.preformatted(str(self))

    # -- configurations ----------------------------------------------------------------------

    def validate(self, config: Mapping[str, Any]) -> Config:
        """The configuration in canonical form: declared order, native Python values.

        Args:
            config: a dict of the active parameters, by their short names.

        Raises:
            ConfigError: when a parameter is unknown, missing, inactive or out of its range, or when
                a constraint is violated.
        """
        valid = configs.complete(self.tree, config)
        violated = self.violation(valid)
        if violated is not None:
            raise ConfigError(f"{valid!r} violates the constraint {violated}")
        return valid

    def violation(self, config: Mapping[str, Any]) -> Forbid | Constraint | None:
        """The first constraint that a configuration violates, or None.

        Args:
            config: one that is valid but for the constraints.
        """
        return next((c for c in self.constraints if not c.allows(config)), None)

    def is_active(self, name: str, config: Mapping[str, Any]) -> bool:
        """Whether a parameter exists in a configuration.

        Args:
            name: its short or its qualified name.
            config: may be partial: only the choices that decide are looked at.
        """
        dimensions = self.tree.by_name.get(name) or self._named(name)
        if not dimensions:
            raise ConfigError(unknown(self.tree, name))
        options = configs.options_of(self.tree, config)
        return any(self.tree.is_active(d.node, options) for d in dimensions)

    def path(self, config: Mapping[str, Any]) -> tuple[int, ...]:
        """The path of a configuration: the indices of its active nodes.

        Args:
            config: may be partial: only the branching choices are looked at.
        """
        return self.tree.path_of(configs.options_of(self.tree, config))

    def path_label(self, config: Mapping[str, Any]) -> str:
        """The path of a configuration in words: ``model=svm, kernel=rbf``.

        Args:
            config: may be partial: only the branching choices are looked at.
        """
        return self.tree.path_label(self.path(config))

    def key(self, config: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
        """A hashable identity: equal for configurations that mean the same.

        Args:
            config: is validated.
        """
        return tuple(self.validate(config).items())

    def qualify(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """A configuration under qualified names, for stores that know no conditions.

        Args:
            config: under short names; constraints are not looked at.
        """
        valid = configs.complete(self.tree, config)
        options = configs.options_of(self.tree, valid)
        return {
            d.qualified_name: valid[d.name]
            for d in self.dimensions
            if self.tree.is_active(d.node, options)
        }

    def unqualify(self, config: Mapping[str, Any]) -> Config:
        """The inverse of `qualify`, validated.

        Args:
            config: under qualified names, such as ``model=svm/C``.
        """
        configs.check_dict(config)
        known = self.tree.by_qualified_name
        for name in config:
            if name not in known:
                raise ConfigError(f"unknown qualified name {name!r}{did_you_mean(name, known)}")
        valid = self.validate({known[name].name: value for name, value in config.items()})
        active = self.qualify(valid)
        for name in config:
            if name not in active:
                raise ConfigError(f"{name!r} is not active in {valid!r}")
        return valid

    def configure(self, value_of: Callable[[Dimension], Any]) -> Config:
        """The configuration of the values that the active parameters, asked top-down, take.

        Constraints are not looked at.

        Args:
            value_of: the value of a parameter at its place in the tree; one that it does not have
                raises ValueError or TypeError.
        """
        return configs.assemble(self.tree, lambda d: d.parameter.check(value_of(d)))

    @cached_property
    def has_defaults(self) -> bool:
        """Whether any parameter declares a default."""
        return any(d.parameter.default is not None for d in self.dimensions)

    def default_config(self) -> Config:
        """The declared defaults; elsewhere the first option, or the middle of what is ordered.

        Where that violates a constraint, the parameters without a declared default are drawn
        (from a fixed seed) until it does not.
        """
        return dict(self._defaults)

    @cached_property
    def _defaults(self) -> Config:
        return default_config(self, sampling.MOST_REJECTED)

    def configs(self) -> Iterator[Config]:
        """Every allowed configuration of a finite space."""
        if self.size == math.inf:  # isinf cannot take an integer beyond the floats
            raise SpaceError("a space with a continuous parameter cannot be enumerated")
        for values in self.tree.assignments(range(len(self))):
            config = {self.dimensions[index].name: value for index, value in values.items()}
            if self.violation(config) is None:
                yield config

    @cached_property
    def skeletons(self) -> Walk:
        """What the constraints leave of the discrete part, as far as it can be listed."""
        return walk(self, _WALKED)

    # -- unit vectors ------------------------------------------------------------------------

    @overload
    def to_unit(self, config: Mapping[str, Any]) -> Array: ...
    @overload
    def to_unit(self, config: Sequence[Mapping[str, Any]]) -> Array: ...
    def to_unit(self, config: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Array:
        """The unit vector of a configuration, or the (n, dimensions) matrix of a list of them.

        Coordinates of inactive parameters hold a fixed filler. Constraints are not looked at.

        Args:
            config: a configuration, or a list of them.
        """
        if isinstance(config, Sequence):
            return encoding.encode(self.tree, config)
        return np.asarray(encoding.encode(self.tree, [config])[0])

    @overload
    def from_unit(self, units: NDArray[np.float64]) -> Any: ...
    @overload
    def from_unit(self, units: Sequence[float]) -> Config: ...
    def from_unit(self, units: Any) -> Any:
        """The configuration of a unit vector, or the list of those of a matrix's rows.

        Args:
            units: numbers in [0, 1], one for each parameter of the space.
        """
        rows = encoding.checked_units(units, len(self))
        decoded = encoding.decode(self.tree, np.clip(np.atleast_2d(rows), 0.0, 1.0))
        return decoded if rows.ndim == 2 else decoded[0]

    def activity(self, units: Array) -> NDArray[np.bool_]:
        """Which coordinates of each row are active: (n, dimensions).

        Args:
            units: rows of `to_unit`.
        """
        return encoding.activity(self.tree, units)

    def snap(self, units: Array) -> Array:
        """Unit rows as encoding their configurations would give them.

        Args:
            units: rows with any numbers in [0, 1].
        """
        return encoding.snap(self.tree, units)

    # -- sampling ----------------------------------------------------------------------------

    @overload
    def sample(
        self, rng: Rng = ..., n: None = ..., *, by: By = ..., method: Method = ...
    ) -> Config: ...
    @overload
    def sample(self, rng: Rng, n: int, *, by: By = ..., method: Method = ...) -> list[Config]: ...
    def sample(
        self,
        rng: Rng = None,
        n: int | None = None,
        *,
        by: By = "option",
        method: Method = "random",
    ) -> Config | list[Config]:
        """Random configurations that satisfy the constraints.

        Args:
            rng: a seed or a generator of NumPy; None is different every time.
            n: how many to put into a list; None returns one configuration.
            by: ``"option"`` makes every option of a choice equally likely, ``"path"`` every path.
            method: ``"random"``, or ``"sobol"`` to spread the configurations by a scrambled Sobol
                sequence.

        Raises:
            SpaceError: when 10,000 samples in a row are forbidden.
        """
        units = sampling.unit_stream(self.tree, np.random.default_rng(rng), by, method)
        if n is None:
            return self._feasible(units, 1)[0]
        if n < 0:
            raise ValueError(f"n={n!r} must not be negative")
        return self._feasible(units, n)

    def _feasible(self, units: sampling.UnitStream, n: int) -> list[Config]:
        def violations(rows: Array) -> Iterator[tuple[Config, Forbid | Constraint | None]]:
            return ((c, self.violation(c)) for c in encoding.decode(self.tree, rows))

        return sampling.feasible(units, violations, n)

    # -- other forms -------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able description. Functions are not stored, only that they were there."""
        return serial.space_to_dict(self.parameters, self.constraints)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], constraints: Iterable[Any] = ()) -> Space:
        """The space that `to_dict` described.

        Args:
            data: the description, as JSON gives it back.
            constraints: the functions among its constraints, in the same order.
        """
        return cls(*serial.space_from_dict(data, as_constraints(constraints)))

    @classmethod
    def from_configspace(cls, configspace: ConfigurationSpace) -> Space:
        """The same space from ConfigSpace (needs the ``configspace`` extra).

        Args:
            configspace: one whose conditions form a tree; what has no counterpart is refused.
        """
        from bosquet.space.configspace import from_configspace

        return from_configspace(configspace)

    def to_configspace(self) -> ConfigurationSpace:
        """The same space for ConfigSpace (needs the ``configspace`` extra)."""
        from bosquet.space.configspace import to_configspace

        return to_configspace(self)


def as_space(space: Space | Mapping[str, Parameter]) -> Space:
    """A space as it is, or made of the dict that `Space` takes."""
    if isinstance(space, Mapping) and not isinstance(space, Space):
        return Space(space)
    if not isinstance(space, Space):
        raise TypeError(
            "space must be a bosquet.Space or a dict of parameters, not "
            f"{type(space).__name__} {space!r}"
        )
    return space
