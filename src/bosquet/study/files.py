"""What is named by a file: objectives and strategies (``train.py:objective``), spaces."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from bosquet.errors import SpaceError
from bosquet.space import Space, as_space
from bosquet.strategies import Strategy
from bosquet.study.evaluate import failure_text
from bosquet.study.fingerprint import Fingerprint, function_fingerprint
from bosquet.text import did_you_mean, listed


class FileObjective:
    """A function in a Python file; sent to another process as its name, and loaded there."""

    def __init__(self, place: str) -> None:
        self.place = place
        self._function = load(place, "objective")
        if not callable(self._function):
            raise ValueError(f"{place} must be a function, not {self._function!r}")

    def __reduce__(self) -> tuple[type[FileObjective], tuple[str]]:
        return FileObjective, (absolute(self.place, "objective"),)

    @property
    def fingerprint(self) -> Fingerprint:
        return function_fingerprint(self._function)

    def __call__(self, config: dict[str, Any]) -> Any:
        return self._function(config)


def load_space(place: str) -> Space:
    """The space of a JSON file (`Space.to_dict`), or of a name in a Python file (or its dict)."""
    if place.endswith(".json"):
        try:
            text = Path(place).read_text(encoding="utf-8")
            return Space.from_dict(json.loads(text, object_pairs_hook=_distinct))
        except FileNotFoundError:
            raise ValueError(f"{place}: there is no such file") from None
        except SpaceError as error:
            raise ValueError(f"{place}: {error}") from None
        except ValueError as error:
            raise ValueError(f"{place} is not JSON: {error}") from None
    found = load(place, "space")
    try:
        return as_space(found)
    except (TypeError, SpaceError) as error:
        raise ValueError(f"{place}: {error}") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, of which Python would silently take the last of equal keys."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise SpaceError(f"the key {key!r} appears twice in one object; names must differ")
        found[key] = value
    return found


def load_strategy(place: str, what: str = "strategy") -> Strategy:
    """The strategy of a name in a Python file: an instance, a class, or a function returning one.

    ``what`` is the parameter that has the place, for messages.
    """
    found = load(place, what)
    if not isinstance(found, Strategy) and callable(found):
        found = called(found, place)
    if not isinstance(found, Strategy):
        raise ValueError(
            f"{place} must be a bosquet.strategies.Strategy: an instance, a class or a function "
            f"that returns one, not {type(found).__name__} {found!r}"
        )
    return found


def called(function: Callable[..., Any], place: str, **arguments: Any) -> Any:
    """What a function of a file returns; ValueError with the reason where it raises."""
    try:
        return function(**arguments)
    except Exception as error:
        given = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        raise ValueError(f"{place}({given}) fails: {failure_text(error)}") from error


def is_place(name: str) -> bool:
    """Whether a name means something in a Python file, rather than something registered."""
    return name.endswith(".py") or ".py:" in name


def absolute(place: str, what: str) -> str:
    """The same place for a process with another working directory."""
    path, name = _split(place, what)
    return f"{path}:{name}"


def load(place: str, what: str) -> Any:
    """The object of a name in a Python file; ``what`` it is to be, for messages."""
    path, name = _split(place, what)
    module = module_of(path)
    if not hasattr(module, name):
        public = [key for key, value in vars(module).items() if _is_own(key, value, module)]
        raise ValueError(
            f"{place}: the file has no {name!r}, only {listed(public) or 'nothing'}"
            f"{did_you_mean(name, public)}"
        )
    return getattr(module, name)


def _is_own(name: str, value: Any, module: ModuleType) -> bool:
    """Whether somebody may have meant this name of a file: not what it imports."""
    if name.startswith("_") or isinstance(value, ModuleType):
        return False
    is_defined = isinstance(value, type | FunctionType)
    return not is_defined or value.__module__ == module.__name__


def _split(place: str, what: str) -> tuple[Path, str]:
    file, _, name = place.rpartition(":")
    if not file.endswith(".py") or not name:
        also = " or FILE.json" if what == "space" else ""
        raise ValueError(f"{what}={place!r} must be FILE.py:NAME{also}")
    path = Path(file).resolve()
    if not path.is_file():
        raise ValueError(f"{place}: there is no file {file}")
    return path, name


@cache
def module_of(path: Path) -> ModuleType:
    """The module of a file, which may import its neighbours."""
    name = path.stem
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__file__", None) == str(path):
        return known
    if known is not None:  # the file is called like something else that is loaded already
        name = f"bosquet_file_{name}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    folder = str(path.parent)
    sys.path.insert(0, folder)  # as for a script
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        text = str(error) if isinstance(error, SyntaxError) else failure_text(error)
        raise ValueError(f"{path.name} cannot be loaded: {text}") from error
    finally:
        # Later it comes last, as a worker that starts must not take a json.py there for Python's.
        sys.path.remove(folder)
        if folder not in sys.path:
            sys.path.append(folder)
    return module
