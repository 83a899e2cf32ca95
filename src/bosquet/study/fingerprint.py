"""What an objective is, briefly: so that a study notices when it is resumed with another one.

The fingerprint of a program is its command template; that of a Python function its name and a hash
of its source, from which comments, docstrings and layout are left out. What a function calls is not
followed: an edited helper goes unnoticed.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import shlex
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol, cast

Fingerprint = dict[str, Any]

# Two threads in ast.parse of Python 3.11 and 3.12 can make it raise SystemError (CPython issue
# 106905), and `inspect` parses too.
_PARSING = threading.Lock()


class Fingerprinted(Protocol):
    """An objective that knows its fingerprint itself, such as a `Command`."""

    @property
    def fingerprint(self) -> Fingerprint: ...


def fingerprint_of(objective: Callable[..., Any] | Fingerprinted) -> Fingerprint:
    own = getattr(objective, "fingerprint", None)
    return own if isinstance(own, dict) else function_fingerprint(cast(Any, objective))


def function_fingerprint(function: Callable[..., Any]) -> Fingerprint:
    """``{"kind": "function", "name": ..., "hash": ...}``; the hash is None without a source."""
    while isinstance(function, functools.partial):
        function = function.func
    defined: Any = inspect.unwrap(function)
    if not inspect.isroutine(defined):  # an object that can be called
        defined = type(defined)
    name = getattr(defined, "__qualname__", type(defined).__qualname__)
    return {"kind": "function", "name": name, "hash": _source_hash(defined)}


def _source_hash(defined: Any) -> str | None:
    try:
        with _PARSING:
            lines, first = inspect.findsource(defined)
            tree = ast.parse("".join(lines))
    except (OSError, TypeError, SyntaxError):  # typed at a prompt, built in, generated
        return None
    nodes = [node for node in ast.walk(tree) if _begins(node) == first + 1]
    for node in nodes:
        _drop_docstrings(node)
    source = "\n".join(ast.unparse(node) for node in nodes)
    return hashlib.sha256(source.encode()).hexdigest()[:16] if nodes else None


def _begins(node: ast.AST) -> int | None:
    """The line where the source of a definition begins, its decorators included."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return node.lineno if isinstance(node, ast.Lambda) else None


def _drop_docstrings(tree: ast.AST) -> None:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for node in (node for node in ast.walk(tree) if isinstance(node, kinds)):
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]


def changes(stored: Fingerprint, given: Fingerprint) -> Iterator[str]:
    """What differs between two fingerprints, in words."""
    if stored.get("kind") != given.get("kind"):
        yield f"the objective was {_in_words(stored)} and is {_in_words(given)} now"
    elif given["kind"] == "command":
        for part, what in (("template", "the command"), ("read", "where its value is read")):
            before, now = stored.get(part), given[part]
            if before != now and not (part == "template" and _words(before) == _words(now)):
                yield f"{what} was {before!r} and is {now!r} now"
    elif stored.get("name") != given["name"]:
        yield f"the objective was {_in_words(stored)} and is {_in_words(given)} now"
    elif None not in (stored.get("hash"), given["hash"]) and stored["hash"] != given["hash"]:
        yield f"the source of {_in_words(given)} has been edited"


def _words(text: str | None) -> list[str] | str | None:
    """A command as a shell splits it: how many blanks are between its words means nothing."""
    try:
        return text if text is None else shlex.split(text)
    except ValueError:
        return text


def _in_words(fingerprint: Fingerprint) -> str:
    if fingerprint.get("kind") == "command":
        return f"the command {fingerprint.get('template')!r}"
    return f"the function {fingerprint.get('name')}"
