"""The rooms of the package: imports point only upwards in this list; tests stay outside."""

import ast
import re
from pathlib import Path

import pytest

import bosquet

LAYERS = [
    "errors",
    "arrays",
    "text",
    "notebook",
    "space",
    "data",
    "linalg",
    "graphs",
    "kernels",
    "models",
    "acquisition",
    "search",
    "strategies",
    "threads",
    "explain",
    "optimizer",
    "study",
    "integrations",
    "benchmarks",
    "plots",
    "report",
    "demo",
    "testing",
    "cli",
    "__main__",
]
ROOT = Path(bosquet.__file__).parent
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def imported_rooms(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [str(node.module)]
            if node.module == "bosquet":
                names = [f"bosquet.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            first, *rest = name.split(".")
            if first == "bosquet" and rest and rest[0] != "__version__":
                yield rest[0]


DOWNWARDS = {(f, "report") for f in ("study/result.py", "study/study.py", "optimizer.py")}
"""`report(path)` is where users look for it: imports, made when called, of a lower room."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_upwards(path):
    own = path.relative_to(ROOT).with_suffix("").parts[0]
    assert own in LAYERS, f"{own} is not a room of the design"
    for other in imported_rooms(path):
        if (path.relative_to(ROOT).as_posix(), other) in DOWNWARDS:
            continue
        assert LAYERS.index(other) <= LAYERS.index(own), f"{own} imports {other}"


# -- tests use what is public ----------------------------------------------------------------

TESTS = sorted(Path(__file__).parent.rglob("*.py"))
OF_OTHERS = {"os._exit"}
"""Private in name only: the documented way to leave a process at once."""
PATCHED = re.compile(r"(bosquet(\.\w+)*\.)?_[A-Za-z]\w*")
"""A private name as `monkeypatch.setattr` takes it."""


def is_private(name):
    return name.startswith("_") and not name.endswith("_")  # _repr_html_ is a protocol


def private_names(path):
    """What a test takes from behind the API: attributes of other objects, imports, patches."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            found = [alias.name for alias in node.names if is_private(alias.name)]
        elif isinstance(node, ast.Attribute):
            own = ast.unparse(node.value) in ("self", "cls", "super()")
            found = [ast.unparse(node)] if is_private(node.attr) and not own else []
        elif isinstance(node, ast.Call):
            texts = [str(arg.value) for arg in node.args[:2] if isinstance(arg, ast.Constant)]
            found = [text for text in texts if PATCHED.fullmatch(text)]
        else:
            continue
        yield from (f"{path.name}:{node.lineno}: {name}" for name in found if name not in OF_OTHERS)


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.name)
def test_tests_use_what_is_public(path):
    assert list(private_names(path)) == []


@pytest.mark.parametrize(
    "code",
    [
        "from bosquet.data import _plain",
        "space._options(config)",
        "Strategy()._fit()",
        "store._owner = None",
        "monkeypatch.setattr(module, '_LIMIT', 3)",
        "monkeypatch.setattr('bosquet.study.lease._PATIENCE', 0)",
    ],
)
def test_what_is_private_is_seen(code, tmp_path):
    (tmp_path / "test_x.py").write_text(code)
    assert len(list(private_names(tmp_path / "test_x.py"))) == 1
