"""Every public name is in the reference, and says what each of its parameters means."""

import ast
import importlib
import inspect
import re
import textwrap
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import bosquet
from bosquet import benchmarks, plots, strategies, study, testing
from bosquet.explain import Model

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "reference"
DIRECTIVE = re.compile(r"^\.\. auto(?:class|function|exception|data):: (\S+)$", re.MULTILINE)
MODULES = (bosquet, benchmarks, plots, strategies, study, testing)
# Integrations need their tools: those that `make test` has are looked at in full.
INTEGRATIONS = {
    "optuna": ["BosquetSampler", "suggest_config"],
    "sklearn": ["BosquetSearchCV"],
    "ray_tune": ["BosquetSearch"],
    "botorch": ["BosquetModel"],
}


def public():
    """Each public thing once, under the shortest name that leads to it."""
    found: dict[int, tuple[str, Any]] = {}
    for module in MODULES:
        for name in module.__all__:
            thing = getattr(module, name)
            if not inspect.ismodule(thing):
                found.setdefault(id(thing), (f"{module.__name__}.{name}", thing))
    found[id(Model)] = ("bosquet.explain.Model", Model)
    for name in ("optuna", "sklearn"):
        module = importlib.import_module(f"bosquet.integrations.{name}")
        for each in INTEGRATIONS[name]:
            thing = getattr(module, each)
            found[id(thing)] = (f"{module.__name__}.{each}", thing)
    return list(found.values())


PUBLIC = public()


def described_fields(cls):
    """The fields of a dataclass that have a text below them, as the reference shows it."""
    found = set()
    for each in cls.__mro__[:-1]:
        if not each.__module__.startswith("bosquet"):
            continue
        (declared,) = ast.parse(textwrap.dedent(inspect.getsource(each))).body
        assert isinstance(declared, ast.ClassDef)
        body = declared.body
        for field, text in pairwise(body):
            is_text = isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and is_text:
                found.add(field.target.id)
    return found


def undocumented(thing, docs):
    """Parameters that no text mentions: under Args, or in double backticks."""
    try:
        parameters = inspect.signature(thing).parameters
    except ValueError:  # an exception
        return []
    names = [name for name in parameters if name not in ("self", "cls", "_")]
    said = "\n".join(docs)
    return [
        name
        for name in names
        if not re.search(rf"^ +\*{{0,2}}{name}:", said, re.MULTILINE)
        and f"``{name}``" not in said
        and f"``{name}=" not in said
    ]


@pytest.mark.parametrize(("name", "thing"), PUBLIC, ids=[name for name, _ in PUBLIC])
def test_every_parameter_is_described(name, thing):
    if not callable(thing):
        return
    docs = [inspect.getdoc(thing) or ""]
    assert docs[0], f"{name} has no docstring"
    if inspect.isclass(thing):
        docs += [each.__doc__ or "" for each in thing.__mro__[1:-1]]
        described = described_fields(thing)
        docs += [f"``{field}``" for field in described]
    assert undocumented(thing, docs) == []


def methods():
    for name, thing in PUBLIC:
        if inspect.isclass(thing) and thing.__module__.startswith("bosquet"):
            for each, method in vars(thing).items():
                if not each.startswith("_") and inspect.isfunction(method):
                    yield pytest.param(thing, each, id=f"{name}.{each}")


# What strategies override is described where it is declared; parameters of a space and of
# scikit-learn's, Optuna's and Ray's classes have the methods that their base has.
SHOWN = (
    "Space",
    "Optimizer",
    "Study",
    "Result",
    "Trial",
    "History",
    "Model",
    "Problem",
    "Strategy",
)


@pytest.mark.parametrize(("cls", "method"), list(methods()))
def test_every_method_that_the_reference_shows_is_described(cls, method):
    if cls.__name__ in SHOWN:
        text = inspect.getdoc(vars(cls)[method]) or ""
        assert text
        assert undocumented(vars(cls)[method], [text]) == []


def test_the_reference_has_every_public_name():
    pages = "".join(page.read_text(encoding="utf-8") for page in REFERENCE.glob("*.md"))
    shown = set(DIRECTIVE.findall(pages))
    assert len(shown) > 60
    wanted = {name for name, _ in PUBLIC}
    wanted |= {
        f"bosquet.integrations.{module}.{name}"
        for module, names in INTEGRATIONS.items()
        for name in names
    }
    assert wanted - shown == set()
