"""Where each source file is tested: in its mirror, or in a file that is named here.

The mirror of ``src/bosquet/a/b.py`` is ``tests/a/test_b.py``. A source file without one has a line
in `ELSEWHERE`: the test file, and a name of the source file that the tests use.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import bosquet

SOURCE = Path(bosquet.__file__).parent
TESTS = Path(__file__).parent

ELSEWHERE = {
    "data/views.py": ("test_notebook.py", "history"),
    "acquisition/base.py": ("acquisition/test_ei.py", "LogEI"),
    "acquisition/thompson.py": ("strategies/test_turbo.py", "draw"),
    "benchmarks/bench.py": ("test_cli.py", "run_all"),
    "benchmarks/classic.py": ("benchmarks/test_problems.py", "rosenbrock"),
    "benchmarks/hebo_server.py": ("benchmarks/test_hebo.py", "versions"),
    "benchmarks/peer.py": ("benchmarks/test_peers.py", "peer"),
    "benchmarks/problem.py": ("benchmarks/test_problems.py", "with_noise"),
    "benchmarks/real.py": ("benchmarks/test_problems.py", "sklearn_pipeline"),
    "benchmarks/simulated.py": ("benchmarks/test_harness.py", "simulate"),
    "benchmarks/summary.py": ("benchmarks/test_harness.py", "average_ranks"),
    "benchmarks/trees.py": ("benchmarks/test_problems.py", "large_balanced"),
    "cli/__init__.py": ("test_cli.py", "main"),
    "cli/arguments.py": ("test_tune.py", "complain"),
    "cli/asking.py": ("test_asking.py", "release"),
    "cli/looking.py": ("test_best.py", "best"),
    "cli/serving.py": ("report/test_dashboard.py", "dashboard"),
    "cli/trying.py": ("test_cli.py", "demo"),
    "cli/tune.py": ("test_tune.py", "tune"),
    "demo.py": ("test_cli.py", "demo"),
    "errors.py": ("strategies/test_fresh.py", "NothingFound"),
    "kernels/features.py": ("kernels/test_components.py", "features_of"),
    "kernels/layout.py": ("kernels/test_gram.py", "SMALL"),
    "kernels/sums.py": ("kernels/test_gram.py", "shape"),
    "models/base.py": ("models/test_gp.py", "with_pending"),
    "models/clique_sum.py": ("models/test_additive_graph.py", "CliqueSum"),
    "models/covariance.py": ("models/test_treed.py", "SpaceGP"),
    "models/graph_likelihood.py": ("models/test_graph_learning.py", "GraphLikelihood"),
    "models/posterior.py": ("models/test_gp.py", "ENTRIES"),
    "models/repeats.py": ("models/test_local_global.py", "merge"),
    "models/tree_linear/batch.py": ("models/test_tree_linear.py", "batches"),
    "models/tree_linear/gp.py": ("models/test_tree_linear.py", "moments_of_path"),
    "models/tree_linear/structure.py": ("models/test_tree_linear.py", "paths_through"),
    "report/export.py": ("test_terminal.py", "to_csv"),
    "search/clique_tables.py": ("search/test_junction_tree.py", "plan_levels"),
    "search/region.py": ("search/test_subregion.py", "Region"),
    "space/optuna.py": ("integrations/test_optuna.py", "to_parameter"),
    "strategies/__init__.py": ("strategies/test_conformance.py", "STRATEGIES"),
    "strategies/baselines.py": ("strategies/test_fitting.py", "ArcSetting"),
    "strategies/gp_strategy.py": ("strategies/test_add_tree.py", "initial_trials"),
    "study/evaluate.py": ("study/test_command.py", "NoValue"),
    "study/loop.py": ("study/test_minimize.py", "space exhausted"),
    "study/owner.py": ("study/test_lease.py", "Owner"),
    "study/reading.py": ("study/test_sampled.py", "read_study"),
    "study/result.py": ("study/test_minimize.py", "best_trial"),
    "study/rows.py": ("study/test_optuna_store.py", "died"),
    "study/runners.py": ("study/test_workers.py", "the executor takes no more work"),
    "study/storages.py": ("study/test_databases.py", "open_storage"),
    "study/tune.py": ("test_tune.py", "tune"),
    "study/views.py": ("integrations/test_optuna.py", "Inferred"),
    "study/worker.py": ("study/test_processes.py", "NO_OBJECTIVE"),
    "testing/conformance.py": ("test_testing.py", "check_replay"),
    "testing/shapes.py": ("test_testing.py", "check_shape"),
}


def defines_something(path):
    """Whether a file has code of its own: functions or classes, not just names and imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in tree.body)


def mirror(path):
    inside = path.relative_to(SOURCE)
    return TESTS / inside.parent / f"test_{inside.stem}.py"


FILES = [path for path in sorted(SOURCE.rglob("*.py")) if defines_something(path)]


@cache
def words(path):
    return path.read_text(encoding="utf-8")


def uses(path, name):
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", words(path)) is not None


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_every_source_file_is_tested_somewhere(path):
    inside = path.relative_to(SOURCE).as_posix()
    if mirror(path).exists():
        assert inside not in ELSEWHERE, f"{mirror(path)} exists: {inside} needs no line here"
        return
    assert inside in ELSEWHERE, f"{inside} needs {mirror(path)}, or a line in ELSEWHERE"
    test, name = ELSEWHERE[inside]
    assert uses(path, name), f"{inside} has nothing called {name}"
    assert uses(TESTS / test, name), f"tests/{test} does not use {name}"


def test_every_line_is_about_a_source_file():
    known = {path.relative_to(SOURCE).as_posix() for path in FILES}
    assert set(ELSEWHERE) <= known
