"""Every error that users can meet is met by a test that reads its text."""

import ast
import re
from pathlib import Path

import pytest

import bosquet

ROOT = Path(bosquet.__file__).parent
TESTS = Path(__file__).parent
PUBLIC = [
    *("data", "errors", "explain", "optimizer", "space", "strategies", "study"),
    *("integrations", "plots", "cli"),
]
SHARED = 12  # characters that a message and a text in the tests must have in common
INTERNAL = {"AssertionError", "NotImplementedError"}


def public_files():
    for name in PUBLIC:
        place = ROOT / name
        yield from sorted(place.rglob("*.py")) if place.is_dir() else [ROOT / f"{name}.py"]


def literals(node):
    """The literal parts of a message, however it is put together."""
    return [
        part.value
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]


def raises(path):
    """(line, literal parts) of every error raised with a text."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            name = getattr(node.exc.func, "id", getattr(node.exc.func, "attr", ""))
            parts = [part for argument in node.exc.args for part in literals(argument)]
            if name not in INTERNAL and any(len(part) >= SHARED for part in parts):
                yield node.lineno, parts


@pytest.fixture(scope="module")
def read_texts():
    """All texts in the tests, regular expressions as what they match."""
    texts = []
    for path in TESTS.rglob("test_*.py"):
        if path != Path(__file__):
            texts += literals(ast.parse(path.read_text(encoding="utf-8")))
    return "\n".join(re.sub(r"\\(.)", r"\1", text) for text in texts)


@pytest.mark.parametrize("path", list(public_files()), ids=lambda p: str(p.relative_to(ROOT)))
def test_every_message_is_read(path, read_texts):
    unread = [
        f"{path.name}:{line}: {' ... '.join(parts)}"
        for line, parts in raises(path)
        if not any(
            part[start : start + SHARED] in read_texts
            for part in parts
            for start in range(len(part) - SHARED + 1)
        )
    ]
    assert not unread, "no test reads these messages:\n" + "\n".join(unread)
