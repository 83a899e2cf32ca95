"""Objectives and spaces that are named by files: ``train.py:objective``, ``space.json``."""

from __future__ import annotations

import importlib.util
import json
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from bosquet.errors import SpaceError
from bosquet.space import Space
from bosquet.study.evaluate import failure_text
from bosquet.study.fingerprint import Fingerprint, function_fingerprint


class FileObjective:
    """A function in a Python file; sent to another process as its name, and loaded there."""

    def __init__(self, place: str) -> None:
        self.place = place
        self._function = _load(place, "objective")
        if not callable(self._function):
            raise ValueError(f"{place} must be a function, not {self._function!r}")

    def __reduce__(self) -> tuple[type[FileObjective], tuple[str]]:
        path, name = _split(self.place, "objective")
        return FileObjective, (f"{path}:{name}",)

    @property
    def fingerprint(self) -> Fingerprint:
        return function_fingerprint(self._function)

    def __call__(self, config: dict[str, Any]) -> Any:
        return self._function(config)


def load_space(place: str) -> Space:
    """The space of a JSON file (`Space.to_dict`), or of a name in a Python file."""
    if place.endswith(".json"):
        try:
            return Space.from_dict(json.loads(Path(place).read_text(encoding="utf-8")))
        except SpaceError as error:
            raise ValueError(f"{place}: {error}") from None
        except ValueError as error:
            raise ValueError(f"{place} is not JSON: {error}") from None
    found = _load(place, "space")
    if not isinstance(found, Space):
        raise ValueError(f"{place} must be a bosquet.Space, not {type(found).__name__} {found!r}")
    return found


def _load(place: str, what: str) -> Any:
    path, name = _split(place, what)
    module = _module(path)
    if not hasattr(module, name):
        public = ", ".join(key for key in vars(module) if not key.startswith("_"))
        raise ValueError(f"{place}: the file has no {name!r}, only {public or 'nothing'}")
    return getattr(module, name)


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
def _module(path: Path) -> ModuleType:
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
