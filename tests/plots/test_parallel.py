"""Trials of one branch side by side."""

import pytest

import bosquet as bq
from bosquet import plots


def test_every_trial_of_the_branch_is_a_line(history):
    made = plots.parallel(history, "model=forest")
    there = [t for t in history.complete if t.config["model"] == "forest"]
    axes = ["lr", "scale", "depth", "objective"]
    names = [note.text for note in made.layout.annotations if note.text.startswith("<b>")]
    assert names == [f"<b>{name}</b>" for name in axes]
    lines = sum(list(trace.x).count(None) for trace in made.data)
    assert lines == len(there)
    heights = [y for trace in made.data for y in trace.y if y is not None]
    assert 0.0 <= min(heights) <= max(heights) <= 1.0


def test_the_branch_of_the_best_trial_comes_first(history):
    label = history.space.path_label(history.best.config)
    assert plots.parallel(history).layout.title.text.startswith(label)
    with pytest.raises(bq.ModelError, match="'model=fores' has no complete trial; did you mean"):
        plots.parallel(history, "model=fores")
    with pytest.raises(bq.ModelError, match="nothing to show side by side"):
        plots.parallel(bq.History(history.space))


def test_many_long_names_lean():
    names = [f"parameter_{i}" for i in range(16)]
    space = bq.Space({name: bq.Float(0, 1) for name in names})
    trials = [bq.Trial(i, c, "complete", float(i)) for i, c in enumerate(space.sample(0, 3))]
    made = plots.parallel(bq.History(space, trials))
    titles = [note for note in made.layout.annotations if note.text.startswith("<b>")]
    assert len(titles) == 15
    assert all(note.textangle == -25 for note in titles)
    assert len(made.layout.annotations) == 3 * len(titles)  # with the ends of every axis
    assert "2 more parameters are not shown" in made.layout.title.subtitle.text
