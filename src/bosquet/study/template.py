"""Command templates: how a configuration becomes the words of a command.

====================  ========================================================================
``{alpha}``           the value of a parameter that is active everywhere
``{?beta:-b {beta}}`` what stands after the colon, where ``beta`` is active; nothing elsewhere
``{?fast=true:-f}``   the same, where ``fast`` is active and has this value: flags
``{trial}``           the number of the trial
``{{`` and ``}}``     braces; inside a ``{?...}`` only in pairs
====================  ========================================================================

A template is split into words as a shell would, *before* values are put in, and no shell ever sees
the result: whatever a value holds, it stays part of the word it was put into.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bosquet.space import Choice, Space
from bosquet.space.tree import Dimension
from bosquet.text import did_you_mean, listed

TRIAL = "trial"
_BREAK = "\0"  # between two words
_EMPTY = "\1"  # a word that is empty on purpose
_TOKEN = re.compile(r"\{\{|\}\}|\{\?([^{}:\0]+):|\{([^{}?\0][^{}\0]*)\}|[{}\0\1]|[^{}\0\1]+")


@dataclass(frozen=True)
class _Value:
    name: str


@dataclass(frozen=True)
class _Where:
    """Parts that are there only where a parameter is active, and has a value if one is given."""

    name: str
    parts: tuple[_Part, ...]
    value: str | None = None

    def holds(self, texts: Mapping[str, str]) -> bool:
        return self.name in texts and self.value in (None, texts[self.name])


_Part = str | _Value | _Where  # a plain text that is _BREAK begins another word


class Template:
    """A command with places for the parameters of a space, checked against it."""

    def __init__(self, text: str, space: Space) -> None:
        self.text = text
        self._parts = _with_values(_parse(text), space)
        _check(self._parts, space)

    @property
    def program(self) -> str | None:
        """The first word, if it is the same for all trials."""
        first = self._parts[: [*self._parts, _BREAK].index(_BREAK)]
        texts = [part for part in first if isinstance(part, str)]
        return "".join(texts) if len(texts) == len(first) else None

    def words(self, config: Mapping[str, Any], trial: int) -> list[str]:
        """The command of a trial. Strings go in as they are, other values as in JSON."""
        texts = {name: as_word(value) for name, value in config.items()}
        words: list[str | None] = [None]
        _fill(self._parts, texts | {TRIAL: str(trial)}, words)
        return [word for word in words if word is not None]


def as_word(value: Any) -> str:
    """A value as the program receives it."""
    return value if isinstance(value, str) else json.dumps(value)


def _fill(parts: Sequence[_Part], texts: Mapping[str, str], words: list[str | None]) -> None:
    """Goes on writing at the last word; a word that nothing was written to stays None."""
    for part in parts:
        if isinstance(part, _Where):
            if part.holds(texts):
                _fill(part.parts, texts, words)
        elif part == _BREAK:
            words.append(None)
        else:
            written = texts[part.name] if isinstance(part, _Value) else part
            words[-1] = (words[-1] or "") + written


# -- parsing ---------------------------------------------------------------------------------


def _parse(template: str) -> tuple[_Part, ...]:
    if _BREAK in template or _EMPTY in template:
        raise ValueError(f"command={template!r} must not contain control characters")
    try:
        words = shlex.split(template)
    except ValueError as error:
        raise ValueError(f"command={template!r} cannot be split into words: {error}") from None
    if not words:
        raise ValueError("command: it is empty; give a program and its arguments")
    text = _BREAK.join(word or _EMPTY for word in words)
    parts, _ = _parts(text, 0, inside=None)
    return parts


def _parts(text: str, at: int, inside: str | None) -> tuple[tuple[_Part, ...], int]:
    """The parts from a position on, to the end of the text or of the ``{?inside:``."""
    parts: list[_Part] = []
    open_braces = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None
        token, where, name = match[0], match[1], match[2]
        if token == "}}" and inside is not None and not open_braces:
            token = "}"  # the end of this part, and of the one around it
        at += len(token)
        if where is not None:
            below, at = _parts(text, at, where)
            parts.append(_Where(where, below))
        elif name is not None:
            parts.append(_Value(name))
        elif token in ("{{", "}}"):
            open_braces += 1 if token == "{{" else -1
            parts.append(token[0])
        elif token == "}" and inside is not None:
            return tuple(parts), at
        elif token in ("{", "}"):
            shown = text[max(0, at - 10) : at + 20].replace(_BREAK, " ").replace(_EMPTY, "")
            raise ValueError(
                f"command: the {token!r} in {shown!r} is neither {{name}} nor {{?name:...}}; "
                f"a brace itself is written twice"
            )
        else:
            parts.append("" if token == _EMPTY else token)
    if inside is not None:
        raise ValueError(f"command: the part {{?{inside}:... is not closed by a '}}'")
    return tuple(parts), at


# -- checking --------------------------------------------------------------------------------


def _with_values(parts: Sequence[_Part], space: Space) -> tuple[_Part, ...]:
    """``{?fast=true:`` names a parameter and a value, unless a parameter is called so."""
    return tuple(_where_of(part, space) if isinstance(part, _Where) else part for part in parts)


def _where_of(part: _Where, space: Space) -> _Where:
    inside = _with_values(part.parts, space)
    name, equals, value = part.name.partition("=")
    if not equals or part.name in space.tree.by_name or name not in space.tree.by_name:
        return _Where(part.name, inside)
    parameters = [dimension.parameter for dimension in space.tree.by_name[name]]
    known = [as_word(o) for p in parameters if isinstance(p, Choice) for o in p.options]
    if not known:
        raise ValueError(
            f"command: {{?{part.name}:...}} asks for a value of {name!r}, which is no choice; "
            f"{{?{name}:...}} asks whether it is active"
        )
    if value not in known:
        raise ValueError(
            f"command: {name!r} is never {value!r}; {{?{name}=...:...}} takes one of "
            f"{listed(dict.fromkeys(known))}{did_you_mean(value, known)}"
        )
    return _Where(name, inside, value)


def _check(parts: tuple[_Part, ...], space: Space) -> None:
    if TRIAL in space.tree.by_name:
        raise ValueError(
            f"command: a parameter cannot be called {TRIAL!r}, as {{{TRIAL}}} is the number of the "
            "trial; give the parameter another name"
        )
    used = {TRIAL}
    for part, around in _named(parts, ()):
        if part.name == TRIAL and isinstance(part, _Value):
            continue
        if isinstance(part, _Value) or part.value is not None:
            used.add(part.name)
        if part.name not in space.tree.by_name:
            known = listed(space.tree.by_name)
            raise ValueError(
                f"command: {{{part.name}}} is not a parameter; the space has {known} (and "
                f"{{{TRIAL}}} is the number of the trial)"
                f"{did_you_mean(part.name, space.tree.by_name)}"
            )
        if isinstance(part, _Value) and not _always_active(space, part.name, around):
            raise ValueError(
                f"command: {{{part.name}}} may be inactive: it exists only where "
                f"{_when(space, part.name)}. Write it as {{?{part.name}:...{{{part.name}}}...}}"
            )
    deciding = {space.dimensions[choice].name for choice in space.tree.children}
    unused = [name for name in space.tree.by_name if name not in used | deciding]
    if unused:
        names = ", ".join(f"{{{name}}}" for name in unused)
        choice = any(isinstance(d.parameter, Choice) for d in space.tree.by_name[unused[0]])
        flag = f"; a flag is written {{?{unused[0]}=VALUE:--flag}}" if choice else ""
        raise ValueError(f"command: there is no {names} in it, so these could change nothing{flag}")


def _named(
    parts: Sequence[_Part], around: tuple[_Where, ...]
) -> Iterator[tuple[_Value | _Where, tuple[_Where, ...]]]:
    """All parts that name a parameter, each with the ``{?...}`` it stands in."""
    for part in parts:
        if not isinstance(part, str):
            yield part, around
        if isinstance(part, _Where):
            yield from _named(part.parts, (*around, part))


def _always_active(space: Space, name: str, around: tuple[_Where, ...]) -> bool:
    """Whether a parameter is active wherever all of ``around`` hold."""
    tree = space.tree
    names = (name, *(where.name for where in around))
    dimensions = [dimension for n in names for dimension in tree.by_name[n]]
    choices = {link.choice for d in dimensions for link in tree.conditions(d.node)}
    choices |= {d.index for d in dimensions if d.index in tree.children}

    def active(parameter: str, options: Mapping[int, int]) -> list[Dimension]:
        return [d for d in tree.by_name[parameter] if tree.is_active(d.node, options)]

    def holds(where: _Where, values: Mapping[int, Any], options: Mapping[int, int]) -> bool:
        found = active(where.name, options)
        # A choice that decides nothing may have any value here.
        return any(
            where.value is None or where.value == as_word(values.get(d.index, where.value))
            for d in found
        )

    for values in tree.assignments(sorted(choices)):
        options = {index: tree.choice(index).index(value) for index, value in values.items()}
        if all(holds(where, values, options) for where in around) and not active(name, options):
            return False
    return True


def _when(space: Space, name: str) -> str:
    tree = space.tree
    return " or ".join(
        " and ".join(tree.condition_text(link) for link in tree.conditions(dimension.node))
        for dimension in tree.by_name[name]
    )
