import pickle
import subprocess
import sys
import warnings

import numpy as np
import optuna
import pytest
from optuna.trial import TrialState, create_trial

import bosquet as bq
from bosquet.integrations.optuna import BosquetSampler, suggest_config
from bosquet.strategies.base import Proposal, Strategy
from bosquet.study import views
from tests.support import present

PROPOSAL = "bosquet:proposal"


@pytest.fixture(autouse=True)
def _quiet():
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield
    optuna.logging.set_verbosity(level)


@pytest.fixture
def space():
    return bq.Space(
        {
            "lr": bq.Float(1e-4, 1e-1, log=True),
            "model": bq.Choice(
                {
                    "svm": {"C": bq.Float(1e-3, 1e3, log=True), "scale": bq.Choice([True, False])},
                    "forest": {"depth": bq.Int(1, 20), "C": bq.Float(0, 1)},
                }
            ),
        }
    )


def by_short_names(trial):
    """The fixture's space, the way an Optuna user writes it."""
    lr = trial.suggest_float("lr", 1e-4, 1e-1, log=True)
    if trial.suggest_categorical("model", ["svm", "forest"]) == "svm":
        trial.suggest_categorical("scale", [True, False])
        return abs(np.log10(trial.suggest_float("model=svm/C", 1e-3, 1e3, log=True))) + lr
    C = trial.suggest_float("model=forest/C", 0, 1)
    return 0.5 + C + trial.suggest_int("depth", 1, 20) / 20 + lr


def study_with(sampler, **settings):
    return optuna.create_study(sampler=sampler, **settings)


class Watched(Strategy):
    """Proposes at random, and keeps the tasks it was given."""

    name = "watched"

    def __init__(self):
        self.tasks = []

    def propose(self, task, n, rng):
        self.tasks.append(task)
        return [
            Proposal(config, memory={"said": task.index}) for config in task.space.sample(rng, n)
        ]


# -- with a space ----------------------------------------------------------------------------


def test_whole_configurations_by_short_and_qualified_names(space: bq.Space):
    sampler = BosquetSampler(space, "random", seed=1)
    study = study_with(sampler)
    study.optimize(by_short_names, n_trials=12)
    assert sampler.space is space
    for trial in study.trials:
        stored = trial.system_attrs[PROPOSAL]["config"]
        short = {name.rpartition("/")[2]: value for name, value in trial.params.items()}
        assert short == stored
        assert space.validate(stored) == stored
    assert {t.params["model"] for t in study.trials} == {"svm", "forest"}


def test_suggest_config(space):
    study = study_with(BosquetSampler(space, "random", seed=1))
    for _ in range(6):
        trial = study.ask()
        config = suggest_config(trial, space)
        assert config == study.trials[-1].system_attrs[PROPOSAL]["config"]
        assert trial.params == space.qualify(config)
        study.tell(trial, 0.0)


def test_the_same_proposals_as_the_optimizer(space):
    optimizer = bq.Optimizer(space, "add-tree", seed=7)
    study = study_with(BosquetSampler(space, "add-tree", seed=7))
    for i in range(9):
        trial, ours = study.ask(), optimizer.ask()
        assert suggest_config(trial, space) == ours.config
        study.tell(trial, np.sin(i))
        optimizer.tell(ours, np.sin(i))
    assert study.trials[-1].system_attrs[PROPOSAL]["memory"]["fits"].keys() == {"add-tree"}


def test_defaults_come_first():
    space = bq.Space({"x": bq.Float(0, 1, default=0.25)})
    study = study_with(BosquetSampler(space, "random", seed=0))
    study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=3)
    xs = [t.params["x"] for t in study.trials]
    assert xs[0] == 0.25
    assert 0.25 not in xs[1:]


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_both_directions(direction):
    space = bq.Space({"x": bq.Float(0, 1)})
    study = study_with(BosquetSampler(space, seed=0), direction=direction)
    sign = 1 if direction == "minimize" else -1
    study.optimize(lambda t: sign * (t.suggest_float("x", 0, 1) - 0.3) ** 2, n_trials=10)
    assert abs(study.best_params["x"] - 0.3) < 0.02


def test_trials_of_another_space_are_told_and_ignored(space, caplog):
    strategy = Watched()
    study = study_with(BosquetSampler(space, strategy))
    kinds = {"lr": optuna.distributions.FloatDistribution(0, 1)}
    for lr in (0.5, 0.01):
        study.add_trial(create_trial(params={"lr": lr}, distributions=kinds, value=1.0))
    study.optimize(by_short_names, n_trials=2)
    assert [len(task.history) for task in strategy.tasks] == [0, 1]
    told = [message for message in caplog.messages if "is ignored" in message]
    assert len(told) == 2
    assert "{'lr': 0.5} is not a configuration of the space: 'lr': 0.5 is not a float" in told[0]
    assert "{'lr': 0.01} is not a configuration of the space: 'model' was not suggested." in told[1]


def test_what_the_space_does_not_have_is_random():
    space = bq.Space({"x": bq.Float(0, 1)})
    study = study_with(BosquetSampler(space, "random", seed=0))

    def objective(trial):
        return trial.suggest_float("x", 0, 1) + trial.suggest_float("other", 5, 6)

    study.optimize(objective, n_trials=4)
    others = [t.params["other"] for t in study.trials]
    assert len(set(others)) == 4
    assert all(5 <= value <= 6 for value in others)


def test_options_in_another_order_and_short_names_with_ranges_of_their_own():
    space = bq.Space(
        {
            "model": bq.Choice(
                {"a": {"n": bq.Int(1, 5)}, "b": {"n": bq.Int(20, 30)}, "c": {}}
            ),
            "kind": bq.Choice(["s", "t", "u"]),
        }
    )  # fmt: skip
    study = study_with(BosquetSampler(space, "random", seed=0))

    def objective(trial):
        model = trial.suggest_categorical("model", ["c", "b", "a"])
        trial.suggest_categorical("kind", ["u", "t", "s"])
        if model != "c":
            trial.suggest_int("n", *((1, 5) if model == "a" else (20, 30)))
        return 0.0

    study.optimize(objective, n_trials=12)
    for trial in study.trials:
        assert trial.params == trial.system_attrs[PROPOSAL]["config"]
    assert {trial.params["model"] for trial in study.trials} == {"a", "b", "c"}


# -- without a space -------------------------------------------------------------------------


def test_the_structure_is_inferred_and_told(caplog):
    optuna.logging.set_verbosity(optuna.logging.INFO)
    sampler = BosquetSampler(strategy="random", seed=0)
    storage = optuna.storages.InMemoryStorage()
    study = study_with(sampler, storage=storage)
    before = sampler.space
    assert before is None
    study.optimize(by_short_names, n_trials=8)
    told = [message for message in caplog.messages if message.startswith("Inferred from")]
    assert [message.splitlines()[0] for message in told] == [
        "Inferred from 1 trial: Space with 1 path",
        "Inferred from 2 trials: Space with 2 paths",
    ]
    inferred = present(sampler.space)
    assert inferred.n_paths == 2
    study_id = storage.get_study_id_from_name(study.study_name)
    stored = storage.get_study_system_attrs(study_id)["bosquet:space"]
    assert bq.Space.from_dict(stored) == inferred
    for trial in study.trials:
        asked = trial.params
        assert set(inferred.configure(lambda d: asked[d.name])) == set(asked)  # noqa: B023


def test_every_option_is_tried_soon():
    study = study_with(BosquetSampler(strategy="sobol", seed=3))
    options = list("abcdefgh")
    study.optimize(lambda t: t.suggest_categorical("x", options) == "c", n_trials=8)
    assert {t.params["x"] for t in study.trials} == set(options)


def test_choices_that_a_space_cannot_have_are_labelled():
    study = study_with(BosquetSampler(strategy="add-tree", seed=0))
    choices = [(1, 2), True, 1, {"a": 1}]

    def objective(trial):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = trial.suggest_categorical("x", choices)
        return trial.suggest_float("y", 0, 1) + (value == (1, 2))

    study.optimize(objective, n_trials=10)
    assert study.sampler.space.parameters[0][1].options[0] == "(1, 2)"
    assert all(t.state == TrialState.COMPLETE for t in study.trials)


def test_a_finite_space_repeats_when_it_is_exhausted():
    study = study_with(BosquetSampler(strategy="sobol", seed=0))
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study.optimize(lambda t: t.suggest_int("x", 0, 2), n_trials=6)
    assert sorted({t.params["x"] for t in study.trials}) == [0, 1, 2]


def needle(at=0.4):
    """One discrete configuration, and a part of a continuous parameter that is never found."""
    return bq.Space(
        {"m": bq.Choice({"a": {}, "b": {"x": bq.Float(0, 1)}})},
        [bq.Constraint(lambda c: at <= c["x"] <= at + 1e-12, on=["x"])],
    )


def test_a_space_in_which_nothing_more_is_found_repeats():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = study_with(BosquetSampler(needle(), strategy="random", seed=0))
    study.optimize(lambda t: float(t.suggest_categorical("m", ["a", "b"]) == "a"), n_trials=3)
    assert [t.params for t in study.trials] == [{"m": "a"}] * 3
    nowhere = bq.Space({"x": bq.Float(0, 1)}, [lambda c: False])
    study = study_with(BosquetSampler(nowhere, strategy="random", seed=0))
    with pytest.raises(bq.SpaceError, match="no further configuration that satisfies"):
        study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=1)


def test_ranges_that_depend_on_another_parameter():
    def objective(trial):
        n = trial.suggest_int("n", 1, 30)
        return trial.suggest_int("m", 1, n) - n

    study = study_with(BosquetSampler(strategy="random", seed=0))
    study.optimize(objective, n_trials=15)
    assert all(t.params["m"] <= t.params["n"] for t in study.trials)


# -- what is learned from --------------------------------------------------------------------


def task_after(*trials, strategy=None, direction="minimize"):
    """What the strategy sees on its next proposal, in a space of one float."""
    strategy = strategy or Watched()
    space = bq.Space({"x": bq.Float(0, 1)})
    study = study_with(BosquetSampler(space, strategy), direction=direction)
    kinds = {"x": optuna.distributions.FloatDistribution(0, 1)}
    for i, settings in enumerate(trials):
        study.add_trial(create_trial(params={"x": i / 10}, distributions=kinds, **settings))
    study.ask().suggest_float("x", 0, 1)
    return strategy.tasks[-1]


def test_failed_trials_are_failures():
    task = task_after({"state": TrialState.FAIL}, {"value": 1.0}, {"value": float("inf")})
    assert [t.state for t in task.history.trials] == ["failed", "complete", "failed"]
    assert task.index == 3


@pytest.mark.parametrize(
    ("direction", "last", "counts"),
    [("minimize", 9.0, 9.0), ("minimize", 0.0, 3.0), ("maximize", 1.0, 1.0), ("maximize", 9, 3.0)],
)
def test_pruned_trials_count_no_better_than_the_median(direction, last, counts):
    pruned = {"state": TrialState.PRUNED, "intermediate_values": {0: 0.5, 4: last}}
    values = [{"value": value} for value in (1.0, 3.0, 8.0)]
    task = task_after(*values, pruned, direction=direction)
    assert task.history.trials[-1].value == counts
    assert task.history.direction == direction


def test_pruned_trials_without_anything_to_compare():
    pruned = {"state": TrialState.PRUNED, "intermediate_values": {0: 0.5}}
    nothing = {"state": TrialState.PRUNED}
    first, second = task_after(pruned, nothing).history.trials
    assert (first.value, second.state) == (0.5, "failed")


def test_violated_constraints_are_failures():
    violated = {"value": 1.0, "system_attrs": {"constraints": [-1.0, 0.5]}}
    kept = {"value": 1.0, "system_attrs": {"constraints": [-1.0, 0.0]}}
    assert [t.state for t in task_after(violated, kept).history.trials] == ["failed", "complete"]


def test_noise():
    task = task_after({"value": 1.0, "user_attrs": {"bosquet:noise_variance": 0.25}})
    assert task.history.noisy
    assert task.history.trials[0].noise_variance == 0.25


@pytest.mark.parametrize("with_space", [True, False])
def test_pending_trials_are_known_before_they_have_asked_for_everything(space, with_space):
    strategy = Watched()
    study = study_with(BosquetSampler(space if with_space else None, strategy, seed=0))
    study.optimize(by_short_names, n_trials=6)
    others = [study.ask() for _ in range(3)]
    for other in others:
        other.suggest_float("lr", 1e-4, 1e-1, log=True)
    study.ask().suggest_float("lr", 1e-4, 1e-1, log=True)
    task = strategy.tasks[-1]
    stored = [study.trials[o.number].system_attrs[PROPOSAL]["config"] for o in others]
    assert [trial.config for trial in task.pending] == stored
    assert [trial.number for trial in task.pending] == [6, 7, 8]


def test_fits_of_another_space_are_forgotten(space):
    strategy = Watched()
    study = study_with(BosquetSampler(space, strategy))
    study.optimize(by_short_names, n_trials=2)
    assert strategy.tasks[-1].history.trials[0].memory == {"said": 0}
    wider = bq.Space(dict(space.parameters) | {"lr": bq.Float(1e-5, 1e-1, log=True)})
    study.sampler = BosquetSampler(wider, strategy)
    study.optimize(by_short_names, n_trials=1)
    assert strategy.tasks[-1].history.trials[0].memory == {}
    assert len(strategy.tasks[-1].history) == 2


# -- several processes, seeds, errors --------------------------------------------------------

PROCESS = """
import sys, optuna
from bosquet.integrations.optuna import BosquetSampler
optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.load_study(
    study_name="s", storage=sys.argv[1], sampler=BosquetSampler(strategy="sobol", seed=0)
)
def objective(trial):
    x = trial.suggest_float("x", 0, 1)
    return x if trial.suggest_categorical("c", [True, False]) else x + trial.suggest_int("n", 0, 9)
study.optimize(objective, n_trials=4)
"""


def test_two_processes_on_one_study(tmp_path):
    url = f"sqlite:///{tmp_path / 's.db'}"
    study = optuna.create_study(study_name="s", storage=url)
    commands = [[sys.executable, "-c", PROCESS, url]] * 2
    running = [subprocess.Popen(command) for command in commands]
    assert [process.wait(300) for process in running] == [0, 0]
    trials = study.trials
    assert len(trials) == 8
    assert all(trial.state == TrialState.COMPLETE for trial in trials)
    assert len({trial.params["x"] for trial in trials}) == 8  # the same seed, other trials


def test_seeds(space):
    def run(seed):
        study = study_with(BosquetSampler(strategy="random", seed=seed))
        study.optimize(by_short_names, n_trials=5)
        return [t.params for t in study.trials]

    assert run(0) == run(0) != run(1)
    sampler = BosquetSampler(seed=0)
    sampler.reseed_rng()
    study = study_with(sampler)
    study.optimize(by_short_names, n_trials=1)
    assert study.trials[0].params != run(0)[0]


def test_threads_and_pickles(space):
    sampler = pickle.loads(pickle.dumps(BosquetSampler(space, "sobol", seed=0)))
    study = study_with(sampler)
    study.optimize(by_short_names, n_trials=12, n_jobs=3)
    assert len({t.params["lr"] for t in study.trials}) == 12


@pytest.mark.parametrize("with_space", [True, False])
def test_trials_that_have_ended_are_read_once(space, with_space, monkeypatch):
    reads = []

    def counted(function):
        def read(*of):
            reads.append(function)
            return function(*of)

        return read

    for name in ("to_parameter", "ended"):
        monkeypatch.setattr(views, name, counted(getattr(views, name)))
    study = study_with(BosquetSampler(space if with_space else None, "random", seed=0))
    study.optimize(by_short_names, n_trials=30)
    reads.clear()
    by_short_names(study.ask())
    assert 0 < len(reads) < 20  # the last trial, not thirty of them


@pytest.mark.parametrize("with_space", [True, False])
def test_a_sampler_keeps_studies_apart(space, with_space):
    watched = Watched()
    sampler = BosquetSampler(space if with_space else None, watched, seed=0)
    storage = optuna.storages.InMemoryStorage()
    studies = [study_with(sampler, storage=storage), study_with(sampler, storage=storage)]
    studies.append(study_with(sampler))
    for i in range(12):
        for at, study in enumerate(studies):
            trial = study.ask()
            by_short_names(trial)
            study.tell(trial, 100.0 * at + i)
    for at, task in enumerate(watched.tasks[-3:]):
        assert [t.value for t in task.history.trials] == [100.0 * at + i for i in range(11)]


def test_several_objectives_are_refused(space):
    study = optuna.create_study(directions=["minimize"] * 2, sampler=BosquetSampler(space))
    with pytest.raises(ValueError, match=r"multi-objective.*BosquetSampler cannot be used"):
        study.ask().suggest_float("lr", 1e-4, 1e-1, log=True)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"space": 3}, TypeError, "bosquet.Space or a dict of parameters, not int"),
        ({"strategy": "tpe"}, ValueError, "strategy='tpe' must be one of"),
        ({"seed": -1}, ValueError, "seed=-1 must be"),
    ],
)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        BosquetSampler(**arguments)
