from collections import Counter

import numpy as np
import pytest

import bosquet as bq
from bosquet.data import History, Trial
from bosquet.strategies.base import Task
from bosquet.strategies.fresh import fresh_configs


def run(space, n, strategy="sobol", **options):
    opt = bq.Optimizer(space, strategy, seed=0, **options)
    for _ in range(n):
        opt.tell(opt.ask(), 0.0)
    return [trial.config for trial in opt.history.trials]


@pytest.mark.parametrize(
    "problem",
    [
        bq.benchmarks.large_balanced(shared=True),
        bq.benchmarks.unbalanced(8),
        bq.benchmarks.and_or(3),
    ],
    ids=lambda problem: problem.name,
)
def test_the_design_visits_every_path_once_before_any_twice(problem):
    space = problem.space
    labels = [space.path_label(config) for config in run(space, 2 * space.n_paths)]
    assert len(set(labels[: space.n_paths])) == space.n_paths
    assert set(Counter(labels).values()) == {2}


def test_with_very_many_paths_the_design_visits_options_evenly():
    space = bq.Space(
        {f"c{i}": bq.Choice({o: {f"x{i}{o}": bq.Float(0, 1)} for o in "abc"}) for i in range(12)}
    )
    configs = run(space, 9)
    for i in range(12):
        assert set(Counter(c[f"c{i}"] for c in configs).values()) == {3}


def test_with_very_many_nested_paths_options_are_weighed_by_their_paths(monkeypatch):
    monkeypatch.setattr("bosquet.strategies.base.COUNTED_PATHS", 8)
    space = bq.benchmarks.unbalanced(20).space
    labels = {space.path_label(config) for config in run(space, 21)}
    assert len(labels) == 21


def test_a_space_with_more_paths_than_floats_can_count():
    space = bq.Space(
        {f"c{i}": bq.Choice({o: {f"x{i}{o}": bq.Float(0, 1)} for o in "abc"}) for i in range(700)}
    )
    assert len(run(space, 2)) == 2


def failing(space, n, broken, strategy="sobol"):
    """How many trials a run has made, and failed, where ``broken(config)``."""
    opt = bq.Optimizer(space, strategy, seed=0)
    for _ in range(n):
        trial = opt.ask()
        if broken(trial.config):
            opt.tell_failure(trial, "never works")
        else:
            x = np.array([v for v in trial.config.values() if isinstance(v, float)])
            opt.tell(trial, float(np.sin(9 * x).sum() + np.sin(7 * x.prod())))
    return len(opt.history.failed)


BROKEN = bq.Space(
    {
        "m": bq.Choice(
            {
                "works": {f"x{i}": bq.Float(0, 1) for i in range(4)},
                "broken": {"kind": bq.Choice({"a": {"y": bq.Float(0, 1)}, "b": {}})},
            }
        )
    }
)


@pytest.mark.parametrize(("n", "most"), [(8, 4), (16, 5), (64, 7)])
def test_what_has_only_failed_is_visited_again_when_trials_have_doubled(n, most):
    found = failing(BROKEN, n, lambda config: config["m"] == "broken")
    assert most - 1 <= found <= most


def test_an_option_that_never_works_is_left_alone_beside_another_choice():
    space = bq.Space(
        {
            "m": bq.Choice({o: {f"x{o}": bq.Float(0, 1)} for o in "abc"}),
            "k": bq.Choice({o: {f"y{o}": bq.Float(0, 1)} for o in "pqr"}),
        }
    )
    assert failing(space, 36, lambda config: config["k"] == "q") <= 7  # of 36, evenly 12


def test_where_everything_fails_paths_are_visited_evenly():
    space = bq.benchmarks.large_balanced(shared=True).space
    assert failing(space, 16, lambda config: True) == 16
    opt = bq.Optimizer(space, "sobol", seed=0)
    for _ in range(16):
        opt.tell_failure(opt.ask(), "never works")
    assert set(Counter(space.path_label(t.config) for t in opt.history).values()) == {2}


@pytest.mark.parametrize("strategy", ["auto", "tree-ei", "htbo", "independent"])
def test_a_branch_that_never_works_costs_few_trials(strategy):
    assert failing(BROKEN, 30, lambda config: config["m"] == "broken", strategy) <= 6


def test_a_node_rests_until_trials_have_doubled():
    node = BROKEN.path({"m": "broken", "kind": "b"})
    works = {"m": "works"} | {f"x{i}": 0.5 for i in range(4)}
    ended = [Trial(0, works, "complete", 1.0)]
    ended += [Trial(i, {"m": "broken", "kind": "b"}, "failed", reason="no") for i in (1, 2)]
    assert Task(BROKEN, History(BROKEN, ended)).resting == set(node[1:])
    ended.append(Trial(3, works, "complete", 1.0))
    assert not Task(BROKEN, History(BROKEN, ended)).resting
    pending = (Trial(4, {"m": "broken", "kind": "a", "y": 0.5}),)
    again = Task(BROKEN, History(BROKEN, ended), pending).resting
    assert again == {node[1]}
    assert not Task(BROKEN, History(BROKEN, ended[1:3])).resting


def test_the_design_fills_the_space_better_than_chance():
    space = bq.Space({"x": bq.Float(0, 1), "y": bq.Float(0, 1)})

    def worst_gap(strategy):
        X = space.to_unit(run(space, 64, strategy))
        probes = np.random.default_rng(0).random((2000, 2))
        return np.sqrt(((probes[:, None] - X) ** 2).sum(-1)).min(1).max()

    assert worst_gap("sobol") < 0.8 * worst_gap("random")


def test_infeasible_paths_are_left_out():
    space = bq.Space(
        {"m": bq.Choice({o: {f"x{o}": bq.Float(0, 1)} for o in "abcd"})},
        constraints=[bq.Forbid({"m": ["b", "c"]})],
    )
    assert Counter(c["m"] for c in run(space, 10)) == {"a": 5, "d": 5}


def test_candidates_are_visited_by_path():
    space = bq.benchmarks.small_balanced().space
    candidates = space.sample(0, 40)
    labels = [space.path_label(c) for c in run(space, 8, candidates=candidates)]
    assert set(Counter(labels).values()) == {2}


def test_among_candidates_the_one_nearest_to_the_design_is_taken():
    space = bq.Space({"x": bq.Float(0, 1)})
    candidates = [{"x": i / 100} for i in range(101)]
    free = run(space, 12)
    near = run(space, 12, candidates=candidates)
    assert all(abs(a["x"] - b["x"]) < 0.011 for a, b in zip(free, near, strict=True))


def test_random_draws_every_option_equally_often():
    space = bq.Space({"m": bq.Choice({"a": {"x": bq.Float(0, 1)}, "b": {"y": bq.Float(0, 1)}})})
    counts = Counter(c["m"] for c in run(space, 400, "random"))
    assert 160 < counts["a"] < 240


def test_a_large_nearly_exhausted_space_is_finished():
    space = bq.Space({"n": bq.Int(1, 3000)})
    trials = [bq.Trial(i, {"n": i + 1}, "complete", 0.0) for i in range(2999)]
    task = Task(space, bq.History(space, trials))
    assert fresh_configs(task, 5, np.random.default_rng(0)) == [{"n": 3000}]


def test_paper_is_available_for_every_strategy():
    for cls in bq.strategies.STRATEGIES.values():
        assert isinstance(cls.paper(), cls)


def test_options_side_by_side_are_all_seen_in_as_few_trials_as_it_takes():
    space = bq.benchmarks.and_or(3).space
    assert (space.n_paths, space.tree.cover) == (27, 3)
    for seed in range(10):
        opt = bq.Optimizer(space, "sobol", seed=seed)
        first = [opt.ask().config for _ in range(3)]
        for part in ("part0", "part1", "part2"):
            assert {config[part] for config in first} == {"a", "b", "c"}


@pytest.mark.parametrize("strategy", ["auto", "add-tree", "arc", "additive"])
def test_the_first_trials_are_the_defaults_of_every_branch(strategy):
    space = bq.Space(
        {
            "rate": bq.Float(1e-3, 1e3, log=True, default=0.1),
            "size": bq.Int(1, 9),
            "model": bq.Choice(
                {
                    "a": {"depth": bq.Int(1, 8, default=2)},
                    "b": {"solver": bq.Choice(["fast", "slow"])},
                    "c": {"degree": bq.Choice([1, 2, 3], ordered=True)},
                }
            ),
        }
    )
    opt = bq.Optimizer(space, strategy, seed=3)
    first = [opt.ask() for _ in range(3)]
    common = {"rate": 0.1, "size": 5}
    wanted = [
        {**common, "model": "a", "depth": 2},
        {**common, "model": "b", "solver": "fast"},
        {**common, "model": "c", "degree": 2},
    ]
    assert sorted((t.config for t in first), key=str) == sorted(wanted, key=str)
    assert "default" in first[1].info["why"]
    assert opt.ask().config["rate"] != 0.1


def test_a_default_that_is_forbidden_gives_way_to_a_draw_on_its_branch():
    space = bq.Space(
        {"x": bq.Int(0, 10), "k": bq.Choice({"a": {}, "b": {"y": bq.Int(1, 3)}})},
        constraints=[bq.Forbid({"x": 5, "k": "a"})],
    )
    opt = bq.Optimizer(space, seed=0)
    configs = [opt.ask().config for _ in range(2)]
    assert {"x": 5, "k": "b", "y": 2} in configs
    assert any(config["k"] == "a" and config["x"] != 5 for config in configs)


def test_of_candidates_the_nearest_to_the_defaults_come_first():
    space = bq.Space({"x": bq.Float(0, 1), "k": bq.Choice({"a": {}, "b": {"y": bq.Int(1, 3)}})})
    branches = ({"k": "a"}, {"k": "b", "y": 2})
    candidates = [{"x": x, **branch} for x in (0.1, 0.45, 0.9) for branch in branches]
    opt = bq.Optimizer(space, seed=0, candidates=candidates)
    assert {opt.ask().config["x"] for _ in range(2)} == {0.45}


def test_categories_without_a_default_take_turns_in_the_first_trials():
    """No option is in the middle; one that never came would be judged by nothing."""
    space = bq.Space(
        {
            "scale": bq.Choice(["none", "standard", "ranks"]),
            "solver": bq.Choice(["fast", "slow"], default="slow"),
            "model": bq.Choice({name: {f"x_{name}": bq.Float(0, 1)} for name in "abc"}),
        }
    )
    trials = bq.Optimizer(space, "add-tree", seed=1, history=None).ask(3)
    assert [t.config["scale"] for t in trials] == ["none", "standard", "ranks"]
    assert {t.config["solver"] for t in trials} == {"slow"}
    assert {t.config["model"] for t in trials} == set("abc")


def test_a_trial_says_defaults_only_where_it_has_them():
    parameters = {"m": bq.Choice({"a": {"x": bq.Float(0, 1)}, "b": {"y": bq.Float(0, 1)}})}
    space = bq.Space(parameters)
    forbidden = bq.Space(parameters, constraints=[lambda c: 0.5 not in c.values()])
    given = [{"m": "a", "x": 0.25}, {"m": "b", "y": 1.0}]

    def why(space, **options):
        return bq.Optimizer(space, seed=0, **options).ask().info["why"]

    assert why(space) == "defaults of a new branch"
    assert why(forbidden) == "a new branch; its defaults were not possible"
    assert why(space, candidates=given) == "near the defaults of a new branch"
