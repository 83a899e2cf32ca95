"""Effects, interactions and importance as pictures."""

import numpy as np
import pytest

import bosquet as bq
from bosquet import plots
from bosquet.plots.parameters import shortest_names


def test_effects_have_a_panel_for_every_parameter(history):
    made = plots.effects(history, "model=svm, kernel=rbf")
    titles = {made.layout[name].title.text for name in made.layout if name.startswith("xaxis")}
    assert {"lr", "scale", "C", "gamma"} <= titles
    assert made.layout.title.text.startswith("In model=svm, kernel=rbf, ")
    one = plots.effects(history, "model=forest", ["depth"])
    assert "depth" in one.layout.title.text
    choices = bq.Space({"m": bq.Choice({"a": {}, "b": {"x": bq.Float(0, 1)}})})
    trials = [bq.Trial(i, {"m": "b", "x": i / 8}, "complete", i / 9) for i in range(8)]
    trials.append(bq.Trial(8, {"m": "a"}, "complete", 0.5))
    with pytest.raises(bq.ModelError, match="this branch has no parameters"):
        plots.effects(bq.History(choices, trials), "m=a")


def test_an_interaction_has_the_trials_of_its_branch(history):
    made = plots.interaction(history, "C", "gamma", "model=svm, kernel=rbf")
    there = [
        t for t in history.complete
        if history.space.path_label(t.config) == "model=svm, kernel=rbf"
    ]  # fmt: skip
    points = [trace for trace in made.data if trace.type == "scatter"]
    assert sum(len(trace.x) for trace in points) == len(there)
    assert made.data[0].type == "contour"
    mixed = plots.interaction(history, "scale", "depth", "model=forest")
    assert mixed.data[0].type == "heatmap"
    single = bq.Space({"x": bq.Float(0, 1)})
    trials = [bq.Trial(i, c, "complete", c["x"]) for i, c in enumerate(single.sample(0, 5))]
    with pytest.raises(bq.ModelError, match="fewer than two parameters"):
        plots.interaction(bq.History(single, trials))


def test_trials_stand_at_their_options_also_where_the_model_was_not_asked():
    """A surface has 21 of 30 options; trials of the others used to stand beside it."""
    names = [f"option {i}" for i in range(30)]
    space = bq.Space({"c": bq.Choice(names), "x": bq.Float(0, 1)})
    configs = [{"c": names[7 * i % 30], "x": i / 12} for i in range(12)]
    trials = [bq.Trial(i, c, "complete", i / 12) for i, c in enumerate(configs)]
    made = plots.interaction(bq.History(space, trials), "c", "x")
    surface, tried, best = made.data
    assert sorted([*tried.x, *best.x]) == sorted(7.0 * i % 30 for i in range(12))
    blank = np.isnan(surface.z).all(axis=0)
    assert list(surface.x) == list(range(30))
    assert blank.sum() == 30 - 21


def test_parameters_with_one_value_are_not_drawn():
    space = bq.Space({"x": bq.Float(0, 1), "only": bq.Choice(["this"]), "y": bq.Float(0, 1)})
    configs = space.sample(0, 8)
    trials = [bq.Trial(i, c, "complete", c["x"] + c["y"] ** 2) for i, c in enumerate(configs)]
    history = bq.History(space, trials)
    assert "only" not in plots.effects(history).to_json()
    assert "only" not in plots.parallel(history).to_json()
    assert plots.effects(history, parameters=["only"]).layout.xaxis.title.text == "only"


def test_importance_has_a_bar_for_every_parameter_and_choice(history):
    made = plots.importance(history)
    names = [name.rsplit("  ", 1)[0] for name in made.layout.yaxis.ticktext]  # then its share
    bars = {trace.name: [names[place] for place in trace.y] for trace in made.data}
    assert set(bars["choice of a branch"]) == {"model", "kernel"}
    assert len(bars["parameter"]) == 5
    assert "matters most" in made.layout.title.text
    assert all(name.endswith(" %") for name in made.layout.yaxis.ticktext)


def test_importance_says_why_shares_add_up_to_more_than_all():
    space = bq.Space({"x": bq.Float(-1, 1), "y": bq.Float(-1, 1)})

    def subtitle(f):
        trials = [bq.Trial(i, c, "complete", f(c)) for i, c in enumerate(space.sample(0, 24))]
        return plots.importance(bq.History(space, trials)).layout.title.subtitle.text

    assert "of the variance (more than 100 % in all: what" in subtitle(lambda c: c["x"] * c["y"])
    assert "more than 100 %" not in subtitle(lambda c: c["x"] + c["y"])


def test_importance_is_not_told_of_what_no_trial_has_shown():
    """Not of a branch in which all trials failed, nor of a parameter that had one value."""
    space = bq.Space(
        {
            "m": bq.Choice(
                {"a": {"x": bq.Float(0, 1), "n": bq.Int(1, 9)}, "b": {"y": bq.Float(0, 1)}}
            )
        }
    )
    trials = [bq.Trial(i, {"m": "a", "x": i / 8, "n": 3}, "complete", i / 9) for i in range(8)]
    trials += [bq.Trial(8 + i, {"m": "b", "y": i / 4}).failed("no") for i in range(4)]
    made = plots.importance(bq.History(space, trials))
    assert [name.split("  ")[0] for name in made.layout.yaxis.ticktext] == ["x"]
    assert "not shown: 3 parameters without two values" in made.layout.title.subtitle.text
    same = [bq.Trial(i, {"m": "a", "x": 0.5, "n": 3}, "complete", i / 9) for i in range(8)]
    with pytest.raises(bq.ModelError, match="no parameter has had two values"):
        plots.importance(bq.History(space, same))


def test_names_that_two_branches_share_are_qualified():
    both = {"a": {"x": bq.Float(0, 1)}, "b": {"x": bq.Float(0, 1)}}
    space = bq.Space({"m": bq.Choice(both), "y": bq.Float(0, 1)})
    assert shortest_names(["m", "m=a/x", "m=b/x", "y"], space) == ["m", "m=a/x", "m=b/x", "y"]
    assert shortest_names(["m=a/x", "y"], space) == ["x", "y"]
