import json
from dataclasses import replace

import numpy as np
import pytest

import bosquet as bq
from bosquet.acquisition.base import LogEI
from bosquet.benchmarks.simulated import simulate
from bosquet.data import History, Trial
from bosquet.models.gp import AdditiveGP
from bosquet.search.tree_path import Scored
from bosquet.strategies import AddTree
from bosquet.strategies import gp_strategy as module
from bosquet.strategies.base import Task
from bosquet.strategies.choosing import first_free, incumbent, kept_clear
from bosquet.strategies.fitting import Setting
from bosquet.strategies.gp_strategy import GPStrategy, initial_trials
from tests.support import present


def best_distance(problem, strategy, n, seed, enough=-np.inf):
    """How near to the minimum n trials come; a run ends early where one is nearer than enough."""

    def near(_, trial):
        return trial.value - problem.minimum < enough

    result = bq.minimize(
        problem, problem.space, n_trials=n, strategy=strategy, seed=seed, callbacks=near
    )
    return result.best_value - problem.minimum


@pytest.mark.parametrize("seed", [0, 1])
def test_it_finds_the_right_branch_and_its_optimum(seed):
    problem = bq.benchmarks.small_balanced(shared=True, shift=seed)
    assert best_distance(problem, "add-tree", 40, seed, 1e-4) < 1e-4


def test_it_learns_on_a_flat_space_too():
    problem = bq.benchmarks.branin()
    assert best_distance(problem, "add-tree", 40, 0, 1e-2) < 1e-2


@pytest.mark.parametrize("acquisition", ["ucb", "logei"])
def test_acquisitions_on_the_path_posterior(acquisition):
    problem = bq.benchmarks.small_balanced(shift=1)  # as it is, the first trials find its minimum
    assert best_distance(problem, AddTree(acquisition=acquisition), 16, 0, 1e-3) < 1e-3


def test_the_papers_algorithm_optimises_its_own_example():
    problem = bq.benchmarks.small_balanced()
    assert best_distance(problem, AddTree.paper(), 16, 0, 1e-3) < 1e-3
    paper = AddTree.paper()
    assert (paper.acquisition, paper.kernels, paper.model) == ("node-ucb", ("se",), "paper")


def test_the_released_example():
    """Unit variances, a constant at nodes without variables, mean - 5 sd of a path's posterior."""
    problem = bq.benchmarks.small_balanced(shared=True)
    released = AddTree.released()
    opt = bq.Optimizer(problem.space, "add-tree.released", seed=0)
    for _ in range(7):
        trial = opt.ask()
        opt.tell(trial, problem(trial.config))
    first = ["acquisition" in trial.info for trial in opt.history.trials]
    assert first == [False] * 5 + [True] * 2
    task = Task(problem.space, opt.history)
    data = opt.history.dataset()
    fitted, other = (released.fit(task, data, np.random.default_rng(seed)) for seed in (0, 1))
    assert (released.restarts, AddTree.paper().restarts) == (2, 5)
    assert fitted.record.theta != other.record.theta  # fits start at random
    components = fitted.posterior.additive.components
    assert [c.kind for c in components] == ["constant"] + ["se"] * 6
    np.testing.assert_array_equal([fitted.posterior.eta[c.variance] for c in components], 0.0)
    proposal = replace(released, restarts=None).propose(task, 1, np.random.default_rng(0))[0]
    fitted = replace(released, restarts=None).fit(task, data, np.random.default_rng(0))
    at = problem.space.to_unit([proposal.config])
    mean, variance = fitted.posterior.on_path(problem.space.path(proposal.config)).moments(at)
    assert proposal.value == pytest.approx(float(5 * np.sqrt(variance[0]) - mean[0]))
    for beta in (-1.0, np.inf, True):
        with pytest.raises(ValueError, match="must be a number of at least 0, or None"):
            AddTree(acquisition="ucb", beta=beta)
    with pytest.raises(ValueError, match=r"beta=4\.0 is of acquisition='ucb' or 'node-ucb'"):
        AddTree(beta=4.0)
    with pytest.raises(ValueError, match="restarts=3 is of model='paper' or 'released'"):
        AddTree(restarts=3)


def test_what_does_not_go_together_is_said():
    with pytest.raises(ValueError, match="acquisition='magic' must be one of logei, ucb"):
        AddTree(acquisition="magic")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="kernel='rbf' must be one of evidence, matern52, se"):
        AddTree(kernel="rbf")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'node-ucb' adds up separate nodes"):
        AddTree(acquisition="node-ucb")
    with pytest.raises(ValueError, match="model='paper' has no interactions"):
        AddTree(model="paper", interactions=True)
    with pytest.raises(ValueError, match="model='paper' has squared exponentials"):
        AddTree(model="paper", kernel="matern52")
    with pytest.raises(ValueError, match="model='bare' must be one of hierarchical, paper, rel"):
        AddTree(model="bare")  # type: ignore[arg-type]


def warmed(problem, n, **options):
    opt = bq.Optimizer(problem.space, "add-tree", seed=0, **options)
    for _ in range(n):
        trial = opt.ask()
        opt.tell(trial, problem(trial.config))
    return opt


def test_batches_do_not_cluster():
    """But next to trials that have ended, where the search closes in."""
    opt = warmed(bq.benchmarks.branin(), 12)
    X = opt.space.to_unit([trial.config for trial in opt.ask(5)])
    for i, before in enumerate(X):
        apart = min(0.04, np.abs(opt.history.units - before).max(axis=1).min() / 2)
        assert all(np.abs(after - before).max() >= apart for after in X[i + 1 :])


@pytest.mark.parametrize("strategy", ["add-tree", "tree-ei", "auto"])
def test_pending_trials_on_a_branch_without_results(strategy):
    """The branches of this tree share nothing, so a new one is a block of its own."""
    space = bq.Space(
        {"arm": bq.Choice({"a": {"x": bq.Float(0, 1)}, "b": {"y": bq.Float(0, 1)}})},
    )
    opt = bq.Optimizer(space, strategy, seed=0)
    for x in np.linspace(0, 1, 8):
        opt.tell({"arm": "a", "x": float(x)}, x)
    asked = [opt.ask() for _ in range(6)]
    assert sum(trial.config["arm"] == "b" for trial in asked) >= 2


def test_eight_workers_close_in_on_a_minimum():
    space = bq.Space({"x": bq.Float(0, 1), "y": bq.Float(0, 1)})
    lowest = []
    for seed in range(3):
        values: list[float] = []

        def objective(config, values=values):
            values.append((config["x"] - 0.37) ** 2 + (config["y"] - 0.61) ** 2)
            return values[-1]

        simulate(objective, space, "add-tree", seed, 24, workers=8)
        lowest.append(min(values))
    assert np.median(lowest) < 3e-5  # 1.4e-4 if pending trials keep the others 0.04 away


def test_the_distance_kept_from_a_pending_trial():
    """At most 0.04, and half of that to the nearest trial that has ended."""
    space = bq.Space({"x": bq.Float(0, 1)})
    told = bq.History(space, [bq.Trial(0, {"x": 0.5}, "complete", 0.0)])

    def first(pending, *rows):
        scored = Scored((0,), np.array(rows)[:, None], -np.arange(len(rows), dtype=float))
        clear = kept_clear(told, np.array([[pending]]))
        found = first_free(Task(space, told), [scored], (), clear=clear)
        return None if found is None else found[0]["x"]

    assert first(0.7, 0.73, 0.67, 0.75, 0.9) == 0.75
    assert first(0.504, 0.505, 0.503, 0.507, 0.9) == 0.507
    assert first(0.7, 0.71) is None


def test_the_distance_kept_from_failures_beside_each_other():
    """At most 0.04 of each, and half of that to the nearest trial that has succeeded."""
    space = bq.Space({"x": bq.Float(0, 1), "y": bq.Float(0, 1)})

    def clear(*failed, worked=()):
        trials = [bq.Trial(i, {"x": x, "y": 0.5}, "failed") for i, x in enumerate(failed)]
        n = len(trials)
        trials += [
            bq.Trial(n + i, {"x": x, "y": 0.5}, "complete", 0.0) for i, x in enumerate(worked)
        ]
        return kept_clear(bq.History(space, trials), np.zeros((0, 2)))

    def inside(cubes, x, y=0.5):
        return cubes.contain(np.array([x, y]))

    assert not inside(clear(0.3), 0.31)  # one failure may have been chance
    assert not inside(clear(0.3, 0.39), 0.31)
    for x, y, kept in [(0.31, 0.5, True), (0.27, 0.53, True), (0.31, 0.55, False)]:
        assert inside(clear(0.3, 0.37), x, y) == kept
    assert not inside(clear(0.3, 0.37), 0.42)
    edge = clear(0.3, 0.37, worked=[0.28])
    assert [inside(edge, x) for x in (0.288, 0.292, 0.34, 0.42)] == [False, True, True, False]
    assert not inside(clear(), 0.5)


def test_info_says_why():
    opt = warmed(bq.benchmarks.small_balanced(), 8)
    trial = opt.ask()
    info = trial.info
    assert info["why"].startswith("highest log expected improvement (")
    assert {"path", "acquisition"} <= info.keys()
    fit = trial.memory["fits"]["add-tree"]
    assert fit["fitted_at"] == 8
    assert {"theta", "setting", "evidence"} <= fit.keys()
    json.dumps(info, allow_nan=False)


def test_every_sixth_trial_explores_where_branches_could_be_lost():
    opt = warmed(bq.benchmarks.small_balanced(), 18)
    explored = [t.number for t in opt.history.trials if "every so often" in t.info["why"]]
    assert explored == [5, 11, 17]
    flat = warmed(bq.benchmarks.branin(), 12)
    assert not any("exploration" in t.info["why"] for t in flat.history.trials)
    for wrong in (1, 2.5, True, "6"):
        with pytest.raises(ValueError, match=f"explore_every={wrong!r} must be an integer"):
            AddTree(explore_every=wrong)  # type: ignore[arg-type]


def test_it_explores_when_nothing_seems_left_to_gain():
    """A model that is sure of itself must not ask for the same point for ever."""
    space = bq.Space({"x": bq.Float(0, 1)})
    cup = bq.benchmarks.Problem("cup", space, lambda config: (config["x"] - 0.3) ** 2, 0.0)
    opt = warmed(cup, 24)
    explored = [t.number for t in opt.history.trials if "nothing seems left" in t.info["why"]]
    assert len(explored) >= 5
    assert all(number % 2 for number in explored)
    X = np.array([trial.config["x"] for trial in opt.history.trials[12:]])
    assert np.ptp(X) > 0.5


def test_known_noise_is_respected():
    """A value with a huge variance must not make its neighbourhood attractive."""
    space = bq.Space({"x": bq.Float(0, 1)})
    opt = bq.Optimizer(space, "add-tree", seed=0)
    for x in np.linspace(0, 1, 9):
        opt.tell({"x": float(x)}, (x - 0.8) ** 2, noise_variance=1e-6)
    opt.tell({"x": 0.2}, -50.0, noise_variance=1e6)
    assert abs(opt.ask().config["x"] - 0.8) < 0.15


def test_noise_that_is_stated_does_not_fool_it():
    """Sphere with strong noise: the search ends near the optimum, not at a lucky draw."""
    problem = bq.benchmarks.small_balanced(shift=1)
    noisy = problem.with_noise(0.1, seed=0)
    result = bq.minimize(
        lambda config: bq.Evaluation(noisy(config), 0.01),
        problem.space,
        n_trials=40,
        strategy="add-tree",
        seed=0,
    )
    late = [problem(trial.config) - present(problem.minimum) for trial in result.trials[30:]]
    assert np.median(late) < 0.12


def test_the_first_model_comes_after_paths_and_dimensions():
    assert initial_trials(bq.benchmarks.small_balanced(shared=True).space) == 4
    assert initial_trials(bq.benchmarks.large_balanced().space) == 8
    assert initial_trials(bq.benchmarks.hartmann6().space) == 8
    assert initial_trials(bq.benchmarks.and_or(3).space) == 6


def test_the_confidence_width_of_the_paper():
    """Section 4.2: beta_t = 0.2 d log(2 t)."""
    assert module.bound(3, 10).beta == pytest.approx(0.2 * 3 * np.log(20))


def test_with_noise_the_incumbent_is_a_posterior_mean(monkeypatch):
    """One lucky draw far below all others must not be the value to beat."""
    seen = []

    def record(best, noise):
        seen.append(best)
        return LogEI(best, noise)

    monkeypatch.setattr(module, "LogEI", record)
    opt = bq.Optimizer(bq.Space({"x": bq.Float(0, 1)}), "add-tree", seed=0)
    values = [(x - 0.5) ** 2 for x in np.linspace(0, 1, 12)]
    values[3] = -3.0
    for x, value in zip(np.linspace(0, 1, 12), values, strict=True):
        opt.tell({"x": float(x)}, value, noise_variance=0.5)
    opt.ask()
    z = (values[3] - np.mean(values)) / np.std(values)
    assert seen[0] > z + 1.0


def test_skewed_targets_are_transformed():
    space = bq.Space({"x": bq.Float(0, 1), "y": bq.Float(0, 1)})
    opt = bq.Optimizer(space, "add-tree", seed=0)
    for config in space.sample(0, 25):
        opt.tell(config, float(np.exp(9 * config["x"]) + config["y"]))
    # By the first fit already: not a step at a time, from fit to fit.
    assert opt.ask().memory["fits"]["add-tree"]["setting"]["lam"] == 0.0


def test_good_values_are_never_compressed():
    """Dead settings far above the others: what tells the others apart must not be lost."""
    space = bq.Space({"x": bq.Float(0, 1)})
    opt = bq.Optimizer(space, "add-tree", seed=0)
    for config in space.sample(0, 25):
        x = config["x"]
        opt.tell(config, 6.0 + 0.1 * x if x > 0.5 else 0.2 + (x - 0.3) ** 2)
    for _ in range(6):
        trial = opt.ask()
        assert trial.memory["fits"]["add-tree"]["setting"]["lam"] <= 1.0
        opt.tell(trial, 6.0 if trial.config["x"] > 0.5 else 0.2 + (trial.config["x"] - 0.3) ** 2)


def test_fits_start_where_the_last_one_ended(monkeypatch):
    opt = warmed(bq.benchmarks.small_balanced(), 7)  # not a multiple of five: no cold start
    last = opt.history.trials[-1].memory["fits"]["add-tree"]["theta"]
    starts = []
    fit = AdditiveGP.fit

    def record(self, given, *options):
        starts.append(given)
        return fit(self, given, *options)

    monkeypatch.setattr(AdditiveGP, "fit", record)
    opt.ask()
    assert len(starts[0]) == 1
    np.testing.assert_array_equal(starts[0][0], list(last.values()))


@pytest.mark.parametrize("strategy", ["add-tree", "tree-ei", "additive", "htbo", "boing", "turbo"])
def test_candidates_come_back_to_the_last_digit(strategy):
    """Encoding and decoding a log-scaled float changes its last digit."""
    space = bq.Space({"y": bq.Float(0.1, 10, log=True)})
    values = np.random.default_rng(0).uniform(0.1, 10, 200).tolist()
    decoded = space.from_unit(space.to_unit([{"y": y} for y in values]))
    candidates = [{"y": y} for y, d in zip(values, decoded, strict=True) if d["y"] != y]
    assert len(candidates) > 100
    opt = bq.Optimizer(space, strategy, seed=0, candidates=candidates)
    for _ in range(12):
        trial = opt.ask()
        assert trial.config in candidates
        opt.tell(trial, (trial.config["y"] - 2.0) ** 2)


def test_what_is_believed_of_a_pending_trial_is_not_gained_again(monkeypatch):
    """A falling line: the first proposal is believed to be lower than all that is known."""
    seen = []

    def record(best, noise):
        seen.append(best)
        return LogEI(best, noise)

    monkeypatch.setattr(module, "LogEI", record)
    opt = bq.Optimizer(bq.Space({"x": bq.Float(0, 1)}), AddTree(explore_every=None), seed=0)
    for x in np.linspace(0, 0.5, 8):
        opt.tell({"x": float(x)}, -float(x))
    opt.ask(2)
    opt.ask()
    assert seen[1] < seen[0] - 0.1
    assert seen[2] <= seen[1] + 1e-9  # the same belief, computed again


def test_transforms_are_no_stronger_than_a_logarithm():
    strategy = AddTree()
    for lam, others in ((0.0, {0.5}), (0.5, {0.0, 1.0}), (1.0, {0.5})):
        rivals = strategy.rivals(Setting("se", lam))
        assert {rival.lam for rival in rivals if rival.kernel == "se"} == others
        assert [rival.lam for rival in rivals if rival.kernel == "matern52"] == [lam]


def test_the_papers_version_begins_with_a_design_and_ours_at_the_defaults():
    space = bq.Space({f"x{i}": bq.Float(0, 1) for i in range(15)})
    assert AddTree().initial_trials(space) == 8
    assert AddTree.paper().initial_trials(space) == 12
    assert set(bq.Optimizer(space, "add-tree", seed=0).ask().config.values()) == {0.5}
    assert set(bq.Optimizer(space, "add-tree.paper", seed=0).ask().config.values()) != {0.5}


def test_a_lucky_value_of_a_rough_function_is_not_the_one_to_beat():
    """Nothing is said to be noisy; the model takes roughness for noise."""
    space = bq.Space({"x": bq.Float(0, 1)})
    rng = np.random.default_rng(0)
    trials = [
        Trial(i, {"x": float(x)}, state="complete", value=float(x + 0.5 * rng.standard_normal()))
        for i, x in enumerate(np.linspace(0, 1, 30))
    ]
    history = History(space, trials)
    assert not history.noisy
    data = history.dataset()
    fitted = AddTree().fit(Task(space, history), data, rng)
    best, level = incumbent(fitted, data.X)
    np.testing.assert_array_equal(level, fitted.means(data.X))
    assert best == level.min() > fitted.z.min() + 0.5
    assert incumbent(fitted, data.X, observed=True)[0] == fitted.z.min()


@pytest.mark.parametrize("name", ["tree-ei.paper", "htbo.paper"])
def test_papers_measure_improvement_from_what_was_observed(name):
    strategy = bq.strategies.get(name)
    assert isinstance(strategy, GPStrategy)
    assert strategy.incumbent == "observed"
