"""Needs Ray: `make test-ray`."""

import math
import signal
import subprocess
import sys
import warnings
from typing import Any

import pytest

import bosquet as bq
from tests.support import present
from tests.test_docs import ROOT
from tests.test_tutorial import is_like, run_commands, write_files

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    ray = pytest.importorskip("ray", reason="run make test-ray")
    from ray import tune
    from ray.tune.search import ConcurrencyLimiter, Searcher

from bosquet.integrations.ray_tune import BosquetSearch

pytestmark = pytest.mark.filterwarnings("default")

SPACE = bq.Space(
    {
        "lr": bq.Float(1e-4, 1e-1, log=True),
        "model": bq.Choice(
            {"svm": {"C": bq.Float(0, 1)}, "forest": {"depth": bq.Int(1, 20)}},
        ),
    }
)
DOMAINS = {
    "rate": tune.loguniform(1e-4, 1e-1),
    "net": {"layers": tune.randint(1, 5), "act": tune.choice(["relu", "tanh"]), "bias": True},
    "model": tune.choice(
        [{"kind": "svm", "C": tune.uniform(0, 1)}, {"kind": "forest", "depth": tune.randint(1, 9)}]
    ),
    "shape": tune.choice([(1, 2), (3, 4)]),
    "epochs": 3,
}


def search(space=SPACE, mode="min", strategy="sobol", **settings):
    return BosquetSearch(space, "loss", mode, strategy=strategy, seed=0, **settings)


# -- the interface ---------------------------------------------------------------------------


def test_suggestions_and_results():
    alg = search()
    configs = {name: alg.suggest(name) for name in "abcdef"}
    assert all(SPACE.validate(config) == config for config in configs.values())
    assert len(present(alg.optimizer).pending) == 6
    alg.on_trial_complete("a", {"loss": 0.5})
    alg.on_trial_complete("b", error=True)
    alg.on_trial_complete("c", {"loss": math.nan})
    alg.on_trial_complete("d", {"accuracy": 1.0})
    alg.on_trial_result("e", {"loss": 0.25, "training_iteration": 1})
    alg.on_trial_complete("e")
    alg.on_trial_result("f", {"loss": math.nan})
    alg.on_trial_complete("f", {"loss": None})
    alg.on_trial_complete("a", {"loss": 9.0})  # once more, and unknown: nothing happens
    alg.on_trial_complete("z", {"loss": 9.0})
    trials = present(alg.optimizer).history.trials
    assert [t.config for t in trials] == list(configs.values())
    assert [t.value for t in trials] == [0.5, None, None, None, 0.25, None]
    assert [t.reason for t in trials][1:4] == [
        "the trial ended with an error",
        "loss is nan",
        "no loss was reported",
    ]
    assert not present(alg.optimizer).pending


def test_the_direction_is_that_of_the_mode():
    alg = search(mode="max")
    for name, value in (("a", 1.0), ("b", 2.0)):
        alg.suggest(name)
        alg.on_trial_complete(name, {"loss": value})
    assert alg.optimizer.best.value == 2.0


def test_domains_become_a_space():
    alg = search(DOMAINS)
    space = alg.optimizer.space
    assert {d.qualified_name for d in space.dimensions} == {
        "rate",
        '"net/layers"',
        '"net/act"',
        "model",
        'model=0/"model/C"',
        'model=1/"model/depth"',
        "shape",
    }
    by_name = {d.name: d.parameter for d in space.dimensions}
    assert by_name["rate"] == bq.Float(1e-4, 1e-1, log=True)
    assert by_name["net/layers"] == bq.Int(1, 4)
    for name in map(str, range(12)):
        params = alg.suggest(name)
        assert set(params) == {"rate", "net", "model", "shape"}  # Ray adds the constants
        assert set(params["net"]) == {"layers", "act"}
        kind = params["model"]["kind"]
        assert set(params["model"]) == {"kind", "C" if kind == "svm" else "depth"}
        assert params["shape"] in [(1, 2), (3, 4)]


@pytest.mark.parametrize(
    ("domain", "parameter"),
    [
        (tune.uniform(0, 1), bq.Float(0, 1)),
        (tune.quniform(0, 1, 0.25), bq.Float(0, 1, step=0.25)),
        (tune.lograndint(1, 100), bq.Int(1, 99, log=True)),
        (tune.qrandint(3, 11, 2), bq.Int(4, 10, step=2)),
        (tune.qrandint(1, 10, 1), bq.Int(1, 9)),
        (tune.choice([1, 2]), bq.Choice([1, 2])),
    ],
)
def test_kinds_of_domains(domain, parameter):
    space = search({"x": domain}).optimizer.space
    assert dict(space.parameters)["x"] == parameter
    drawn = domain.sample(size=300, random_state=0)
    units = space.to_unit([{"x": value} for value in getattr(drawn, "tolist", lambda: drawn)()])
    if parameter.n_values < 10:  # every value, and no other
        assert len({float(u) for u in units[:, 0]}) == parameter.n_values


@pytest.mark.parametrize(
    "domain",
    [
        tune.randn(0, 1),
        tune.qloguniform(1, 8, 1),
        tune.sample_from(lambda: 1),
    ],
)
def test_what_a_space_cannot_express(domain):
    with pytest.raises(bq.SpaceError, match="'x'"):
        search({"x": domain})


def test_grid_search_is_rays_own():
    with pytest.raises(bq.SpaceError, match="'x': grid_search goes with Ray's own variants"):
        search({"x": tune.grid_search([1, 2])})


def test_evaluated_points_and_points_to_evaluate():
    first = {"lr": 0.01, "model": "svm", "C": 0.5}
    alg = search(points_to_evaluate=[first])
    assert alg.suggest("a") == first
    alg.add_evaluated_point({"lr": 0.02, "model": "svm", "C": 0.25, "epochs": 3}, 0.7)
    alg.add_evaluated_point({"lr": 0.03, "model": "svm", "C": 0.25}, 0.7, error=True)
    alg.add_evaluated_point({"lr": 0.04, "model": "svm", "C": 0.25}, None, pruned=True,
                            intermediate_values=[3.0, 2.0])  # fmt: skip
    assert [t.value for t in present(alg.optimizer).history.trials] == [0.7, None, 2.0]
    with pytest.raises(bq.ConfigError, match="'C'"):
        alg.add_evaluated_point({"lr": 0.02, "model": "svm"}, 0.7)


def test_evaluated_points_of_domains():
    source, target = search(DOMAINS), search(DOMAINS)
    for name in map(str, range(10)):
        params = source.suggest(name)
        target.add_evaluated_point(params | {"epochs": 3}, 1.0)
        assert target.optimizer.history.trials[-1].config == source.optimizer.pending[-1].config
    for wrong in ({"model": {"kind": "tree"}}, {"shape": (9, 9)}):
        with pytest.raises(bq.ConfigError, match=next(iter(wrong))):
            target.add_evaluated_point(params | wrong, 1.0)
    with pytest.raises(bq.ConfigError, match=r"'rate' is missing in \{\}"):
        target.add_evaluated_point({}, 1.0)


def test_search_properties():
    alg = BosquetSearch(strategy="sobol", seed=0)
    with pytest.raises(RuntimeError, match="no search space"):
        alg.suggest("a")
    assert alg.set_search_properties("loss", "max", DOMAINS)
    assert alg.suggest("a")
    assert present(alg.optimizer).history.direction == "maximize"
    assert not alg.set_search_properties("loss", "max", DOMAINS)  # it has a space already
    assert alg.set_search_properties("loss", "max", {"epochs": 3})
    assert len(present(alg.optimizer).pending) == 1
    with pytest.raises(RuntimeError, match="`metric`"):
        BosquetSearch(SPACE).suggest("a")


def test_concurrency():
    alg = search()
    limited = ConcurrencyLimiter(alg, max_concurrent=2)
    assert limited.suggest("a")
    assert limited.suggest("b")
    assert limited.suggest("c") is None
    limited.on_trial_complete("a", {"loss": 1.0})
    assert limited.suggest("c")


def test_an_exhausted_space():
    alg = search({"x": tune.choice([1, 2])})
    assert {alg.suggest("a")["x"], alg.suggest("b")["x"]} == {1, 2}
    assert alg.suggest("c") == Searcher.FINISHED


def test_a_space_in_which_nothing_more_is_found():
    never = bq.Constraint(lambda c: False, on=["x"])
    alg = search(bq.Space({"m": bq.Choice({"a": {}, "b": {"x": bq.Float(0, 1)}})}, [never]))
    assert alg.suggest("a") == {"m": "a"}
    assert alg.suggest("b") == Searcher.FINISHED
    alg = search(bq.Space({"x": bq.Float(0, 1)}, [never]))
    with pytest.raises(bq.SpaceError, match="no further configuration that satisfies"):
        alg.suggest("a")


def test_save_and_restore(tmp_path):
    space = bq.Space(dict(SPACE.parameters), [lambda c: c["lr"] < 0.05])
    one, other = search(space), search(space)
    for name in "abcd":
        one.suggest(name)
    one.on_trial_complete("a", {"loss": 1.0})
    one.save_to_dir(str(tmp_path))
    other.restore_from_dir(str(tmp_path))
    assert other.optimizer.history.trials == one.optimizer.history.trials
    assert other.suggest("e") == one.suggest("e")
    other.on_trial_complete("b", {"loss": 2.0})
    assert other.optimizer.history.trials[1].value == 2.0


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"space": 3}, TypeError, "must be a bosquet.Space, a dict or None"),
        ({"mode": "least"}, ValueError, "mode='least' must be 'min' or 'max'"),
        ({"mode": ["min", "max"]}, ValueError, "one objective"),
        ({"strategy": "tpe"}, ValueError, "strategy='tpe'"),
    ],
)
def test_bad_arguments(settings, error, message):
    with pytest.raises(error, match=message):
        BosquetSearch(**settings)


# -- a real Ray ------------------------------------------------------------------------------

# Nothing here depends on how fast the machine is. The first four trials wait until all four run;
# those after the third wait for the file "go". In the run that is to be killed it is missing, so
# that the driver kills itself when three trials have ended and four run.
DRIVER = """
import itertools, os, signal, sys, time
from pathlib import Path
from ray import tune
from bosquet.integrations.ray_tune import BosquetSearch
from tests.integrations.test_ray_tune import SPACE

folder, what = Path(sys.argv[1]), sys.argv[2]

def wait_for(file):
    while not file.exists():
        time.sleep(0.05)

def take_turn():
    for turn in itertools.count():
        try:
            (folder / f"turn-{turn}").touch(exist_ok=False)
            return turn
        except FileExistsError:
            pass

def train(config):
    turn = take_turn()
    wait_for(folder / "turn-3")
    if turn >= 3:
        wait_for(folder / "go")
    if turn == 1:
        raise MemoryError("too large")
    tune.report({"loss": config["lr"] + config.get("C", 0.5)})

class Kill(tune.Callback):
    steps = 0

    def on_step_end(self, iteration, trials, **info):
        if (folder / "go").exists() or sum(trial.is_finished() for trial in trials) < 3:
            return
        # A thread of Ray's copies what each step has saved, unless it is still busy with the step
        # before. With a pause after each of two steps, the second is there, and not half of it.
        time.sleep(2)
        self.steps += 1
        if self.steps == 2:
            os.kill(os.getpid(), signal.SIGKILL)

if what == "restore":
    tuner = tune.Tuner.restore(str(folder / "run"), trainable=train)
else:
    search = BosquetSearch(SPACE, "loss", "min", strategy="sobol", seed=0)
    tuner = tune.Tuner(
        train,
        param_space={"constant": 1},
        tune_config=tune.TuneConfig(
            search_alg=search, num_samples=8, max_concurrent_trials=4, reuse_actors=True
        ),
        run_config=tune.RunConfig(
            storage_path=str(folder), name="run", verbose=0, callbacks=[Kill()]
        ),
    )
grid = tuner.fit()
configs = [result.config for result in grid if not result.error]  # Ray restores no others
for config in configs:
    assert config.pop("constant") == 1
    assert SPACE.validate(config) == config
print("DONE", len(grid), len({SPACE.key(config) for config in configs}), grid.num_errors)
"""
PAGE = """
from tests.test_docs import ROOT, run_examples
run_examples(ROOT / "docs/guides/integrations/ray.md", " needs-ray")
"""
PATIENCE = 600  # seconds; on an idle machine a run takes 20


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A local Ray that `run` finds, and the folder that it takes for the user's."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))
        patch.setenv("TUNE_GLOBAL_CHECKPOINT_S", "0")
        start_ray()
        patch.setenv("RAY_ADDRESS", ray.get_runtime_context().gcs_address)
        yield folder
        ray.shutdown()


def start_ray():
    """Ray gives itself 30 seconds, which a busy machine may exceed: the only reason to retry."""
    for left in (3, 2, 1, 0):
        try:
            ray.init(address="local", num_cpus=4, include_dashboard=False, log_to_driver=False)
            return
        except Exception as error:  # Ray raises no other kind
            ray.shutdown()
            if not left or "timed out during startup" not in str(error):
                raise


def run(program, *arguments):
    """A program that has ended, and what it printed; one that hangs is killed."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    output: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.run(command, cwd=ROOT, timeout=PATIENCE, **output)


def done(ended):
    assert ended.returncode == 0, ended.stdout
    line = next(line for line in ended.stdout.splitlines() if line.startswith("DONE"))
    return tuple(map(int, line.split()[1:]))


@pytest.mark.usefixtures("home")
def test_four_trials_at_a_time(tmp_path):
    (tmp_path / "go").touch()
    assert done(run(DRIVER, tmp_path, "run")) == (8, 7, 1)


@pytest.mark.usefixtures("home")
def test_restore_after_a_kill(tmp_path):
    killed = run(DRIVER, tmp_path, "run")
    assert killed.returncode == -signal.SIGKILL, killed.stdout
    (tmp_path / "go").touch()
    # With the state lost, the same seed would suggest the same points again.
    assert done(run(DRIVER, tmp_path, "restore")) == (8, 7, 1)


def test_the_page(home):
    ended = run(PAGE)
    assert ended.returncode == 0, ended.stdout
    assert list(home.glob("ray_results/train_*"))


@pytest.mark.usefixtures("home")
def test_the_tutorial(tmp_path, monkeypatch):
    pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    write_files(["first-study"])
    write_files(["several-at-once"], "needs-ray")
    ((printed, expected),) = run_commands("several-at-once", " needs-ray")
    assert is_like(printed, expected), printed
