"""`bosquet dashboard` as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def dashboard(storage: str | Path) -> Iterator[str]:
    """The address of the dashboard of a storage, while the block runs."""
    command = [sys.executable, "-m", "bosquet", "dashboard", os.fspath(storage), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert line.startswith("bosquet: http://127.0.0.1:"), line + process.stderr.read()
            yield line.split()[1]
        finally:
            process.terminate()
