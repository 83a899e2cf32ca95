"""Prints the lower bounds of what the core tests need as exact versions, for `pip install`."""

from __future__ import annotations

import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
EXTRAS = ("forest", "dataframe", "configspace")


def oldest(project: Path = PROJECT) -> list[str]:
    """``numpy==1.26`` for ``numpy>=1.26``."""
    with project.open("rb") as file:
        declared = tomllib.load(file)["project"]
    extras = declared["optional-dependencies"]
    needed = [*declared["dependencies"], *(one for extra in EXTRAS for one in extras[extra])]
    return [dependency.replace(">=", "==") for dependency in needed]


if __name__ == "__main__":
    print(" ".join(oldest()))
