"""Pages whose results are kept are what their scripts write: `make pages` changes nothing."""

import argparse
import importlib
import runpy
from pathlib import Path

import pytest

from bosquet.benchmarks.harness import Job, run
from bosquet.benchmarks.kept import keep, read_kept

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


def test_a_script_makes_the_runs_that_are_missing_and_no_others(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(EXPERIMENTS))
    module = importlib.import_module("kept_script")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "PAGES", tmp_path)
    script = module.KeptScript(
        "some",
        lambda runs: f"{len(runs)} runs",
        lambda options: [Job("random", "branin", seed, 3) for seed in range(options.seeds)],
    )
    keep([run(Job("random", "branin", 0, 5))], script.kept, "old")  # a longer one will do
    monkeypatch.setattr("sys.argv", ["some.py", "--commit", "new"])
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=2)
    script.main(parser)
    kept = read_kept(script.kept)
    assert [(r.job.seed, r.versions["commit"]) for r in kept] == [(0, "old"), (1, "new")]
    assert (tmp_path / "some.md").read_text() == "2 runs"
    longer = run(Job("random", "branin", 1, 7))
    assert [r.job.n_trials for r in module.longest([*kept, longer])] == [5, 7]
