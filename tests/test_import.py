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


def test_a_proposal_loads_no_distributions():
    """scipy.stats takes longer to load than all else that a proposal needs."""
    code = (
        "import sys\nimport bosquet as bq\n"
        "opt = bq.Optimizer({'x': bq.Float(0, 1)}, seed=0)\n"
        "for i in range(6): opt.tell(opt.ask(), float(i))\n"
        "print('scipy.stats' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_every_public_name_exists():
    import bosquet

    for name in bosquet.__all__:
        assert getattr(bosquet, name) is not None
