"""The additive strategy, beside the conformance suite."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

import bosquet as bq
from bosquet.data import History, Trial
from bosquet.graphs import edges_of
from bosquet.models.graph_learning import learn_graph
from bosquet.search.tree_path import PathSearch
from bosquet.strategies import Additive, GraphLearning
from bosquet.strategies.additive import clique_sums
from bosquet.strategies.base import Task
from bosquet.strategies.choosing import Ask
from bosquet.testing.conformance import tree_space
from tests.support import present


def box(d):
    return bq.Space({f"x{i}": bq.Float(0, 1) for i in range(d)})


def chain(config):
    x = list(config.values())
    return float(
        sum((a - b - 0.1) ** 2 for a, b in itertools.pairwise(x)) + sum((v - 0.4) ** 2 for v in x)
    )


_CHAIN = [(f"x{i}", f"x{i + 1}") for i in range(11)]


def run(space, strategy, objective=chain, n=20, seed=0):
    return bq.minimize(objective, space, n_trials=n, strategy=strategy, seed=seed).trials


def test_declared_groups_are_the_groups():
    groups = [("x0", "x1"), ("x1", "x2")]
    for strategy in (Additive(groups=groups), Additive(groups=groups, acquisition="ucb")):
        trial = run(box(4), strategy, n=9)[-1]
        info = trial.info
        assert info["graph"]["groups"] == [["x0", "x1"], ["x1", "x2"], ["x3"]]
        assert info["search"]["cliques"] == 3
        assert info["search"]["treewidth"] == 1
        assert ("variance residual 0" in trial.memory["fits"]["additive"]["theta"]) == (
            strategy.acquisition == "logei"
        )


def test_three_pairs_are_one_group():
    trial = run(box(3), Additive(groups=[("x0", "x1"), ("x1", "x2"), ("x0", "x2")]), n=8)[-1]
    assert trial.info["graph"]["groups"] == [["x0", "x1", "x2"]]


@pytest.mark.parametrize("strategy", [Additive(), Additive(graph="disjoint"), Additive.paper()])
def test_a_learned_graph_is_kept_between_learnings(strategy):
    learning = GraphLearning(every=6, likelihoods=60)
    strategy.learning = learning
    trials = run(box(4), strategy, n=26)
    settings = [t.memory["fits"]["additive"]["setting"] for t in trials if t.memory]
    first = strategy.initial_trials(box(4))
    assert [s["learned_at"] for s in settings] == [
        first + 6 * ((n - first) // 6) for n in range(first, 26)
    ]
    for before, after in itertools.pairwise(settings):
        if before["learned_at"] == after["learned_at"]:
            assert before["edges"] == after["edges"]
            assert before["lengths"] == after["lengths"]
    told = [trial.number for trial in trials if "marginals" in trial.info.get("graph", {})]
    assert set(told) <= {s["learned_at"] for s in settings}


def test_learning_goes_on_from_the_last_graph(monkeypatch):
    from bosquet.strategies import additive

    seen = []

    def spy(space, likelihood, start, *rest):
        seen.append(start)
        learned = learn_graph(space, likelihood, start, *rest)
        seen.append(learned.state)
        return learned

    monkeypatch.setattr(additive, "learn_graph", spy)
    run(box(3), Additive(learning=GraphLearning(every=5, likelihoods=40)), n=16)
    starts, ends = seen[::2], seen[1::2]
    assert len(starts) == 3
    assert starts[1:] == ends[:-1]
    assert starts[0].edges == ()


def test_random_trees_are_drawn_anew():
    trials = run(box(5), Additive(graph="random-tree"), n=14)
    graphs = [trial.info["graph"]["groups"] for trial in trials if "graph" in trial.info]
    assert all(len(groups) == 4 and {len(g) for g in groups} == {2} for groups in graphs)
    assert len({json.dumps(groups) for groups in graphs}) > len(graphs) // 2


@pytest.mark.parametrize(("graph", "fitted_at"), [("full", 120), ("random-tree", 121)])
def test_a_new_graph_is_fitted_at_once(graph, fitted_at):
    """Late refits are not due at every trial, unless the graph is another one."""
    space = box(3)
    opt = bq.Optimizer(space, Additive(graph=graph, kernel="se", transforms=False), seed=0)
    for config in space.sample(0, 120):
        opt.tell(config, chain(config))
    trial = opt.ask()
    assert trial.memory["fits"]["additive"]["fitted_at"] == 120
    opt.tell(trial, chain(trial.config))
    assert opt.ask().memory["fits"]["additive"]["fitted_at"] == fitted_at


def test_full_is_one_group_searched_without_message_passing():
    info = run(box(9), Additive(graph="full"), n=13)[-1].info
    assert info["graph"]["groups"] == [[f"x{i}" for i in range(9)]]
    assert "no message passing" in info["search"]["notes"][0]


def test_the_paper_proposes_points_of_the_grid_and_none_twice():
    """Where the optimum is taken the next best point is, and not one from between the levels."""
    paper = Additive.paper()
    assert (paper.learning.max_clique, paper.learning.max_treewidth) == (None, None)
    few = replace(paper, max_eval=16)  # four levels, of which the best are soon taken
    for strategy, levels, n in ((paper, 31, 15), (few, 4, 20)):
        trials = run(box(2), strategy, n=n)
        for trial in trials[10:]:
            units = (levels - 1) * np.array(list(trial.config.values()))
            np.testing.assert_allclose(units, np.round(units), atol=1e-9)
            assert "replaced" not in trial.info
        assert len({trial.key for trial in trials}) == n
        assert trials[-1].memory["fits"]["additive"]["theta"] == {}


def test_the_paper_has_no_cap_on_cliques():
    """One group of all variables explains a product best; the default's cap is four of them."""
    space = box(5)
    X = np.random.default_rng(0).random((60, 5))
    opt = bq.Optimizer(space, replace(Additive.paper(), graph="disjoint"), seed=0)
    for config in space.from_unit(X):
        opt.tell(config, float(np.prod([np.sin(4 * v) for v in config.values()])))
    groups = opt.ask().info["graph"]["groups"]
    assert max(map(len, groups)) == 5


def test_the_paper_s_bound():
    """beta_t = 0.5 log 2t, with t counted after the initial points."""
    space = box(2)
    strategy = Additive.paper()
    task = Task(space, History(space, run(space, strategy, n=14)))
    assert strategy.bound(task).beta == pytest.approx(0.5 * np.log(2 * 5))
    for n, t in ((10, 1), (11, 2), (40, 31)):
        trials = [Trial(i, c, "complete", 0.0) for i, c in enumerate(space.sample(0, n))]
        beta = strategy.bound(Task(space, History(space, trials))).beta
        assert beta == pytest.approx(0.5 * np.log(2 * t))


def test_message_passing_finds_what_a_search_by_rows_does_not():
    """With the graph given, the proposal has at least the bound that random rows reach."""
    space, strategy = box(12), Additive(groups=_CHAIN, acquisition="ucb")
    trials = run(space, strategy, n=16)
    task = Task(space, History(space, trials), index=16)
    fitted = strategy.fit(task, task.history.dataset(), np.random.default_rng(0))
    proposal = strategy.propose(task, 1, np.random.default_rng(0))[0]
    search = PathSearch(space, clique_sums(fitted), strategy.bound(task))
    rows = search.maximise([(0,)], task.history.units, np.random.default_rng(0))[0]
    found = search.score((0,), space.to_unit([proposal.config])).values[0]
    assert found == pytest.approx(proposal.value)
    assert found >= rows.values[0] - 1e-6


def test_expected_improvement_starts_from_message_passing():
    space, strategy = box(6), Additive(groups=_CHAIN[:5])
    trials = run(space, strategy, n=12)
    task = Task(space, History(space, trials), index=12)
    rng = np.random.default_rng(0)
    fitted = strategy.fit(task, task.history.dataset(), rng)
    ask = Ask(task, fitted, 0.0, task.history.units, task.taken, rng)
    cliques = strategy.clique_search(ask)
    assert cliques.summary["cliques"] == 5
    rows = present(strategy.starts(ask, cliques))
    assert rows.shape == (2, 6)
    additive = fitted.posterior.additive
    alone = additive.of([c for c in additive.components if c.name.startswith("clique")])
    random = rng.random((20_000, 6))
    assert alone.moments(rows[1:])[0][0] <= alone.moments(random)[0].min() + 1e-9


def test_constraints_failures_and_batches():
    space = bq.Space(
        {"a": bq.Float(0, 1), "b": bq.Float(0, 1), "c": bq.Int(0, 9), "d": bq.Choice(["p", "q"])},
        constraints=[bq.Constraint(lambda s: s["a"] + s["b"] < 0.7, on=("a", "b"))],
    )
    for strategy in (Additive(), Additive(graph="learned", acquisition="ucb")):
        opt = bq.Optimizer(space, strategy, seed=0)
        for i in range(5):
            batch = opt.ask(3)
            for trial in batch:
                assert trial.config["a"] + trial.config["b"] < 0.7
                if trial.config["d"] == "q" and i < 2:
                    opt.tell_failure(trial, "no")
                else:
                    opt.tell(trial, trial.config["a"] + 0.1 * trial.config["c"])
        assert present(present(opt.best).value) < 0.4


def test_conditional_spaces_have_graphs_within_nodes():
    space = tree_space()
    groups = [("scale", "lr")]
    info = run(space, Additive(groups=groups), lambda c: c["lr"], n=12)[-1].info
    assert ["scale", "lr"] in info["graph"]["groups"]
    assert ["model=forest/depth"] in info["graph"]["groups"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"graph": "tree"}, "graph='tree' must be one of learned, random-tree"),
        ({"graph": "full", "groups": [("a",)]}, "give one of them"),
        ({"acquisition": "ucb", "residual": True}, "residual=True goes with"),
        (
            {"model": "paper", "kernel": "matern52"},
            "model='paper' has squared exponentials, kernel='se'",
        ),
        ({"acquisition": "node-ucb"}, "acquisition='node-ucb'"),
        ({"max_eval": 8}, "max_eval=8 must be an integer of at least 9, or None"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        Additive(**arguments)


def test_a_resumed_run_goes_on_from_stored_json():
    """Lists of JSON become the tuples that a graph is made of."""
    space, strategy = box(3), Additive(learning=GraphLearning(every=5, likelihoods=40))
    whole = bq.Optimizer(space, strategy, seed=1)
    for _ in range(12):
        trial = whole.ask()
        whole.tell(trial, chain(trial.config))
    stored = [json.loads(json.dumps(trial.memory)) for trial in whole.history.trials]
    trials = [replace(t, memory=i) for t, i in zip(whole.history.trials, stored, strict=True)]
    resumed = bq.Optimizer(space, strategy, seed=1, history=History(space, trials))
    assert resumed.ask().config == whole.ask().config


def test_edges_of_groups():
    assert edges_of([(2, 0), (2, 1)]) == [(0, 2), (1, 2)]
