"""Learned graphs and partitions."""

import pytest

import bosquet as bq
from bosquet import plots

SPACE = bq.Space({"a": bq.Float(0, 1), "b": bq.Float(1, 100, log=True), "c": bq.Choice(["u", "v"])})


def telling(*infos):
    configs = SPACE.sample(0, len(infos))
    trials = [
        bq.Trial(i, c, "complete", float(i), info=info)
        for i, (c, info) in enumerate(zip(configs, infos, strict=True))
    ]
    return bq.History(SPACE, trials)


def test_a_graph_has_a_line_for_every_pair():
    first = {"graph": {"groups": [["a"], ["b"], ["c"]], "marginals": {"a - c": 0.2}}}
    made = plots.graph(telling(first, {"graph": {"groups": [["a", "b"], ["c"]]}}))
    lines = {trace.text: trace.line.dash for trace in made.data if trace.mode == "lines"}
    assert lines == {"a and b: 0.00": "solid", "a and c: 0.20": "dot"}
    assert made.layout.title.text == "1 of 3 pairs of variables act together"
    assert [note.text for note in made.layout.annotations] == ["a", "b", "c"]
    alone = plots.graph(telling({"graph": {"groups": [["a"], ["b"]]}}))
    assert alone.layout.title.text == "Every variable acts on its own"


def test_the_graph_of_a_fitted_model_is_shown_where_no_trial_tells_of_one():
    space = bq.Space({f"x{i}": bq.Float(0, 1) for i in range(8)})
    trials = [bq.Trial(i, c, "complete", c["x0"]) for i, c in enumerate(space.sample(0, 6))]
    made = plots.graph(bq.History(space, trials))
    assert len(made.layout.annotations) == 8


def test_leaves_are_bars_over_the_range_of_a_parameter():
    leaf = {"leaves": 3, "trials": 7, "where": {"b": [10.0, 100.0], "c": ["u"]}}
    made = plots.partition(telling({"leaf": leaf}))
    assert made.layout.title.text == "The space is divided into 3 parts"
    bars = {trace.y[0]: (trace.base[0], trace.x[0]) for trace in made.data}
    assert bars["b"] == pytest.approx((0.5, 0.5))
    assert bars["c"] == pytest.approx((0.0, 0.5))


def test_subregions_are_volumes():
    made = plots.partition(telling({"subregion": {"volume": 0.1, "inside": 5}}))
    assert list(made.data[0].y) == [0.1]
    assert "10 % of the space" in made.layout.title.text


def test_strategies_without_structure_are_told_of():
    with pytest.raises(bq.ModelError, match="no trial of this study tells of a graph"):
        plots.graph(telling({}))
    with pytest.raises(bq.ModelError, match="no trial of this study tells of parts of the space"):
        plots.partition(telling({}))
