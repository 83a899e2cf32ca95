"""Convergence and acquisition values."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

import bosquet as bq
from bosquet import plots
from tests.support import present


def test_convergence_shows_every_trial_and_marks_failures(history):
    made = plots.convergence(history)
    by_name = {trace.name: trace for trace in made.data}
    points = sum(len(t.x) for n, t in by_name.items() if n not in ("best so far", "failed"))
    assert points == len(history.complete)
    assert list(by_name["failed"].x) == [5, 9]
    line = list(by_name["best so far"].y)
    assert line == sorted(line, reverse=True)
    assert line[-1] == history.best.value
    assert f"in trial {history.best.number}" in made.layout.title.text
    assert "24 trials, 2 failed" in made.layout.title.subtitle.text


def test_failures_are_seen_on_whatever_axis_values_have():
    space = bq.Space({"x": bq.Float(0, 1)})
    values = [1e-6, None, 0.02, 3.0]
    trials = [
        bq.Trial(i, {"x": 0.5}).failed("no memory")
        if value is None
        else bq.Trial(i, {"x": 0.5}).completed(bq.Evaluation(value))
        for i, value in enumerate(values)
    ]
    layout = plots.convergence(bq.History(space, trials)).layout
    assert layout.yaxis.type == "log"
    assert layout.yaxis2.type is None  # linear, from 0 to 1: crosses are at its lower end
    assert layout.yaxis2.range == (0, 1)
    assert layout.yaxis.ticktext[0] == "1e-06"


def test_convergence_of_what_is_maximised_goes_up(history):
    turned = bq.History(history.space, history.trials, "maximize")
    line = next(t for t in plots.convergence(turned).data if t.name == "best so far").y
    assert list(line) == sorted(line)


def test_a_study_without_values_says_so():
    space = bq.Space({"x": bq.Float(0, 1)})
    failed = bq.History(space, [bq.Trial(0, {"x": 0.5}).failed("no memory")])
    assert plots.convergence(failed).layout.title.text == "No trial has returned a value"
    assert plots.convergence(bq.History(space)).layout.title.text == "No trial has returned a value"


@pytest.mark.parametrize(
    ("gap", "unit", "last"), [(1, "seconds", 5), (60, "minutes", 5), (7200, "hours", 10)]
)
def test_convergence_against_time_is_in_a_unit_that_suits(gap, unit, last):
    space = bq.Space({"x": bq.Float(0, 1)})
    begin = datetime(2024, 1, 1, tzinfo=UTC)
    trials = [
        bq.Trial(i, c, "complete", float(i), started=begin + timedelta(seconds=gap * i))
        for i, c in enumerate(space.sample(0, 5))
    ]
    ended = [replace(t, ended=present(t.started) + timedelta(seconds=gap)) for t in trials]
    made = plots.convergence(bq.History(space, ended), against="time")
    assert made.layout.xaxis.title.text == f"{unit} since the first trial"
    assert max(made.data[0].x) == pytest.approx(last)


def test_convergence_against_time_needs_times(history):
    with pytest.raises(ValueError, match="against='hours' must be one of trials, time"):
        plots.convergence(history, against="hours")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="these trials have no times"):
        plots.convergence(history, against="time")


def test_acquisition_values_by_branch(history):
    made = plots.acquisition(history)
    told = [t for t in history.trials if "paths" in t.info]
    assert f"of {len(told)} trials" in made.layout.title.text
    rings = sum(len(trace.x) for trace in made.data if trace.mode == "markers")
    assert rings == len(told)
    with pytest.raises(bq.ModelError, match="no trial of this study tells its acquisition values"):
        plots.acquisition(bq.History(history.space, history.trials[:5]))
