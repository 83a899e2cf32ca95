import json
from dataclasses import replace

import bosquet as bq
from bosquet.data import Trial
from bosquet.report.content import Source, pictures, summary
from bosquet.study import read_study
from tests.report.conftest import NASTY


def test_the_best_its_copies_and_the_counts(plain):
    content = summary(Source.of_result(plain))
    best = content["best"]
    assert best["number"] == plain.best_trial.number
    assert eval(best["copies"]["Python"]) == plain.best_config
    assert json.loads(best["copies"]["JSON"])["config"] == plain.best_config
    assert "command line" not in best["copies"]
    assert content["counts"] == {"complete": 20, "failed": 0, "pending": 0}
    assert "20 trials" not in content["facts"]
    assert any(fact.startswith("the run took") for fact in content["facts"])
    assert [branch["branch"] for branch in content["branches"]] == ["m=a", "m=b"]


def test_the_table_has_every_trial_with_its_reason_and_times(plain):
    table = summary(Source.of_result(plain))["trials"]
    assert [parameter["name"] for parameter in table["parameters"]] == ["m", "x", "n", "k"]
    for row, trial in zip(table["rows"], plain.trials, strict=True):
        number, state, value, branch, started, took, reason, info, values = row
        assert (number, state, value, reason) == (trial.number, "complete", trial.value, None)
        assert table["branches"][branch] == plain.history.space.path_label(trial.config)
        assert started[:4].isdecimal()
        assert took >= 0.0
        assert info["why"]
        shown = [trial.config.get(parameter["name"]) for parameter in table["parameters"]]
        assert [v is None for v in values] == [v is None for v in shown]
        assert values[3] == trial.config["k"]


def test_options_that_are_none_are_not_inactive(nasty):
    table = summary(Source.of_result(nasty))["trials"]
    column = [parameter["name"] for parameter in table["parameters"]].index("none")
    assert {row[8][column] for row in table["rows"]} == {"None", "True", '"None"'}


def test_failures_by_cause_and_branch(nasty):
    (failure,) = summary(Source.of_result(nasty))["failures"]
    failed = nasty.history.failed
    assert (failure["count"], failure["trials"]) == (len(failed), [t.number for t in failed])
    assert NASTY in failure["reason"]
    assert sum(where["count"] for where in failure["branches"]) == len(failed)


def test_long_entries_of_info_are_cut():
    space = bq.Space({"x": bq.Float(0, 1)})
    info = {"why": "because", "paths": {f"p{i}": i / 7 for i in range(200)}, "acquisition": 1 / 3}
    trial = Trial(0, {"x": 0.5}, "complete", 1.0, info=info)
    row = summary(Source("s", bq.History(space, [trial])))["trials"]["rows"][0]
    assert (row[7]["why"], row[7]["acquisition"]) == ("because", "0.333333")
    assert len(row[7]["paths"]) < 310


def test_studies_with_commands_pending_trials_and_few_trials(tmp_path):
    file = tmp_path / "r.db"
    space = bq.Space({"x": bq.Float(0, 1)})
    with bq.Study(file, space=space, seed=0) as study:
        study.tell({"x": 0.5}, 1.0)
        study.ask()
    content = summary(Source.of_study(read_study(file)))
    assert content["counts"] == {"complete": 1, "failed": 0, "pending": 1}
    assert [row[1] for row in content["trials"]["rows"]] == ["complete", "pending"]
    assert content["facts"] == ["strategy auto", "seed 0"]
    said = pictures(Source.of_study(read_study(file)))
    assert said["advice"].startswith("Run more trials: ")


def test_the_command_line_of_the_best(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = bq.Space({"x": bq.Int(1, 9)})
    command = bq.study.Command("echo {x}", space)
    bq.minimize(command, space, n_trials=1, strategy="random", seed=0, storage="r.db")
    best = summary(Source.of_study(read_study("r.db")))["best"]
    assert best["copies"]["command line"] == f"echo {best['config'][0]['value']}"


def test_a_command_that_cannot_be_used_is_said(tmp_path):
    file = tmp_path / "r.db"
    with bq.Study(file, space=bq.Space({"x": bq.Int(1, 9)}), seed=0) as study:
        study.tell({"x": 5}, 1.0)
    stored = replace(read_study(file), objective={"kind": "command", "template": "run {y}"})
    content = summary(Source.of_study(stored))
    assert "command line" not in content["best"]["copies"]
    assert "the stored command cannot be used" in content["facts"][-1]


def test_a_study_without_trials():
    source = Source("empty", bq.History(bq.Space({"x": bq.Float(0, 1)})))
    content = summary(source)
    assert (content["best"], content["trials"]["rows"], content["failures"]) == (None, [], [])
    assert pictures(source) == {
        "advice": "No trial has ended yet. Advice needs some.",
        "sections": [],
    }
