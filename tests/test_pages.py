"""Pages whose results are kept are what their scripts write: `make pages` changes nothing."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXPERIMENTS = ROOT / "experiments"
# What experiments/models.py fits its models to; its page takes these fits.
NO_RESULTS = "evaluations"
NAMES = sorted({path.name.split(".")[0] for path in (EXPERIMENTS / "results").iterdir()})


@pytest.mark.parametrize("name", [name for name in NAMES if name != NO_RESULTS])
def test_the_page_is_what_its_script_writes(name, monkeypatch):
    monkeypatch.syspath_prepend(str(EXPERIMENTS))  # scripts import each other
    for needed in {"faults": ["distributed", "optuna"], "overhead": ["optuna"]}.get(name, []):
        pytest.importorskip(needed)
    script = runpy.run_path(str(EXPERIMENTS / f"{name.replace('-', '_')}.py"))
    page = ROOT / "docs" / "results" / f"{name}.md"
    assert script["kept_page"]() == page.read_text(encoding="utf-8")
