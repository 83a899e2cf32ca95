"""Importing bosquet loads nothing heavy."""

import subprocess
import sys

HEAVY = ["sklearn", "optuna", "pandas", "matplotlib", "plotly", "torch", "ConfigSpace", "networkx"]
HEAVY += ["scipy.linalg", "scipy.optimize", "scipy.special", "scipy.stats", "rich", "hyperopt"]
HEAVY += ["smac", "starlette", "uvicorn"]


def test_import_is_light():
    code = f"import bosquet, sys; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_exists():
    import bosquet

    for name in bosquet.__all__:
        assert getattr(bosquet, name) is not None
