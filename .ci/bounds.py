"""Prints the lower bounds of bosquet's own dependencies as exact versions, for `pip install`."""

from __future__ import annotations

import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def oldest(project: Path = PROJECT) -> list[str]:
    """``numpy==1.26`` for ``numpy>=1.26``."""
    with project.open("rb") as file:
        dependencies = tomllib.load(file)["project"]["dependencies"]
    return [dependency.replace(">=", "==") for dependency in dependencies]


if __name__ == "__main__":
    print(" ".join(oldest()))
