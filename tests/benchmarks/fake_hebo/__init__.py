"""A HEBO that draws at random: Python loads it before a program starts (`sitecustomize`)."""

import sys
from pathlib import Path

import pytest

from bosquet.benchmarks import hebo


def use_fake_hebo(monkeypatch: pytest.MonkeyPatch, told: Path | None = None) -> None:
    """Has the peer start it; what it is told goes into a file, a line each."""
    monkeypatch.setenv(hebo.VARIABLE, sys.executable)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))  # no bosquet there
    if told is not None:
        monkeypatch.setenv("FAKE_HEBO_TOLD", str(told))
