"""Translation to and from ConfigSpace.

ConfigSpace hangs a condition on each hyperparameter, bosquet nests them. Between the two stands the
*box* of a hyperparameter: for each choice that matters, the positions of the options under which
it is active, ``{"model": {0}, "kernel": {1}}``. A hyperparameter fits a tree when its activity is
one box, and this box is that of some choice, its *owner*, plus options of the owner.

A condition is met only where its parent is active, and a clause forbids only where its
hyperparameters are. (ConfigSpace 1.2.2 agrees on values; on vectors, its `NotEqualsCondition` is
also met where the parent is inactive.)
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, product
from operator import eq, ge, gt, le, lt
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from bosquet.errors import SpaceError
from bosquet.space.constraints import Constraint, Forbid
from bosquet.space.parameter import Choice, Float, Int, Parameter
from bosquet.space.space import Space
from bosquet.space.tree import Dimension, option_label

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

Box: TypeAlias = Mapping[Any, frozenset[int]]
Place: TypeAlias = tuple[str | None, tuple[int, ...]]  # an owner (None: the root) and its options
Term: TypeAlias = tuple[str, str, Any]  # (name, "IN", values), (name, "LESS", number or name)

_MAX_GRID = 1000  # values of a step that becomes an ordinal
_DECIMALS = 13  # to which ConfigSpace rounds floats
_META = "bosquet"  # where a ConfigurationSpace keeps the declaration it was made of
_HOLDS = {"LESS": lt, "LESSEQUAL": le, "EQUALS": eq, "GREATEREQUAL": ge, "GREATER": gt}


def _configspace() -> ModuleType:
    try:
        import ConfigSpace
    except ImportError as error:
        message = "ConfigSpace is not installed: pip install 'bosquet[configspace]'"
        raise ImportError(message) from error
    return ConfigSpace  # type: ignore[no-any-return]


def _meet(boxes: Iterable[Box]) -> Box | None:
    """The intersection of boxes; None when it is empty."""
    met: dict[Any, frozenset[int]] = {}
    for box in boxes:
        for choice, options in box.items():
            met[choice] = met.get(choice, options) & options
    return met if all(met.values()) else None


# -- to ConfigSpace --------------------------------------------------------------------------


def to_configspace(space: Space) -> ConfigurationSpace:
    """The same space, under qualified names; a step becomes an ordinal."""
    CS = _configspace()
    defaults = {d.qualified_name: d.parameter.default for d in space.dimensions}
    defaults = {name: default for name, default in defaults.items() if default is not None}
    # ConfigSpace insists on a default configuration, which no clause may forbid.
    defaults |= space.qualify(space.default_config())
    cs = CS.ConfigurationSpace(meta={_META: space.to_dict()})
    try:
        hps = [_hyperparameter(dimension, defaults) for dimension in space.dimensions]
        parts = list(hps)
        for d in space.dimensions:
            # On the nearest choice only: that has a value only where it is active itself.
            for link in space.tree.conditions(d.node)[-1:]:
                options = [space.tree.choice(link.choice).options[i] for i in link.options]
                child, parent = hps[d.index], hps[link.choice]
                parts.append(_match(CS.EqualsCondition, CS.InCondition, options, child, parent))
        for constraint in space.constraints:
            parts += _clauses(space, constraint, hps)
        cs.add(parts)
    except SpaceError:
        raise
    except ValueError as error:
        raise SpaceError(f"ConfigSpace does not accept this space: {error}") from error
    return cs


def _match(equals: Any, within: Any, values: Sequence[Any], *hps: Any) -> Any:
    return equals(*hps, values[0]) if len(values) == 1 else within(*hps, values)


def _hyperparameter(dimension: Dimension, defaults: Mapping[str, Any]) -> Any:
    CS = _configspace()
    name, parameter = dimension.qualified_name, dimension.parameter
    default = {"default_value": defaults[name]} if name in defaults else {}
    if isinstance(parameter, Choice) or parameter.step is not None:
        ordered = not isinstance(parameter, Choice) or parameter.ordered
        if not isinstance(parameter, Choice) and parameter.n_values > _MAX_GRID:
            raise SpaceError(
                f"{name!r}: ConfigSpace has no steps, and the {parameter.n_values} values of this "
                f"one are too many for an ordinal; {_MAX_GRID} may be"
            )
        values = list(parameter.values())
        if len(values) == 1 and not ordered:
            return CS.Constant(name, values[0])
        kind = CS.OrdinalHyperparameter if ordered else CS.CategoricalHyperparameter
        hp = kind(name, values, **default)
        # Its NumPy array may change types (1 and 0.5 become floats), but must keep the values.
        if hp.to_value(np.arange(float(len(values)))).tolist() != values:
            raise SpaceError(f"{name!r}: ConfigSpace cannot hold the options {values!r}")
        return hp
    if isinstance(parameter, Int):
        kind = CS.UniformIntegerHyperparameter
    else:
        kind = CS.UniformFloatHyperparameter
        bounds = np.array([parameter.low, parameter.high])
        with np.errstate(all="ignore"):
            rounded = np.round(bounds, _DECIMALS)
        if not np.allclose(rounded, bounds, rtol=1e-6, atol=0.0):
            raise SpaceError(
                f"{name!r}: ConfigSpace rounds to {_DECIMALS} decimals, which would turn "
                f"the bounds {bounds.tolist()} into {rounded.tolist()}"
            )
    return kind(name, parameter.low, parameter.high, log=parameter.log, **default)


def _clauses(space: Space, constraint: Forbid | Constraint, hps: Sequence[Any]) -> Iterator[Any]:
    """A clause for all that the short names can mean: dimensions that are active together."""
    CS = _configspace()
    if not isinstance(constraint, Forbid):
        raise SpaceError(f"ConfigSpace cannot express the function of the constraint {constraint}")
    for dimensions in product(*(space.tree.by_name[name] for name in constraint.on)):
        parts: list[Any] = []
        boxes: list[Box] = []
        for d, (_, values) in zip(dimensions, constraint.values, strict=True):
            fitting = list(_fitting(d.parameter, values))
            if fitting:
                equals, within = CS.ForbiddenEqualsClause, CS.ForbiddenInClause
                parts.append(_match(equals, within, fitting, hps[d.index]))
            boxes += [{n.choice: frozenset(n.options)} for n in space.tree.conditions(d.node)]
            if isinstance(d.parameter, Choice):
                boxes.append({d.index: frozenset(map(d.parameter.index, fitting))})
        if len(parts) == len(dimensions) and _meet(boxes) is not None:
            yield CS.ForbiddenAndConjunction(*parts) if len(parts) > 1 else parts[0]


def _fitting(parameter: Parameter, values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        with suppress(TypeError, ValueError, OverflowError):
            # Values are compared by ==: an option True of another branch also means the number 1.
            number = isinstance(value, bool) and not isinstance(parameter, Choice)
            yield parameter.check(int(value) if number else value)


# -- from ConfigSpace ------------------------------------------------------------------------


def from_configspace(cs: ConfigurationSpace) -> Space:
    """The tree that a ConfigurationSpace describes; SpaceError when it describes none.

    Names that are qualified for their place (``model=svm/C``) become short, others are kept.
    """
    if not isinstance(cs, _configspace().ConfigurationSpace):
        raise SpaceError(f"{cs!r} is not a ConfigurationSpace")
    # A declaration knows its order, its steps and which defaults were given; ConfigSpace does not.
    if isinstance(cs.meta, Mapping) and _META in cs.meta:
        with suppress(ValueError):
            space = Space.from_dict(cs.meta[_META])
            if to_configspace(space).to_serialized_dict() == cs.to_serialized_dict():
                return space
    reader = _Reader(cs)
    with suppress(ValueError):  # the short names clash, or are none
        space = reader.space(reader.short_names())
        if {dimension.qualified_name for dimension in space.dimensions} == set(cs):
            return space
    return reader.space({name: name for name in cs})


def _parameter(hp: Any) -> Parameter:
    """A hyperparameter without what hangs below it."""
    CS = _configspace()
    try:
        if isinstance(hp, CS.UniformFloatHyperparameter):
            return Float(hp.lower, hp.upper, log=hp.log, default=hp.default_value)
        if isinstance(hp, CS.UniformIntegerHyperparameter):
            return Int(hp.lower, hp.upper, log=hp.log, default=hp.default_value)
        if isinstance(hp, CS.OrdinalHyperparameter):
            return Choice(list(hp.sequence), ordered=True, default=hp.default_value)
        if isinstance(hp, CS.Constant):
            return Choice([hp.value], default=hp.value)
        if isinstance(hp, CS.CategoricalHyperparameter) and len(set(hp.probabilities)) == 1:
            return Choice(list(hp.choices), default=hp.default_value)
    except SpaceError as error:
        raise SpaceError(f"hyperparameter {hp.name!r}: {error}") from None
    weights = " with weights" if isinstance(hp, CS.CategoricalHyperparameter) else ""
    raise SpaceError(f"hyperparameter {hp.name!r}: bosquet has no {type(hp).__name__}{weights}")


def _alternatives(formula: Any) -> list[tuple[Any, ...]]:
    """A formula of conditions, or of forbidden clauses, as an Or of Ands of its leaves."""
    CS = _configspace()
    if not hasattr(formula, "components"):
        return [(formula,)]
    parts = [_alternatives(component) for component in formula.components]
    if isinstance(formula, (CS.OrConjunction, CS.ForbiddenOrConjunction)):
        return list(chain(*parts))
    return [tuple(chain(*leaves)) for leaves in product(*parts)]


def _names(terms: Iterable[Term]) -> tuple[str, ...]:
    sides = (side for left, _, right in terms for side in (left, right))
    return tuple(dict.fromkeys(side for side in sides if isinstance(side, str)))


@dataclass(frozen=True)
class _NotAll:
    """The function of a constraint: not all terms hold. Unlike a closure it can be pickled."""

    terms: tuple[Term, ...]

    def __call__(self, config: Mapping[str, Any]) -> bool:
        for left, relation, right in self.terms:
            value, other = config[left], config[right] if isinstance(right, str) else right
            if not (value in other if relation == "IN" else _HOLDS[relation](value, other)):
                return True
        return False

    @property
    def __name__(self) -> str:
        return f"not ({' and '.join(' '.join(map(str, term)) for term in self.terms)})"


class _Reader:
    """The box of every hyperparameter, and its place in the tree."""

    def __init__(self, cs: ConfigurationSpace) -> None:
        self.forbidden = [leaves for f in cs.forbidden_clauses for leaves in _alternatives(f)]
        self.parameters = {name: _parameter(hp) for name, hp in cs.items()}
        self.boxes: dict[str, Box] = {}
        self.places: dict[str, Place] = {}
        for name in cs:  # ConfigSpace sorts by depth, and allows one condition each
            condition = next(iter(cs.parent_conditions_of[name]), None)
            box = {} if condition is None else self._box(name, condition)
            self.boxes[name], self.places[name] = box, self._place(name, box)

    def _all(self, choice: str) -> frozenset[int]:
        return frozenset(range(int(self.parameters[choice].n_values)))

    def _options(self, choice: str, positions: Iterable[int]) -> tuple[Any, ...]:
        values = tuple(self.parameters[choice].values())
        return tuple(values[i] for i in sorted(positions))

    # -- activity ----------------------------------------------------------------------------

    def _box(self, name: str, condition: Any) -> Box:
        met = [_meet(map(self._leaf, leaves)) for leaves in _alternatives(condition)]
        boxes = [box for box in met if box is not None]
        if not boxes:
            raise SpaceError(f"hyperparameter {name!r} can never be active: {condition}")
        common = [choice for choice in boxes[0] if all(choice in box for box in boxes)]
        hull = {choice: frozenset().union(*(box[choice] for box in boxes)) for choice in common}
        hull = {choice: some for choice, some in hull.items() if some != self._all(choice)}
        uncovered: list[Box] = [hull]
        for box in boxes:
            uncovered = [piece for part in uncovered for piece in self._outside(part, box)]
        if uncovered:
            raise SpaceError(
                f"hyperparameter {name!r}: the condition {condition} is no conjunction of choices "
                "with options, as in a tree"
            )
        return hull

    def _leaf(self, condition: Any) -> Box:
        parent = condition.parent.name
        choice = self.parameters[parent]
        if not isinstance(choice, Choice):
            raise SpaceError(
                f"hyperparameter {condition.child.name!r} depends on the number {parent!r}; "
                "in bosquet only choices decide what else is active"
            )
        fits = (condition.satisfied_by_value({parent: option}) for option in choice.options)
        return {**self.boxes[parent], parent: frozenset(i for i, fit in enumerate(fits) if fit)}

    def _outside(self, part: Box, box: Box) -> Iterator[Box]:
        """What of one box lies outside another, in disjoint boxes."""
        for choice, options in box.items():
            mine = part.get(choice, self._all(choice))
            if mine - options:
                yield {**part, choice: mine - options}
            part = {**part, choice: mine & options}

    def _place(self, name: str, box: Box) -> Place:
        # What all options of a choice share is as active as the choice: only its name can tell.
        choices = [c for c in self.places if isinstance(self.parameters[c], Choice)]
        twins = [(c, tuple(sorted(self._all(c)))) for c in choices if self.boxes[c] == box]
        shared = [place for place in twins if name.startswith(self._prefix(place))]
        if shared:
            return max(shared)
        for owner, options in box.items():
            if self.boxes[owner] == {c: some for c, some in box.items() if c != owner}:
                return owner, tuple(sorted(options))
        if box:
            raise SpaceError(
                f"hyperparameter {name!r} depends on {' and '.join(map(repr, box))}, which do not "
                "follow each other down one path of a tree"
            )
        return None, ()

    # -- the space ---------------------------------------------------------------------------

    def _prefix(self, place: Place) -> str:
        """How qualified names at a place begin."""
        owner, positions = place
        if owner is None:
            return ""
        return f"{owner}={'|'.join(map(option_label, self._options(owner, positions)))}/"

    def short_names(self) -> dict[str, str]:
        """The short names, if all names are qualified ones."""
        labels = {name: name.removeprefix(self._prefix(at)) for name, at in self.places.items()}
        return {
            name: str(json.loads(label)) if label.startswith('"') else label
            for name, label in labels.items()
        }

    def space(self, names: Mapping[str, str]) -> Space:
        roots = [name for name, (owner, _) in self.places.items() if owner is None]
        parameters = {names[root]: self._nested(root, names) for root in roots}
        return Space(parameters, self._constraints(names))

    def _nested(self, name: str, names: Mapping[str, str]) -> Parameter:
        """A parameter with what hangs below it."""
        parameter = self.parameters[name]
        if not isinstance(parameter, Choice):
            return parameter
        subspaces: dict[Any, dict[str, Parameter]] = {option: {} for option in parameter.options}
        for child, (owner, positions) in self.places.items():
            if owner == name:
                below = subspaces.setdefault(self._options(owner, positions), {})
                below[names[child]] = self._nested(child, names)
        return Choice(subspaces, ordered=parameter.ordered, default=parameter.default)

    def _constraints(self, names: Mapping[str, str]) -> Iterator[Forbid | Constraint]:
        count = Counter(names.values())
        for leaves in self.forbidden:
            terms = [self._term(leaf) for leaf in leaves]
            for name in _names(terms):
                if count[names[name]] > 1:  # in other branches it means others: say in which
                    box = self.boxes[name]
                    terms += [(choice, "IN", self._options(choice, box[choice])) for choice in box]
            values: dict[str, tuple[Any, ...]] = {}
            relations: list[Term] = []
            for left, relation, right in terms:
                short = names[left]
                if relation == "IN":
                    values[short] = tuple(v for v in values.setdefault(short, right) if v in right)
                else:
                    relations.append((short, relation, names.get(right, right)))
            if not relations and all(values.values()):
                yield Forbid(values)
            elif all(values.values()):
                within = [(name, "IN", some) for name, some in values.items()]
                yield Constraint(_NotAll((*within, *relations)), on=_names(within + relations))

    def _term(self, clause: Any) -> Term:
        data = clause.to_dict()
        if data["type"] == "RELATION":
            return data["left"], data["lambda"], data["right"]
        name = data["name"]
        parameter = self.parameters[name]
        if isinstance(parameter, Choice):
            forbidden = (o for o in parameter.options if clause.is_forbidden_value({name: o}))
            return name, "IN", tuple(forbidden)
        if data["type"] == "EQUALS":
            return name, "IN", (data["value"],)
        return name, data["type"], data["values"] if data["type"] == "IN" else data["value"]
