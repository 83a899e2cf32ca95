"""Builds the sdist and the wheel, and tries both as a new user would: in a fresh environment.

    python .ci/package.py [--python PYTHON] [--keep DIRECTORY]

The wheel is built from the sdist, so a file that the sdist lacks is missed here. --python is the
interpreter of the fresh environment; --keep copies both files, once they have passed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "bosquet"

SEARCH = """
import sys
import bosquet as bq

space = bq.Space({"model": bq.Choice({"svm": {"C": bq.Float(0.1, 10)}, "forest": {}})})
result = bq.minimize(lambda c: c.get("C", 5.0), space, n_trials=12, seed=0, progress=False)
assert len(result.trials) == 12 and result.best_value < 1, result
assert not [name for name in ("optuna", "sklearn", "plotly") if name in sys.modules]
result.report("report.html")
print(bq.__version__, bq.__file__)
"""

STORED = """
import bosquet as bq

space = bq.Space({"x": bq.Float(0, 1)})
bq.minimize(lambda c: c["x"], space, n_trials=12, seed=0, storage="runs.db", progress=False)
"""


class Environment:
    """A fresh virtual environment, in which nothing of this checkout can be imported."""

    def __init__(self, python: str, folder: Path) -> None:
        self._folder = folder / "work"
        self._folder.mkdir()
        self._bin = folder / "env" / "bin"
        self._variables = {
            name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
        }
        _run([python, "-m", "venv", str(folder / "env")], self._folder, self._variables)

    def install(self, *what: str) -> None:
        pip = ["-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check"]
        self.call("python", *pip, *what)

    def call(self, program: str, *arguments: str) -> str:
        return _run([str(self._bin / program), *arguments], self._folder, self._variables)

    def fails(self, program: str, *arguments: str) -> str:
        """What a call that must fail writes to stderr."""
        command = [str(self._bin / program), *arguments]
        done = subprocess.run(
            command, cwd=self._folder, env=self._variables, capture_output=True, text=True
        )
        if done.returncode == 0:
            raise SystemExit(f"{program} {' '.join(arguments)} should have failed")
        return done.stderr

    def size(self, name: str) -> int:
        return (self._folder / name).stat().st_size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sdist, wheel = build(folder / "dist")
        check_contents(wheel)
        try_in(Environment(options.python, folder), wheel, sdist)
        if options.keep is not None:
            options.keep.mkdir(parents=True, exist_ok=True)
            for file in (sdist, wheel):
                shutil.copy(file, options.keep)
    print(f"{sdist.name} and {wheel.name} install and work")


def build(target: Path) -> tuple[Path, Path]:
    """The sdist, and the wheel built from it."""
    _run([sys.executable, "-m", "build", "--outdir", str(target), str(ROOT)], ROOT, os.environ)
    (sdist,), (wheel,) = target.glob("*.tar.gz"), target.glob("*.whl")
    return sdist, wheel


def check_contents(wheel: Path) -> None:
    """Every file of the package is in the wheel, also py.typed and what reports are made of."""
    files = {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        missing = sorted(files - set(archive.namelist()))
    if missing or "bosquet/py.typed" not in files:
        raise SystemExit(f"the wheel lacks {', '.join(missing or ['bosquet/py.typed'])}")


def try_in(env: Environment, wheel: Path, sdist: Path) -> None:
    env.install(f"{wheel}[plots]")
    version = wheel.name.split("-")[1]
    _same(env.call("bosquet", "--version").strip(), f"bosquet {version}")
    _same(env.call("python", "-c", SEARCH).split()[0], version)
    said = env.fails("python", "-c", STORED)
    # The hint of an error message is followed to the letter: it must be true of an installed wheel.
    hint = "bosquet[study]"
    if f"pip install '{hint}'" not in said:
        raise SystemExit(f"without Optuna, a stored study should say how to get it, not: {said}")
    env.install(hint)
    env.call("python", "-c", STORED)
    env.call("bosquet", "report", "runs.db", "-o", "stored.html")
    if env.size("stored.html") < 100_000:
        raise SystemExit("bosquet report wrote no report")
    env.install("--no-deps", "--force-reinstall", str(sdist))
    _same(env.call("python", "-c", SEARCH).split()[0], version)


def _same(found: str, expected: str) -> None:
    if found != expected:
        raise SystemExit(f"{found!r} should be {expected!r}")


def _run(command: list[str], folder: Path, variables: os._Environ[str] | dict[str, str]) -> str:
    """What the command prints; ends this script, with all that was said, if it fails."""
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
