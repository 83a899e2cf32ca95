"""The rooms of the package: imports point only upwards in this list."""

import ast
from pathlib import Path

import pytest

import bosquet

LAYERS = [
    "errors",
    "text",
    "space",
    "data",
    "linalg",
    "graphs",
    "kernels",
    "models",
    "acquisition",
    "search",
    "strategies",
    "optimizer",
    "study",
    "integrations",
    "benchmarks",
    "report",
    "demo",
    "testing",
    "cli",
]
ROOT = Path(bosquet.__file__).parent
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def imported_rooms(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [node.module]
            if node.module == "bosquet":
                names = [f"bosquet.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            first, *rest = name.split(".")
            if first == "bosquet" and rest and rest[0] != "__version__":
                yield rest[0]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_upwards(path):
    own = path.relative_to(ROOT).with_suffix("").parts[0]
    assert own in LAYERS, f"{own} is not a room of the design"
    for other in imported_rooms(path):
        assert LAYERS.index(other) <= LAYERS.index(own), f"{own} imports {other}"
